package audit

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// log writes each event as a line.
type log struct {
	out    io.WriteCloser
	legacy bool
}

// openLog opens the log. It creates the file and its directory for the owner alone, since
// the events may contain secrets.
func openLog(c *LogConfig, now func() time.Time, faults *faultLog) (*log, error) {
	l := &log{legacy: c.Format == FormatLegacy}
	if c.Path == "-" {
		l.out = &lockedWriter{out: c.Stdout}
		return l, nil
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	file, err := openRotated(c, now, faults)
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	l.out = file
	return l, nil
}

func (l *log) encode(b []byte, e *Event) ([]byte, error) {
	b = slices.Grow(b, 1024)
	if l.legacy {
		return append(e.appendLegacy(b), '\n'), nil
	}
	b, err := e.appendJSON(b, true)
	return append(b, '\n'), err
}

func (l *log) size(encoded []byte) int64 { return int64(len(encoded)) }

func (l *log) send(_ context.Context, batch []entry) error {
	for _, e := range batch {
		if _, err := l.out.Write(e.data); err != nil {
			return err
		}
	}
	return nil
}

func (l *log) close() error { return l.out.Close() }

// lockedWriter serializes writes. It leaves the writer open, which others may use.
type lockedWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *lockedWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(line)
}

func (w *lockedWriter) Close() error { return nil }
