package audit

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// Auditor records requests. It is safe for concurrent use.
type Auditor struct {
	policy   *Policy
	backends []*backend
	metrics  *metrics
	now      func() time.Time
	// isMovable: now may differ from the wall clock.
	isMovable bool
}

// New returns an Auditor. It opens the log, and starts the goroutines of the backends,
// which Close ends.
func New(c Config) (*Auditor, error) {
	if c.Policy == nil {
		return nil, errors.New("audit: Policy must be set")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	m, err := newMetrics(c.Metrics)
	if err != nil {
		return nil, err
	}
	a := &Auditor{policy: c.Policy, metrics: m, now: c.Now, isMovable: c.IsMovable}
	faults := &faultLog{logger: c.Logger, errors: m.errors, now: time.Now}
	if c.Log != nil {
		log, err := openLog(c.Log, time.Now, faults)
		if err != nil {
			return nil, err
		}
		a.backends = append(a.backends, newBackend(nameLog, log, c.Log.Batch, c.Log.Truncate, faults))
	}
	if c.Webhook != nil {
		a.backends = append(a.backends, newBackend(nameWebhook, newWebhook(c.Webhook), c.Webhook.Batch, c.Webhook.Truncate, faults))
	}
	return a, nil
}

// process sends an event to all backends, and reports whether all that requests depend on
// have accepted it.
func (a *Auditor) process(e *Event) bool {
	a.metrics.events.Inc()
	accepted := true
	for _, b := range a.backends {
		accepted = b.process(e) && accepted
	}
	return accepted
}

// Close sends the events that wait, and closes the backends. Events that are not sent when
// ctx is done are lost. Events of later requests are refused.
func (a *Auditor) Close(ctx context.Context) error {
	errs := make([]error, len(a.backends))
	for i, b := range a.backends {
		errs[i] = b.close(ctx)
	}
	return errors.Join(errs...)
}

// RegisterMetrics registers the metrics of a server without an Auditor, which are zero.
func RegisterMetrics(reg prometheus.Registerer) error {
	_, err := newMetrics(reg)
	return err
}

// metrics have kube-apiserver's names and labels.
type metrics struct {
	events, rejected prometheus.Counter
	errors           *prometheus.CounterVec
	levels           []prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	var set metricset.Set
	levels := set.CounterVec("apiserver_audit_level_total",
		"[ALPHA] Counter of policy levels for audit events (1 per request).", "level")
	m := &metrics{
		events: set.Counter("apiserver_audit_event_total",
			"[ALPHA] Counter of audit events generated and sent to the audit backend."),
		rejected: set.Counter("apiserver_audit_requests_rejected_total",
			"[ALPHA] Counter of apiserver requests rejected due to an error in audit logging backend."),
		errors: set.CounterVec("apiserver_audit_error_total",
			"[ALPHA] Counter of audit events that failed to be audited properly. Plugin identifies the "+
				"plugin affected by the error.", "plugin"),
	}
	for _, name := range levelNames() {
		m.levels = append(m.levels, levels.WithLabelValues(name))
	}
	return m, set.Register(reg)
}
