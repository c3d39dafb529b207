package handlers

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/api"
)

// logMetrics count the requests for logs that are sent to kubelets, with kube-apiserver's names.
type logMetrics struct {
	verified, unverified prometheus.Counter
	failures             prometheus.Counter
}

func newLogMetrics(reg prometheus.Registerer) (*logMetrics, error) {
	usage := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "kube_apiserver_pod_logs_insecure_backend_total",
		Help: "[ALPHA] Number of requests for logs that kubelets answer, by whether the client skips the " +
			"verification of the kubelet's certificate: enforce_tls or skip_tls_allowed."}, []string{"usage"})
	m := &logMetrics{
		verified: usage.WithLabelValues("enforce_tls"), unverified: usage.WithLabelValues("skip_tls_allowed"),
		failures: prometheus.NewCounter(prometheus.CounterOpts{Name: "kube_apiserver_pod_logs_backend_tls_failure_total",
			Help: "[ALPHA] Number of requests for logs that failed because the certificate of the kubelet could not be verified."}),
	}
	for _, c := range []prometheus.Collector{usage, m.failures} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of logs: %w", err)
		}
	}
	return m, nil
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
