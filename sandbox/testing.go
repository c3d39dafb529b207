package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// quietLogs discards what the components log without the logger of their sandbox, which outlives
// tests.
var quietLogs = sync.OnceFunc(func() { klog.SetSlogLogger(slog.New(slog.DiscardHandler)) })

// Start starts a sandbox for a test, and stops it when t ends. It ends t if that fails. It runs in the
// process of the test; if that has one already, or had one with another version of Kubernetes, it runs
// in a child process, which is the test's program again: the package takes over before
// its tests or main function begin. Either ends with the test, however the test ends.
func Start(t testing.TB, o Options) *Sandbox {
	t.Helper()
	quietLogs()
	s, err := New(t.Context(), o)
	if errors.Is(err, errBusy) || errors.Is(err, errRelease) {
		s, err = startChild(t.Context(), o, t.Output())
	}
	if err != nil {
		t.Fatalf("starting a sandbox: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Errorf("stopping the sandbox: %v", err)
		}
	})
	return s
}

// childVariable makes a program that imports this package a child: its value is the
// Options in JSON.
const childVariable = "MINIAPISERVER_SANDBOX_OPTIONS"

func init() {
	if options := os.Getenv(childVariable); options != "" {
		if err := beChild(options, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "sandbox:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// access is the line that a child prints when it is ready.
type access struct{ URL, KubeconfigFile string }

// beChild runs a sandbox until stdin ends or it fails.
func beChild(options string, stdin io.Reader, stdout io.Writer) error {
	var o Options
	if err := json.Unmarshal([]byte(options), &o); err != nil {
		return fmt.Errorf("%s: %w", childVariable, err)
	}
	quietLogs()
	ctx, end := context.WithCancel(context.Background())
	defer end()
	go func() {
		_ = recovery.Call(nil, "waiting for the parent", func() { _, _ = io.Copy(io.Discard, stdin) })
		end()
	}()
	s, err := New(ctx, o)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(stdout).Encode(access{s.URL, s.KubeconfigFile}); err != nil {
		return errors.Join(err, s.Stop(ctx))
	}
	return s.Run(ctx)
}

// child is a process that runs a sandbox.
type child struct {
	command *exec.Cmd
	stdin   io.Closer // ends the child
	outcome
	stopped bool // guarded by mu
	mu      sync.Mutex
}

// startChild starts a sandbox in a child process and returns when it is ready. The child's errors go
// to log.
func startChild(ctx context.Context, o Options, log io.Writer) (*Sandbox, error) {
	o.Logger, o.Server.Logger = nil, nil
	options, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{command: exec.Command(program), outcome: outcome{ended: make(chan struct{})}}
	c.command.Env = append(os.Environ(), childVariable+"="+string(options))
	c.command.Stderr = log
	if c.stdin, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.command.Start(); err != nil {
		return nil, err
	}
	kill := context.AfterFunc(ctx, func() { _ = c.stdin.Close() })
	defer kill()
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	go func() { _ = recovery.Call(nil, "waiting for a sandbox", c.wait) }()
	if err != nil {
		<-c.ended
		return nil, errors.Join(errors.New("the sandbox's process ended before it was ready"), c.failure)
	}
	s := &Sandbox{process: c, logger: slog.New(slog.DiscardHandler)}
	return s, s.connect(line)
}

// connect makes the clients of a sandbox in a child, which has printed how to reach it.
func (s *Sandbox) connect(line []byte) error {
	var a access
	if err := json.Unmarshal(line, &a); err != nil {
		return fmt.Errorf("the line of the sandbox's process: %w", err)
	}
	s.URL, s.KubeconfigFile = a.URL, a.KubeconfigFile
	var err error
	if s.config, err = clientcmd.BuildConfigFromFlags("", s.KubeconfigFile); err != nil {
		return err
	}
	s.config.QPS = -1
	s.Client, err = kubernetes.NewForConfig(s.config)
	return err
}

// wait waits for the process.
func (c *child) wait() {
	err := c.command.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.failure = fmt.Errorf("the sandbox's process: %w", err)
	} else if !c.stopped {
		c.failure = errors.New("the sandbox's process ended by itself")
	}
	close(c.ended)
}

// stop implements process.
func (c *child) stop(ctx context.Context) error {
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	_ = c.stdin.Close() // fails if it is closed
	select {
	case <-c.ended:
	case <-ctx.Done():
		_ = c.command.Process.Kill() // fails if it has ended
		select {
		case <-c.ended:
		case <-time.After(killTimeout):
			return context.Cause(ctx)
		}
	}
	return c.failure
}

// killTimeout is the time in which a killed process ends.
const killTimeout = 5 * time.Second
