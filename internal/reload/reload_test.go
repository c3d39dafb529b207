package reload

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// write replaces a file by another one, which differs in its modification time too.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// parseTwo parses the texts of two files, of which neither may be empty.
func parseTwo(a, b string) func(*Files) (string, error) {
	return func(f *Files) (string, error) {
		var texts []string
		for _, path := range []string{a, b} {
			data, err := f.Read(path)
			if err != nil {
				return "", err
			}
			if len(data) == 0 {
				return "", errors.New("the file is empty")
			}
			texts = append(texts, string(data))
		}
		return strings.Join(texts, " "), nil
	}
}

// TestPipe checks that a pipe is not read again, since its content is there only once.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // keeps the content
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	writer, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.WriteString("one"); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	var files Files
	if data, err := files.Read(path); err != nil || string(data) != "one" {
		t.Errorf("got %q, %v", data, err)
	}
	if err := os.Chtimes(path, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if files.changed() {
		t.Error("the pipe would be read again")
	}
}

// The tests run in bubbles of testing/synctest, where sleeping takes no time.

func TestValue(t *testing.T) { synctest.Test(t, testValue) }

func testValue(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	write(t, a, "one")
	if _, err := New("numbers", nil, parseTwo(a, b)); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("New without the second file: %v, want os.ErrNotExist", err)
	}
	write(t, b, "two")
	var log bytes.Buffer
	v, err := New("numbers", slog.New(slog.NewTextHandler(&log, nil)), parseTwo(a, b))
	if err != nil {
		t.Fatal(err)
	}
	expect := func(when, want string, generation int) {
		t.Helper()
		if got, g := v.GetWithGeneration(); got != want || g != generation {
			t.Errorf("%s: %q of generation %d, want %q of generation %d", when, got, g, want, generation)
		}
	}
	expect("at first", "one two", 1)
	write(t, b, "three")
	expect("before the interval has passed", "one two", 1)
	time.Sleep(interval)
	expect("after the interval", "one three", 2)
	time.Sleep(interval)
	expect("without a change", "one three", 2)

	write(t, a, "")
	for range 3 {
		time.Sleep(interval)
		expect("while a file is empty", "one three", 2)
	}
	if n := strings.Count(log.String(), "failed to reload"); n != 1 {
		t.Errorf("the failure was logged %d times, want once:\n%s", n, &log)
	}
	if err := os.Remove(a); err != nil {
		t.Fatal(err)
	}
	time.Sleep(interval)
	expect("while a file is missing", "one three", 2)
	write(t, a, "four")
	time.Sleep(interval)
	expect("after the file is back", "four three", 3)
}

// TestFailureIsRetried checks that a failure is retried although no file changes: its cause may
// be a lack of file descriptors, for example.
func TestFailureIsRetried(t *testing.T) { synctest.Test(t, testFailureIsRetried) }

func testFailureIsRetried(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	write(t, path, "one")
	var failing error
	v, err := New("number", nil, func(f *Files) (string, error) {
		data, err := f.Read(path)
		return string(data), errors.Join(err, failing)
	})
	if err != nil {
		t.Fatal(err)
	}
	failing = errors.New("too many open files")
	write(t, path, "two")
	time.Sleep(interval)
	if got := v.Get(); got != "one" {
		t.Errorf("%q after a failure, want the previous value", got)
	}
	failing = nil
	time.Sleep(interval)
	if got := v.Get(); got != "two" {
		t.Errorf("%q after the failure is over, want two", got)
	}
}

func TestConcurrent(t *testing.T) { synctest.Test(t, testConcurrent) }

func testConcurrent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	write(t, path, "0")
	v, err := New("number", nil, func(f *Files) (string, error) {
		data, err := f.Read(path)
		return string(data), err
	})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			last := 0
			for range 50 {
				time.Sleep(interval)
				_, g := v.GetWithGeneration()
				if g < last {
					t.Errorf("generation %d after %d", g, last)
				}
				last = g
			}
		})
	}
	for range 20 {
		write(t, path, time.Now().String())
		time.Sleep(interval)
	}
	wg.Wait()
}

func BenchmarkGet(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		b.Fatal(err)
	}
	v, err := New("text", nil, func(f *Files) ([]byte, error) { return f.Read(path) })
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		v.Get()
	}
}
