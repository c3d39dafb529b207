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
