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
)

// ApplyPatch applies a patch to an object and returns the result in the hub type. old is
// the unpatched object in the hub type.
func (c *Codec) ApplyPatch(ctx context.Context, p *Patch, old api.Object, fieldValidation string) (api.Object, error) {
	original, err := c.encodeJSON(old)
	if err != nil {
		return nil, err
	}
	d := &decoder{Codec: c, requested: c, ctx: ctx, fieldValidation: fieldValidation, body: body{strict: p.strict}, patch: p}
	if p.merge == nil {
		result, err := p.apply(ctx, original)
		if err != nil {
			return nil, err
		}
		if err := checkResult(result, c.resource.ObjectLimit()); err != nil {
			return nil, err
		}
		d.result = result
		if c.resource.IsCustom() {
			return d.patchedUntyped()
		}
		return d.patched()
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
	d.strict = append(d.strict, unknown...)
	if err := d.validateFields(); err != nil {
		return nil, err
	}
	// Such a patch goes by the Go type alone, whatever kind it names.
	obj.GetObjectKind().SetGroupVersionKind(c.gvk)
	return d.defaulted(obj)
}

// patched decodes the JSON of a patched object. Its errors blame the patch.
func (d *decoder) patched() (api.Object, error) {
	b, err := openBody(FormatJSON, d.result)
	if err != nil {
		return nil, d.blame(err)
	}
	b.strict = d.strict
	d.body = b
	if obj, ok := d.fast(FormatJSON); ok {
		return d.defaulted(obj)
	}
	if err := d.readTypeMeta(); err != nil {
		return nil, d.blame(err)
	}
	if d.body.gvk.Group == "" && d.body.gvk.Version == "" {
		if err := d.checkInternalKind(d.body.gvk.Kind); err != nil {
			return nil, d.blame(err)
		}
		return d.internal()
	}
	obj, err := d.object()
	if err != nil {
		return nil, err
	}
	return d.defaulted(obj)
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

// internal decodes the result of a patch that removes the apiVersion. kube-apiserver
// reads it as its internal type, whose JSON has neither metadata nor any other field of
// the published type: all fields are unknown, and the object has no name.
func (d *decoder) internal() (api.Object, error) {
	var content map[string]json.RawMessage
	if err := json.Unmarshal(d.data, &content); err != nil {
		return nil, d.blame(err)
	}
	for _, name := range slices.Sorted(maps.Keys(content)) {
		if name != "kind" && name != "apiVersion" {
			d.strict = append(d.strict, fmt.Errorf("unknown field %q", name))
		}
	}
	return d.newObject(), d.validateFields()
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

// patchedUntyped is patched for objects without a Go type.
func (d *decoder) patchedUntyped() (api.Object, error) {
	if err := d.openUntyped(FormatJSON, d.result); err != nil {
		return nil, d.blame(err)
	}
	if d.body.gvk.Kind == "" {
		return nil, d.blame(runtime.NewMissingKindErr(string(d.data)))
	}
	u, err := d.content()
	if err != nil {
		return nil, err
	}
	if d.body.gvk != d.Codec.gvk {
		return u, nil // CheckPatchedKind refuses it
	}
	return d.defaulted(u)
}

// CheckPatchedKind returns an error if a patch changed or removed the kind of an object without a Go
// type. Callers check the object's name and namespace first.
func (c *Codec) CheckPatchedKind(obj api.Object) error {
	if !c.resource.IsCustom() {
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
