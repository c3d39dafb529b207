package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a running server. A server that this program did not start may consist of several
// processes.
type process struct {
	pids []string
	cmd  *exec.Cmd // nil if another program started the server
	dir  string    // directory to remove at the end, or ""
}

// attach returns a server that this program did not start.
func attach(s *settings) (*target, error) {
	t := newTarget(s.server, s.token, &process{pids: splitList(s.pids)})
	if len(t.process.pids) == 0 {
		return nil, errors.New("-server requires -pids, to read the CPU time")
	}
	_, err := t.process.cpu()
	return t, err
}

// cpu returns the total CPU time.
func (p *process) cpu() (time.Duration, error) {
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

// rss returns the resident memory in bytes.
func (p *process) rss() (int64, error) {
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

// stop terminates a process that this program started.
func (p *process) stop() error {
	if p.cmd == nil {
		return nil
	}
	err := p.cmd.Process.Signal(syscall.SIGTERM)
	if waitErr := p.cmd.Wait(); err == nil && p.cmd.ProcessState.ExitCode() > 0 {
		err = fmt.Errorf("%s: %w", p.cmd.Path, waitErr)
	}
	if p.dir != "" {
		err = errors.Join(err, os.RemoveAll(p.dir))
	}
	return err
}

// newProcess returns a process for a command, which is terminated when ctx is done. Only its
// standard error is printed.
func newProcess(ctx context.Context, dir, path string, args ...string) *process {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stderr = os.Stderr
	return &process{cmd: cmd, dir: dir}
}

func (p *process) run() error {
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.pids = []string{strconv.Itoa(p.cmd.Process.Pid)}
	return nil
}
