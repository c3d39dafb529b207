package handlers

import (
	"net/http"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
)

// Annotations of audit events of requests to what is deprecated.
const (
	deprecatedAnnotation = "k8s.io/deprecated"
	removedAnnotation    = "k8s.io/removed-release"
)

// tellDeprecated tells who asks for something deprecated, in a Warning header,
// and who operates the server, by a metric and in the audit log.
func (h *Handler) tellDeprecated(r *http.Request, res *api.Resource, v *api.Version, info *request.Info) {
	d := res.DeprecatedIn(v)
	if d == nil {
		return
	}
	scope := request.From(r.Context())
	scope.Warn(d.Warning)
	scope.Annotate(deprecatedAnnotation, "true")
	if d.RemovedRelease != "" {
		scope.Annotate(removedAnnotation, d.RemovedRelease)
	}
	h.metrics.deprecated.WithLabelValues(info.Group, info.Version, info.Resource, info.Subresource, d.RemovedRelease).Set(1)
}
