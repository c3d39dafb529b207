// Command miniapiserver is a Kubernetes API server in one process, with etcd
// inside. It reads flags into server.Options, starts the server, prints how to
// reach it, and stops it at a signal.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/miniapiserver/miniapiserver/server"
)

func main() {
	tuneMemory()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the command and returns its exit status.
func run(args []string, stdout, stderr io.Writer) int {
	began := time.Now()
	c, o, err := parseFlags(args)
	if err != nil {
		return fail(stderr, err)
	}
	switch {
	case c.Help:
		if err := printHelp(stdout, c.Flags()); err != nil {
			return fail(stderr, err)
		}
		return 0
	case c.Version:
		fmt.Fprintln(stdout, "miniapiserver, Kubernetes", server.Version().GitVersion)
		return 0
	}
	o.Logger = newLogger(stderr, c.LoggingFormat, c.Verbosity)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var running atomic.Pointer[server.Server]
	go untilSignal(cancel, &running)
	srv, err := server.Start(ctx, o)
	if err != nil {
		if ctx.Err() != nil {
			return 0 // a signal came before the server was ready
		}
		return fail(stderr, err)
	}
	running.Store(srv)
	fmt.Fprint(stdout, welcome(srv, o, time.Since(began)))

	select {
	case <-ctx.Done():
	case <-srv.Done():
		return fail(stderr, srv.Err())
	}
	// Requests in flight may finish within their timeout.
	stopCtx, stopCancel := context.WithTimeout(context.Background(), cmp.Or(o.RequestTimeout, time.Minute))
	defer stopCancel()
	if err := srv.Stop(stopCtx); err != nil {
		return fail(stderr, err)
	}
	return 0
}

// untilSignal calls stop at the first signal and ends the process at the
// second. It runs as long as the process.
func untilSignal(stop func(), running *atomic.Pointer[server.Server]) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	<-signals
	stop()
	<-signals
	if srv := running.Load(); srv != nil {
		srv.Abandon()
	}
	os.Exit(1)
}

// fail prints an error in one line and returns the exit status of a failure.
func fail(stderr io.Writer, err error) int {
	fmt.Fprintln(stderr, "miniapiserver:", oneLine(err))
	return 1
}

// welcome returns the message about a server that has just started: how to use it
// and how to stop it.
func welcome(srv *server.Server, o server.Options, took time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "miniapiserver (Kubernetes %s) is ready at %s after %d ms\n\n",
		server.Version().GitVersion, srv.URL, took.Milliseconds())
	fmt.Fprintf(&b, "  kubectl --kubeconfig %s get namespaces\n", shellQuote(srv.KubeconfigFile))
	if srv.InsecureURL != "" {
		fmt.Fprintf(&b, "  kubectl --server %s get namespaces\n", srv.InsecureURL)
	}
	fmt.Fprintf(&b, "\n%s Ctrl-C stops the server.\n", dataLocation(o))
	return b.String()
}

// dataLocation returns the sentence about the data that remains when the server has stopped.
func dataLocation(o server.Options) string {
	switch {
	case len(o.EtcdServers) > 0:
		return "Data is kept in etcd at " + strings.Join(o.EtcdServers, ", ") + "."
	case o.Ephemeral():
		return "Nothing is kept."
	}
	return "Data is kept in " + o.Dir + "."
}

// shellQuote returns a path in quotes if a shell would otherwise split or change it.
func shellQuote(path string) string {
	plain := !strings.ContainsFunc(path, func(r rune) bool {
		return !strings.ContainsRune("/._-+=:,@%", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if plain && path != "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
