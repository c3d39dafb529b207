package declarative

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/internal/gotype"
)

// fieldCheck compiles a rule of a field. isCircuit reports whether the rule ends the checks of
// the field if it fails.
func fieldCheck(f gotype.Field, items correspondence, r rule) (k check, isCircuit bool, err error) {
	k.isSilent = !r.isEnforced
	switch r.name {
	case "required":
		k.holds, isCircuit = required, true
	case "optional":
		k.holds, k.isSilent, isCircuit = isSet, true, true
	case "forbidden":
		k.holds, isCircuit = forbidden, true
	case "immutable":
		k.holds, isCircuit = immutable, true
	case "update":
		k.holds, err = updateRule(f.Type, items, r.payload)
		isCircuit = true
	case "maxItems":
		k.holds, err = maxItems(f.Type, r.payload)
		isCircuit = true
	case "unique":
		k.holds = unique(items)
	case "zeroOrOneOf":
		k.holds, err = zeroOrOneOf(f, r.payload)
	case "eachVal", "eachKey":
		k.holds, err = eachRule(f, items, r)
	case "subfield":
		k, isCircuit, err = subfieldRule(f, r)
	default:
		k.holds, err = valueRule(f.Type, r)
	}
	return k, isCircuit, err
}

// isEmpty reports whether a field is unset: a nil pointer, an empty list or map, a zero value.
func isEmpty(v reflect.Value) bool {
	switch {
	case !v.IsValid():
		return true
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}

func required(w *walk, v, _ reflect.Value) bool {
	return !isEmpty(v) || w.report(field.Required(w.Path(), ""))
}

func isSet(_ *walk, v, _ reflect.Value) bool { return !isEmpty(v) }

// forbidden fails in any case: there is nothing more to check of a field that must be empty.
func forbidden(w *walk, v, _ reflect.Value) bool {
	if !isEmpty(v) {
		w.report(field.Forbidden(w.Path(), ""))
	}
	return false
}

// immutable fails on an update, since the field is only checked if it changes.
func immutable(w *walk, _, _ reflect.Value) bool {
	return !w.isUpdate || w.report(field.Invalid(w.Path(), nil, "field is immutable").WithOrigin("immutable"))
}

func maxItems(t reflect.Type, limit string) (rule func(w *walk, v, old reflect.Value) bool, err error) {
	high, err := strconv.Atoi(limit)
	if err == nil && t.Kind() != reflect.Slice {
		err = fmt.Errorf("maxItems of %s", t)
	}
	return func(w *walk, v, _ reflect.Value) bool {
		return v.Len() <= high || w.report(field.TooMany(w.Path(), v.Len(), high).WithOrigin("maxItems"))
	}, err
}

func unique(items correspondence) func(w *walk, v, old reflect.Value) bool {
	return func(w *walk, v, _ reflect.Value) bool {
		duplicates := items.duplicates(v)
		for _, i := range duplicates {
			w.report(field.Duplicate(w.Path().Index(i), v.Index(i).Interface()))
		}
		return len(duplicates) == 0
	}
}

// eachRule applies a rule to the elements of a list or the keys of a map.
func eachRule(f gotype.Field, items correspondence, r rule) (func(w *walk, v, old reflect.Value) bool, error) {
	element := f
	switch {
	case r.name == "eachKey" && f.Type.Kind() == reflect.Map:
		element.Type = f.Type.Key()
	case r.name == "eachVal" && (f.Type.Kind() == reflect.Map || f.Type.Kind() == reflect.Slice):
		element.Type = f.Type.Elem()
	default:
		return nil, fmt.Errorf("%s of %s", r.name, f.Type)
	}
	k, _, err := fieldCheck(element, correspondence{}, r.inner())
	each := func(w *walk, v, old reflect.Value) bool {
		ok := true
		check := func(v, old reflect.Value) { ok = w.run(k, v, old) && ok }
		switch {
		case r.name == "eachKey":
			w.keys(v, old, func(v reflect.Value) { check(v, reflect.Value{}) })
		case f.Type.Kind() == reflect.Map:
			w.values(v, old, check)
		default:
			w.elements(items, v, old, check)
		}
		return ok
	}
	return each, err
}

// subfieldRule applies a rule to a field of a struct.
func subfieldRule(f gotype.Field, r rule) (check, bool, error) {
	sub, ok := gotype.Member(f.Type, r.args)
	if !ok {
		return check{}, false, fmt.Errorf("%s has no field %s", f.Type, r.args)
	}
	k, isCircuit, err := fieldCheck(sub, correspondence{}, r.inner())
	inner := k.holds
	k.holds = func(w *walk, v, old reflect.Value) bool {
		if v, old = pointee(v), pointee(old); !v.IsValid() {
			return true
		}
		v = v.FieldByIndex(sub.Index)
		if old.IsValid() {
			if old = old.FieldByIndex(sub.Index); w.isUpdate && equal(v, old) {
				return true
			}
		}
		w.Field(r.args)
		defer w.Leave()
		return inner(w, v, old)
	}
	return k, isCircuit, err
}

// valueRule compiles a rule of a string or a number, which holds for a nil pointer.
func valueRule(t reflect.Type, r rule) (func(w *walk, v, old reflect.Value) bool, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var of func(w *walk, v, old reflect.Value) bool
	var err error
	switch isText := t.Kind() == reflect.String; {
	case r.name == "format" && isText:
		of, err = formatRule(r.payload)
	case r.name == "neq" && isText:
		of = notEqual(r.payload)
	case isText:
		of, err = lengthRule(r)
	case t.Kind() == reflect.Int32 || t.Kind() == reflect.Int64:
		of, err = numberRule(r)
	default:
		err = fmt.Errorf("rule %s of %s", r.name, t)
	}
	return func(w *walk, v, old reflect.Value) bool {
		v, old = pointee(v), pointee(old)
		return !v.IsValid() || of(w, v, old)
	}, err
}

func notEqual(other string) func(w *walk, v, old reflect.Value) bool {
	return func(w *walk, v, _ reflect.Value) bool {
		return v.String() != other || w.report(field.Invalid(w.Path(), v.String(), content.NEQError(other)).WithOrigin("neq"))
	}
}

// lengthRule compiles a limit of the length of a string. Lengths are counted in characters but
// for maxBytes.
func lengthRule(r rule) (func(w *walk, v, old reflect.Value) bool, error) {
	limit, err := strconv.Atoi(r.payload)
	switch r.name {
	case "maxBytes":
		return func(w *walk, v, _ reflect.Value) bool {
			return v.Len() <= limit || w.report(field.TooLong(w.Path(), v.String(), limit).WithOrigin("maxBytes"))
		}, err
	case "maxLength":
		return func(w *walk, v, _ reflect.Value) bool {
			return v.Len() <= limit || utf8.RuneCountInString(v.String()) <= limit ||
				w.report(field.TooLongCharacters(w.Path(), v.String(), limit).WithOrigin("maxLength"))
		}, err
	case "minLength":
		return func(w *walk, v, _ reflect.Value) bool {
			return utf8.RuneCountInString(v.String()) >= limit || w.report(field.TooShort(w.Path(), v.String(), limit).WithOrigin("minLength"))
		}, err
	}
	return nil, fmt.Errorf("unknown rule %s of a string", r.name)
}

// numberRule compiles a rule of an integer.
func numberRule(r rule) (func(w *walk, v, old reflect.Value) bool, error) {
	if r.name == "monotonic" {
		return func(w *walk, v, old reflect.Value) bool {
			return !w.isUpdate || !old.IsValid() || v.Int() >= old.Int() ||
				w.report(field.Invalid(w.Path(), v.Interface(), fmt.Sprintf("may not be decreased from %v", old.Int())).WithOrigin("monotonic"))
		}, nil
	}
	limit, err := strconv.ParseInt(r.payload, 10, 64)
	low, high, message := limit, int64(math.MaxInt64), content.MinError(limit)
	switch r.name {
	case "minimum":
	case "maximum":
		low, high, message = math.MinInt64, limit, content.MaxError(limit)
	default:
		return nil, fmt.Errorf("unknown rule %s of a number", r.name)
	}
	return func(w *walk, v, _ reflect.Value) bool {
		n := v.Int()
		return low <= n && n <= high || w.report(field.Invalid(w.Path(), v.Interface(), message).WithOrigin(r.name))
	}, err
}
