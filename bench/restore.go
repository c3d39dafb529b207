package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// measureRestore measures how long it takes to go back to an earlier state as administrators do, without a rewind of the lab: stop
// kube-apiserver and etcd, restore a snapshot into a new directory, and start both.
func measureRestore(ctx context.Context, s *settings) (err error) {
	kubeAPIServer, etcd := []string{s.binary, "kube-apiserver"}, []string{s.binary, "etcd"}
	if s.kubeAPIServer != "" {
		kubeAPIServer = []string{s.kubeAPIServer}
	}
	if s.etcd != "" {
		etcd = []string{s.etcd}
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	before, err := newPair(ctx, dir, filepath.Join(dir, "before"), kubeAPIServer, etcd)
	if err != nil {
		return err
	}
	if err := before.start(ctx); err != nil {
		return err
	}
	snapshot := filepath.Join(dir, "snapshot.db")
	err = before.fill(ctx, s)
	if err == nil {
		err = runSnapshot(ctx, s, "save", snapshot, "--etcd-servers", before.etcd.url)
	}
	if err != nil {
		return errors.Join(err, before.stop())
	}
	began := time.Now()
	if err := before.stop(); err != nil {
		return err
	}
	restored := filepath.Join(dir, "after")
	if err := runSnapshot(ctx, s, "restore", snapshot, "--data-dir", restored); err != nil {
		return err
	}
	after, err := newPair(ctx, dir, filepath.Join(restored, "etcd"), kubeAPIServer, etcd)
	if err != nil {
		return err
	}
	if err := after.start(ctx); err != nil {
		return err
	}
	_, err = after.server.send(ctx, request{method: "GET", path: configMapPath(s.objects - 1)})
	took := time.Since(began)
	if err := errors.Join(err, after.stop()); err != nil {
		return err
	}
	fmt.Printf("back to a snapshot of %d ConfigMaps by stopping %s and etcd, restoring and starting them: %d ms (a rewind: BenchmarkRewind of ./server)\n",
		s.objects, filepath.Base(kubeAPIServer[0]), took.Milliseconds())
	return nil
}

// runSnapshot runs a command of snapshot.
func runSnapshot(ctx context.Context, s *settings, args ...string) error {
	if out, err := exec.CommandContext(ctx, s.binary, append([]string{"snapshot"}, args...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("snapshot %s: %w: %s", args[0], err, out)
	}
	return nil
}

// start starts etcd and the server, and returns when the server is ready.
func (p pair) start(ctx context.Context) error {
	if _, err := timeStart(ctx, p.etcd, "/health"); err != nil {
		return err
	}
	if _, err := timeStart(ctx, p.server, "/readyz"); err != nil {
		return errors.Join(err, p.etcd.stop())
	}
	return nil
}

func (p pair) stop() error { return errors.Join(p.server.stop(), p.etcd.stop()) }

// fill creates the ConfigMaps.
func (p pair) fill(ctx context.Context, s *settings) error {
	if err := prepare(ctx, p.server); err != nil {
		return err
	}
	var work sync.WaitGroup
	errs := make([]error, max(s.workers, 1))
	for w := range errs {
		work.Go(func() {
			for i := w; i < s.objects && errs[w] == nil; i += len(errs) {
				_, errs[w] = p.server.send(ctx, request{method: "POST", path: configMaps, contentType: mediaJSON, body: configMap(i, "v")})
			}
		})
	}
	work.Wait()
	return errors.Join(errs...)
}
