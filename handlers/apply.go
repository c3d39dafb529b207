package handlers

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

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
