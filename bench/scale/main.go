// Command scale is a Kubernetes cluster without containers: it uses an API server as the nodes, controllers,
// scheduler, operators and users of a cluster of a given size do, and measures latencies, CPU time and memory.
//
//	go run ./bench/scale -binary bin/miniapiserver -size 500
//	go run ./bench/scale -server https://127.0.0.1:6443 -token TOKEN -pids 123,124 -size 500
//
// A run has phases. The fill creates the objects; then informers and kubelets begin their watches; then the
// load runs at a fixed rate, and is measured after it has settled; then each kind of request runs alone, which
// shows its cost. docs/scale.md describes the load and the output.
//
// An operation is a kind of request, and a class a set of operations with a common limit (plan.go). A task is
// a part of the load, such as the renewal of Leases (run.go). A life is that of a pod that comes and goes: each
// step waits for the event of the step before (lives.go).
//
// Reading order: plan.go is the size and the rates, run.go the phases; cluster.go, kubelets.go, controllers.go,
// lives.go and users.go are the components, objects.go their objects; servers.go starts the servers; client.go, watch.go
// and decode.go speak to them; recorder.go, histogram.go, lag.go and usage.go measure, report.go and costs.go print.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/miniapiserver/miniapiserver/bench/process"
)

// settings are the values of the flags.
type settings struct {
	binary, dataDir, server, token, ca, certificate, key, pids string
	ownEtcd                                                    string
	size, fillWorkers, nodesPerConnection, servers, members    int
	churn                                                      float64
	load, profile, heapProfile                                 string
	settle, duration, interval, podLifetime, costTime          time.Duration
	serverArgs                                                 []string
}

func parseFlags(args []string) (*settings, error) {
	s := &settings{}
	f := flag.NewFlagSet("scale", flag.ContinueOnError)
	f.IntVar(&s.size, "size", 500,
		"Number of nodes. There are 30 pods and 2 namespaces per node, and the rates are in proportion.")
	f.StringVar(&s.load, "load", "normal", "Rates of the load: normal, or busy for three times the rates.")
	f.Float64Var(&s.churn, "churn", usualChurn,
		"Number of pods that come and go per second with 5,000 nodes and the normal load; in proportion otherwise.")
	f.DurationVar(&s.duration, "duration", 2*time.Minute, "Duration of the measured load.")
	f.DurationVar(&s.settle, "settle", 30*time.Second,
		"Duration of the load before the measurement. If it is shorter than -pod-lifetime, few pods go at first.")
	f.DurationVar(&s.interval, "interval", 10*time.Second, "Time between two lines of output during the load.")
	f.DurationVar(&s.podLifetime, "pod-lifetime", 20*time.Second,
		"Time from the creation of a pod that comes and goes to its deletion.")
	f.DurationVar(&s.costTime, "cost-time", 4*time.Second,
		"Duration of each measurement of a request's cost. If 0, costs are not measured.")
	f.IntVar(&s.fillWorkers, "fill-workers", 64, "Number of concurrent requests of the fill.")
	f.IntVar(&s.nodesPerConnection, "nodes-per-connection", 25,
		"Number of kubelets that share a connection. A kubelet has 3 watches, and a connection usually 100 streams.")
	f.StringVar(&s.binary, "binary", "bin/miniapiserver",
		"Server binary to start and measure. Arguments after the flags are added to its flags.")
	f.StringVar(&s.dataDir, "data-dir", "",
		"New directory for the data of -binary, which stays. If empty, the server is ephemeral.")
	f.IntVar(&s.servers, "servers", 1, "Number of servers to start, which share the load. More than one require -members.")
	f.IntVar(&s.members, "members", 0,
		"Number of members of the etcd to start for the servers. If 0, the server has one in its process.")
	f.StringVar(&s.ownEtcd, "own-etcd", "",
		"Comma-separated list of resources, events and leases, that have an etcd of their own with -members members.")
	f.StringVar(&s.profile, "profile", "", "File to write a CPU profile of the server in the measured load to.")
	f.StringVar(&s.heapProfile, "heap-profile", "", "File to write a heap profile of the server after the load to.")
	f.StringVar(&s.server, "server", "",
		"Comma-separated list of URLs of running servers of one cluster to use instead of -binary.")
	f.StringVar(&s.pids, "pids", "",
		"Comma-separated list of process IDs of -server and its etcd, for CPU time and memory. If empty, both are 0.")
	f.StringVar(&s.ca, "ca", "",
		"File containing certificates to verify -server with. If empty, the server is not verified.")
	f.StringVar(&s.token, "token", "", "Bearer token of a cluster administrator of -server.")
	f.StringVar(&s.certificate, "client-certificate", "",
		"File containing the certificate of a cluster administrator of -server.")
	f.StringVar(&s.key, "client-key", "", "File containing the key of -client-certificate.")
	f.Usage = func() { usageText(f) }
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	s.serverArgs = f.Args()
	if _, err := loadFactor(s.load); err != nil {
		return nil, err
	}
	switch {
	case s.size < 1 || s.fillWorkers < 1 || s.nodesPerConnection < 1:
		return nil, errors.New("-size, -fill-workers and -nodes-per-connection must be positive")
	case s.server != "" && (len(s.serverArgs) > 0 || s.dataDir != ""):
		return nil, errors.New("-server excludes -data-dir and flags of the server")
	case s.server != "" && (s.servers != 1 || s.members != 0):
		return nil, errors.New("-server excludes -servers and -members")
	case s.servers < 1 || s.members < 0 || s.members == 0 && (s.servers > 1 || s.ownEtcd != ""):
		return nil, errors.New("-servers must be positive, and more than 1 and -own-etcd require -members")
	case s.churn < 0 || s.churn > 50:
		return nil, errors.New("-churn must be between 0 and 50")
	case (s.certificate == "") != (s.key == ""):
		return nil, errors.New("-client-certificate requires -client-key, and vice versa")
	}
	for _, resource := range splitList(s.ownEtcd) {
		if movable[resource] == "" {
			return nil, fmt.Errorf("-own-etcd: unknown resource %q, expected events or leases", resource)
		}
	}
	return s, nil
}

func usageText(f *flag.FlagSet) {
	fmt.Fprint(f.Output(), `Uses an API server as a cluster of -size nodes does, and measures latencies, CPU and memory.
The exit status is 1 if a request failed, an event was lost or the load was not reached.

  scale -size 100                                        a server of bin/miniapiserver in memory
  scale -size 1000 -duration 1h -cost-time 0             an hour of churn
  scale -size 500 -- --v=2                               flags of the server
  scale -size 200 -members 3 -servers 2                  two servers on an etcd of three members
  scale -server https://127.0.0.1:6443 -ca ca.crt \
    -client-certificate admin.crt -client-key admin.key \
    -pids "$(pgrep -d, 'etcd|kube-apiserver')"           another server, without controllers

docs/scale.md describes the load, the output and what a run needs.

`)
	f.PrintDefaults()
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The garbage collector takes time from the server, and memory is there.
	debug.SetGCPercent(300)
	s, err := parseFlags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	ok := false
	if err == nil {
		ok, err = scale(ctx, s, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// scale starts the server, unless it runs, and runs the driver.
func scale(ctx context.Context, s *settings, out io.Writer) (ok bool, err error) {
	a, err := newAccess(s)
	if err != nil {
		return false, err
	}
	var all *servers
	if s.server == "" {
		all, err = startServers(ctx, s, a)
	} else {
		all, err = attachAll(splitList(s.pids))
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, all.stop()) }()
	factor, err := loadFactor(s.load)
	if err != nil {
		return false, err
	}
	return drive(ctx, s, a, newPlan(s.size, factor, s.churn, s.podLifetime), all, out)
}

// drive connects the cluster to the server and runs it.
func drive(ctx context.Context, s *settings, a *access, p *plan, all *servers, out io.Writer) (ok bool, err error) {
	c, err := newCluster(ctx, a, p, s.nodesPerConnection, out)
	if err != nil {
		return false, err
	}
	r := &run{settings: s, cluster: c, parts: all.parts, self: process.Self()}
	return r.run(ctx)
}
