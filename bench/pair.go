package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/miniapiserver/miniapiserver/bench/process"
)

// pairTimes are the times of one start and stop of kube-apiserver and etcd.
type pairTimes struct {
	etcd, server         time.Duration // from start to /health and to /readyz
	stopServer, stopEtcd time.Duration
}

// measurePairs measures the starts and stops of the server as kube-apiserver and etcd, with the
// flags of envtest.
func measurePairs(ctx context.Context, s *settings) error {
	var all []pairTimes
	for range s.starts {
		times, err := measurePair(ctx, s.binary)
		if err != nil {
			return fmt.Errorf("kube-apiserver and etcd: %w", err)
		}
		all = append(all, times)
	}
	if len(all) == 0 {
		return nil
	}
	median := func(of func(pairTimes) time.Duration) int64 {
		var took []time.Duration
		for _, t := range all {
			took = append(took, of(t))
		}
		slices.Sort(took)
		return took[len(took)/2].Milliseconds()
	}
	fmt.Printf("kube-apiserver to /readyz, etcd running: %d ms; etcd to /health: %d ms; both: %d ms (medians of %d)\nstop when idle: kube-apiserver %d ms, etcd %d ms\n",
		median(func(t pairTimes) time.Duration { return t.server }), median(func(t pairTimes) time.Duration { return t.etcd }),
		median(func(t pairTimes) time.Duration { return t.etcd + t.server }), len(all),
		median(func(t pairTimes) time.Duration { return t.stopServer }), median(func(t pairTimes) time.Duration { return t.stopEtcd }))
	return nil
}

func measurePair(ctx context.Context, binary string) (times pairTimes, err error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return times, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	key, tokens := filepath.Join(dir, "sa.key"), filepath.Join(dir, "tokens.csv")
	if err := errors.Join(writeKey(key), writeTokens(tokens)); err != nil {
		return times, err
	}
	ports := make([]string, 3)
	for i := range ports {
		if ports[i], err = freePort(); err != nil {
			return times, err
		}
	}
	client, peer := "http://127.0.0.1:"+ports[0], "http://127.0.0.1:"+ports[1]
	etcd := newTarget(client, "", process.New(ctx, "", binary, "etcd", "--data-dir="+filepath.Join(dir, "etcd"), "--unsafe-no-fsync=true", "--log-level=panic",
		"--listen-client-urls="+client, "--advertise-client-urls="+client, "--listen-peer-urls="+peer))
	server := newTarget("https://127.0.0.1:"+ports[2], token, process.New(ctx, "", binary, "kube-apiserver",
		"--allow-privileged=true", "--authorization-mode=RBAC", "--bind-address=127.0.0.1", "--cert-dir="+filepath.Join(dir, "certs"),
		"--disable-admission-plugins=ServiceAccount", "--etcd-servers="+client, "--secure-port="+ports[2],
		"--service-account-issuer=https://127.0.0.1/", "--service-account-key-file="+key, "--service-account-signing-key-file="+key,
		"--service-cluster-ip-range=10.0.0.0/24", "--token-auth-file="+tokens))
	if times.etcd, err = timeStart(ctx, etcd, "/health"); err != nil {
		return times, err
	}
	times.server, err = timeStart(ctx, server, "/readyz")
	if err == nil {
		times.stopServer, err = timeStop(server)
	}
	stopped, stopErr := timeStop(etcd)
	times.stopEtcd = stopped
	return times, errors.Join(err, stopErr)
}

// timeStart starts a process and returns the time until a path succeeds.
func timeStart(ctx context.Context, t *target, path string) (time.Duration, error) {
	began := time.Now()
	if err := t.Run(); err != nil {
		return 0, err
	}
	if err := t.ready(ctx, path); err != nil {
		return 0, errors.Join(err, t.stop())
	}
	return time.Since(began), nil
}

func timeStop(t *target) (time.Duration, error) {
	began := time.Now()
	err := t.stop()
	return time.Since(began), err
}

// writeKey writes a key for service account tokens.
func writeKey(file string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}

// writeTokens writes the file with the token of the requests.
func writeTokens(file string) error {
	return os.WriteFile(file, []byte(token+`,bench,bench,"system:masters"`+"\n"), 0o600)
}
