// Command soak runs a server under a load that leaves nothing behind, and reports whether anything
// grows: memory, goroutines, file descriptors, the database of etcd or latencies.
//
//	go run ./bench/soak -binary bin/miniapiserver -duration 1h
//
// An activity is a loop that creates objects, uses them and deletes them: of every kind, custom
// kinds, webhooks, namespaces, tokens and watches. A sample is what the server uses at a time. The
// exit status is 1 if a quantity grew, or if an activity, or creating objects of a kind, never
// succeeded.
//
// Reading order: activities.go defines the load, samples.go measures and judges.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/miniapiserver/miniapiserver/bench/process"
)

// settings are the values of the flags.
type settings struct {
	binary, templates  string
	duration, interval time.Duration
	workers            int
}

func main() {
	s := &settings{}
	flag.StringVar(&s.binary, "binary", "bin/miniapiserver", "Server binary to start.")
	flag.StringVar(&s.templates, "templates", "conformance/snapshot/testdata/lists.json.gz", "File containing lists of objects of every kind, by path, that are created under other names.")
	flag.DurationVar(&s.duration, "duration", time.Hour, "Duration of the load.")
	flag.DurationVar(&s.interval, "interval", 30*time.Second, "Time between two samples.")
	flag.IntVar(&s.workers, "workers", 4, "Number of concurrent loops over all kinds.")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed, err := soak(ctx, s)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
	if failed {
		os.Exit(1)
	}
}

// soak runs the server and the load, and reports whether anything grew or never succeeded.
func soak(ctx context.Context, s *settings) (failed bool, err error) {
	templates, err := readTemplates(s.templates)
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	server, c, err := start(ctx, s.binary, dir)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	loaded, end := context.WithTimeout(ctx, s.duration)
	defer end()
	var wg sync.WaitGroup
	for _, a := range activities(c, templates, s.workers) {
		wg.Go(func() { a.loop(loaded) })
	}
	samples, err := sampleUntil(loaded, c, server, s.interval)
	end()
	wg.Wait()
	failed = c.printOutcomes()
	return printVerdict(samples) || failed, err
}

// start starts the server with a short compaction interval, as many of which pass as in days of
// operation, and returns a client.
func start(ctx context.Context, binary, dir string) (*process.Process, *client, error) {
	server, ready, err := process.StartServer(ctx, binary, "--data-dir", filepath.Join(dir, "data"),
		"--etcd-compaction-interval=30s", "--event-ttl=2m")
	if err != nil {
		return nil, nil, err
	}
	c, err := newClient(ready.URL, ready.CA, ready.Token)
	if err != nil {
		return nil, nil, errors.Join(err, server.Stop())
	}
	return server, c, nil
}
