package aggregation

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// Metrics reports unavailable APIServices.
type Metrics struct {
	unavailable *prometheus.GaugeVec
	became      *prometheus.CounterVec
}

// NewMetrics registers the metrics; reg may be nil.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	var set metricset.Set
	return &Metrics{
		unavailable: set.GaugeVec("aggregator_unavailable_apiservice",
			"[ALPHA] Gauge of APIServices which are marked as unavailable broken down by APIService name.", "name"),
		became: set.CounterVec("aggregator_unavailable_apiservice_total",
			"[ALPHA] Counter of APIServices which are marked as unavailable broken down by APIService name and reason.",
			"name", "reason"),
	}, set.Register(reg)
}

// SetAvailable sets whether an APIService is available.
func (m *Metrics) SetAvailable(name string, available bool) {
	value := 1.0
	if available {
		value = 0
	}
	m.unavailable.WithLabelValues(name).Set(value)
}

// CountUnavailable counts a change from available to unavailable.
func (m *Metrics) CountUnavailable(name, reason string) { m.became.WithLabelValues(name, reason).Inc() }

// Delete removes the metrics of a deleted APIService.
func (m *Metrics) Delete(name string) { m.unavailable.DeleteLabelValues(name) }
