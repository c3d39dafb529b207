package match

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
)

// PatchDecoder decodes objects that mutating admission has patched.
type PatchDecoder struct {
	// Kinds returns the resource and the version of a registered kind.
	Kinds func(schema.GroupVersionKind) (*api.Resource, *api.Version, bool)
	// Decode decodes an object with a Go type, and Invalid returns the error for one that Decode refuses.
	Decode  func(data []byte, into runtime.Object) error
	Invalid func(error) error
}

// ConversionError is the error of a patched object that cannot be converted to the kind of the request.
type ConversionError struct{ error }

// Patched decodes a patched object in a form. A patch may remove the kind and the version of an object
// with a Go type. The error for another kind is that of the object's decoding, or a ConversionError.
func (d *PatchDecoder) Patched(r *Request, form Form, data []byte) (runtime.Object, error) {
	obj := r.New(form)
	if u, ok := obj.(*untyped.Object); ok {
		return d.untyped(r, form, u, data)
	}
	var named struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &named); err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("couldn't get version/kind; json parse error: %w", err))
	}
	gv, err := schema.ParseGroupVersion(named.APIVersion)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	is := withDefaultKind(gv.WithKind(named.Kind), form.Kind)
	if is != form.Kind {
		return nil, d.errOtherKind(r, is, data)
	}
	if err := d.Decode(data, obj); err != nil {
		return nil, d.Invalid(err)
	}
	return obj, nil
}

// withDefaultKind returns the kind of an object whose kind and version can be missing.
func withDefaultKind(is, other schema.GroupVersionKind) schema.GroupVersionKind {
	if is.Kind == "" {
		is.Kind = other.Kind
	}
	if is.Version == "" && (is.Group == "" || is.Group == other.Group) {
		is.Group, is.Version = other.Group, other.Version
	}
	return is
}

// errOtherKind returns the error for a patched object of another kind than that of the request.
func (d *PatchDecoder) errOtherKind(r *Request, is schema.GroupVersionKind, data []byte) error {
	if is.Version == "" {
		return apierrors.NewInternalError(runtime.NewMissingVersionErr(string(data)))
	}
	res, v, ok := d.Kinds(is)
	if !ok || res.IsCustom() {
		return apierrors.NewInternalError(api.ErrNotRegistered(is))
	}
	if err := d.Decode(data, res.NewOf(v)); err != nil {
		return apierrors.NewInternalError(err)
	}
	return ConversionError{api.ErrOtherKind(is.Version+"."+is.Kind, api.InternalPackage(r.Resource)+"."+r.Kind.Kind)}
}

// untyped decodes a patched object of a custom kind. An object of another version of the kind is converted to
// the version of the form, and another kind is a fault of the object.
func (d *PatchDecoder) untyped(r *Request, form Form, u *untyped.Object, data []byte) (runtime.Object, error) {
	if err := u.UnmarshalJSON(data); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	is := u.GroupVersionKind()
	v := r.Resource.Version(is.GroupVersion())
	switch {
	case is.GroupVersion() != form.Kind.GroupVersion() && (v == nil || form.version == nil):
		return nil, ConversionError{fmt.Errorf("request to convert CR from an invalid group/version: %s", is.GroupVersion())}
	case is.Kind != form.Kind.Kind:
		return nil, apierrors.NewInvalid(form.Kind.GroupKind(), u.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("kind"), is.Kind, "must be "+form.Kind.Kind)})
	case is.GroupVersion() == form.Kind.GroupVersion():
		return u, nil
	}
	converted, err := r.between(v, form.version, u)
	if err != nil {
		return nil, ConversionError{err}
	}
	return converted, nil
}

// between converts an object from one version of the resource to another.
func (r *Request) between(from, to *api.Version, obj api.Object) (api.Object, error) {
	if from.ToHub != nil {
		var err error
		if obj, err = from.ToHub(obj); err != nil {
			return nil, err
		}
	}
	if to.FromHub == nil {
		return obj, nil
	}
	return to.FromHub(obj)
}
