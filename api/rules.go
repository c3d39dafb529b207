package api

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The rules of a kind are functions that read like a list, one line per rule:
//
//	func backendRules(at *place, b *v1.Backend) {
//		format(at.of("name"), b.Name, dnsLabel)
//		enum(at.of("scheme"), b.Scheme, "HTTP", "HTTPS")
//		each(at.of("ports"), b.Ports, portRules)
//	}
//
// A place is a field in the object that is checked, and carries the list that
// faults go to. Building one costs nothing: the path is only put together when
// there is something to say about it. Rules tell whether the value kept to
// them, so that one can depend on another.
//
// Words of the rules: required, enum, format, atLeast, between, fixed
// (immutable), unique. What a kind asks for beyond them says so in its own words,
// by the methods of place (invalid, required, forbidden ...).

// place is a field of an object under validation.
type place struct {
	up *place
	// report takes a fault, or nil, and tells how many there are. It is a function,
	// and no list, for the same reason that path copies names.
	report func(fault *field.Error) int
	name   string
	index  int
	is     placeKind
}

// placeKind is what the last part of a path is.
type placeKind uint8

const (
	root placeKind = iota
	member
	element
	entryOf
)

// check runs rules over an object and returns what they found.
func check(rules func(at *place)) field.ErrorList {
	var faults field.ErrorList
	rules(&place{report: func(fault *field.Error) int {
		if fault != nil {
			faults = append(faults, fault)
		}
		return len(faults)
	}})
	return faults
}

// collect applies rules to the field at and returns what they find.
func collect(at *place, rules func(at *place)) field.ErrorList {
	var faults field.ErrorList
	c := *at
	c.report = func(fault *field.Error) int {
		if fault != nil {
			faults = append(faults, fault)
		}
		return len(faults)
	}
	rules(&c)
	return faults
}

// of is a member of the struct at p.
func (p *place) of(name string) *place {
	return &place{up: p, report: p.report, name: name, is: member}
}

// item is an element of the list at p.
func (p *place) item(i int) *place {
	return &place{up: p, report: p.report, index: i, is: element}
}

// key is an entry of the map at p.
func (p *place) key(key string) *place {
	return &place{up: p, report: p.report, name: key, is: entryOf}
}

// path writes the place out. It is nil for the object as a whole. Names are
// copied: the compiler sees then that nothing of a place outlives its rules, and
// needs no memory for it.
func (p *place) path() *field.Path {
	switch p.is {
	case member:
		return p.up.path().Child(strings.Clone(p.name))
	case element:
		return p.up.path().Index(p.index)
	case entryOf:
		return p.up.path().Key(strings.Clone(p.name))
	}
	return nil
}

// add records faults that were found by other means.
func (p *place) add(errs ...*field.Error) {
	for _, err := range errs {
		p.report(err)
	}
}

// clean tells whether nothing was found so far, anywhere in the object.
func (p *place) clean() bool { return p.report(nil) == 0 }

// count is how many faults were found so far, anywhere in the object.
func (p *place) count() int { return p.report(nil) }

func (p *place) invalid(value any, detail string) {
	p.add(field.Invalid(p.path(), internalForm(value), detail))
}
func (p *place) required(detail string)  { p.add(field.Required(p.path(), detail)) }
func (p *place) forbidden(detail string) { p.add(field.Forbidden(p.path(), detail)) }
func (p *place) duplicate(value any)     { p.add(field.Duplicate(p.path(), internalForm(value))) }
func (p *place) notFound(value any)      { p.add(field.NotFound(p.path(), internalForm(value))) }
func (p *place) tooMany(is, limit int)   { p.add(field.TooMany(p.path(), is, limit)) }
func (p *place) tooLong(limit int)       { p.add(field.TooLong(p.path(), "", limit)) }

// each applies rules to every element of a list.
func each[T any](at *place, list []T, rules func(at *place, value *T)) {
	for i := range list {
		rules(at.item(i), &list[i])
	}
}

// present applies rules to what an optional field points to.
func present[T any](at *place, value *T, rules func(at *place, value *T)) {
	if value != nil {
		rules(at, value)
	}
}

// required refuses the zero value.
func required[T comparable](at *place, value T) bool {
	var zero T
	if value == zero {
		at.required("")
		return false
	}
	return true
}

// enum asks for one of some values. The empty string counts as left out.
func enum[T ~string](at *place, value T, valid ...T) bool {
	if value == "" {
		at.required("")
		return false
	}
	return oneOf(at, value, valid...)
}

// oneOf is enum for fields where the empty string is a value like any other.
func oneOf[T ~string](at *place, value T, valid ...T) bool {
	for _, v := range valid {
		if value == v {
			return true
		}
	}
	at.add(field.NotSupported(at.path(), value, append([]T(nil), valid...)))
	return false
}

// notSupported refuses a value of any type, which the message quotes.
func notSupported[T ~string](at *place, value any, valid ...T) {
	at.add(field.NotSupported(at.path(), internalForm(value), valid))
}

// optionalEnum is enum for a pointer, which may be nil but not to nothing.
func optionalEnum[T ~string](at *place, value *T, valid ...T) bool {
	return value == nil || oneOf(at, *value, valid...)
}

// formatOf tells what is wrong with a string, one message per fault: the
// functions of apimachinery's validation package are such.
type formatOf func(value string) []string

// format checks a string. The empty string is checked like any other.
func format(at *place, value string, of formatOf) bool {
	faults := of(value)
	for _, fault := range faults {
		at.invalid(value, fault)
	}
	return len(faults) == 0
}

// needs is format for a string that must be there.
func needs(at *place, value string, of formatOf) bool {
	return required(at, value) && format(at, value, of)
}

// optional is format for a string that may be left out.
func optional(at *place, value string, of formatOf) bool {
	return value == "" || format(at, value, of)
}

// whole is the numbers of the API.
type whole interface{ ~int | ~int32 | ~int64 }

// nonNegative and positive bound counts and durations.
func nonNegative[T whole](at *place, value T) bool {
	if value < 0 {
		at.add(field.Invalid(at.path(), value, validation.IsNegativeErrorMsg).WithOrigin("minimum"))
		return false
	}
	return true
}

func positive[T whole](at *place, value T) bool {
	if value <= 0 {
		at.invalid(value, "must be greater than zero")
		return false
	}
	return true
}

// aboveZero is positive for the fields whose message says 0.
func aboveZero[T whole](at *place, value T) bool {
	if value <= 0 {
		at.invalid(value, "must be greater than 0")
		return false
	}
	return true
}

// optionalNonNegative is nonNegative for what may be left out.
func optionalNonNegative[T whole](at *place, value *T) bool {
	return value == nil || nonNegative(at, *value)
}

// atLeast and between bound a number; the bounds belong to what is allowed.
func atLeast[T whole](at *place, value, low T) bool {
	if value < low {
		at.invalid(value, "must be greater than or equal to "+decimal(low))
		return false
	}
	return true
}

func between[T whole](at *place, value, low, high T) bool {
	if value < low || value > high {
		at.invalid(value, utilvalidation.InclusiveRangeError(int(low), int(high)))
		return false
	}
	return true
}

// portNumber is a port that something listens at.
func portNumber[T whole](at *place, value T) bool { return between(at, value, 1, 65535) }

// fixed refuses a change of a field.
func fixed[T any](at *place, is, was T) bool {
	if equality.Semantic.DeepEqual(is, was) {
		return true
	}
	at.add(field.Invalid(at.path(), internalForm(is), validation.FieldImmutableErrorMsg).WithOrigin("immutable"))
	return false
}

// unique remembers values, and refuses one that it has seen. A few cost nothing.
type unique[T comparable] struct {
	few  [8]T
	n    int
	more map[T]struct{}
}

// has tells whether a value was put before.
func (u *unique[T]) has(value T) bool {
	for i := range u.n {
		if u.few[i] == value {
			return true
		}
	}
	_, ok := u.more[value]
	return ok
}

// put remembers a value.
func (u *unique[T]) put(value T) {
	if u.n < len(u.few) {
		u.few[u.n] = value
		u.n++
		return
	}
	if u.more == nil {
		u.more = map[T]struct{}{}
	}
	u.more[value] = struct{}{}
}

// add puts a value, or refuses it as a duplicate.
func (u *unique[T]) add(at *place, value T) bool {
	if u.has(value) {
		at.duplicate(value)
		return false
	}
	u.put(value)
	return true
}

// onlyFields refuses all fields of a struct but those that are allowed. New
// fields of the type are refused like that until somebody thinks of them.
func onlyFields(at *place, pointer any, message string, allowed func(name string) bool) {
	v := reflect.ValueOf(pointer).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if !allowed(name) && !v.Field(i).IsZero() {
			at.of(strings.ToLower(name[:1]) + name[1:]).forbidden(message)
		}
	}
}

// among tells whether a value is one of some.
func among[T comparable](value T, of ...T) bool { return slices.Contains(of, value) }
