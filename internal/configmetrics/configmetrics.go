// Package configmetrics measures configuration files that are reloaded, as kube-apiserver does:
// the reloads, the time of the last one, and a hash of the configuration in use, by which
// operators see whether all servers have the same one. Packages authn and authz use it.
package configmetrics

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the metrics of one configuration file. A nil *Metrics counts nothing.
type Metrics struct {
	server      string // hash of the server's id
	reloads     *prometheus.CounterVec
	last, info  *prometheus.GaugeVec
	mu          sync.Mutex // guards the field below, and that info agrees with it
	currentHash string
}

// New registers the metrics of a configuration of a subject, authentication or authorization.
// serverID identifies the server in them, as a hash.
func New(reg prometheus.Registerer, subject, serverID string) (*Metrics, error) {
	prefix, byStatus := "apiserver_"+subject+"_config_controller_", []string{"status", "apiserver_id_hash"}
	m := &Metrics{
		server: Hash(serverID),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "automatic_reloads_total",
			Help: "[BETA] Total number of automatic reloads of " + subject + " configuration split by status and apiserver identity."}, byStatus),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "automatic_reload_last_timestamp_seconds",
			Help: "[BETA] Timestamp of the last automatic reload of " + subject + " configuration split by status and apiserver identity."}, byStatus),
		info: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "last_config_info",
			Help: "[ALPHA] Information about the last applied " + subject + " configuration with hash as label, split by apiserver identity."},
			[]string{"apiserver_id_hash", "hash"}),
	}
	for _, c := range []prometheus.Collector{m.reloads, m.last, m.info} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of the %s configuration: %w", subject, err)
		}
	}
	return m, nil
}

// Applied records the content of the configuration in use.
func (m *Metrics) Applied(data []byte) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.info.DeleteLabelValues(m.server, m.currentHash)
	m.currentHash = Hash(string(data))
	m.info.WithLabelValues(m.server, m.currentHash).Set(1)
}

// Reloaded counts an attempt to apply a changed configuration, whose content is data.
func (m *Metrics) Reloaded(data []byte, err error) {
	if m == nil {
		return
	}
	status := "success"
	if err != nil {
		status = "failure"
	} else {
		m.Applied(data)
	}
	m.reloads.WithLabelValues(status, m.server).Inc()
	m.last.WithLabelValues(status, m.server).SetToCurrentTime()
}

// Hash returns the hash by which metrics name an id or a content, or "" for an empty one.
func Hash(text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text)))
}
