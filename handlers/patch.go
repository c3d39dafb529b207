package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

func (h *Handler) patch(c *call) error {
	v, err := h.view(c, offerObject)
	if err != nil {
		return err
	}
	kind, err := c.patchType()
	switch {
	case err != nil:
		return err
	case c.Name == "":
		return errNoName()
	case kind == types.ApplyYAMLPatchType:
		return h.apply(c, &v)
	}
	o, err := c.writeOptions("PatchOptions", kind)
	if err != nil {
		return err
	}
	data, err := c.readBody()
	if err != nil {
		return err
	}
	p := &patcher{h: h, c: c, parse: patchTypes[kind], data: data, fieldValidation: o.FieldValidation}
	out, err := h.Registry.Update(c.r.Context(), c.Target, p.change, registry.UpdateOptions{WriteOptions: o.WriteOptions})
	if err != nil {
		return err
	}
	return h.writeOutcome(c, &v, out)
}

// patchType returns the type of the patch in a request. Custom resources and their
// subresources accept no strategic merge patches, which need Go types.
func (c *call) patchType() (types.PatchType, error) {
	name, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	kind := types.PatchType(name)
	known := kind == types.ApplyYAMLPatchType || err == nil && patchTypes[kind] != nil
	switch {
	case c.Resource.Untyped && (!known || kind == types.StrategicMergePatchType):
		return "", errMediaType(types.JSONPatchType, types.MergePatchType, types.ApplyYAMLPatchType)
	case !known:
		return "", statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "415: Unsupported Media Type", &metav1.StatusDetails{})
	}
	return kind, nil
}

// errMediaType is the answer to a body in none of the forms that there are.
func errMediaType(known ...types.PatchType) error {
	names := make([]string, len(known))
	for i, t := range known {
		names[i] = string(t)
	}
	return statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: "+strings.Join(names, ", "), nil)
}

// patcher makes the new state of an object by a patch.
type patcher struct {
	h               *Handler
	c               *call
	parse           func([]byte) (*patch, error)
	data            []byte
	fieldValidation string
}

// change implements registry.Change. The patch is parsed only when there is an
// object, since an object that is missing is the more useful thing to be told.
func (p *patcher) change(ctx context.Context, old api.Object) (api.Object, error) {
	patch, err := p.parse(p.data)
	if err != nil {
		return nil, err
	}
	shown, err := p.c.SubresourceView(old)
	if err != nil {
		return nil, err
	}
	before, err := p.c.codec.encodeJSON(shown)
	if err != nil {
		return nil, err
	}
	obj, err := p.patched(ctx, patch, before)
	if err != nil {
		return nil, err
	}
	if err := p.c.checkName(obj); err != nil {
		return nil, err
	}
	return p.c.ApplySubresource(old, obj)
}

// patched returns what the patch makes of an object.
func (p *patcher) patched(ctx context.Context, patch *patch, before []byte) (api.Object, error) {
	if patch.merge == nil {
		after, err := patch.apply(ctx, before)
		if err != nil {
			return nil, err
		}
		if err := checkResult(after); err != nil {
			return nil, err
		}
		return p.decode(ctx, patch, after)
	}
	obj := p.c.codec.newObject()
	unknown, err := patch.merge(ctx, before, obj)
	if err != nil {
		return nil, err
	}
	if err := applyFieldValidation(request.From(ctx), append(patch.strict, unknown...), p.fieldValidation); err != nil {
		return nil, patch.unfit(nil, err)
	}
	// Such a patch goes by the type alone, whatever kind it names.
	obj.GetObjectKind().SetGroupVersionKind(p.c.codec.gvk)
	return p.c.codec.defaulted(obj)
}

// decode reads the patched object. What does not fit the kind is the fault of
// the patch.
func (p *patcher) decode(ctx context.Context, patch *patch, data []byte) (api.Object, error) {
	c := p.c.codec
	if c.resource.Untyped {
		return p.decodeUntyped(ctx, patch, data)
	}
	if len(patch.strict) == 0 {
		if obj, ok := c.readExact(data, p.fieldValidation); ok {
			return c.defaulted(obj)
		}
	}
	unfit := func(err error) error { return patch.unfit(data, err) }
	b, err := parseBody(formatJSON, data)
	if err != nil {
		return nil, unfit(err)
	}
	if b.gvk.Group == "" && b.gvk.Version == "" {
		return nil, p.decodeInternal(ctx, patch, b.data)
	}
	gvk := b.gvk
	if c, err = p.h.codecOfBody(c, &b); err != nil {
		return nil, unfit(errUnpatchable(p.h, p.c.codec, gvk))
	}
	obj := c.newObject()
	if err := b.into(obj, p.fieldValidation); err != nil {
		return nil, unfit(err)
	}
	if err := applyFieldValidation(request.From(ctx), append(patch.strict, b.strict...), p.fieldValidation); err != nil {
		return nil, unfit(err)
	}
	return c.defaulted(obj)
}

// decodeInternal returns the error of a patch that removes the apiVersion.
// kube-apiserver reads the rest as its internal type, whose JSON has neither
// metadata nor any other field of the published type, and so no name.
func (p *patcher) decodeInternal(ctx context.Context, patch *patch, data []byte) error {
	var content map[string]json.RawMessage
	if err := json.Unmarshal(data, &content); err != nil {
		return patch.unfit(data, err)
	}
	strict := patch.strict
	for _, name := range slices.Sorted(maps.Keys(content)) {
		if name != "kind" && name != "apiVersion" {
			strict = append(strict, fmt.Errorf("unknown field %q", name))
		}
	}
	if err := applyFieldValidation(request.From(ctx), strict, p.fieldValidation); err != nil {
		return patch.unfit(data, err)
	}
	return p.c.checkName(p.c.codec.newObject())
}

// unfit is the answer to a patch that led to what does not fit the kind.
func (p *patch) unfit(data []byte, err error) error {
	shown := string(data)
	if p.shown != nil {
		shown = p.shown()
	}
	return errUnfit(shown, err)
}

// errUnpatchable tells what is wrong with a kind that a patch changed.
func errUnpatchable(h *Handler, c *codec, gvk schema.GroupVersionKind) error {
	if h.knows(gvk) {
		return fmt.Errorf("unable to convert object of kind %s to %s", gvk.Kind, c.gvk.Kind)
	}
	return errNotRegistered(gvk)
}
