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

	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/internal/gotype"
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
	encode := r.values().encoder()
	return func(obj Object) ([]byte, error) {
		if obj.GetResourceVersion() != "" || obj.GetSelfLink() != "" {
			obj = withoutVersion(obj)
		}
		value, err := encode(obj)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", r.Name, err)
		}
		return value, r.checkEncoded(value)
	}
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
func (r *Resource) DecodeStored(value []byte) (Object, error) { return r.values().decode(value) }

// AsStored returns a function that changes an object that EncodeStored encoded into the object
// that DecodeStored would return for the value, without decoding the value. The function
// writes only to fields that differ, because other goroutines may read parts of the object,
// and returns false if it cannot compute the result. AsStored returns nil for Go types that are
// not stored as protobuf, for which it never can.
func (r *Resource) AsStored() func(Object) bool { return r.values().asStored() }

// CheckStored returns an error if a value from etcd exceeds the bounds of package bounds, which
// also apply to requests. Another program may have stored it: Go ends the process when the decoder
// of a deeply nested value overflows the stack, and a quantity such as 1e2000000000 takes hours to
// compare. DecodeStored must not be called with a value that another program stored unless
// CheckStored accepts it. It accepts values that DecodeStored refuses.
func (r *Resource) CheckStored(value []byte) error {
	if limit := r.ObjectLimit(); len(value) > limit {
		return fmt.Errorf("value of %d bytes exceeds max object size of %d", len(value), limit)
	}
	return r.values().check(value)
}

// values are the values in etcd of a kind: typedValues of one with a Go type, customValues of one with a schema.
type values interface {
	encoder() func(Object) ([]byte, error)
	decode(value []byte) (Object, error)
	asStored() func(Object) bool
	// check checks the bounds of a value that has the size of an object.
	check(value []byte) error
	// errVersion is the error about a value of a version that the kind does not have.
	errVersion(apiVersion string) error
}

func (r *Resource) values() values {
	if r.Custom != nil {
		return customValues{r}
	}
	return typedValues{r}
}

// typedValues are the values of a kind with a Go type: protobuf, JSON or YAML.
type typedValues struct{ *Resource }

func (r typedValues) encoder() func(Object) ([]byte, error) {
	if r.Storage.Encoding == Protobuf {
		head := proto.NewHead(r.StoredVersion().String(), r.Kind)
		return func(obj Object) ([]byte, error) {
			m, ok := obj.(ProtoObject)
			if !ok {
				return nil, fmt.Errorf("%T has no protobuf form", obj)
			}
			return head.Append(nil, m)
		}
	}
	return func(obj Object) ([]byte, error) {
		value, err := r.encodeJSON(obj)
		if err == nil && r.Storage.Encoding == YAML {
			value, err = yaml.JSONToYAML(value)
		}
		return value, err
	}
}

func (r typedValues) encodeJSON(obj Object) ([]byte, error) {
	gv := r.StoredVersion()
	if v := r.Version(gv); v != nil {
		var err error
		if obj, err = r.As(v, obj); err != nil {
			return nil, err
		}
	}
	if want := gv.WithKind(r.Kind); obj.GetObjectKind().GroupVersionKind() != want {
		obj = obj.DeepCopyObject().(Object)
		obj.GetObjectKind().SetGroupVersionKind(want)
	}
	value, err := json.Marshal(obj)
	return append(value, '\n'), err
}

func (r typedValues) decode(value []byte) (Object, error) {
	decode := r.decodeJSON
	if proto.Is(value) {
		decode = r.decodeProto
	}
	v, obj, err := decode(value)
	if err != nil {
		return nil, err
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

func (r typedValues) decodeProto(value []byte) (*Version, Object, error) {
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

func (r typedValues) decodeJSON(value []byte) (*Version, Object, error) {
	if !isJSONObject(value) {
		if converted, err := yaml.YAMLToJSON(value); err == nil {
			value = converted
		}
	}
	if !isJSONObject(value) {
		return nil, nil, errors.New("value is neither protobuf nor JSON")
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

func (r typedValues) asStored() func(Object) bool {
	v, err := r.writtenAs(r.StoredVersion().String(), r.Kind)
	if err != nil || r.Storage.Encoding != Protobuf || v.ToHub != nil {
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

func (r typedValues) check(value []byte) error {
	if proto.Is(value) {
		return r.checkProto(value)
	}
	if !isJSONObject(value) {
		if err := bounds.YAML(value); err != nil {
			return err
		}
		converted, err := yaml.YAMLToJSON(value)
		if err != nil {
			return nil
		}
		value = converted
	}
	if err := bounds.JSON(value); err != nil {
		return err
	}
	return bounds.JSONInto(value, r.New())
}

func (r typedValues) checkProto(value []byte) error {
	e, err := proto.Decode(value)
	if err != nil {
		return nil
	}
	v, err := r.writtenAs(e.APIVersion, e.Kind)
	if err != nil {
		return nil
	}
	if err := bounds.Proto(e.Raw); err != nil {
		return err
	}
	return bounds.ProtoInto(e.Raw, r.NewOf(v))
}

func (r typedValues) errVersion(apiVersion string) error {
	return fmt.Errorf("version %q of %s is not known", apiVersion, r.Kind)
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
	return nil, r.values().errVersion(apiVersion)
}

// DefaultMaxObjectBytes is the limit of a Resource whose MaxObjectBytes is 0: three times the size
// of a request that etcd accepts by default.
const DefaultMaxObjectBytes = bounds.MaxObject

// ObjectLimit returns the maximum size of an object in bytes.
func (r *Resource) ObjectLimit() int {
	if r.MaxObjectBytes > 0 {
		return r.MaxObjectBytes
	}
	return DefaultMaxObjectBytes
}

// ObjectSizeError is the error of an object that exceeds Resource.ObjectLimit, or another bound of
// stored values.
type ObjectSizeError struct{ err error }

// Error implements error.
func (e *ObjectSizeError) Error() string { return e.err.Error() }

// Unwrap returns the error of package bounds.
func (e *ObjectSizeError) Unwrap() error { return e.err }

// DefaultSchema sets the defaults of the schema of an untyped object. The error is an ObjectSizeError; nil
// for an object with a Go type, whose defaults Default sets.
func (r *Resource) DefaultSchema(obj Object) error {
	if !r.IsCustom() {
		return nil
	}
	if err := r.SchemaOf(&r.Versions[0]).Default(contentOf(obj), r.ObjectLimit()); err != nil {
		return &ObjectSizeError{err}
	}
	return nil
}

// checkEncoded returns an ObjectSizeError if DecodeStored could not read a value back because of the
// bounds. Admission may have made it of an object that was within them. Short values are.
func (r *Resource) checkEncoded(value []byte) error {
	const short = 48 << 10
	if len(value) <= min(short, r.ObjectLimit()) {
		return nil
	}
	if err := r.CheckStored(value); err != nil {
		return &ObjectSizeError{err}
	}
	return nil
}
