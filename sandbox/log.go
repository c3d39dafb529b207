package sandbox

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// stopping reports whether the sandbox of this process stops. There is one at a time: see busy.
var stopping atomic.Bool

// logHandler lowers the errors of components that stop to the level info.
type logHandler struct{ slog.Handler }

// LogHandler returns a handler for what components log, which Options.Logger has anyway. While the
// sandbox stops it lowers errors to the level info: the components then report each request that
// ends with them. A program that gives klog a logger uses it there too.
func LogHandler(h slog.Handler) slog.Handler { return logHandler{h} }

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if stopping.Load() && r.Level > slog.LevelInfo {
		r.Level = slog.LevelInfo
		if !h.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }
