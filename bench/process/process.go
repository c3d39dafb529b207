// Package process runs and measures the server processes of the benchmarks: it starts and stops them,
// and reads their CPU time and memory from /proc.
package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process is a running server. A server that this program did not start may consist of several
// processes.
type Process struct {
	// Cmd is nil if another program started the server.
	Cmd  *exec.Cmd
	pids []string
	dir  string // directory to remove at the end, or ""
}

// Attach returns a server that another program started.
func Attach(pids ...string) (*Process, error) {
	p := &Process{pids: pids}
	_, err := p.CPU()
	return p, err
}

// Self returns the process of this program.
func Self() *Process { return &Process{pids: []string{strconv.Itoa(os.Getpid())}} }

// CPU returns the total CPU time.
func (p *Process) CPU() (time.Duration, error) {
	const tick = 10 * time.Millisecond // USER_HZ is 100 on Linux
	var sum time.Duration
	for _, pid := range p.pids {
		fields, err := readStat(pid)
		if err != nil {
			return 0, err
		}
		user, err1 := strconv.ParseInt(fields[11], 10, 64)
		system, err2 := strconv.ParseInt(fields[12], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return 0, fmt.Errorf("/proc/%s/stat: %w", pid, err)
		}
		sum += time.Duration(user+system) * tick
	}
	return sum, nil
}

// RSS returns the resident memory in bytes.
func (p *Process) RSS() (int64, error) {
	var sum int64
	for _, pid := range p.pids {
		fields, err := readStat(pid)
		if err != nil {
			return 0, err
		}
		pages, err := strconv.ParseInt(fields[21], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/%s/stat: %w", pid, err)
		}
		sum += pages * int64(os.Getpagesize())
	}
	return sum, nil
}

// Transferred returns the bytes that the processes have read and written by system calls: from and to sockets and
// files, whether these are in memory or on a disk. It counts nothing of processes of other users.
func (p *Process) Transferred() (read, written int64, err error) {
	for _, pid := range p.pids {
		data, err := os.ReadFile("/proc/" + pid + "/io")
		if errors.Is(err, os.ErrPermission) {
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		var in, out int64
		if _, err := fmt.Sscanf(string(data), "rchar: %d\nwchar: %d\n", &in, &out); err != nil {
			return 0, 0, fmt.Errorf("/proc/%s/io: %q: %w", pid, data, err)
		}
		read, written = read+in, written+out
	}
	return read, written, nil
}

// readStat returns the fields of /proc/PID/stat after the program name.
func readStat(pid string) ([]string, error) {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 22 {
		return nil, fmt.Errorf("/proc/%s/stat: %q", pid, data)
	}
	return fields, nil
}

// Stop terminates a process that this program started.
func (p *Process) Stop() error {
	if p.Cmd == nil {
		return nil
	}
	err := p.Cmd.Process.Signal(syscall.SIGTERM)
	if waitErr := p.Cmd.Wait(); err == nil && p.Cmd.ProcessState.ExitCode() > 0 {
		err = fmt.Errorf("%s: %w", p.Cmd.Path, waitErr)
	}
	if p.dir != "" {
		err = errors.Join(err, os.RemoveAll(p.dir))
	}
	return err
}

// New returns a process for a command, which is terminated when ctx is done. Only its standard error
// is printed. Stop removes dir, unless it is empty.
func New(ctx context.Context, dir, path string, args ...string) *Process {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	cmd.Stderr = os.Stderr
	return &Process{Cmd: cmd, dir: dir}
}

// Run starts the command.
func (p *Process) Run() error {
	if err := p.Cmd.Start(); err != nil {
		return err
	}
	p.pids = []string{strconv.Itoa(p.Cmd.Process.Pid)}
	return nil
}

// Ready is what a server prints with --output=json when it is ready.
type Ready struct{ URL, CA, Token string }

// StartServer starts a server with arguments and waits until it is ready.
func StartServer(ctx context.Context, binary string, args ...string) (*Process, Ready, error) {
	var ready Ready
	p := New(ctx, "", binary, append([]string{"--secure-port=0", "--output=json"}, args...)...)
	out, err := p.Cmd.StdoutPipe()
	if err != nil {
		return nil, ready, err
	}
	if err := p.Run(); err != nil {
		return nil, ready, err
	}
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		return nil, ready, errors.Join(fmt.Errorf("%s is not ready: %w", binary, err), p.Stop())
	}
	return p, ready, nil
}
