package api

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/internal/cbor"
	"github.com/miniapiserver/miniapiserver/internal/gotype"
	"github.com/miniapiserver/miniapiserver/internal/quickjson"
	"github.com/miniapiserver/miniapiserver/proto"
)

// ProtoObject is an Object that has a protobuf encoding, as all types of k8s.io/api do.
type ProtoObject interface {
	Object
	proto.Message
	Unmarshal([]byte) error
}

// EncodeStored encodes one object by StoredEncoder.
func (r *Resource) EncodeStored(obj Object) ([]byte, error) { return r.StoredEncoder()(obj) }

// StoredEncoder returns a function that encodes objects of the hub type as values for etcd.
// resourceVersion and selfLink are not stored; the function clears them in a copy of the
// object.
func (r *Resource) StoredEncoder() func(Object) ([]byte, error) {
	head := proto.NewHead(r.StoredVersion().String(), r.Kind)
	return func(obj Object) (value []byte, err error) {
		if obj.GetResourceVersion() != "" || obj.GetSelfLink() != "" {
			obj = withoutVersion(obj)
		}
		if r.Storage.Encoding != Protobuf {
			if value, err = r.encodeStoredJSON(obj); err == nil && r.Storage.Encoding == YAML {
				value, err = yaml.JSONToYAML(value)
			}
		} else if m, ok := obj.(ProtoObject); ok {
			value, err = head.Append(nil, m)
		} else {
			err = fmt.Errorf("%T has no protobuf form", obj)
		}
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", r.Name, err)
		}
		return value, r.checkEncoded(value)
	}
}

func (r *Resource) encodeStoredJSON(obj Object) ([]byte, error) {
	gv := r.StoredVersion()
	if v := r.Version(gv); v != nil {
		var err error
		if obj, err = r.As(v, obj); err != nil {
			return nil, err
		}
	}
	// Objects without a Go type contain their kind and apiVersion.
	if want := gv.WithKind(r.Kind); !r.Untyped && obj.GetObjectKind().GroupVersionKind() != want {
		obj = obj.DeepCopyObject().(Object)
		obj.GetObjectKind().SetGroupVersionKind(want)
	}
	if u, ok := obj.(*untyped.Object); ok {
		if r.Storage.Encoding == CBOR {
			value, err := cbor.Marshal(u.UnstructuredContent())
			return append([]byte(cbor.Prefix), value...), err
		}
		return u.MarshalLine()
	}
	value, err := json.Marshal(obj)
	return append(value, '\n'), err
}

func withoutVersion(obj Object) Object {
	obj = obj.DeepCopyObject().(Object)
	obj.SetResourceVersion("")
	obj.SetSelfLink("")
	return obj
}

// DecodeStored decodes a value from etcd in any encoding and of any version of r. The result
// has the hub type, its defaults, and neither kind nor apiVersion. An object without a Go type
// stays in the version in which it was stored; Storage.ConvertFromStored converts it.
func (r *Resource) DecodeStored(value []byte) (Object, error) {
	v, obj, err := r.decodeStored(value)
	if err != nil {
		return nil, err
	}
	if r.Untyped {
		if err := r.completeStored(v, obj); err != nil {
			return nil, err
		}
		return obj, nil
	}
	hub, err := r.Decoded(v, obj)
	if err != nil {
		return nil, err
	}
	if r.DefaultStored != nil {
		r.DefaultStored(hub)
	}
	return hub, nil
}

// AsStored returns a function that changes an object that EncodeStored encoded into the object
// that DecodeStored would return for the value, without decoding the value. The function
// writes only to fields that differ, because other goroutines may read parts of the object,
// and returns false if it cannot compute the result. AsStored returns nil for Go types that are
// not stored as protobuf, for which it never can.
func (r *Resource) AsStored() func(Object) bool {
	v, err := r.writtenAs(r.StoredVersion().String(), r.Kind)
	switch {
	case r.Untyped:
		return r.untypedAsStored
	case err != nil, r.Storage.Encoding != Protobuf, v.ToHub != nil:
		return nil
	}
	normalize := sync.OnceValue(func() *gotype.Walk[bool] { return roundTripOf(reflect.TypeOf(r.New()).Elem()) })
	return func(obj Object) bool {
		if !normalize().Visit(reflect.ValueOf(obj).Elem(), true) {
			return false
		}
		if kind := obj.GetObjectKind(); !kind.GroupVersionKind().Empty() {
			kind.SetGroupVersionKind(schema.GroupVersionKind{})
		}
		if r.Default != nil {
			r.Default(obj)
		}
		if r.DefaultStored != nil {
			r.DefaultStored(obj)
		}
		return true
	}
}

func (r *Resource) untypedAsStored(obj Object) bool {
	u, ok := obj.(*untyped.Object)
	if !ok || !quickjson.RoundTrips(u.Object) {
		return false
	}
	v, err := r.writtenAs(u.GetAPIVersion(), u.GetKind())
	if err != nil {
		return false
	}
	if form := r.form(v); form.DefaultIsIdempotent != nil && !form.DefaultIsIdempotent() {
		return false // would change parts that other goroutines may read
	}
	return r.completeStored(v, obj) == nil
}

// completeStored prunes and defaults an object without a Go type according to its stored
// version.
func (r *Resource) completeStored(v *Version, obj Object) error {
	if err := obj.(*untyped.Object).RepairStored(); err != nil {
		return err
	}
	form := r.form(v)
	if form.Prune != nil {
		form.Prune(obj)
	}
	return form.DefaultSchema(obj)
}

func (r *Resource) decodeStored(value []byte) (*Version, Object, error) {
	if !proto.Is(value) {
		return r.decodeJSON(value)
	}
	e, err := proto.Decode(value)
	if err != nil {
		return nil, nil, err
	}
	v, err := r.writtenAs(e.APIVersion, e.Kind)
	if err != nil {
		return nil, nil, err
	}
	m, ok := r.NewOf(v).(ProtoObject)
	if !ok {
		return nil, nil, fmt.Errorf("%s has no protobuf form", v.GroupVersion)
	}
	if err := m.Unmarshal(e.Raw); err != nil {
		return nil, nil, err
	}
	return v, m, nil
}

// typeAtFront returns kind and apiVersion if they are the first two fields, as in values that
// EncodeStored wrote.
func typeAtFront(value []byte) (t metav1.TypeMeta, ok bool) {
	rest, ok := bytes.CutPrefix(value, []byte(`{"kind":"`))
	if !ok {
		return t, false
	}
	kind, rest, _ := bytes.Cut(rest, []byte(`"`))
	rest, ok = bytes.CutPrefix(rest, []byte(`,"apiVersion":"`))
	if !ok {
		return t, false
	}
	version, _, ok := bytes.Cut(rest, []byte(`"`))
	if !ok || bytes.IndexByte(kind, '\\') >= 0 || bytes.IndexByte(version, '\\') >= 0 {
		return t, false
	}
	return metav1.TypeMeta{Kind: string(kind), APIVersion: string(version)}, true
}

func (r *Resource) decodeJSON(value []byte) (*Version, Object, error) {
	if !isJSONObject(value) && !r.Untyped { // custom resources are never stored as YAML
		if converted, err := yaml.YAMLToJSON(value); err == nil {
			value = converted
		}
	}
	isCBOR := r.Untyped && cbor.Is(value)
	if !isCBOR && !isJSONObject(value) {
		return nil, nil, errors.New("value is neither protobuf nor JSON")
	}
	if r.Untyped {
		return r.decodeUntyped(value)
	}
	written, ok := typeAtFront(value)
	if !ok {
		if err := json.Unmarshal(value, &written); err != nil {
			return nil, nil, err
		}
	}
	v, err := r.writtenAs(written.APIVersion, written.Kind)
	if err != nil {
		return nil, nil, err
	}
	obj := r.NewOf(v)
	if err := json.Unmarshal(value, obj); err != nil {
		return nil, nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return v, obj, nil
}

func isJSONObject(value []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(value), []byte("{")) }

func (r *Resource) decodeUntyped(value []byte) (*Version, Object, error) {
	obj, err := readUntyped(value)
	if err != nil {
		return nil, nil, err
	}
	v, err := r.writtenAs(obj.GetAPIVersion(), obj.GetKind())
	return v, obj, err
}

// readUntyped decodes an object without a Go type in JSON or CBOR.
func readUntyped(value []byte) (*untyped.Object, error) {
	if !cbor.Is(value) {
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

// writtenAs returns the version of a stored value with the given apiVersion and kind.
func (r *Resource) writtenAs(apiVersion, kind string) (*Version, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	if kind != r.Kind {
		return nil, fmt.Errorf("kind is %q, not %q", kind, r.Kind)
	}
	if v := r.Version(gv); v != nil {
		return v, nil
	}
	if gv == r.StoredVersion() {
		return &r.Versions[0], nil
	}
	if r.Untyped {
		return nil, fmt.Errorf("request to convert CR from an invalid group/version: %s", apiVersion)
	}
	return nil, fmt.Errorf("version %q of %s is not known", apiVersion, kind)
}
