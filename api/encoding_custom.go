package api

import (
	"errors"
	"fmt"

	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/internal/cbor"
	"github.com/miniapiserver/miniapiserver/internal/quickjson"
)

// customValues are the values of a custom kind, JSON or CBOR. Their objects contain kind and apiVersion.
type customValues struct{ *Resource }

func (r customValues) encoder() func(Object) ([]byte, error) {
	return func(obj Object) ([]byte, error) {
		if v := r.Version(r.StoredVersion()); v != nil {
			var err error
			if obj, err = r.As(v, obj); err != nil {
				return nil, err
			}
		}
		u := obj.(*untyped.Object)
		if r.Storage.Encoding == CBOR {
			value, err := cbor.Marshal(u.UnstructuredContent())
			return append([]byte(cbor.Prefix), value...), err
		}
		return u.MarshalLine()
	}
}

func (r customValues) decode(value []byte) (Object, error) {
	obj, err := readUntyped(value)
	if err != nil {
		return nil, err
	}
	v, err := r.writtenAs(obj.GetAPIVersion(), obj.GetKind())
	if err != nil {
		return nil, err
	}
	if err := r.complete(v, obj); err != nil {
		return nil, err
	}
	return obj, nil
}

// readUntyped decodes an object without a Go type in JSON or CBOR.
func readUntyped(value []byte) (*untyped.Object, error) {
	if !cbor.Is(value) {
		if !isJSONObject(value) {
			return nil, errors.New("value is neither protobuf nor JSON")
		}
		return untyped.Read(value)
	}
	content, err := cbor.Content(value)
	if err != nil {
		return nil, err
	}
	if content == nil {
		return nil, errors.New("value is not an object")
	}
	return untyped.FromContent(content), nil
}

// complete prunes and defaults an object by the schema of the version in which it is stored.
func (r customValues) complete(v *Version, obj *untyped.Object) error {
	if err := obj.RepairStored(); err != nil {
		return err
	}
	r.SchemaOf(v).Prune(obj.Object)
	return r.form(v).DefaultSchema(obj)
}

func (r customValues) asStored() func(Object) bool {
	return func(obj Object) bool {
		u, ok := obj.(*untyped.Object)
		if !ok || !quickjson.RoundTrips(u.Object) {
			return false
		}
		v, err := r.writtenAs(u.GetAPIVersion(), u.GetKind())
		if err != nil {
			return false
		}
		if !r.SchemaOf(v).DefaultIsIdempotent() {
			return false // would change parts that other goroutines may read
		}
		return r.complete(v, u) == nil
	}
}

func (customValues) check(value []byte) error {
	if cbor.Is(value) {
		text, ok, err := bounds.CBOR(value)
		if err != nil || !ok {
			return err
		}
		value = text
	}
	return bounds.JSON(value)
}

func (customValues) errVersion(apiVersion string) error {
	return fmt.Errorf("request to convert CR from an invalid group/version: %s", apiVersion)
}
