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

// process is a server that runs: one process or, of a server that was not
// started here, several.
type process struct {
	pids []string
	cmd  *exec.Cmd // nil if it was not started here
	dir  string    // to remove at the end, if any
}

// running is a server that was not started here.
func running(s *settings) (*target, error) {
	t := newTarget(s.server, s.token, &process{pids: split(s.pids)})
	if len(t.process.pids) == 0 {
		return nil, errors.New("-server needs -pids, to know whose CPU time to read")
	}
	_, err := t.process.cpu()
	return t, err
}

// cpu is the CPU time spent so far.
func (p *process) cpu() (time.Duration, error) {
	const tick = 10 * time.Millisecond // USER_HZ, which Linux keeps at 100
	var sum time.Duration
	for _, pid := range p.pids {
		fields, err := stat(pid)
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

// rss is the resident memory, in bytes.
func (p *process) rss() (int64, error) {
	var sum int64
	for _, pid := range p.pids {
		fields, err := stat(pid)
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

// stat reads the fields of /proc/PID/stat that follow the name of the program.
func stat(pid string) ([]string, error) {
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

// stop ends a process that was started here and waits for it.
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

// start runs a command, which is ended with ctx at the latest. What it says is
// passed on only where it goes wrong.
func start(ctx context.Context, dir, path string, args ...string) *process {
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
