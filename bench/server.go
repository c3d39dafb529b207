package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/miniapiserver/miniapiserver/bench/process"
)

const (
	token        = "bench-token"
	startTimeout = 30 * time.Second
)

// startServer starts the server and returns when /readyz succeeds.
func startServer(ctx context.Context, binary string, ephemeral bool) (*target, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	t, err := startIn(ctx, dir, binary, ephemeral)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return t, nil
}

func startIn(ctx context.Context, dir, binary string, ephemeral bool) (*target, error) {
	tokens := filepath.Join(dir, "tokens.csv")
	if err := writeTokens(tokens); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	args := []string{"--secure-port=" + port, "--token-auth-file=" + tokens}
	if ephemeral {
		args = append(args, "--ephemeral")
	} else {
		args = append(args, "--data-dir="+filepath.Join(dir, "data"))
	}
	t := newTarget("https://127.0.0.1:"+port, token, process.New(ctx, dir, binary, args...))
	if err := t.Run(); err != nil {
		return nil, err
	}
	if err := t.ready(ctx, "/readyz"); err != nil {
		return nil, errors.Join(err, t.Process.Stop())
	}
	return t, nil
}

// freePort returns an unused port. If another process takes it before the server, the server fails
// to start.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), l.Close()
}

// ready requests a path until that succeeds.
func (t *target) ready(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		_, err := t.send(ctx, request{method: http.MethodGet, path: path})
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("not ready after %v: %w", startTimeout, err)
		}
	}
}

// attach returns a server that another program started.
func attach(s *settings) (*target, error) {
	pids := splitList(s.pids)
	if len(pids) == 0 {
		return nil, errors.New("-server requires -pids, to read the CPU time")
	}
	p, err := process.Attach(pids...)
	return newTarget(s.server, s.token, p), err
}

// measureStarts measures the time from start to /readyz, and the memory of an idle server.
func measureStarts(ctx context.Context, s *settings) error {
	var took []time.Duration
	var idle int64
	for i := range s.starts {
		began := time.Now()
		t, err := startServer(ctx, s.binary, true)
		if err != nil {
			return fmt.Errorf("starting %s: %w", s.binary, err)
		}
		took = append(took, time.Since(began))
		if i == s.starts-1 {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
			idle, err = t.RSS()
		}
		if err := errors.Join(err, t.stop()); err != nil {
			return err
		}
	}
	if len(took) == 0 {
		return nil
	}
	slices.Sort(took)
	fmt.Printf("cold start to /readyz, ephemeral: %d ms (median of %d, %d to %d ms)\nresident memory idle: %d MB\n",
		took[len(took)/2].Milliseconds(), len(took), took[0].Milliseconds(), took[len(took)-1].Milliseconds(), idle>>20)
	return nil
}
