// Command miniapiserver is a Kubernetes API server in one process, with etcd
// inside. It reads flags into server.Options, starts the server, prints how to
// reach it, and stops it at a signal.
//
// Called as kube-apiserver, etcd or kubectl-lab, or with one of these names as its first argument, it
// behaves as that command. commands.go has the tree of the other commands, which write what envtest
// starts, save and restore snapshots of etcd, and so on.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/miniapiserver/miniapiserver/lab/kubectl"
	"github.com/miniapiserver/miniapiserver/server"
)

// The names under which the command behaves as another one.
const (
	asKubeAPIServer = "kube-apiserver"
	asEtcd          = "etcd"
)

func main() {
	startMemory()
	os.Exit(runAs(os.Args, os.Stdout, os.Stderr))
}

// runAs runs the command whose name is that of the program or the first argument. The plugin of kubectl and etcd come first: in the
// directories that envtest uses, scripts call kube-apiserver with their names.
func runAs(args []string, stdout, stderr io.Writer) int {
	name, args := strings.TrimSuffix(filepath.Base(args[0]), ".exe"), args[1:]
	if len(args) > 0 && (args[0] == kubectl.Name || args[0] == kubectl.CompletionName || name == asKubeAPIServer && args[0] == asEtcd) {
		name, args = args[0], args[1:]
	}
	switch name {
	case kubectl.Name:
		return kubectl.Run(args, stdout, stderr)
	case kubectl.CompletionName:
		return kubectl.Complete(args, stdout, stderr)
	case asKubeAPIServer:
		return runKubeAPIServer(args, stdout, stderr)
	case asEtcd:
		return runEtcd(args, stdout, stderr)
	default:
		return runMiniapiserver(args, stdout, stderr)
	}
}

// runServer runs miniapiserver itself and returns its exit status.
func (p *program) runServer(o server.Options) int {
	if p.flags.StdinLifetime {
		p.lifetime = os.Stdin
	}
	return p.serve(o, func(srv *server.Server) {
		message := welcome(srv, o, time.Since(p.began))
		if p.flags.Output == "json" {
			message = describe(srv)
		}
		fmt.Fprint(p.stdout, message)
	})
}

// program is a command that runs a server.
type program struct {
	name           string
	began          time.Time
	stdout, stderr io.Writer
	flags          *server.CommandLine
	lifetime       io.Reader    // the server stops at its end; nil for a server that only a signal stops
	parent         *parentWatch // the server stops with its parent
}

// serve runs a server until a signal, calls ready when it is ready, and returns the exit
// status.
func (p *program) serve(o server.Options, ready func(*server.Server)) int {
	o.Logger, o.SetVerbosity = newLogger(p.stderr, p.flags)
	for _, f := range p.flags.Ignored() {
		o.Logger.Warn("flag has no effect here", "flag", "--"+f.Name, "reason", f.Note)
	}
	if p.flags.ContentionProfiling {
		runtime.SetBlockProfileRate(1)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var running atomic.Pointer[server.Server]
	go untilSignal(cancel, &running)
	p.parent.onEnd(cancel)
	if p.lifetime != nil {
		go untilEnd(p.lifetime, cancel)
	}
	srv, err := server.Start(ctx, o)
	if err != nil {
		if ctx.Err() != nil {
			return 0 // a signal came before the server was ready
		}
		return p.fail(err)
	}
	running.Store(srv)
	ready(srv)
	notifySystemd(o.Logger, daemon.SdNotifyReady)
	tuneMemory()

	select {
	case <-ctx.Done():
	case <-srv.Done():
		return p.fail(srv.Err())
	}
	notifySystemd(o.Logger, daemon.SdNotifyStopping)
	// Requests in flight may finish within their timeout.
	stopCtx, stopCancel := context.WithTimeout(context.Background(),
		o.Lifecycle.ShutdownDelay+o.Lifecycle.ShutdownWatchGrace+cmp.Or(o.Limits.RequestTimeout, time.Minute))
	defer stopCancel()
	return p.status(srv.Stop(stopCtx))
}

// status returns the exit status for an error, which it prints.
func (p *program) status(err error) int {
	if err != nil {
		return p.fail(err)
	}
	return 0
}

// fail prints an error in one line and returns the exit status of a failure.
func (p *program) fail(err error) int {
	fmt.Fprintf(p.stderr, "%s: %s\n", p.name, oneLine(err))
	return 1
}

// printVersion writes the version after a name, or all its parts if they are requested.
func printVersion(w io.Writer, name string, flags *server.CommandLine) error {
	version := flags.Options.Version()
	if flags.Version == "raw" {
		_, err := fmt.Fprintf(w, "%#v\n", version)
		return err
	}
	_, err := fmt.Fprintln(w, name, version.GitVersion)
	return err
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

// untilEnd reads r to its end and calls stop. It runs as long as the process.
func untilEnd(r io.Reader, stop func()) {
	_, _ = io.Copy(io.Discard, r) // a failure to read is an end as well
	stop()
}

// describe returns a line of JSON about a server that has just started, for programs.
func describe(srv *server.Server) string {
	line, _ := json.Marshal(struct { // texts and a number are always encoded
		URL         string `json:"url"`
		InsecureURL string `json:"insecureURL,omitempty"`
		SecondURL   string `json:"secondURL,omitempty"`
		CA          string `json:"ca"`
		Token       string `json:"token"`
		Kubeconfig  string `json:"kubeconfig"`
		LabPage     string `json:"labPage,omitempty"`
		PID         int    `json:"pid"`
	}{srv.URL, srv.InsecureURL, srv.SecondURL, string(srv.CA), srv.Token, srv.KubeconfigFile, srv.LabPage, os.Getpid()})
	return string(line) + "\n"
}

// welcome returns the message about a server that has just started: how to use it
// and how to stop it.
func welcome(srv *server.Server, o server.Options, took time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "miniapiserver (Kubernetes %s) is ready at %s after %d ms\n\n",
		o.Version().GitVersion, srv.URL, took.Milliseconds())
	fmt.Fprintf(&b, "  kubectl --kubeconfig %s get namespaces\n", shellQuote(srv.KubeconfigFile))
	if srv.InsecureURL != "" {
		fmt.Fprintf(&b, "  kubectl --server %s get namespaces\n", srv.InsecureURL)
	}
	if srv.SecondURL != "" {
		fmt.Fprintf(&b, "  kubectl --kubeconfig %s --server %s get namespaces\n", shellQuote(srv.KubeconfigFile), srv.SecondURL)
	}
	if srv.LabPage != "" {
		fmt.Fprintf(&b, "  kubectl --kubeconfig %s get requests -w\n\nThe page of the lab: %s\n", shellQuote(srv.KubeconfigFile), srv.LabPage)
	}
	fmt.Fprintf(&b, "\n%s Ctrl-C stops the server.\n", dataLocation(o))
	return b.String()
}

// dataLocation returns the sentence about the data that remains when the server has stopped.
func dataLocation(o server.Options) string {
	switch {
	case len(o.Etcd.Servers) > 0:
		return "Data is kept in etcd at " + strings.Join(o.Etcd.Servers, ", ") + "."
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
