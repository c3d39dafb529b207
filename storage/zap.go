package storage

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newZap makes the logger that etcd wants, which writes its errors to log as
// errors and its warnings as debug messages, for it warns of much that is
// normal at the start. A message after which etcd would end the process ends
// the goroutine and is told to fatal. One after which it would panic is told to
// panicked, which ends the goroutine or does panic.
func newZap(log *slog.Logger, fatal, panicked func(error)) *zap.Logger {
	return zap.New(&zapCore{log: log}, zap.WithFatalHook(hook(fatal)), zap.WithPanicHook(hook(panicked)))
}

type zapCore struct {
	log    *slog.Logger
	fields []zapcore.Field
}

func (c *zapCore) Enabled(l zapcore.Level) bool {
	return l >= zapcore.WarnLevel && c.log.Enabled(context.Background(), level(l))
}

func level(l zapcore.Level) slog.Level {
	if l >= zapcore.ErrorLevel {
		return slog.LevelError
	}
	return slog.LevelDebug
}

// levelOf is level but for an error that is none: on its first start etcd tries
// to note its version before its first write to disk, and does so a little
// later.
func levelOf(e zapcore.Entry) slog.Level {
	if e.Message == "failed to update storage version" {
		return slog.LevelDebug
	}
	return level(e.Level)
}

func (c *zapCore) With(fields []zapcore.Field) zapcore.Core {
	return &zapCore{log: c.log, fields: append(c.fields[:len(c.fields):len(c.fields)], fields...)}
}

func (c *zapCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

func (c *zapCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	c.log.Log(context.Background(), levelOf(e), "etcd: "+e.Message, attributes(append(c.fields[:len(c.fields):len(c.fields)], fields...))...)
	return nil
}

func (c *zapCore) Sync() error { return nil }

func attributes(fields []zapcore.Field) []any {
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

type hook func(error)

// OnWrite implements zapcore.CheckWriteHook.
func (f hook) OnWrite(ce *zapcore.CheckedEntry, fields []zapcore.Field) {
	err := fmt.Errorf("etcd: %s", ce.Message)
	for _, field := range fields {
		if cause, ok := field.Interface.(error); ok && field.Type == zapcore.ErrorType {
			err = fmt.Errorf("%w: %w", err, cause)
		}
	}
	f(err)
	runtime.Goexit()
}
