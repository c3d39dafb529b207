package ssa

import (
	"fmt"

	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
)

// decoded returns an object of the hub type, which may be nil, as decoded JSON of version v without
// managedFields.
func (m *Manager) decoded(v *view, hub api.Object) (map[string]any, error) {
	obj := v.empty
	if hub != nil {
		var err error
		if obj, err = m.resource.As(v.version, hub); err != nil {
			return nil, err
		}
	}
	gvk := v.version.WithKind(m.resource.Kind)
	var out map[string]any
	if u, ok := obj.(*untyped.Object); ok {
		out = ownable(u.Object)
	} else {
		bare := reflect.New(reflect.TypeOf(obj).Elem())
		bare.Elem().Set(reflect.ValueOf(obj).Elem())
		o := bare.Interface().(api.Object)
		o.SetManagedFields(nil)
		var err error
		if out, err = runtime.DefaultUnstructuredConverter.ToUnstructured(o); err != nil {
			return nil, err
		}
	}
	out["kind"], out["apiVersion"] = gvk.Kind, gvk.GroupVersion().String()
	return out, nil
}

// versioned converts decoded JSON to an object of version v.
func (m *Manager) versioned(v *view, plain map[string]any) (api.Object, error) {
	if v.plan == nil {
		return untyped.FromContent(plain).DeepCopy(), nil
	}
	obj := m.resource.NewOf(v.version)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(plain, obj); err != nil {
		return nil, fmt.Errorf("unable to convert unstructured object to %v: %w", v.version.WithKind(m.resource.Kind), err)
	}
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return obj, nil
}

// converted converts an object of the hub type, which may be nil, to version v and back. The state
// that a request replaces has the version of the request, so that a conversion which is not exact
// is no change of fields that other versions show.
func (m *Manager) converted(v *view, hub api.Object) (api.Object, error) {
	if hub == nil || v.version.ToHub == nil {
		return hub, nil
	}
	obj, err := m.resource.As(v.version, hub.DeepCopyObject().(api.Object))
	if err != nil {
		return nil, err
	}
	return v.version.ToHub(obj)
}

// convert converts decoded JSON from one version to another.
func (m *Manager) convert(plain map[string]any, from, to *view) (map[string]any, error) {
	if from == to {
		return plain, nil
	}
	obj, err := m.versioned(from, plain)
	if err != nil {
		return nil, err
	}
	if from.version.ToHub != nil {
		if obj, err = from.version.ToHub(obj); err != nil {
			return nil, err
		}
	}
	return m.decoded(to, obj)
}
