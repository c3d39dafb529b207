package reconcile

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/clock"
	"github.com/miniapiserver/miniapiserver/registry"
)

// BaseConfig has the parts of a server that controllers use. Handler, Registry and Catalogue
// are required.
type BaseConfig struct {
	// Handler is the server's handler chain.
	Handler   http.Handler
	Registry  *registry.Registry
	Catalogue *api.Catalogue
	Logger    *slog.Logger
	// Clock is the clock of stamps and expiries; nil means the wall clock. Now is its Now unless a test sets another.
	Clock *clock.Clock
	Now   func() time.Time
	// QueueMetrics measures the queues of loops; nil measures nothing.
	QueueMetrics *QueueMetrics
}

// Complete returns c with defaults for Logger and Now.
func (c BaseConfig) Complete() BaseConfig {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = c.Clock.Now
	}
	return c
}
