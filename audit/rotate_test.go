package audit

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// rotating opens a log of at most 1 MB in a new directory.
func rotating(t *testing.T, c LogConfig, now func() time.Time) (*rotatedFile, string) {
	t.Helper()
	dir := t.TempDir()
	c.Path, c.Format = filepath.Join(dir, "sub", "audit.log"), FormatJSON
	if c.MaxSize == 0 {
		c.MaxSize = 1
	}
	l, err := openLog(&c, now, quiet(t))
	if err != nil {
		t.Fatal(err)
	}
	return l.out.(*rotatedFile), filepath.Dir(c.Path)
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func write(t *testing.T, f *rotatedFile, line string) {
	t.Helper()
	if n, err := f.Write([]byte(line)); err != nil || n != len(line) {
		t.Fatal(n, err)
	}
}

var big = strings.Repeat("x", 700<<10) + "\n"

// TestRotate checks the names and contents of rotated files, of which none replaces
// another, and that only the owner may read them.
func TestRotate(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f, dir := rotating(t, LogConfig{}, func() time.Time { return now })
	for range 3 {
		write(t, f, big)
	}
	write(t, f, "end\n")
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	want := []string{"audit-2026-01-02T03-04-05.000.log", "audit-2026-01-02T03-04-05.001.log", "audit.log"}
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Fatalf("got %v", got)
	}
	for name, content := range map[string]string{want[0]: big, want[1]: big, want[2]: big + "end\n"} {
		path := filepath.Join(dir, name)
		if data, err := os.ReadFile(path); err != nil || string(data) != content {
			t.Errorf("%s has %d bytes, %v", name, len(data), err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestRotateLongLine checks that a line longer than a file gets a file of its own, and that
// a file is appended to when the server starts again.
func TestRotateLongLine(t *testing.T) {
	f, dir := rotating(t, LogConfig{}, time.Now)
	write(t, f, "short\n")
	write(t, f, big+big)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	again, err := openRotated(&LogConfig{Path: f.path, MaxSize: 1}, time.Now, quiet(t))
	if err != nil {
		t.Fatal(err)
	}
	write(t, again, "later\n")
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if got := names(t, dir); len(got) != 3 {
		t.Errorf("got %v", got)
	}
}

// TestUnlimited checks that a size of 0 means no rotation.
func TestUnlimited(t *testing.T) {
	f, dir := rotating(t, LogConfig{MaxSize: 1}, time.Now)
	f.maxSize = 0
	write(t, f, big)
	write(t, f, big)
	if err := f.Close(); err != nil || len(names(t, dir)) != 1 {
		t.Errorf("%v, %v", names(t, dir), err)
	}
}

// TestTidy checks which rotated files are kept and compressed, and that other files are
// left alone.
func TestTidy(t *testing.T) {
	now := time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)
	files := []string{"audit-2026-01-01T00-00-00.000.log.gz", "audit-2026-01-07T00-00-00.000.log", "audit-2026-01-08T00-00-00.000.log", "audit-2026-01-09T00-00-00.000.log.gz",
		"audit-x.log", "audit-2026-01-01T00-00-00.000.txt", "other-2026-01-01T00-00-00.000.log"}
	others := files[4:]
	for _, c := range []struct {
		config LogConfig
		want   []string
	}{
		{LogConfig{}, files[:4]},
		{LogConfig{MaxBackups: 2}, files[2:4]},
		{LogConfig{MaxAge: 5}, files[1:4]},
		{LogConfig{MaxAge: 2, MaxBackups: 3}, files[2:4]},
		{LogConfig{MaxBackups: 3, Compress: true}, []string{files[1] + ".gz", files[2] + ".gz", files[3]}},
	} {
		f, dir := rotating(t, c.config, func() time.Time { return now })
		for _, name := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.tidy(); err != nil {
			t.Error(err)
		}
		want := slices.Sorted(slices.Values(slices.Concat(c.want, others, []string{"audit.log"})))
		if got := names(t, dir); !slices.Equal(got, want) {
			t.Errorf("%+v:\n got %v\nwant %v", c.config, got, want)
		}
		if c.config.Compress {
			if got := uncompressed(t, filepath.Join(dir, files[1]+".gz")); got != files[1] {
				t.Errorf("got %q", got)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func uncompressed(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRotateFails checks that lines go to the old file if it cannot be replaced.
func TestRotateFails(t *testing.T) {
	f, dir := rotating(t, LogConfig{}, time.Now)
	write(t, f, big)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	write(t, f, big)
	if got := value(t, f.faults.errors.WithLabelValues(nameLog)); got != 0 {
		t.Errorf("%v events are counted as lost", got)
	}
	info, err := f.file.Stat()
	if err != nil || info.Size() != int64(2*len(big)) {
		t.Errorf("%v, %v", info, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestMovedFile checks that a file that something else has moved is replaced.
func TestMovedFile(t *testing.T) {
	f, dir := rotating(t, LogConfig{}, time.Now)
	write(t, f, big)
	if err := os.Rename(f.path, f.path+".1"); err != nil {
		t.Fatal(err)
	}
	write(t, f, big)
	if got := names(t, dir); !slices.Equal(got, []string{"audit.log", "audit.log.1"}) {
		t.Errorf("got %v", got)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestTornLine checks that a line after one that was written in part begins a new line.
func TestTornLine(t *testing.T) {
	f, _ := rotating(t, LogConfig{}, time.Now)
	write(t, f, "torn")
	f.torn = true
	write(t, f, "whole\n")
	write(t, f, "more\n")
	if data, err := os.ReadFile(f.path); err != nil || string(data) != "torn\nwhole\nmore\n" {
		t.Errorf("%q, %v", data, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := f.Write([]byte("late")); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

// TestOpenFails checks that a log that cannot be opened is an error.
func TestOpenFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(file, "audit.log"), filepath.Dir(file)} {
		if _, err := openLog(&LogConfig{Path: path}, time.Now, quiet(t)); err == nil || !strings.HasPrefix(err.Error(), "audit log: ") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
