package server

import (
	"crypto/tls"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// value is a Value for a field of type T. The values of pflag are no substitute: their errors quote functions of
// Go, a value exists only in a set of flags, which is the command's, and cannot return to its default.
type value[T any] struct {
	field    *T
	initial  T
	typeName string
	parse    func(string) (T, error)
	format   func(T) string
	isZero   func(T) bool
	checks   []func(T) error
	// merge combines the values of a flag that is given several times; nil means
	// that the last one counts.
	merge func(earlier, later T) T
	// zeroIsValid means that a zero field has a meaning of its own.
	zeroIsValid bool
	// changed means that Set was called.
	changed bool
}

func (v *value[T]) Type() string   { return v.typeName }
func (v *value[T]) String() string { return v.format(*v.field) }
func (v *value[T]) reset()         { *v.field = v.initial }
func (v *value[T]) isSet() bool    { return v.changed }

func (v *value[T]) setDefault(text string) (err error) {
	if text == "" {
		v.initial = *new(T)
		return nil
	}
	v.initial, err = v.parse(text)
	return err
}

func (v *value[T]) Set(text string) error {
	parsed, err := v.parse(text)
	if err != nil {
		return err
	}
	if v.changed && v.merge != nil {
		parsed = v.merge(*v.field, parsed)
	}
	*v.field, v.changed = parsed, true
	return nil
}

func (v *value[T]) fill() {
	if !v.zeroIsValid && v.isZero(*v.field) {
		*v.field = v.initial
	}
}

func (v *value[T]) check() error {
	var errs []error
	for _, check := range v.checks {
		if err := check(*v.field); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// orZero leaves zero fields as they are, since zero is not the default but has a
// meaning of its own, which the comment of the field states.
func orZero[T any](v *value[T]) *value[T] {
	v.zeroIsValid = true
	return v
}

// typed changes the type that the help shows.
func typed[T any](name string, v *value[T]) *value[T] {
	v.typeName = name
	return v
}

// scalar is the value of a field that can be compared with its zero value.
func scalar[T comparable](typeName string, field *T, initial T, parse func(string) (T, error), format func(T) string,
	checks []func(T) error) *value[T] {
	return &value[T]{field: field, initial: initial, typeName: typeName, parse: parse, format: format, checks: checks,
		isZero: func(t T) bool { var zero T; return t == zero }}
}

// text is the value of a string.
func text(field *string, initial string, checks ...func(string) error) *value[string] {
	same := func(s string) string { return s }
	return scalar("string", field, initial, func(s string) (string, error) { return s, nil }, same, checks)
}

// number is the value of an integer.
func number[T int | int64](field *T, initial T, checks ...func(T) error) *value[T] {
	return scalar("int", field, initial, parseInt[T], func(n T) string { return strconv.FormatInt(int64(n), 10) }, checks)
}

func parseInt[T int | int64](text string) (T, error) {
	n, err := strconv.ParseInt(text, 0, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && int64(T(n)) != n:
		return 0, fmt.Errorf("%q is out of range", text)
	case err != nil:
		return 0, fmt.Errorf("%q is not a whole number", text)
	}
	return T(n), nil
}

func parseFloat(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return f, nil
}

func parseBool(text string) (bool, error) {
	b, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%q is neither true nor false", text)
	}
	return b, nil
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, nil
	}
	if _, notNumber := strconv.ParseFloat(text, 64); notNumber == nil {
		return 0, fmt.Errorf("%q has no unit, such as %ss, %sm or %sh", text, text, text, text)
	}
	return 0, fmt.Errorf("%q is not a duration such as 500ms, 30s, 5m or 1h30m", text)
}

// decimal is the value of a floating-point number.
func decimal(field *float64, initial float64, checks ...func(float64) error) *value[float64] {
	return scalar("float", field, initial, parseFloat, func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }, checks)
}

// boolean is the value of a flag that is false by default.
func boolean(field *bool) *value[bool] {
	return scalar("bool", field, false, parseBool, strconv.FormatBool, nil)
}

// inverted is the value of a flag that is true by default. Its field is true if the
// flag is false.
func inverted(field *bool) *value[bool] {
	parse := func(text string) (bool, error) {
		b, err := parseBool(text)
		return !b && err == nil, err
	}
	return scalar("bool", field, false, parse, func(b bool) string { return strconv.FormatBool(!b) }, nil)
}

// duration is the value of a duration.
func duration(field *time.Duration, initial time.Duration, checks ...func(time.Duration) error) *value[time.Duration] {
	return scalar("duration", field, initial, parseDuration, time.Duration.String, checks)
}

// seconds is the value of a duration that is given as a number of seconds.
func seconds(field *time.Duration, initial time.Duration, checks ...func(time.Duration) error) *value[time.Duration] {
	parse := func(text string) (time.Duration, error) {
		n, err := parseInt[int64](text)
		return time.Duration(n) * time.Second, err
	}
	return scalar("int", field, initial, parse, func(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }, checks)
}

// cacheTTL is the value of a duration whose zero value turns a cache off. Its field
// is then negative, since a zero field means the default.
func cacheTTL(field *time.Duration, initial time.Duration) *value[time.Duration] {
	parse := func(text string) (time.Duration, error) {
		d, err := parseDuration(text)
		if d == 0 {
			d = -1
		}
		return d, err
	}
	return scalar("duration", field, initial, parse, func(d time.Duration) string { return max(d, 0).String() }, nil)
}

// optionalNumber is the value of an integer whose field is nil for the default.
func optionalNumber(field **int64, initial int64) *value[*int64] {
	parse := func(text string) (*int64, error) {
		n, err := parseInt[int64](text)
		return &n, err
	}
	return scalar("int", field, &initial, parse, func(n *int64) string { return strconv.FormatInt(*n, 10) }, nil)
}

// portRange is the value of the first and the last port of a range.
func portRange(field *[2]int32, initial [2]int32, checks ...func([2]int32) error) *value[[2]int32] {
	parse := func(text string) (r [2]int32, err error) {
		if n, err := fmt.Sscanf(text+"\n", "%d-%d\n", &r[0], &r[1]); n != 2 || err != nil {
			return r, fmt.Errorf("%q is not a range of ports such as 30000-32767", text)
		}
		return r, nil
	}
	return scalar("portRange", field, initial, parse, formatPortRange, checks)
}

func formatPortRange(r [2]int32) string { return fmt.Sprintf("%d-%d", r[0], r[1]) }

// list is the value of a comma-separated list. A flag that is given several times
// adds to it.
func list(field *[]string, initial []string, checks ...func([]string) error) *value[[]string] {
	return slice("strings", field, initial, parseList, func(l []string) string { return strings.Join(l, ",") }, checks)
}

// slice is the value of several elements. A flag that is given several times adds to them.
func slice[T any](
	typeName string, field *[]T, initial []T, parse func(string) ([]T, error), format func([]T) string,
	checks []func([]T) error,
) *value[[]T] {
	return &value[[]T]{field: field, initial: initial, typeName: typeName, parse: parse, format: format, checks: checks,
		isZero: func(l []T) bool { return len(l) == 0 },
		merge:  func(earlier, later []T) []T { return append(earlier, later...) }}
}

// curves is the value of a comma-separated list of the numbers of curves.
func curves(field *[]tls.CurveID) *value[[]tls.CurveID] {
	format := func(ids []tls.CurveID) string { return strings.Join(numbersOf(ids), ",") }
	return slice("int32Slice", field, nil, parseCurves, format, nil)
}

func parseCurves(text string) ([]tls.CurveID, error) {
	known := []tls.CurveID{tls.CurveP256, tls.CurveP384, tls.CurveP521, tls.X25519, tls.X25519MLKEM768,
		tls.SecP256r1MLKEM768, tls.SecP384r1MLKEM1024}
	var ids []tls.CurveID
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(part), 10, 16)
		if err != nil || !slices.Contains(known, tls.CurveID(n)) {
			return nil, fmt.Errorf("%q is not the number of a curve, only %v", part, numbersOf(known))
		}
		ids = append(ids, tls.CurveID(n))
	}
	return ids, nil
}

func numbersOf(ids []tls.CurveID) (numbers []string) {
	for _, id := range ids {
		numbers = append(numbers, strconv.Itoa(int(id)))
	}
	return numbers
}

// parseList splits at commas, except between quotes.
func parseList(text string) ([]string, error) {
	if text == "" {
		return []string{}, nil
	}
	list, err := csv.NewReader(strings.NewReader(text)).Read()
	if err != nil {
		return nil, fmt.Errorf("%q has a quotation mark that is not closed, or within a value", text)
	}
	return list, nil
}

// repeated is the value of a flag that is given once for each element of a list.
func repeated(field *[]string, initial []string, checks ...func([]string) error) *value[[]string] {
	v := typed("stringArray", list(field, initial, checks...))
	v.parse = func(text string) ([]string, error) { return []string{text}, nil }
	return v
}

// pairs is the value of a map. A flag that is given several times adds to it.
func pairs[T any](typeName string, field *map[string]T, parse func(string) (map[string]T, error),
	checks ...func(map[string]T) error) *value[map[string]T] {
	format := func(m map[string]T) string {
		var all []string
		for _, key := range slices.Sorted(maps.Keys(m)) {
			all = append(all, fmt.Sprintf("%s=%v", key, m[key]))
		}
		return strings.Join(all, ",")
	}
	merge := func(earlier, later map[string]T) map[string]T {
		maps.Copy(earlier, later)
		return earlier
	}
	return &value[map[string]T]{field: field, typeName: typeName, parse: parse, checks: checks, format: format, merge: merge,
		isZero: func(m map[string]T) bool { return len(m) == 0 }}
}

// parsePair parses "key=value", in which the value may contain anything.
func parsePair(text string) (map[string]string, error) {
	key, value, ok := strings.Cut(text, "=")
	if !ok {
		return nil, fmt.Errorf("%s must be formatted as key=value", text)
	}
	return map[string]string{strings.TrimSpace(key): strings.TrimSpace(value)}, nil
}

// parseRuntimeConfig parses comma-separated key=value pairs. The value may be left out.
func parseRuntimeConfig(text string) (map[string]string, error) {
	config := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		key, value, _ := strings.Cut(pair, "=")
		if key = strings.TrimSpace(key); key == "" {
			return nil, fmt.Errorf("%q has no key", pair)
		}
		config[key] = strings.TrimSpace(value)
	}
	return config, nil
}

// parseFeatureGates parses comma-separated name=bool pairs. The name of the
// component, "kube:", may stand before the name of a gate.
func parseFeatureGates(text string) (map[string]bool, error) {
	gates := map[string]bool{}
	for pair := range strings.SplitSeq(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		if component, rest, ok := strings.Cut(pair, ":"); ok {
			if component != "kube" {
				return nil, fmt.Errorf("component not registered: %s", component)
			}
			pair = rest
		}
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("missing bool value for %s", name)
		}
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		if err != nil {
			return nil, fmt.Errorf("invalid value of %s: %q is neither true nor false", name, value)
		}
		gates[strings.TrimSpace(name)] = on
	}
	return gates, nil
}
