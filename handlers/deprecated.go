package handlers

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
)

// Audit annotations of requests to deprecated versions.
const (
	deprecatedAnnotation = "k8s.io/deprecated"
	removedAnnotation    = "k8s.io/removed-release"
)

// reportDeprecated reports the use of a deprecated version to the client in a Warning
// header, and to the operator in a metric and the audit log.
func (h *Handler) reportDeprecated(scope *request.Scope, d *api.Deprecation) {
	info := &scope.Info
	scope.Warn(d.Warning)
	scope.Annotate(deprecatedAnnotation, "true")
	if d.RemovedRelease != "" {
		scope.Annotate(removedAnnotation, d.RemovedRelease)
	}
	h.metrics.deprecated.WithLabelValues(info.Group, info.Version, info.Resource, info.Subresource, d.RemovedRelease).Set(1)
}

// reportDeprecatedPage is reportDeprecated for a page about the server, which is counted as a resource.
func (h *Handler) reportDeprecatedPage(scope *request.Scope, warning string) {
	scope.Warn(warning)
	scope.Annotate(deprecatedAnnotation, "true")
	as := scope.CountedAs
	h.metrics.deprecated.WithLabelValues(as.Group, as.Version, as.Resource, "", "").Set(1)
}
