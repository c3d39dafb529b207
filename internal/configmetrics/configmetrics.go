// Package configmetrics measures configuration files that are reloaded, as kube-apiserver does:
// the reloads, the time of the last one, and a hash of the configuration in use, by which
// operators see whether all servers have the same one.
package configmetrics

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// Labels of the metrics. labelPlugin distinguishes the configurations of a subject.
const (
	labelServer = "apiserver_id_hash"
	labelPlugin = "plugin"
)

// Options describe the metrics of a subject.
type Options struct {
	// Name is the name of the subject in the names of the metrics, and Subject its name in their
	// help; Subject is Name if it is empty.
	Name, Subject string
	// ServerID identifies the server in the metrics, as a hash.
	ServerID string
	// Stability is that of the metrics of reloads. The hash is ALPHA.
	Stability string
	// ByPlugin adds the label plugin; see ForPlugin.
	ByPlugin bool
}

// Metrics are the metrics of one configuration. A nil *Metrics counts nothing.
type Metrics struct {
	reloads     *prometheus.CounterVec
	last, info  *prometheus.GaugeVec
	mu          sync.Mutex // guards the field below, and that info agrees with it
	currentHash string
}

// New registers the metrics of a subject.
func New(reg prometheus.Registerer, o Options) (*Metrics, error) {
	prefix, subject := "apiserver_"+o.Name+"_config_controller_", o.Subject
	if subject == "" {
		subject = o.Name
	}
	byStatus, byHash := []string{"status", labelServer}, []string{labelServer, "hash"}
	split, splitInfo := "status and apiserver identity", "apiserver identity"
	if o.ByPlugin {
		byStatus, byHash = append(byStatus, labelPlugin), append(byHash, labelPlugin)
		split, splitInfo = "status, plugin, and apiserver identity", "plugin and apiserver identity"
	}
	help := func(text, split string) string {
		return fmt.Sprintf("[%s] %s of %s configuration split by %s.", o.Stability, text, subject, split)
	}
	var set metricset.Set
	m := &Metrics{
		reloads: set.CounterVec(prefix+"automatic_reloads_total", help("Total number of automatic reloads", split), byStatus...),
		last: set.GaugeVec(prefix+"automatic_reload_last_timestamp_seconds",
			help("Timestamp of the last automatic reload", split), byStatus...),
		info: set.GaugeVec(prefix+"last_config_info", "[ALPHA] Information about the last applied "+subject+
			" configuration with hash as label, split by "+splitInfo+".", byHash...),
	}
	return m.with(labelServer, Hash(o.ServerID)), set.Register(reg)
}

// with returns the metrics with the value of a label.
func (m *Metrics) with(label, value string) *Metrics {
	labels := prometheus.Labels{label: value}
	return &Metrics{reloads: m.reloads.MustCurryWith(labels), last: m.last.MustCurryWith(labels), info: m.info.MustCurryWith(labels)}
}

// ForPlugin returns the metrics of the configuration of a plugin. It is called once per plugin, on
// the metrics of a subject whose Options set ByPlugin; these cannot be used for anything else.
func (m *Metrics) ForPlugin(name string) *Metrics {
	if m == nil {
		return nil
	}
	return m.with(labelPlugin, name)
}

// Applied records the hash of the configuration in use.
func (m *Metrics) Applied(hash string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.info.DeleteLabelValues(m.currentHash)
	m.currentHash = hash
	m.info.WithLabelValues(hash).Set(1)
}

// Reloaded counts an attempt to apply a changed configuration. hash is that of the configuration,
// and of no importance if there is an error.
func (m *Metrics) Reloaded(hash string, err error) {
	if m == nil {
		return
	}
	status := "success"
	if err != nil {
		status = "failure"
	} else {
		m.Applied(hash)
	}
	m.reloads.WithLabelValues(status).Inc()
	m.last.WithLabelValues(status).SetToCurrentTime()
}

// Hash returns the hash by which metrics name an id or a content, or "" for an empty one.
func Hash(text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text)))
}
