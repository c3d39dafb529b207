package ssa

import (
	"fmt"

	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
)

// as converts an object of the hub type to version v. For nil it returns an empty object.
func (m *Manager) as(v *view, hub api.Object) (api.Object, error) {
	switch {
	case hub == nil:
		return v.empty, nil
	case v.version.FromHub == nil:
		return hub, nil
	}
	return v.version.FromHub(hub) // clients see the bare error
}

// decoded returns an object of the hub type, which may be nil, as decoded JSON of version v without
// managedFields.
func (m *Manager) decoded(v *view, hub api.Object) (map[string]any, error) {
	obj, err := m.as(v, hub)
	if err != nil {
		return nil, err
	}
	return v.content(obj)
}

// content returns an object of version v as decoded JSON without managedFields.
func (v *view) content(obj api.Object) (map[string]any, error) {
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
	out["kind"], out["apiVersion"] = v.gvk.Kind, v.apiVersion
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
	obj, err := m.as(v, hub.DeepCopyObject().(api.Object))
	if err != nil {
		return nil, err
	}
	return v.version.ToHub(obj)
}

// convert converts decoded JSON from one version to another, whose schema must allow the result.
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
	out, err := m.decoded(to, obj)
	if err != nil {
		return nil, err
	}
	return out, to.checkDistinct(out)
}
