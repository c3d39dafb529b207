package storage

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newZap returns a zap logger for etcd that writes to log. It logs etcd's warnings as debug
// messages, because etcd warns of normal events during its start. A fatal message ends the
// goroutine, not the process, and calls fatal; a panic message calls panicked, which may
// panic. While isStarting, which may be nil, returns true, errors are debug messages too: the start returns them.
func newZap(log *slog.Logger, isStarting func() bool, fatal, panicked func(error)) *zap.Logger {
	return zap.New(&zapCore{LevelEnabler: zapcore.WarnLevel, log: log, isStarting: isStarting},
		zap.WithFatalHook(zapHook(fatal)), zap.WithPanicHook(zapHook(panicked)))
}

type zapCore struct {
	zapcore.LevelEnabler
	log        *slog.Logger
	isStarting func() bool
	fields     []zapcore.Field
}

func slogLevel(l zapcore.Level) slog.Level {
	if l >= zapcore.ErrorLevel {
		return slog.LevelError
	}
	return slog.LevelDebug
}

// entryLevel is level, except for one message at error level that is harmless: on its first
// start etcd tries to record its version before its first write to disk, and retries a
// little later.
func entryLevel(e zapcore.Entry) slog.Level {
	if e.Message == "failed to update storage version" {
		return slog.LevelDebug
	}
	return slogLevel(e.Level)
}

func (c *zapCore) With(fields []zapcore.Field) zapcore.Core {
	return &zapCore{LevelEnabler: c.LevelEnabler, log: c.log, isStarting: c.isStarting,
		fields: append(c.fields[:len(c.fields):len(c.fields)], fields...)}
}

func (c *zapCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

func (c *zapCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	level := entryLevel(e)
	if c.isStarting != nil && c.isStarting() {
		level = slog.LevelDebug
	}
	c.log.Log(context.Background(), level, "etcd: "+withErrors(e.Message),
		slogAttributes(append(c.fields[:len(c.fields):len(c.fields)], fields...))...)
	return nil
}

func (c *zapCore) Sync() error { return nil }

func slogAttributes(fields []zapcore.Field) []any {
	enc := zapcore.NewMapObjectEncoder()
	for _, f := range fields {
		f.AddTo(enc)
	}
	var attrs []any
	for k, v := range enc.Fields {
		attrs = append(attrs, slog.Any(k, v))
	}
	return attrs
}

type zapHook func(error)

// OnWrite implements zapcore.CheckWriteHook.
func (f zapHook) OnWrite(ce *zapcore.CheckedEntry, fields []zapcore.Field) {
	err := fmt.Errorf("etcd: %s", withErrors(ce.Message))
	for _, field := range fields {
		if cause, ok := field.Interface.(error); ok && field.Type == zapcore.ErrorType {
			err = fmt.Errorf("%w: %w", err, cause)
		}
	}
	f(err)
	runtime.Goexit()
}

// brokenError is what package fmt prints for an error that a logger formats with %w, as bbolt does: its type
// and its fields. The last one may be the number of an error of the system.
var brokenError = regexp.MustCompile(`%!w\([^=()]*=(?:&\{(.*?)\}|([^()]*))\)`)

// withErrors returns a message with the texts of the errors in it that were formatted with %w.
func withErrors(message string) string {
	if !strings.Contains(message, "%!w(") {
		return message
	}
	return brokenError.ReplaceAllStringFunc(message, func(found string) string {
		fields := brokenError.FindStringSubmatch(found)
		text := fields[1] + fields[2] // one of them is empty
		where, last := "", text
		if i := strings.LastIndexByte(text, ' '); i >= 0 {
			where, last = text[:i]+": ", text[i+1:]
		}
		if n, err := strconv.ParseUint(last, 10, 16); err == nil {
			return where + syscall.Errno(n).Error()
		}
		return text
	})
}
