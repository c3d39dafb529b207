// Command bench measures a Kubernetes API server from outside: its startup time, its memory, and
// the CPU time of each kind of request.
//
//	go run ./bench -binary bin/miniapiserver
//
// A process is a running server, whose CPU time and memory are read from /proc. A target is a
// process as seen by a client. A workload is a number of similar requests. Each workload runs
// twice: against the server, and against the floor (floor.go), which is this program sending as
// many constant bytes over the same TLS and HTTP/2 stack. The ratio of both is the overhead of the
// server over the cost of any server in Go, independent of the machine.
//
// Reading order: workloads.go and fanout.go define the workloads, measure.go measures them,
// table.go prints the results.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// settings are the values of the flags.
type settings struct {
	binary, server, token, pids, run, durable, profile, profileOf string
	kubeAPIServer, etcd                                           string
	objects, ops, lists, workers                                  int
	watchers, events, starts, crds                                int
}

func parseFlags() (*settings, error) {
	s := &settings{}
	flag.StringVar(&s.binary, "binary", "bin/miniapiserver", "Server binary to start and measure.")
	flag.StringVar(&s.server, "server", "", "URL of a running server to measure instead of -binary.")
	flag.StringVar(&s.token, "token", "bench-token", "Bearer token for -server.")
	flag.StringVar(&s.pids, "pids", "", "Comma-separated process IDs of -server and its etcd.")
	flag.StringVar(&s.run, "run", strings.Join(workloadNames(), ","), "Comma-separated list of workloads to run. They require the objects of the workload create.")
	flag.StringVar(&s.durable, "durable", "create,get,update", "Comma-separated list of workloads to repeat on a server that syncs to disk.")
	flag.StringVar(&s.kubeAPIServer, "kube-apiserver", "", "A kube-apiserver, and with -etcd an etcd, to measure the restore of a snapshot with; if empty, those of -binary.")
	flag.StringVar(&s.etcd, "etcd", "", "An etcd, see -kube-apiserver.")
	flag.IntVar(&s.objects, "objects", 10000, "Number of ConfigMaps, and of Pods, to create.")
	flag.IntVar(&s.ops, "ops", 10000, "Number of requests of each workload on single objects.")
	flag.IntVar(&s.lists, "lists", 20, "Number of repetitions of each list.")
	flag.IntVar(&s.workers, "c", 16, "Number of concurrent requests of workloads on single objects.")
	flag.IntVar(&s.watchers, "watchers", 200, "Number of watches of the workload fanout.")
	flag.IntVar(&s.events, "events", 500, "Number of events per watch of the workload fanout.")
	flag.IntVar(&s.crds, "crds", 1000, "Number of CustomResourceDefinitions of the workload crds.")
	flag.StringVar(&s.profile, "profile", "", "File to write a CPU profile of the first 15 seconds of load on the ephemeral server to.")
	flag.StringVar(&s.profileOf, "profile-of", "", "Workload of -run with which the profile begins. If empty, the first one.")
	flag.IntVar(&s.starts, "starts", 7, "Number of server starts, of which the median is printed.")
	flag.Parse()
	if flag.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	for _, name := range append(splitList(s.run), splitList(s.durable)...) {
		if !slices.Contains(workloadNames(), name) {
			return nil, fmt.Errorf("unknown workload %q, expected one of %s", name, strings.Join(workloadNames(), ", "))
		}
	}
	if s.profileOf != "" && !slices.Contains(splitList(s.run), s.profileOf) {
		return nil, fmt.Errorf("-profile-of %q is no workload of -run", s.profileOf)
	}
	return s, nil
}

func splitList(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

func main() {
	if os.Getenv(floorEnv) != "" {
		if err := serveFloor(os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "bench: floor:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := parseFlags()
	if err == nil {
		err = bench(ctx, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench runs all measurements.
func bench(ctx context.Context, s *settings) error {
	floor, err := startFloor(ctx)
	if err != nil {
		return fmt.Errorf("start floor: %w", err)
	}
	defer floor.stop()
	if s.server != "" {
		server, err := attach(s)
		if err != nil {
			return err
		}
		return load(ctx, s, "server at "+s.server, server, floor, splitList(s.run), func(string) {})
	}
	if err := errors.Join(measureStarts(ctx, s), measurePairs(ctx, s), measureRestore(ctx, s)); err != nil {
		return err
	}
	for _, mode := range []struct{ name, run string }{{"ephemeral", s.run}, {"durable", s.durable}} {
		if mode.run == "" {
			continue
		}
		if err := loadStarted(ctx, s, mode.name, floor, splitList(mode.run)); err != nil {
			return err
		}
	}
	return nil
}

// loadStarted starts a server and measures workloads on it.
func loadStarted(ctx context.Context, s *settings, mode string, floor *target, run []string) (err error) {
	server, err := startServer(ctx, s.binary, mode == "ephemeral")
	if err != nil {
		return fmt.Errorf("start %s: %w", s.binary, err)
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	if s.profile == "" || mode != "ephemeral" {
		return load(ctx, s, mode, server, floor, run, func(string) {})
	}
	var profiling sync.WaitGroup
	var failed error
	begin := sync.OnceFunc(func() {
		profiling.Go(func() { failed = writeProfile(ctx, server, s.profile) })
	})
	err = load(ctx, s, mode, server, floor, run, func(w string) {
		if s.profileOf == "" || s.profileOf == w {
			begin()
		}
	})
	profiling.Wait()
	return errors.Join(err, failed)
}
