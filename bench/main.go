// Command bench measures a Kubernetes API server from outside: how fast it
// starts, what it holds in memory, and what one request of each kind costs it
// in CPU time.
//
//	go run ./bench -binary bin/miniapiserver
//
// The nouns: a process is a server that runs, with its CPU time and memory from
// /proc; a target is a process as a client sees it; a workload is a number of
// like requests. Every workload is sent twice: to the server, and to the floor
// (floor.go), which is this program once more, answering with as many fixed
// bytes over the same TLS and HTTP/2 stack. The ratio of the two says what the
// server adds to what any server in Go has to pay, on whichever machine.
//
// Reading order: workloads.go and fanout.go say what is measured, measure.go
// how, table.go how it is told.
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
	"syscall"
)

// settings are the flags.
type settings struct {
	binary, server, token, pids, run, durable, profile string
	objects, ops, lists, workers                       int
	watchers, events, starts, crds                     int
}

func parseFlags() (*settings, error) {
	s := &settings{}
	flag.StringVar(&s.binary, "binary", "bin/miniapiserver", "the server to start and measure")
	flag.StringVar(&s.server, "server", "", "URL of a server that runs already, instead of -binary")
	flag.StringVar(&s.token, "token", "bench-token", "bearer token for -server")
	flag.StringVar(&s.pids, "pids", "", "process ids of -server and its etcd, comma separated")
	flag.StringVar(&s.run, "run", strings.Join(names(), ","), "workloads, in their order; create comes first, the others use its objects")
	flag.StringVar(&s.durable, "durable", "create,get,update", "workloads to run once more on a server that syncs to disk; empty for none")
	flag.IntVar(&s.objects, "objects", 10000, "ConfigMaps, and Pods, to create")
	flag.IntVar(&s.ops, "ops", 10000, "requests of each workload about single objects")
	flag.IntVar(&s.lists, "lists", 20, "repetitions of each list")
	flag.IntVar(&s.workers, "c", 16, "concurrent requests of workloads about single objects")
	flag.IntVar(&s.watchers, "watchers", 200, "watches of the fan-out")
	flag.IntVar(&s.events, "events", 500, "events of the fan-out, each for every watch")
	flag.IntVar(&s.crds, "crds", 1000, "definitions of custom kinds")
	flag.StringVar(&s.profile, "profile", "", "file for a profile of the CPU that the ephemeral server uses in the first 15 seconds of its load")
	flag.IntVar(&s.starts, "starts", 7, "how often to start the server, for the median")
	flag.Parse()
	if flag.NArg() > 0 {
		return nil, fmt.Errorf("takes flags only, got %q", flag.Arg(0))
	}
	for _, name := range append(split(s.run), split(s.durable)...) {
		if !slices.Contains(names(), name) {
			return nil, fmt.Errorf("no workload %q; there are %s", name, strings.Join(names(), ", "))
		}
	}
	return s, nil
}

func split(list string) []string {
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

// bench is the whole run.
func bench(ctx context.Context, s *settings) error {
	floor, err := startFloor(ctx)
	if err != nil {
		return fmt.Errorf("starting the floor: %w", err)
	}
	defer floor.stop()
	if s.server != "" {
		server, err := running(s)
		if err != nil {
			return err
		}
		return load(ctx, s, "server at "+s.server, server, floor, split(s.run))
	}
	if err := starts(ctx, s); err != nil {
		return err
	}
	for _, mode := range []struct{ name, run string }{{"ephemeral", s.run}, {"durable", s.durable}} {
		if mode.run == "" {
			continue
		}
		if err := loadStarted(ctx, s, mode.name, floor, split(mode.run)); err != nil {
			return err
		}
	}
	return nil
}

// loadStarted starts a server for a load of its own.
func loadStarted(ctx context.Context, s *settings, mode string, floor *target, run []string) (err error) {
	server, err := startServer(ctx, s.binary, mode == "ephemeral")
	if err != nil {
		return fmt.Errorf("starting %s: %w", s.binary, err)
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	if s.profile != "" && mode == "ephemeral" {
		profiled := make(chan error, 1)
		go func() { profiled <- profile(ctx, server, s.profile) }()
		defer func() { err = errors.Join(err, <-profiled) }()
	}
	return load(ctx, s, mode, server, floor, run)
}
