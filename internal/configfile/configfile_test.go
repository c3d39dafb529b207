package configfile

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestRead checks that only regular files are read, up to the maximum size.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write(t, in("largest"), make([]byte, MaxSize))
	write(t, in("small"), []byte("text"))
	write(t, in("empty"), nil)
	if err := os.Symlink("small", in("link")); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"largest": MaxSize, "small": 4, "link": 4, "empty": 0} {
		data, err := Read(in(name))
		if err != nil || len(data) != size || Check(in(name)) != nil {
			t.Errorf("%s: %d bytes, %v, %v", name, len(data), err, Check(in(name)))
		}
	}
	if f, err := OpenRegular(in("link")); err != nil {
		t.Error(err)
	} else {
		f.Close()
	}

	write(t, in("larger"), nil)
	if err := os.Truncate(in("larger"), MaxSize+1); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(in("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", in("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for path, want := range map[string]string{
		in("larger"):  ": is larger than 16 MiB, the maximum",
		in("fifo"):    ": is a pipe to which nobody writes, and not a regular file",
		in("socket"):  ": is a socket and not a regular file",
		in("missing"): ": no such file or directory",
		"/dev/zero":   ": is a device and not a regular file",
		dir:           ": is a directory and not a regular file",
	} {
		data, err := Read(path)
		if err == nil || !strings.HasSuffix(err.Error(), path+want) || data != nil {
			t.Errorf("%s: %d bytes, %v", path, len(data), err)
		}
		if err := Check(path); (err == nil) != (path == in("fifo")) || err != nil && !strings.HasSuffix(err.Error(), path+want) {
			t.Errorf("%s: checked with %v", path, err)
		}
		if f, err := OpenRegular(path); err == nil {
			f.Close()
			if path != in("larger") {
				t.Errorf("%s was opened", path)
			}
		}
	}
}

// TestReadPipe checks that a pipe is read to its end, as that of <(command) in a shell, and at most the
// maximum size of it.
func TestReadPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	// A pipe that is open for reading keeps what was written when its writer has ended, as that of a shell does.
	held, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	for _, content := range [][]byte{[]byte("text"), bytes.Repeat([]byte("x"), MaxSize), bytes.Repeat([]byte("x"), MaxSize+1)} {
		writer, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = writer.Write(content)
			_ = writer.Close()
		}()
		data, err := Read(path)
		if len(content) > MaxSize {
			if err == nil {
				t.Errorf("%d bytes were read", len(data))
			}
			drain(t, path)
		} else if err != nil || !bytes.Equal(data, content) {
			t.Errorf("%d of %d bytes, %v", len(data), len(content), err)
		}
		<-done
	}
}

// drain reads what is left in a pipe, so that its writer ends.
func drain(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, f)
	f.Close()
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
