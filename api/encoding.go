package api

import (
	"bytes"
	"fmt"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/proto"
	"github.com/miniapiserver/miniapiserver/quickjson"
)

// ProtoObject is an Object that can be protobuf. All types of k8s.io/api are.
type ProtoObject interface {
	Object
	proto.Message
	Unmarshal([]byte) error
}

// EncodeStored makes the value that stands in etcd for an object of the hub
// type. resourceVersion and selfLink are no part of it: they are cleared in a
// copy when they are set, so obj itself is not changed.
func (r *Resource) EncodeStored(obj Object) ([]byte, error) {
	if obj.GetResourceVersion() != "" || obj.GetSelfLink() != "" {
		obj = withoutVersion(obj)
	}
	if r.Storage.StoredAsJSON {
		value, err := r.encodeStoredJSON(obj)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", r.Name, err)
		}
		return value, nil
	}
	m, ok := obj.(ProtoObject)
	if !ok {
		return nil, fmt.Errorf("encode %s: %T has no protobuf form", r.Name, obj)
	}
	value, err := proto.Append(nil, r.StoredVersion().String(), r.Kind, m)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", r.Name, err)
	}
	return value, nil
}

func (r *Resource) encodeStoredJSON(obj Object) ([]byte, error) {
	gv := r.StoredVersion()
	if v := r.Version(gv); v != nil {
		var err error
		if obj, err = r.As(v, obj); err != nil {
			return nil, err
		}
	}
	// What has no Go type says itself which version it has.
	if want := gv.WithKind(r.Kind); !r.Untyped && obj.GetObjectKind().GroupVersionKind() != want {
		obj = obj.DeepCopyObject().(Object)
		obj.GetObjectKind().SetGroupVersionKind(want)
	}
	if u, ok := obj.(*untyped.Object); ok {
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

// DecodeStored reads a value from etcd, protobuf or JSON, in any version that r
// has, and returns it as an object of the hub type with its defaults. Kind and
// apiVersion of the result are empty. What has no Go type stays in the version
// that it was stored in, for Read to convert.
func (r *Resource) DecodeStored(value []byte) (Object, error) {
	v, obj, err := r.decodeStored(value)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", r.Name, err)
	}
	if r.Untyped {
		if err := r.completeStored(v, obj); err != nil {
			return nil, fmt.Errorf("decode %s: %w", r.Name, err)
		}
		return obj, nil
	}
	hub, err := r.Decoded(v, obj)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", r.Name, err)
	}
	return hub, nil
}

// AsStored returns what makes of an object that EncodeStored encoded what
// DecodeStored would make of the value, without reading that. Parts of the object
// may be others' too: it changes only what differs, which those do not, and returns
// false where it cannot tell. Nil if it never can, as of Go types that are stored as
// JSON.
func (r *Resource) AsStored() func(Object) bool {
	v, err := r.writtenAs(r.StoredVersion().String(), r.Kind)
	switch {
	case r.Untyped:
		return r.untypedAsStored
	case err != nil, r.Storage.StoredAsJSON, v.ToHub != nil:
		return nil
	}
	refit := sync.OnceValue(func() refit { return refitOf(reflect.TypeOf(r.New()).Elem()) })
	return func(obj Object) bool {
		if !refit()(reflect.ValueOf(obj).Elem()) {
			return false
		}
		if kind := obj.GetObjectKind(); !kind.GroupVersionKind().Empty() {
			kind.SetGroupVersionKind(schema.GroupVersionKind{})
		}
		if r.Default != nil {
			r.Default(obj)
		}
		return true
	}
}

func (r *Resource) untypedAsStored(obj Object) bool {
	u, ok := obj.(*untyped.Object)
	if !ok || !quickjson.Lasting(u.Object) {
		return false
	}
	v, err := r.writtenAs(u.GetAPIVersion(), u.GetKind())
	if err != nil {
		return false
	}
	if form := r.form(v); form.DefaultIsIdempotent != nil && !form.DefaultIsIdempotent() {
		return false // parts of it may be shared, and would be changed
	}
	return r.completeStored(v, obj) == nil
}

// completeStored prunes and defaults an object without a Go type by the version
// that it is stored in.
func (r *Resource) completeStored(v *Version, obj Object) error {
	if err := obj.(*untyped.Object).RepairStored(); err != nil {
		return err
	}
	form := r.form(v)
	if form.Prune != nil {
		form.Prune(obj)
	}
	if form.Default != nil {
		form.Default(obj)
	}
	return nil
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

// typeAtFront reads kind and apiVersion where whoever wrote the object put them: as
// its first two fields.
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
	if !bytes.HasPrefix(bytes.TrimSpace(value), []byte("{")) {
		return nil, nil, fmt.Errorf("value is neither protobuf nor JSON")
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

func (r *Resource) decodeUntyped(value []byte) (*Version, Object, error) {
	obj, err := untyped.Read(value)
	if err != nil {
		return nil, nil, err
	}
	v, err := r.writtenAs(obj.GetAPIVersion(), obj.GetKind())
	return v, obj, err
}

// writtenAs finds the version that a stored value says it has.
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
	return nil, fmt.Errorf("version %q of %s is not known", apiVersion, kind)
}
