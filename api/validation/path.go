package validation

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/internal/features"
)

// The validation function of a kind has one line per rule:
//
//	func backendRules(at *validation.Path, b *v1.Backend) {
//		validation.Format(at.Child("name"), b.Name, validation.DNSLabel)
//		validation.Enum(at.Child("scheme"), b.Scheme, "HTTP", "HTTPS")
//		validation.Each(at.Child("ports"), b.Ports, portRules)
//	}
//
// A rule returns whether the value is valid, so that another rule can depend on it. A kind
// reports errors that no rule covers by the methods of Path (Invalid, Forbidden ...).

// Path is the path of a field of an object under validation, and collects the errors of
// the object. It is cheap to create: ToField writes the path only for an error.
type Path struct {
	Parent *Path
	// report records an error, unless it is nil, and returns the number of errors. It is
	// a function rather than a list so that paths don't escape to the heap, see ToField.
	report  func(fault *field.Error) int
	Name    string
	index   int
	element pathElement
	// gates are those of the root, so that a rule deep in an object, such as in a pod template, need not be given them.
	gates features.Gates
}

// pathElement is the kind of the last element of a path.
type pathElement uint8

const (
	rootElement pathElement = iota
	childElement
	indexElement
	keyElement
)

// Check calls rules with the root path of an object and returns their errors. The feature gates are those of a
// server without --feature-gates.
func Check(rules func(at *Path)) field.ErrorList { return CheckWith(nil, rules) }

// CheckWith is Check for rules that may depend on feature gates.
func CheckWith(gates features.Gates, rules func(at *Path)) field.ErrorList {
	var faults field.ErrorList
	rules(&Path{gates: gates, report: func(fault *field.Error) int {
		if fault != nil && len(faults) < maxFaults {
			faults = append(faults, fault)
		}
		return len(faults)
	}})
	return faults
}

// defaultGates are the gates of paths without gates.
var defaultGates = sync.OnceValue(features.Default)

// Enabled reports whether a feature gate is enabled, for a rule that depends on it.
func (p *Path) Enabled(gate string) bool {
	if p.gates == nil {
		return defaultGates().Enabled(gate)
	}
	return p.gates.Enabled(gate)
}

// Collect calls rules with the path at and returns their errors, which the errors of at
// don't include.
func Collect(at *Path, rules func(at *Path)) field.ErrorList {
	var faults field.ErrorList
	c := *at
	c.report = func(fault *field.Error) int {
		if fault != nil && len(faults) < maxFaults {
			faults = append(faults, fault)
		}
		return len(faults)
	}
	rules(&c)
	return faults
}

// Child returns the path of a field of the struct at p.
func (p *Path) Child(name string) *Path {
	return &Path{Parent: p, report: p.report, Name: name, element: childElement, gates: p.gates}
}

// Index returns the path of an element of the list at p.
func (p *Path) Index(i int) *Path {
	return &Path{Parent: p, report: p.report, index: i, element: indexElement, gates: p.gates}
}

// Key returns the path of an entry of the map at p.
func (p *Path) Key(key string) *Path {
	return &Path{Parent: p, report: p.report, Name: key, element: keyElement, gates: p.gates}
}

// ToField returns p as a field path; it is nil for the root. It clones names so that the
// compiler sees that no path outlives its validation function, and keeps paths on the stack.
func (p *Path) ToField() *field.Path {
	switch p.element {
	case childElement:
		return p.Parent.ToField().Child(strings.Clone(p.Name))
	case indexElement:
		return p.Parent.ToField().Index(p.index)
	case keyElement:
		return p.Parent.ToField().Key(strings.Clone(p.Name))
	}
	return nil
}

// Add records errors that another validation function returned.
func (p *Path) Add(errs ...*field.Error) {
	for _, err := range errs {
		p.report(err)
	}
}

// IsValid reports whether no error was recorded so far, anywhere in the object.
func (p *Path) IsValid() bool { return p.report(nil) == 0 }

// ErrorCount returns the number of errors recorded so far, anywhere in the object.
func (p *Path) ErrorCount() int { return p.report(nil) }

// IsFull reports whether further errors or warnings will not be recorded, because there are too many.
func (p *Path) IsFull() bool { return p.report(nil) >= maxFaults }

// Invalid records that the field has an invalid value.
func (p *Path) Invalid(value any, detail string) {
	p.Add(field.Invalid(p.ToField(), InternalForm(value), detail))
}

// InvalidOrigin is Invalid for a rule that the Go type states too. origin identifies the rule: the
// error gives way to that of the declarative rule, whose message differs.
func (p *Path) InvalidOrigin(origin string, value any, detail string) {
	p.Add(field.Invalid(p.ToField(), InternalForm(value), detail).WithOrigin(origin))
}

// Required records that the field has no value.
func (p *Path) Required(detail string) { p.Add(field.Required(p.ToField(), detail)) }

// Forbidden records that the field may not be set.
func (p *Path) Forbidden(detail string) { p.Add(field.Forbidden(p.ToField(), detail)) }

// Duplicate records that another element of the list has the same value.
func (p *Path) Duplicate(value any) { p.Add(field.Duplicate(p.ToField(), InternalForm(value))) }

// NotFound records that the field refers to something which does not exist.
func (p *Path) NotFound(value any) { p.Add(field.NotFound(p.ToField(), InternalForm(value))) }

// TooMany records that the list has more elements than limit.
func (p *Path) TooMany(value, limit int) { p.Add(field.TooMany(p.ToField(), value, limit)) }

// TooLong records that the string is longer than limit bytes.
func (p *Path) TooLong(limit int) { p.Add(field.TooLong(p.ToField(), "", limit)) }

// Each calls rules for every element of a list.
func Each[T any](at *Path, list []T, rules func(at *Path, value *T)) {
	for i := range list {
		rules(at.Index(i), &list[i])
	}
}

// IfPresent calls rules for the value of an optional field, unless it is nil.
func IfPresent[T any](at *Path, value *T, rules func(at *Path, value *T)) {
	if value != nil {
		rules(at, value)
	}
}

// Required validates that a value is not the zero value.
func Required[T comparable](at *Path, value T) bool {
	var zero T
	if value == zero {
		at.Required("")
		return false
	}
	return true
}

// Enum validates that a value is one of the valid ones. An empty string is reported as
// missing.
func Enum[T ~string](at *Path, value T, valid ...T) bool {
	if value == "" {
		at.Required("")
		return false
	}
	return OneOf(at, value, valid...)
}

// OneOf is Enum for fields in which an empty string is reported like any other unsupported
// value.
func OneOf[T ~string](at *Path, value T, valid ...T) bool {
	for _, v := range valid {
		if value == v {
			return true
		}
	}
	at.Add(field.NotSupported(at.ToField(), value, append([]T(nil), valid...)))
	return false
}

// OptionalEnum is OneOf for a pointer, which may be nil.
func OptionalEnum[T ~string](at *Path, value *T, valid ...T) bool {
	return value == nil || OneOf(at, *value, valid...)
}

// FormatFunc returns one message per error in a string, like the functions of apimachinery's
// package validation.
type FormatFunc func(value string) []string

// Format validates a string, which may be empty only if the format allows it.
func Format(at *Path, value string, format FormatFunc) bool {
	faults := format(value)
	for _, fault := range faults {
		at.Invalid(value, fault)
	}
	return len(faults) == 0
}

// RequiredFormat is Format for a required field: an empty string is reported as missing.
func RequiredFormat(at *Path, value string, format FormatFunc) bool {
	return Required(at, value) && Format(at, value, format)
}

// FormatOf is Format for a format that the Go type states too, see InvalidOrigin.
func FormatOf(at *Path, value, name string, format FormatFunc) bool {
	faults := format(value)
	for _, fault := range faults {
		at.InvalidOrigin("format="+name, value, fault)
	}
	return len(faults) == 0
}

// RequiredFormatOf is FormatOf for a required field.
func RequiredFormatOf(at *Path, value, name string, format FormatFunc) bool {
	return Required(at, value) && FormatOf(at, value, name, format)
}

// OptionalFormat is Format for an optional field: an empty string is valid.
func OptionalFormat(at *Path, value string, format FormatFunc) bool {
	return value == "" || Format(at, value, format)
}

// Integer lists the integer types of API fields.
type Integer interface{ ~int | ~int32 | ~int64 }

// NonNegative validates that a number is at least 0.
func NonNegative[T Integer](at *Path, value T) bool {
	if value < 0 {
		at.Add(field.Invalid(at.ToField(), value, apivalidation.IsNegativeErrorMsg).WithOrigin("minimum"))
		return false
	}
	return true
}

// Positive validates that a number is at least 1.
func Positive[T Integer](at *Path, value T) bool {
	if value <= 0 {
		at.Invalid(value, "must be greater than zero")
		return false
	}
	return true
}

// AboveZero is Positive for fields whose message has the digit 0 instead of "zero".
func AboveZero[T Integer](at *Path, value T) bool {
	if value <= 0 {
		at.Invalid(value, "must be greater than 0")
		return false
	}
	return true
}

// OptionalNonNegative is NonNegative for a pointer, which may be nil.
func OptionalNonNegative[T Integer](at *Path, value *T) bool {
	return value == nil || NonNegative(at, *value)
}

// Minimum validates that a number is at least low.
func Minimum[T Integer](at *Path, value, low T) bool {
	if value < low {
		at.Invalid(value, "must be greater than or equal to "+FormatInteger(low))
		return false
	}
	return true
}

// InRange validates that a number is between low and high, inclusive.
func InRange[T Integer](at *Path, value, low, high T) bool {
	if value < low || value > high {
		at.Invalid(value, utilvalidation.InclusiveRangeError(int(low), int(high)))
		return false
	}
	return true
}

// PortNumber validates a number from 1 to 65535.
func PortNumber[T Integer](at *Path, value T) bool { return InRange(at, value, 1, 65535) }

// Immutable validates that an update does not change a field.
func Immutable[T any](at *Path, obj, old T) bool {
	if equality.Semantic.DeepEqual(obj, old) {
		return true
	}
	at.Add(field.Invalid(at.ToField(), InternalForm(obj), apivalidation.FieldImmutableErrorMsg).WithOrigin("immutable"))
	return false
}

// Unique is a set that reports duplicates. The first values need no allocation.
type Unique[T comparable] struct {
	few   [8]T
	count int
	more  map[T]struct{}
}

// Has reports whether the set contains a value.
func (u *Unique[T]) Has(value T) bool {
	for i := range u.count {
		if u.few[i] == value {
			return true
		}
	}
	_, ok := u.more[value]
	return ok
}

// IsEmpty reports whether the set has no value.
func (u *Unique[T]) IsEmpty() bool { return u.count == 0 }

// Insert adds a value to the set.
func (u *Unique[T]) Insert(value T) {
	if u.count < len(u.few) {
		u.few[u.count] = value
		u.count++
		return
	}
	if u.more == nil {
		u.more = map[T]struct{}{}
	}
	u.more[value] = struct{}{}
}

// Add adds a value to the set, or records a duplicate if the set contains it.
func (u *Unique[T]) Add(at *Path, value T) bool {
	if u.Has(value) {
		at.Duplicate(value)
		return false
	}
	u.Insert(value)
	return true
}

// ForbidOtherFields forbids all fields of a struct except the allowed ones. As an allow-list
// it covers fields that later versions of the API add.
func ForbidOtherFields(at *Path, pointer any, message string, allowed func(name string) bool) {
	v := reflect.ValueOf(pointer).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if !allowed(name) && !v.Field(i).IsZero() {
			at.Child(strings.ToLower(name[:1]) + name[1:]).Forbidden(message)
		}
	}
}

// IsOneOf reports whether a value is in the list.
func IsOneOf[T comparable](value T, list ...T) bool { return slices.Contains(list, value) }
