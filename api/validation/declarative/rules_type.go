package declarative

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/validation"

	"github.com/miniapiserver/miniapiserver/internal/gotype"
)

// typeCheck compiles a rule of a type.
func typeCheck(t reflect.Type, r rule) (k check, err error) {
	switch r.name {
	case "enum":
		k.holds = enum(strings.Split(r.payload, ","))
	case "union":
		k.holds, err = union(t, strings.Split(r.payload, ","))
	default:
		err = fmt.Errorf("unknown rule %s of a type", r.name)
	}
	return k, err
}

func enum(values []string) func(w *walk, v, old reflect.Value) bool {
	return func(w *walk, v, _ reflect.Value) bool {
		return slices.Contains(values, v.String()) || w.report(field.NotSupported(w.Path(), v.String(), values))
	}
}

// union checks that exactly one of the fields with the given Go names is set.
func union(t reflect.Type, names []string) (func(w *walk, v, old reflect.Value) bool, error) {
	members := make([]member, len(names))
	for i, name := range names {
		f, ok := gotype.FieldNamed(t, name)
		if !ok {
			return nil, fmt.Errorf("no field %s", name)
		}
		members[i] = member{name: f.Name, isSet: func(v reflect.Value) bool { return v.IsValid() && !isEmpty(v.FieldByIndex(f.Index)) }}
	}
	return func(w *walk, v, old reflect.Value) bool {
		set, ok := membersOf(w, members, v, old)
		switch {
		case ok || len(set) == 1:
			return true
		case len(set) == 0:
			return w.report(field.Invalid(w.Path(), "", "must specify one of: "+list(members)).WithOrigin("union"))
		}
		return w.report(field.Invalid(w.Path(), validation.SetFields(set), "must specify exactly one of: "+list(members)).WithOrigin("union"))
	}, nil
}

// zeroOrOneOf checks that a list has at most one of several elements, each given as the name and the
// value of a field: type:Approved,type:Denied.
func zeroOrOneOf(f gotype.Field, selectors string) (func(w *walk, v, old reflect.Value) bool, error) {
	if f.Type.Kind() != reflect.Slice {
		return nil, fmt.Errorf("items of %s", f.Type)
	}
	var members []member
	for selector := range strings.SplitSeq(selectors, ",") {
		key, value, _ := strings.Cut(selector, ":")
		keyField, ok := gotype.Member(f.Type.Elem(), key)
		if !ok {
			return nil, fmt.Errorf("%s has no field %s", f.Type.Elem(), key)
		}
		members = append(members, member{
			name: fmt.Sprintf("%s[{%q: %q}]", f.Name, key, value),
			isSet: func(v reflect.Value) bool {
				for i := range lengthOf(v) {
					if e := pointee(v.Index(i)); e.IsValid() && e.FieldByIndex(keyField.Index).String() == value {
						return true
					}
				}
				return false
			},
		})
	}
	return func(w *walk, v, old reflect.Value) bool {
		set, ok := membersOf(w, members, v, old)
		return ok || len(set) <= 1 ||
			w.report(field.Invalid(w.Path(), validation.SetFields(set), "must specify at most one of: "+list(members)).WithOrigin("zeroOrOneOf"))
	}, nil
}

func lengthOf(list reflect.Value) int {
	if !list.IsValid() {
		return 0
	}
	return list.Len()
}

// member is a member of a union.
type member struct {
	name  string
	isSet func(v reflect.Value) bool
}

// list formats members as messages show them.
func list(members []member) string {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = "`" + m.name + "`"
	}
	return strings.Join(names, ", ")
}

// membersOf returns the names of the members that are set. isUnchanged reports whether an update
// sets and unsets none.
func membersOf(w *walk, members []member, v, old reflect.Value) (set []string, isUnchanged bool) {
	isUnchanged = w.isUpdate && old.IsValid()
	for _, m := range members {
		isSet := m.isSet(v)
		if isSet {
			set = append(set, m.name)
		}
		isUnchanged = isUnchanged && isSet == m.isSet(old)
	}
	return set, isUnchanged
}

// dependentCheck compiles a rule that another field must or must not be set if f is.
func dependentCheck(t reflect.Type, f gotype.Field, r rule) (check, error) {
	other, ok := gotype.Member(t, r.args)
	if !ok {
		return check{}, fmt.Errorf("%s has no field %s", t, r.args)
	}
	isRequired := r.name == "dependentRequired"
	return check{holds: func(w *walk, v, old reflect.Value) bool {
		isSet, otherIsSet := !isEmpty(v.FieldByIndex(f.Index)), !isEmpty(v.FieldByIndex(other.Index))
		if w.isUpdate && old.IsValid() && isSet == !isEmpty(old.FieldByIndex(f.Index)) && otherIsSet == !isEmpty(old.FieldByIndex(other.Index)) {
			return true
		}
		if !isSet || otherIsSet == isRequired {
			return true
		}
		path := w.Path().Child(r.args)
		if isRequired {
			return w.report(field.Required(path, fmt.Sprintf("must be set when %s is set", f.Name)).WithOrigin(r.name))
		}
		return w.report(field.Forbidden(path, fmt.Sprintf("may not be set when %s is set", f.Name)).WithOrigin(r.name))
	}}, nil
}

// modeChecks compiles the rules of fields that depend on the value of another field of the struct,
// the discriminator. A field without a rule for the value must be empty.
func modeChecks(t reflect.Type, rules typeRules) ([]check, error) {
	var names []string
	var discriminator gotype.Field
	for name, list := range rules {
		if hasRule(list, "modeDiscriminator") {
			discriminator, _ = gotype.FieldNamed(t, name)
		}
		if hasRule(list, "ifMode") {
			names = append(names, name)
		}
	}
	if len(names) > 0 && discriminator.Type == nil {
		return nil, fmt.Errorf("ifMode without a discriminator")
	}
	slices.Sort(names)
	var checks []check
	for _, name := range names {
		f, ok := gotype.FieldNamed(t, name)
		if !ok {
			return nil, fmt.Errorf("no field %s", name)
		}
		k, err := modeCheck(discriminator, f, rules[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		checks = append(checks, k)
	}
	return checks, nil
}

func modeCheck(discriminator, f gotype.Field, rules []rule) (check, error) {
	byMode := map[string][]check{}
	otherwise := check{holds: forbidden, isSilent: true}
	for _, r := range rules {
		if r.name != "ifMode" {
			continue
		}
		k, _, err := fieldCheck(f, correspondence{}, r.inner())
		if err != nil {
			return check{}, err
		}
		byMode[r.args] = append(byMode[r.args], k)
		otherwise.isSilent = !r.isEnforced
	}
	return check{holds: func(w *walk, v, old reflect.Value) bool {
		mode, member := v.FieldByIndex(discriminator.Index), v.FieldByIndex(f.Index)
		if old.IsValid() {
			before := old.FieldByIndex(discriminator.Index)
			if old = old.FieldByIndex(f.Index); w.isUpdate && equal(mode, before) && equal(member, old) {
				return true
			}
		}
		w.Field(f.Name)
		defer w.Leave()
		checks, ok := byMode[mode.String()]
		if !ok {
			checks = []check{otherwise}
		}
		for _, k := range checks {
			w.run(k, member, old)
		}
		return true
	}}, nil
}
