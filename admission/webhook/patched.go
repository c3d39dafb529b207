package webhook

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
)

// decodePatched decodes a patched object in a form. A patch may remove the kind and the version of an
// object with a Go type. The error for another kind is that of the object's decoding, or of its
// conversion to the kind of the request.
func (s *hookRequest) decodePatched(h *hook, form match.Form, data []byte) (runtime.Object, error) {
	obj := s.New(form)
	if u, ok := obj.(*untyped.Object); ok {
		return u, s.decodeUntyped(form, u, data)
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
		return nil, s.errOtherKind(is, data)
	}
	if err := decodeTyped(data, obj); err != nil {
		return nil, errPatched(h, err)
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

func decodeTyped(data []byte, into runtime.Object) error {
	if err := bounds.JSONInto(data, into); err != nil {
		return err
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(data, into)
}

// errOtherKind returns the error for a patched object of another kind than that of the request.
func (s *hookRequest) errOtherKind(is schema.GroupVersionKind, data []byte) error {
	if is.Version == "" {
		return apierrors.NewInternalError(runtime.NewMissingVersionErr(string(data)))
	}
	res, v, ok := s.kinds(is)
	if !ok || res.Untyped {
		return apierrors.NewInternalError(api.ErrNotRegistered(is))
	}
	if err := decodeTyped(data, res.NewOf(v)); err != nil {
		return apierrors.NewInternalError(err)
	}
	return api.ErrOtherKind(is.Version+"."+is.Kind, api.InternalPackage(s.Resource)+"."+s.Kind.Kind)
}

// decodeUntyped decodes a patched object of a custom kind. Another version is converted in
// kube-apiserver, and another kind is a fault of the object.
func (s *hookRequest) decodeUntyped(form match.Form, u *untyped.Object, data []byte) error {
	if err := u.UnmarshalJSON(data); err != nil {
		return apierrors.NewInternalError(err)
	}
	is := u.GroupVersionKind()
	switch {
	case is.GroupVersion() != form.Kind.GroupVersion():
		return fmt.Errorf("request to convert CR from an invalid group/version: %s", is.GroupVersion())
	case is.Kind != form.Kind.Kind:
		return apierrors.NewInvalid(form.Kind.GroupKind(), u.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("kind"), is.Kind, "must be "+form.Kind.Kind)})
	}
	return nil
}
