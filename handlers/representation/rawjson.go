package representation

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
)

// rawJSONChecker checks objects of one Go type that were decoded from protobuf. Such an
// object can hold JSON as it was sent: a RawExtension, the value of a schema, the
// fields of a manager. No decoder has read it, so that it may be nested too deep,
// or be no JSON at all, and then no list that the object is in could be encoded.
type rawJSONChecker struct {
	// visit calls check with each such text and its depth; nil if the type has
	// none.
	visit rawVisit
	// recursive is set if the type contains itself. Its depth in JSON is then not
	// known from its depth in protobuf.
	recursive bool
}

// rawVisit checks the JSON in a value that stands at a depth.
type rawVisit func(v reflect.Value, depth int) error

// rawError is a fault of the JSON at a path.
type rawError struct {
	path string
	err  error
}

// Error implements error.
func (e *rawError) Error() string { return e.path + ": " + e.err.Error() }

// newRawJSONChecker examines a type.
func newRawJSONChecker(rt reflect.Type) *rawJSONChecker {
	r := &rawJSONChecker{}
	r.visit = r.of(rt, map[reflect.Type]bool{})
	return r
}

// check refuses an object with JSON that cannot be encoded again.
func (r *rawJSONChecker) check(c *Codec, obj api.Object) error {
	if r.recursive {
		data, err := c.plan().Append(nil, obj)
		if err == nil && !json.Valid(data) {
			err = errors.New("a raw value is not valid JSON")
		}
		if err != nil {
			return err
		}
		return bounds.JSON(data)
	}
	if r.visit == nil {
		return nil
	}
	return r.visit(reflect.ValueOf(obj).Elem(), 0)
}

// dropUnreadableOwners removes the managedFields of a request's object if an entry's
// fields are not valid JSON. Like kube-apiserver, the server treats managedFields that
// cannot be decoded as if the client had not sent any.
func dropUnreadableOwners(obj api.Object) {
	for _, e := range obj.GetManagedFields() {
		if e.FieldsV1 != nil && len(e.FieldsV1.Raw) > 0 && checkRaw(e.FieldsV1.Raw, 0) != nil {
			obj.SetManagedFields(nil)
			return
		}
	}
}

func checkRaw(text []byte, depth int) error {
	if err := bounds.JSONAt(text, depth); err != nil {
		return err
	}
	if !json.Valid(text) {
		return errors.New("not valid JSON")
	}
	return nil
}

// of returns how to visit values of a type; outer are the types that it is part
// of.
func (r *rawJSONChecker) of(rt reflect.Type, outer map[reflect.Type]bool) rawVisit {
	switch rt.Kind() {
	case reflect.Pointer:
		return visitPointer(r.of(rt.Elem(), outer))
	case reflect.Slice, reflect.Array:
		return visitList(r.of(rt.Elem(), outer))
	case reflect.Map:
		return visitMap(r.of(rt.Elem(), outer))
	case reflect.Struct:
	default:
		return nil
	}
	if outer[rt] {
		r.recursive = true
		return nil
	}
	if raw, ok := rt.FieldByName("Raw"); ok && raw.Type == reflect.TypeFor[[]byte]() && raw.Tag.Get("json") == "-" {
		return visitRaw(rt, raw.Index)
	}
	outer[rt] = true
	defer delete(outer, rt)
	var fields []rawField
	for i := range rt.NumField() {
		f := rt.Field(i)
		if !f.IsExported() {
			continue
		}
		if visit := r.of(f.Type, outer); visit != nil {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			fields = append(fields, rawField{i, name, visit})
		}
	}
	return visitFields(fields)
}

// visitRaw visits values of a type whose field at an index is JSON.
func visitRaw(rt reflect.Type, index []int) rawVisit {
	mirrors := rt == reflect.TypeFor[metav1.FieldsV1]()
	return func(v reflect.Value, depth int) error {
		text := v.FieldByIndex(index).Bytes()
		if len(text) == 0 {
			return nil
		}
		if mirrors {
			depth = 0 // it is as deep as the object itself, whose levels it has
		}
		return checkRaw(text, depth)
	}
}

func visitPointer(visit rawVisit) rawVisit {
	if visit == nil {
		return nil
	}
	return func(v reflect.Value, depth int) error {
		if v.IsNil() {
			return nil
		}
		return visit(v.Elem(), depth)
	}
}

func visitList(visit rawVisit) rawVisit {
	if visit == nil {
		return nil
	}
	return func(v reflect.Value, depth int) error {
		for i := range v.Len() {
			if err := visit(v.Index(i), depth+1); err != nil {
				return err
			}
		}
		return nil
	}
}

func visitMap(visit rawVisit) rawVisit {
	if visit == nil {
		return nil
	}
	return func(v reflect.Value, depth int) error {
		for it := v.MapRange(); it.Next(); {
			if err := visit(it.Value(), depth+1); err != nil {
				return err
			}
		}
		return nil
	}
}

// rawField is a field of a struct that leads to JSON. Name is empty of one that is
// embedded.
type rawField struct {
	index int
	name  string
	visit rawVisit
}

func visitFields(fields []rawField) rawVisit {
	if len(fields) == 0 {
		return nil
	}
	return func(v reflect.Value, depth int) error {
		for _, f := range fields {
			if f.name == "" {
				if err := f.visit(v.Field(f.index), depth); err != nil {
					return err
				}
				continue
			}
			if err := f.visit(v.Field(f.index), depth+1); err != nil {
				return inField(f.name, err)
			}
		}
		return nil
	}
}

// inField returns the error of a value as that of the field that the value is in.
func inField(name string, err error) error {
	if e, ok := err.(*rawError); ok {
		return &rawError{name + "." + e.path, e.err}
	}
	return &rawError{name, err}
}
