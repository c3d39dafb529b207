package encryption

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// health is what the server knows of the health of a KMS plugin.
type health struct {
	name   string
	logger *slog.Logger
	now    func() time.Time
	// ask calls the plugin and returns why it is not healthy; mu is held. It is not canceled, because
	// a health check whose client goes away must not leave its error for others.
	ask func(ctx context.Context) error

	// outage is the error of the last call that did not reach the plugin, until it is healthy again.
	// Meanwhile other keys are not tried, because each would wait for the timeout.
	outage   atomic.Pointer[error]
	failed   chan struct{} // signals a new outage to the plugin's run
	answered func()        // called after an outage

	mu      sync.Mutex // held during a check; guards the fields below
	checked time.Time
	result  error
}

// newHealth returns the health of a plugin that was not called yet; the caller sets ask. answered is
// called after an outage, during a check.
func newHealth(name string, o *Options, answered func()) health {
	return health{name: name, logger: o.Logger, now: o.Now, failed: make(chan struct{}, 1), answered: answered}
}

// check returns the result of the last check, or of another one if that is old.
func (h *health) check(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	ttl := goodStatusTTL
	if h.result != nil {
		ttl = badStatusTTL
	}
	if !h.checked.IsZero() && h.now().Sub(h.checked) < ttl {
		return h.result
	}
	return h.checkNow(ctx)
}

// checkAndLog checks the health now, and logs a failure.
func (h *health) checkAndLog(ctx context.Context) {
	h.mu.Lock()
	err := h.checkNow(ctx)
	h.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		h.logger.Error("KMS plugin is not healthy", "name", h.name, "error", err)
	}
}

// checkNow asks the plugin; h.mu is held.
func (h *health) checkNow(ctx context.Context) error {
	err := h.ask(context.WithoutCancel(ctx))
	h.checked, h.result = h.now(), err
	if err == nil && h.outage.Swap(nil) != nil {
		h.answered()
	}
	return err
}

func (h *health) lastResult() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.result
}

// noteOutage remembers the error of a call that did not reach the plugin.
func (h *health) noteOutage(err error) {
	if isOutage(err) && h.outage.Swap(&err) == nil {
		select {
		case h.failed <- struct{}{}:
		default:
		}
	}
}

// isOutage reports whether a call failed because the plugin did not answer.
func isOutage(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.DeadlineExceeded
}
