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
	pair, err := newPair(ctx, dir, filepath.Join(dir, "etcd"), []string{binary, "kube-apiserver"}, []string{binary, "etcd"})
	if err != nil {
		return times, err
	}
	if times.etcd, err = timeStart(ctx, pair.etcd, "/health"); err != nil {
		return times, err
	}
	times.server, err = timeStart(ctx, pair.server, "/readyz")
	if err == nil {
		times.stopServer, err = timeStop(pair.server)
	}
	stopped, stopErr := timeStop(pair.etcd)
	times.stopEtcd = stopped
	return times, errors.Join(err, stopErr)
}

// pair is a kube-apiserver and its etcd.
type pair struct{ etcd, server *target }

// newPair returns a pair that is not started. It keeps its files in dir and its data in data; the commands are those of the programs,
// to which it appends flags. A further pair with the same dir has the same keys.
func newPair(ctx context.Context, dir, data string, kubeAPIServer, etcd []string) (pair, error) {
	key, tokens := filepath.Join(dir, "sa.key"), filepath.Join(dir, "tokens.csv")
	if _, err := os.Stat(key); err != nil {
		if err := errors.Join(writeKey(key), writeTokens(tokens)); err != nil {
			return pair{}, err
		}
	}
	ports := make([]string, 3)
	for i := range ports {
		var err error
		if ports[i], err = freePort(); err != nil {
			return pair{}, err
		}
	}
	run := func(command []string, flags ...string) *process.Process {
		return process.New(ctx, "", command[0], append(slices.Clone(command[1:]), flags...)...)
	}
	client, peer := "http://127.0.0.1:"+ports[0], "http://127.0.0.1:"+ports[1]
	return pair{
		etcd: newTarget(client, "", run(etcd, "--data-dir="+data, "--unsafe-no-fsync=true", "--log-level=panic",
			"--listen-client-urls="+client, "--advertise-client-urls="+client, "--listen-peer-urls="+peer)),
		server: newTarget("https://127.0.0.1:"+ports[2], token, run(kubeAPIServer,
			"--allow-privileged=true", "--authorization-mode=RBAC", "--bind-address=127.0.0.1", "--cert-dir="+filepath.Join(dir, "certs"),
			"--disable-admission-plugins=ServiceAccount", "--etcd-servers="+client, "--secure-port="+ports[2],
			"--service-account-issuer=https://127.0.0.1/", "--service-account-key-file="+key, "--service-account-signing-key-file="+key,
			"--service-cluster-ip-range=10.0.0.0/24", "--token-auth-file="+tokens)),
	}, nil
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
