package handlers

import (
	"crypto/tls"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// logMetrics count the requests for logs that are sent to kubelets, with kube-apiserver's names.
type logMetrics struct {
	verified, unverified prometheus.Counter
	failures             prometheus.Counter
}

func newLogMetrics(set *metricset.Set) *logMetrics {
	usage := set.CounterVec("kube_apiserver_pod_logs_insecure_backend_total",
		"[ALPHA] Number of requests for logs that kubelets answer, by whether the client skips the "+
			"verification of the kubelet's certificate: enforce_tls or skip_tls_allowed.", "usage")
	return &logMetrics{
		verified: usage.WithLabelValues("enforce_tls"), unverified: usage.WithLabelValues("skip_tls_allowed"),
		failures: set.Counter("kube_apiserver_pod_logs_backend_tls_failure_total",
			"[ALPHA] Number of requests for logs that failed because the certificate of the kubelet could not be verified."),
	}
}

// requested counts a request for the log at a location.
func (m *logMetrics) requested(loc *api.Location) {
	if loc.Unverified {
		m.unverified.Inc()
		return
	}
	m.verified.Inc()
}

// failed counts err if the certificate of the kubelet caused it.
func (m *logMetrics) failed(err error) {
	if invalid := (*tls.CertificateVerificationError)(nil); errors.As(err, &invalid) {
		m.failures.Inc()
	}
}
