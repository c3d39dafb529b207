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

// rawJSONChecker checks objects of one Go type that were decoded from protobuf. Such an object
// can contain JSON that no decoder has read: a RawExtension, the value of a schema, the fields
// of a manager. If it is invalid or nested too deep, no list with the object can be encoded.
type rawJSONChecker struct {
	// visit checks all such JSON in a value; nil if the type has none.
	visit rawVisit
	// recursive is set if the type contains itself, so that its depth in JSON does not follow
	// from its depth in protobuf.
	recursive bool
}

// rawVisit checks the JSON in a value at a depth of the object.
type rawVisit func(v reflect.Value, depth int) error

// rawError is an error of the JSON at a path.
type rawError struct {
	path string
	err  error
}

// Error implements error.
func (e *rawError) Error() string { return e.path + ": " + e.err.Error() }

// newRawJSONChecker examines a type.
func newRawJSONChecker(rt reflect.Type) *rawJSONChecker {
	r := &rawJSONChecker{}
	r.visit = r.visitorOf(rt, map[reflect.Type]bool{})
	return r
}

// check returns an error if an object contains JSON that cannot be encoded.
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

// visitorOf returns the rawVisit of a type; nil if it contains no JSON. outer are the types that
// contain it.
func (r *rawJSONChecker) visitorOf(rt reflect.Type, outer map[reflect.Type]bool) rawVisit {
	switch rt.Kind() {
	case reflect.Pointer:
		return visitPointer(r.visitorOf(rt.Elem(), outer))
	case reflect.Slice, reflect.Array:
		return visitList(r.visitorOf(rt.Elem(), outer))
	case reflect.Map:
		return visitMap(r.visitorOf(rt.Elem(), outer))
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
		if visit := r.visitorOf(f.Type, outer); visit != nil {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			fields = append(fields, rawField{i, name, visit})
		}
	}
	return visitFields(fields)
}

// visitRaw returns the rawVisit of a type whose field at an index is JSON.
func visitRaw(rt reflect.Type, index []int) rawVisit {
	mirrors := rt == reflect.TypeFor[metav1.FieldsV1]()
	return func(v reflect.Value, depth int) error {
		text := v.FieldByIndex(index).Bytes()
		if len(text) == 0 {
			return nil
		}
		if mirrors {
			depth = 0 // it has the levels of the object itself
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

// rawField is a field of a struct that contains JSON. The name of an embedded field is empty.
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

// inField adds the name of a field to the path of an error in its value.
func inField(name string, err error) error {
	if e, ok := err.(*rawError); ok {
		return &rawError{name + "." + e.path, e.err}
	}
	return &rawError{name, err}
}
