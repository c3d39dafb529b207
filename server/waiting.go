package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// A start that takes longer than slowStart says in the log what it waits for, and again after each interval.
const (
	slowStart         = 2 * time.Second
	slowStartInterval = 5 * time.Second
)

// waiting is what a start does now.
type waiting struct{ what atomic.Pointer[string] }

// begin sets what the start does from now on.
func (w *waiting) begin(what string) { w.what.Store(&what) }

// progress is storage's Options.Progress.
func (w *waiting) progress(what string, done, _ int64) {
	if done > 0 {
		what = fmt.Sprintf("%s (%d MB done)", what, done>>20)
	}
	w.begin(what)
}

// tellWhileSlow logs what the start waits for, once it is slow, until the returned function is called.
func (s *Server) tellWhileSlow(ctx context.Context) (end func()) {
	began, log := time.Now(), cmp.Or(s.o.Logger, slog.New(slog.DiscardHandler))
	s.waiting.begin("the files that flags name")
	ctx, cancel := context.WithCancel(ctx)
	told := make(chan struct{})
	go func() {
		defer close(told)
		_ = recovery.Call(log, "telling of a slow start", func() {
			for after := slowStart; ; after = slowStartInterval {
				if pause(ctx, after); ctx.Err() != nil {
					return
				}
				log.Warn("the start takes long", "waitingFor", *s.waiting.what.Load(), "after", time.Since(began).Round(time.Second))
			}
		})
	}()
	return func() {
		cancel()
		<-told
	}
}
