package aggregation

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics reports unavailable APIServices.
type Metrics struct {
	unavailable *prometheus.GaugeVec
	became      *prometheus.CounterVec
}

// NewMetrics registers the metrics; reg may be nil.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		unavailable: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "aggregator_unavailable_apiservice",
			Help: "[ALPHA] Gauge of APIServices which are marked as unavailable broken down by APIService name."}, []string{"name"}),
		became: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "aggregator_unavailable_apiservice_total",
			Help: "[ALPHA] Counter of APIServices which are marked as unavailable broken down by APIService name and reason."},
			[]string{"name", "reason"}),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.unavailable, m.became} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of aggregation: %w", err)
		}
	}
	return m, nil
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
