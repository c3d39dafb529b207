// Package recovery prevents a panic from ending the process. An unrecovered panic in any
// goroutine ends the process, and net/http recovers only those of the goroutines that it
// starts itself. Every other goroutine begins with a function of this package:
//
//   - Call, for a single task,
//   - RestartOnPanic, for a loop, which is started again,
//   - Into, deferred, to return the panic as an error.
//
// Each logs the panic with its stack, to slog.Default if the caller has no logger. A test
// checks that every goroutine of the module begins like this.
package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"
)

// Bounds of the pause before RestartOnPanic starts a loop again.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = time.Minute
)

// ErrPanic is wrapped by the errors of this package.
var ErrPanic = errors.New("panic")

// Into recovers a panic and sets err. It must be deferred directly. task names the code for
// the log and the error.
func Into(log *slog.Logger, task string, err *error) {
	if p := recover(); p != nil {
		*err = logPanic(log, task, p)
	}
}

// Call calls f, and returns a panic of f as an error.
func Call(log *slog.Logger, task string, f func()) (err error) {
	defer Into(log, task, &err)
	f()
	return nil
}

// RestartOnPanic calls f again after each panic, until f returns without one or ctx is
// done. The pause before a call grows while f panics soon after it starts.
func RestartOnPanic(ctx context.Context, log *slog.Logger, task string, f func()) {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		begin := time.Now()
		if Call(log, task, f) == nil || ctx.Err() != nil {
			return
		}
		if time.Since(begin) > maxPause {
			pause = firstPause
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// logPanic logs a panic and returns it as an error. It does not log http.ErrAbortHandler,
// by which a handler closes its connection on purpose.
func logPanic(log *slog.Logger, task string, p any) error {
	if p == http.ErrAbortHandler {
		return http.ErrAbortHandler
	}
	if log == nil {
		log = slog.Default()
	}
	log.Error("panic", "in", task, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return fmt.Errorf("%w in %s: %v", ErrPanic, task, p)
}
