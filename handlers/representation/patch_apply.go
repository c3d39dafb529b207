package representation

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
)

// ApplyPatch applies a patch to an object and returns the result in the hub type. old is
// the unpatched object in the hub type.
func (c *Codec) ApplyPatch(ctx context.Context, p *Patch, old api.Object, fieldValidation string) (api.Object, error) {
	original, err := c.encodeJSON(old)
	if err != nil {
		return nil, err
	}
	if p.merge == nil {
		result, err := p.apply(ctx, original)
		if err != nil {
			return nil, err
		}
		if err := checkResult(result, c.resource.ObjectLimit()); err != nil {
			return nil, err
		}
		return c.decodePatched(ctx, p, result, fieldValidation)
	}
	obj := c.newObject()
	unknown, err := p.merge(ctx, original, obj, c.resource.ObjectLimit())
	if err != nil {
		return nil, err
	}
	if c.version.Omit != nil {
		for _, path := range c.version.Omit(obj) {
			unknown = append(unknown, fmt.Errorf("unknown field %q", path))
		}
	}
	if err := applyFieldValidation(request.From(ctx), append(p.strict, unknown...), fieldValidation); err != nil {
		return nil, p.invalidResult(nil, err)
	}
	// Such a patch goes by the Go type alone, whatever kind it names.
	obj.GetObjectKind().SetGroupVersionKind(c.gvk)
	return c.defaulted(obj, func(err error) error { return p.invalidResult(nil, err) })
}

// decodePatched decodes the JSON of a patched object. Its errors blame the patch.
func (c *Codec) decodePatched(ctx context.Context, p *Patch, data []byte, fieldValidation string) (api.Object, error) {
	if c.resource.Untyped {
		return c.decodePatchedUntyped(ctx, p, data, fieldValidation)
	}
	invalid := func(err error) error { return p.invalidResult(data, err) }
	if len(p.strict) == 0 {
		if obj, ok := c.readExact(data, fieldValidation); ok {
			return c.defaulted(obj, invalid)
		}
	}
	b, err := parseBody(FormatJSON, data)
	if err != nil {
		return nil, invalid(err)
	}
	if b.gvk.Group == "" && b.gvk.Version == "" {
		if err := c.checkInternalKind(b.gvk.Kind); err != nil {
			return nil, invalid(err)
		}
		return c.decodeInternal(ctx, p, b.data, fieldValidation)
	}
	from, err := c.ofBody(&b)
	if err != nil {
		return nil, invalid(err)
	}
	obj := from.newObject()
	if err := from.decodeBody(&b, obj, fieldValidation); err != nil {
		return nil, invalid(err)
	}
	if err := applyFieldValidation(request.From(ctx), append(p.strict, b.strict...), fieldValidation); err != nil {
		return nil, invalid(err)
	}
	return from.defaulted(obj, invalid)
}

// checkInternalKind returns an error unless the result of a patch that removes the apiVersion is
// of c's kind.
func (c *Codec) checkInternalKind(kind string) error {
	if kind == "" || kind == c.gvk.Kind {
		return nil
	}
	gvk := schema.GroupVersionKind{Group: c.gvk.Group, Version: runtime.APIVersionInternal, Kind: kind}
	if known, ok := c.registeredKind(gvk); ok {
		return api.ErrOtherKind(known.name, api.InternalPackage(c.resource)+"."+c.gvk.Kind)
	}
	return api.ErrNotRegistered(gvk)
}

// decodeInternal decodes the result of a patch that removes the apiVersion. kube-apiserver
// reads it as its internal type, whose JSON has neither metadata nor any other field of
// the published type: all fields are unknown, and the object has no name.
func (c *Codec) decodeInternal(ctx context.Context, p *Patch, data []byte, fieldValidation string) (api.Object, error) {
	var content map[string]json.RawMessage
	if err := json.Unmarshal(data, &content); err != nil {
		return nil, p.invalidResult(data, err)
	}
	strict := p.strict
	for _, name := range slices.Sorted(maps.Keys(content)) {
		if name != "kind" && name != "apiVersion" {
			strict = append(strict, fmt.Errorf("unknown field %q", name))
		}
	}
	if err := applyFieldValidation(request.From(ctx), strict, fieldValidation); err != nil {
		return nil, p.invalidResult(data, err)
	}
	return c.newObject(), nil
}

// invalidResult returns the error of the patch if its result, with the given JSON, is not an
// object of the kind.
func (p *Patch) invalidResult(data []byte, err error) error {
	if p.text != nil {
		return errInvalidResult(p.text(), err)
	}
	return errInvalidResult(shownJSON(data), err)
}

// shownJSON returns JSON as the encoder of json-patch writes it.
func shownJSON(data []byte) string {
	shown, err := json.Marshal(json.RawMessage(data))
	if err != nil { // not JSON, which the error says
		return string(data)
	}
	return string(shown)
}

// decodePatchedUntyped is decodePatched for objects without a Go type.
func (c *Codec) decodePatchedUntyped(ctx context.Context, p *Patch, data []byte, fieldValidation string) (api.Object, error) {
	b, err := parseUntyped(FormatJSON, data)
	if err != nil {
		return nil, p.invalidResult(data, err)
	}
	if b.gvk.Kind == "" {
		return nil, p.invalidResult(data, runtime.NewMissingKindErr(string(b.data)))
	}
	u, err := b.content(c, fieldValidation)
	if err != nil {
		return nil, p.invalidResult(data, err)
	}
	if err := applyFieldValidation(request.From(ctx), append(p.strict, b.strict...), fieldValidation); err != nil {
		return nil, p.invalidResult(data, err)
	}
	if b.gvk != c.gvk {
		return u, nil // CheckPatchedKind refuses it
	}
	return c.defaulted(u, func(err error) error { return p.invalidResult(data, err) })
}

// CheckPatchedKind returns an error if a patch changed or removed the kind of an object without a Go
// type. Callers check the object's name and namespace first.
func (c *Codec) CheckPatchedKind(obj api.Object) error {
	if !c.resource.Untyped {
		return nil
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	switch {
	case gvk == c.gvk:
		return nil
	case gvk.Group == "" && gvk.Version == "":
		return apierrors.NewInternalError(runtime.NewMissingVersionErr("object has no apiVersion field"))
	}
	return errChangedKind(c.gvk, gvk, obj.GetName())
}

// errChangedKind returns the error of a patch that changes the kind of an object.
func errChangedKind(want, got schema.GroupVersionKind, name string) error {
	var errs field.ErrorList
	if got.Kind != want.Kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), got.Kind, "must be "+want.Kind))
	}
	if got.GroupVersion() != want.GroupVersion() {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), got.GroupVersion().String(), "must be "+want.GroupVersion().String()))
	}
	return apierrors.NewInvalid(got.GroupKind(), name, errs)
}
