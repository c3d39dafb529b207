package manifest

import (
	"crypto/sha256"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts the loads of manifests, under kube-apiserver's names.
type Metrics struct {
	server  string // hash of the identity of the server
	loads   *prometheus.CounterVec
	times   *prometheus.GaugeVec
	configs *prometheus.GaugeVec
}

// NewMetrics returns the metrics of a server with an identity, and registers them.
func NewMetrics(reg prometheus.Registerer, serverID string) (*Metrics, error) {
	const prefix = "apiserver_manifest_admission_config_controller_"
	m := &Metrics{
		server: fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(serverID))),
		loads: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "automatic_reloads_total",
			Help: "[ALPHA] Total number of automatic reloads of admission manifest configuration split by status, plugin, and apiserver identity."},
			[]string{"status", "plugin", "apiserver_id_hash"}),
		times: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "automatic_reload_last_timestamp_seconds",
			Help: "[ALPHA] Timestamp of the last automatic reload of admission manifest configuration split by status, plugin, and apiserver identity."},
			[]string{"status", "plugin", "apiserver_id_hash"}),
		configs: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "last_config_info",
			Help: "[ALPHA] Information about the last applied admission manifest configuration with hash as label, split by plugin and apiserver identity."},
			[]string{"plugin", "apiserver_id_hash", "hash"}),
	}
	for _, c := range []prometheus.Collector{m.loads, m.times, m.configs} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of admission manifests: %w", err)
		}
	}
	return m, nil
}

// loaded counts a load that succeeded.
func (m *Metrics) loaded(plugin, hash string) {
	if m == nil {
		return
	}
	m.count("success", plugin)
	m.configs.DeletePartialMatch(prometheus.Labels{"plugin": plugin})
	m.configs.WithLabelValues(plugin, m.server, hash).Set(1)
}

// failed counts a load that failed.
func (m *Metrics) failed(plugin string) {
	if m != nil {
		m.count("failure", plugin)
	}
}

func (m *Metrics) count(status, plugin string) {
	m.loads.WithLabelValues(status, plugin, m.server).Inc()
	m.times.WithLabelValues(status, plugin, m.server).SetToCurrentTime()
}
