package customkinds

import (
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// conversionMetrics are kube-apiserver's metrics of conversion webhooks.
type conversionMetrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	kinds    *prometheus.HistogramVec // by the definition
}

// Values of the label failure_type.
const (
	conversionCall      = "conversion_webhook_call_failure"
	conversionMalformed = "conversion_webhook_malformed_response_failure"
	conversionPartial   = "conversion_webhook_partial_response_failure"
	conversionInvalid   = "conversion_webhook_invalid_converted_object_failure"
)

// newConversionMetrics registers the metrics; reg may be nil.
func newConversionMetrics(reg prometheus.Registerer) (*conversionMetrics, error) {
	labels := []string{"result", "failure_type"}
	m := &conversionMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_conversion_webhook_request_total",
			Help: "[ALPHA] Counter for conversion webhook requests with success/failure and failure error type"}, labels),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_conversion_webhook_duration_seconds",
			Help: "[ALPHA] Conversion webhook request latency", Buckets: []float64{0.005, 0.01, 0.02, 0.05, 0.1, 0.2,
				0.5, 1, 2, 5, 10, 20, 30, 45, 60}}, labels),
		kinds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_crd_conversion_webhook_duration_seconds",
			Help: "[ALPHA] CRD webhook conversion duration in seconds", Buckets: prometheus.ExponentialBuckets(0.001, 2, 15)},
			[]string{"crd_name", "from_version", "to_version", "succeeded"}),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.requests, m.seconds, m.kinds} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of conversion webhooks: %w", err)
		}
	}
	return m, nil
}

// observeCall counts a call of a webhook; failure is empty for success.
func (m *conversionMetrics) observeCall(d time.Duration, failure string) {
	result := "success"
	if failure != "" {
		result = "failure"
	}
	m.requests.WithLabelValues(result, failure).Inc()
	m.seconds.WithLabelValues(result, failure).Observe(d.Seconds())
}

// observeConversion records the duration of a conversion.
func (m *conversionMetrics) observeConversion(name, from, to string, d time.Duration, err error) {
	m.kinds.WithLabelValues(name, from, to, strconv.FormatBool(err == nil)).Observe(d.Seconds())
}
