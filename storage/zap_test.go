package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"syscall"
	"testing"
)

// TestLoggedErrors checks that the log has the texts of the errors that bbolt formats with %w.
func TestLoggedErrors(t *testing.T) {
	const verb = "writing failed: %w (again)" // go vet would refuse it as a literal
	for _, c := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "write", Path: "/data/my db", Err: syscall.ENOSPC}, "writing failed: write /data/my db: no space left on device (again)"},
		{syscall.EIO, "writing failed: input/output error (again)"},
		{errors.New("a plain text"), "writing failed: a plain text (again)"},
		{&fs.PathError{Op: "write", Path: "/db", Err: errors.New("odd")}, ""},
		{nil, ""},
	} {
		format := strings.Clone(verb)
		var out bytes.Buffer
		logger := newZap(slog.New(slog.NewTextHandler(&out, nil)), nil, nil, nil)
		logger.Sugar().Errorf(format, c.err)
		text := out.String()
		if want := fmt.Sprintf("etcd: %s", c.want); c.want != "" && !strings.Contains(text, want) {
			t.Errorf("%#v: got %s, want %s", c.err, text, want)
		}
		if !strings.Contains(text, "writing failed: ") || !strings.Contains(text, "(again)") {
			t.Errorf("%#v: the rest is missing: %s", c.err, text)
		}
	}
	if got := withErrors("disk is 100%!"); got != "disk is 100%!" {
		t.Errorf("another text: %s", got)
	}
}
