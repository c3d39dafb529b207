package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// logStall is the time without progress after which logging counts as blocked.
const logStall = 2 * time.Minute

// logWatch is a slog.Handler that detects when the handler behind it blocks, as a pipe that
// is not read does.
type logWatch struct {
	slog.Handler
	*logProgress
}

// logProgress is shared by the handlers that WithAttrs and WithGroup make.
type logProgress struct {
	now     func() time.Time
	mu      sync.Mutex
	pending int       // records under way
	moved   time.Time // when a record last began while none was pending, or ended
}

func watchLog(l *slog.Logger) (*slog.Logger, *logProgress) {
	p := &logProgress{now: time.Now}
	return slog.New(&logWatch{l.Handler(), p}), p
}

// Handle implements slog.Handler.
func (w *logWatch) Handle(ctx context.Context, r slog.Record) error {
	w.begin()
	defer w.end()
	return w.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (w *logWatch) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logWatch{w.Handler.WithAttrs(attrs), w.logProgress}
}

// WithGroup implements slog.Handler.
func (w *logWatch) WithGroup(name string) slog.Handler {
	return &logWatch{w.Handler.WithGroup(name), w.logProgress}
}

func (p *logProgress) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending == 0 {
		p.moved = p.now()
	}
	p.pending++
}

func (p *logProgress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending--
	p.moved = p.now()
}

// check fails if records are pending and none was written within logStall.
func (p *logProgress) check(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending > 0 && p.now().Sub(p.moved) >= logStall {
		return errors.New("logging blocked")
	}
	return nil
}
