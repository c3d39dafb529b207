package podsecurity

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	psa "k8s.io/pod-security-admission/api"

	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
	"github.com/miniapiserver/miniapiserver/internal/metricset"
	"github.com/miniapiserver/miniapiserver/registry"
)

// Values of the labels decision and mode.
const (
	decisionAllow = "allow"
	decisionDeny  = "deny"

	modeEnforce = "enforce"
	modeAudit   = "audit"
	modeWarn    = "warn"
)

// metrics count the decisions of the plugin, with kube-apiserver's names and labels.
type metrics struct {
	evaluations, exemptions, errors *prometheus.CounterVec
	version                         psa.Version // of the server
}

// newMetrics creates the metrics and, unless reg is nil, registers them.
func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	v := kubeversion.Binary()
	var set metricset.Set
	m := &metrics{
		evaluations: set.CounterVec("pod_security_evaluations_total",
			"[ALPHA] Number of evaluations of a Pod Security level, without those of exempt requests.",
			"decision", "policy_level", "policy_version", "mode", "request_operation", "resource", "subresource"),
		exemptions: set.CounterVec("pod_security_exemptions_total",
			"[ALPHA] Number of requests that are exempt from Pod Security.",
			"request_operation", "resource", "subresource"),
		errors: set.CounterVec("pod_security_errors_total",
			"[ALPHA] Number of errors that prevent the evaluation of a Pod Security level. "+
				"After one that is not fatal, the level may be restricted.",
			"fatal", "request_operation", "resource", "subresource"),
		version: psa.MajorMinorVersion(v.Major, v.Minor),
	}
	// The series that most requests count exist from the start, as in kube-apiserver.
	for _, operation := range []string{"create", "update"} {
		m.evaluations.WithLabelValues(decisionAllow, string(psa.LevelPrivileged), psa.VersionLatest, modeEnforce, operation, "pod", "")
		m.exemptions.WithLabelValues(operation, "pod", "")
		m.exemptions.WithLabelValues(operation, "controller", "")
	}
	return m, set.Register(reg)
}

// requestLabels returns the labels request_operation, resource and subresource.
func requestLabels(a *registry.Attributes) (operation, resource, subresource string) {
	resource = "controller"
	switch a.GroupResource() {
	case corev1.Resource("pods"):
		resource = "pod"
	case corev1.Resource("namespaces"):
		resource = "namespace"
	}
	return a.Verb, resource, a.Subresource
}

// evaluated counts an evaluation of a level.
func (m *metrics) evaluated(a *registry.Attributes, mode, decision string, level psa.LevelVersion) {
	version := level.Version.String()
	switch {
	case level.Version.Latest() || level.Level == psa.LevelPrivileged:
		version = psa.VersionLatest
	case m.version.Older(level.Version):
		version = "future"
	}
	operation, resource, subresource := requestLabels(a)
	m.evaluations.WithLabelValues(decision, string(level.Level), version, mode, operation, resource, subresource).Inc()
}

// exempted counts an exempt request.
func (m *metrics) exempted(a *registry.Attributes) {
	operation, resource, subresource := requestLabels(a)
	m.exemptions.WithLabelValues(operation, resource, subresource).Inc()
}

// failed counts an error, which is fatal if nothing is evaluated.
func (m *metrics) failed(a *registry.Attributes, fatal bool) {
	operation, resource, subresource := requestLabels(a)
	m.errors.WithLabelValues(strconv.FormatBool(fatal), operation, resource, subresource).Inc()
}
