package customkinds

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
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
	var set metricset.Set
	return &conversionMetrics{
		requests: set.CounterVec("apiserver_conversion_webhook_request_total",
			"[ALPHA] Counter for conversion webhook requests with success/failure and failure error type",
			"result", "failure_type"),
		seconds: set.HistogramVec("apiserver_conversion_webhook_duration_seconds",
			"[ALPHA] Conversion webhook request latency",
			[]float64{0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60}, "result", "failure_type"),
		kinds: set.HistogramVec("apiserver_crd_conversion_webhook_duration_seconds",
			"[ALPHA] CRD webhook conversion duration in seconds",
			prometheus.ExponentialBuckets(0.001, 2, 15), "crd_name", "from_version", "to_version", "succeeded"),
	}, set.Register(reg)
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
