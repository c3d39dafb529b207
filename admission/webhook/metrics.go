package webhook

import (
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// metrics holds the webhook metrics, under kube-apiserver's names.
type metrics struct {
	seconds                       *prometheus.HistogramVec
	requests, rejections, opening *prometheus.CounterVec
}

// Admission types in metrics. Match condition metrics use typeValidate where the others use
// typeValidating.
const (
	typeAdmit      = "admit"
	typeValidating = "validating"
	typeValidate   = "validate"
)

// maxCodeLabel is the maximum value of the label code.
const maxCodeLabel = 600

// newMetrics creates the metrics and, unless reg is nil, registers them.
func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	var set metricset.Set
	return &metrics{
		seconds: set.HistogramVec("apiserver_admission_webhook_admission_duration_seconds",
			"[STABLE] Admission webhook latency histogram in seconds, identified by name and broken out for "+
				"each operation and API resource and type (validate or admit).",
			[]float64{0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25}, "name", "type", "operation", "rejected"),
		requests: set.CounterVec("apiserver_admission_webhook_request_total",
			"[ALPHA] Admission webhook request total, identified by name and broken out for each admission "+
				"type (validating or admit) and operation. Additional labels specify whether the request was "+
				"rejected or not and an HTTP status code. Codes greater than 600 are truncated to 600, to keep the "+
				"metrics cardinality bounded.", "name", "type", "operation", "code", "rejected"),
		rejections: set.CounterVec("apiserver_admission_webhook_rejection_count",
			"[ALPHA] Admission webhook rejection count, identified by name and broken out for each admission "+
				"type (validating or admit) and operation. Additional labels specify an error type "+
				"(calling_webhook_error or apiserver_internal_error if an error occurred; no_error otherwise) and "+
				"optionally a non-zero rejection code if the webhook rejects the request with an HTTP status code "+
				"(honored by the apiserver when the code is greater or equal to 400). Codes greater than 600 are "+
				"truncated to 600, to keep the metrics cardinality bounded.",
			"name", "type", "operation", "error_type", "rejection_code"),
		opening: set.CounterVec("apiserver_admission_webhook_fail_open_count",
			"[ALPHA] Admission webhook fail open count, identified by name and broken out for each "+
				"admission type (validating or admit).", "name", "type"),
	}, set.Register(reg)
}

// called counts a call of a hook and its result.
func (m *metrics) called(h *hook, kind, operation string, d time.Duration, err error) {
	code, errorType, rejected := int32(0), "apiserver_internal_error", true
	var call *callError
	var no rejection
	switch {
	case err == nil:
		code, rejected = 200, false
	case errors.As(err, &call):
		code, errorType, rejected = call.code, "calling_webhook_error", !h.ignore
	case errors.As(err, &no):
		code, errorType = no.ErrStatus.Code, "no_error"
	}
	label := strconv.Itoa(int(min(code, maxCodeLabel)))
	if rejected {
		m.rejections.WithLabelValues(h.name, kind, operation, errorType, label).Inc()
	}
	m.seconds.WithLabelValues(h.name, kind, operation, strconv.FormatBool(rejected)).Observe(d.Seconds())
	m.requests.WithLabelValues(h.name, kind, operation, label, strconv.FormatBool(rejected)).Inc()
}

// failedOpen counts a failed call that the failure policy ignores.
func (m *metrics) failedOpen(h *hook, kind string) { m.opening.WithLabelValues(h.name, kind).Inc() }
