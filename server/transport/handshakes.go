package transport

import (
	"context"
	"log/slog"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// NewHandshakeErrors returns a counter of failed TLS handshakes, with kube-apiserver's name.
func NewHandshakeErrors() prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: "apiserver_tls_handshake_errors_total",
		Help: "[ALPHA] Number of connections whose TLS handshake failed."})
}

// CountHandshakeErrors returns a handler for the errors of an http.Server that counts failed TLS
// handshakes, whatever the level of the log: net/http reports them in no other way.
func CountHandshakeErrors(next slog.Handler, failed prometheus.Counter) slog.Handler {
	return &handshakeCounter{next, failed}
}

type handshakeCounter struct {
	slog.Handler
	failed prometheus.Counter
}

// Enabled implements slog.Handler: every record must be counted.
func (h *handshakeCounter) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (h *handshakeCounter) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "http: TLS handshake error from") {
		h.failed.Inc()
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}
