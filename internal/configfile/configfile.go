// Package configfile reads certificates, keys, tokens and configurations: files that a flag names, or that
// another such file names. A read is bounded in size and time, so that a wrong file ends the start of a
// server with an error, and neither blocks it nor takes its memory. Decode is the only decoder of configurations.
package configfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// MaxSize is the maximum size of a file in bytes.
const MaxSize = 16 << 20

// pipeTimeout is the maximum time for reading a pipe. A shell that replaces <(command) by a pipe has started
// the command already.
const pipeTimeout = 10 * time.Second

// Read returns the content of a regular file, or of a pipe to which another process writes, such as that of
// <(command) in a shell or of standard input. It refuses directories, devices and sockets.
func Read(path string) ([]byte, error) {
	f, info, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Mode().IsRegular() {
		return readAll(f, path, info.Size())
	}
	_ = f.SetReadDeadline(time.Now().Add(pipeTimeout)) // a pipe supports it
	data, err := readAll(f, path, 0)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fault(path, fmt.Sprintf("is a pipe whose writer did not close it within %v", pipeTimeout))
	case err == nil && len(data) == 0:
		return nil, fault(path, "is a pipe to which nobody writes, and not a regular file")
	}
	return data, err
}

// Check returns the error of Read that needs no read. A pipe can be read only once.
func Check(path string) error {
	f, info, err := open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if info.Size() > MaxSize {
		return tooLarge(path)
	}
	return nil
}

// OpenRegular opens a regular file of any size.
func OpenRegular(path string) (*os.File, error) {
	f, info, err := open(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		_ = f.Close() // nothing was written
		return nil, fault(path, "is a pipe and not a regular file")
	}
	return f, nil
}

// open opens a regular file or a pipe. It does not wait for a writer of the pipe.
func open(path string) (*os.File, os.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, syscall.ENXIO):
		return nil, nil, fault(path, "is a socket and not a regular file")
	case err != nil:
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = checkType(path, info.Mode())
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, nil, err
	}
	return f, info, nil
}

func checkType(path string, mode os.FileMode) error {
	switch {
	case mode.IsRegular(), mode&os.ModeNamedPipe != 0:
		return nil
	case mode.IsDir():
		return fault(path, "is a directory and not a regular file")
	case mode&os.ModeDevice != 0:
		return fault(path, "is a device and not a regular file")
	}
	return fault(path, "is not a regular file")
}

// readAll reads a file to its end. The size is a hint, since a file may grow.
func readAll(f *os.File, path string, size int64) ([]byte, error) {
	if size > MaxSize {
		return nil, tooLarge(path)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err == nil && len(data) > MaxSize {
		return nil, tooLarge(path)
	}
	return data, err
}

func tooLarge(path string) error {
	return fault(path, fmt.Sprintf("is larger than %d MiB, the maximum", MaxSize>>20))
}

// fault returns an error in the form of those of package os.
func fault(path, text string) error {
	return &os.PathError{Op: "read", Path: path, Err: errors.New(text)}
}
