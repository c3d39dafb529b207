package handlers

import (
	"context"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

func (h *Handler) patch(c *call) error {
	kind, err := c.patchType(h.codecs.CBOR)
	if err != nil {
		return err
	}
	v, err := c.codec.View(c.r, c.Resource, c.offer)
	switch {
	case err != nil:
		return err
	case c.Name == "":
		return errNoName()
	case slices.Contains(applyTypes, kind):
		return h.apply(c, kind, &v)
	}
	return h.patchStored(c, kind, &v)
}

// patchStored serves a PATCH with a patch of the stored object.
func (h *Handler) patchStored(c *call, kind types.PatchType, v *representation.View) error {
	o, err := c.writeOptions("PatchOptions", kind)
	if err != nil {
		return err
	}
	data, err := c.readBody()
	if err != nil {
		return err
	}
	if record := request.From(c.r.Context()).Audit; record.WantsRequestObject() {
		c.auditPatch(record, kind, data)
	}
	c.recordPatch(kind, data)
	if err := representation.CheckPatchSyntax(data); err != nil {
		return err
	}
	change := func(ctx context.Context, old api.Object) (api.Object, error) {
		obj, err := c.patched(ctx, old, kind, data, o.FieldValidation)
		if err != nil {
			request.From(ctx).Account.Refuse(request.Refusal{By: request.RefusedByDecoding, Message: representation.Unsaid(err)})
		}
		return obj, err
	}
	out, err := h.Registry.Update(c.r.Context(), c.Target, change, registry.UpdateOptions{WriteOptions: o.WriteOptions})
	if err != nil {
		return err
	}
	return h.writeOutcome(c, v, out)
}

// patchType returns the type of the patch in a request. Custom resources and their
// subresources accept no strategic merge patches, which need Go types.
//
// kube-apiserver checks the Content-Type of built-in resources twice: its router accepts a list of
// media types, of which one must be served, and its handler only one. Both ignore parameters, and
// neither ignores case.
func (c *call) patchType(servesCBOR bool) (types.PatchType, error) {
	served := []types.PatchType{types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType, types.ApplyYAMLPatchType}
	if c.Resource.IsCustom() {
		served = slices.Delete(served, 2, 3)
	}
	if servesCBOR {
		served = append(served, types.ApplyCBORPatchType)
	}
	header := c.r.Header.Get("Content-Type")
	name, _, _ := strings.Cut(header, ";")
	if kind := types.PatchType(name); slices.Contains(served, kind) {
		return kind, nil
	}
	if !c.Resource.IsCustom() && !namesPatchType(header, served) {
		return "", representation.NewStatusError(http.StatusUnsupportedMediaType,
			metav1.StatusReasonUnsupportedMediaType, "415: Unsupported Media Type", &metav1.StatusDetails{})
	}
	return "", errPatchType(served...)
}

// namesPatchType reports whether a Content-Type, as a list of media types, names a served one.
func namesPatchType(header string, served []types.PatchType) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, _, _ := strings.Cut(part, ";")
		if slices.Contains(served, types.PatchType(strings.Trim(name, " "))) {
			return true
		}
	}
	return false
}

// applyTypes are the types of patches that are apply configurations.
var applyTypes = []types.PatchType{types.ApplyYAMLPatchType, types.ApplyCBORPatchType}

// errPatchType returns the error of a patch whose media type is not one of the known ones.
func errPatchType(known ...types.PatchType) error {
	names := make([]string, len(known))
	for i, t := range known {
		names[i] = string(t)
	}
	return representation.NewStatusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: "+strings.Join(names, ", "), nil)
}

// patched returns what a patch makes of an object. The patch is parsed only when there is
// an object, because the client needs to know first that an object is missing.
func (c *call) patched(ctx context.Context, old api.Object, kind types.PatchType, data []byte, fieldValidation string) (api.Object, error) {
	patch, err := representation.PatchParser(kind)(data, fieldValidation)
	if err != nil {
		return nil, err
	}
	obj, err := c.codec.ApplyPatch(ctx, patch, old, fieldValidation)
	if err != nil {
		return nil, err
	}
	if err := c.checkName(obj); err != nil {
		return nil, err
	}
	return obj, c.codec.CheckPatchedKind(obj)
}

// apply serves a PATCH with an apply configuration.
func (h *Handler) apply(c *call, kind types.PatchType, v *representation.View) error {
	o, err := c.writeOptions("PatchOptions", kind)
	if err != nil {
		return err
	}
	data, err := c.readBody()
	if err != nil {
		return err
	}
	if record := request.From(c.r.Context()).Audit; record.WantsRequestObject() {
		c.auditPatch(record, kind, data)
	}
	c.recordPatch(kind, data)
	patch, err := c.codec.DecodeApplied(kind, data)
	if err != nil {
		return err
	}
	check := c.checkName
	if len(patch.Duplicates) > 0 {
		check = func(obj api.Object) error {
			if err := patch.CheckDuplicates(request.From(c.r.Context()), o.FieldValidation); err != nil {
				return err
			}
			return c.checkName(obj)
		}
	}
	out, err := h.Registry.Apply(c.r.Context(), c.Target, patch.Content, registry.ApplyOptions{
		WriteOptions: o.WriteOptions, Force: o.force != nil && *o.force,
		AuthorizeCreate: h.creationAuthorization(c), Check: check,
	})
	if err != nil {
		return err
	}
	return h.writeOutcome(c, v, out)
}
