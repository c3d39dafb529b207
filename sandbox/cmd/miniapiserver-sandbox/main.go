// Command miniapiserver-sandbox runs a control plane without containers: see package sandbox.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/miniapiserver/miniapiserver/sandbox"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "miniapiserver-sandbox:", err)
		os.Exit(1)
	}
}

// run runs the program until ctx ends or a signal arrives.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case "list":
			return list(args[1:], stdout)
		case "delete":
			return remove(ctx, args[1:], stdout)
		}
	}
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	if o.version {
		_, err := fmt.Fprintf(stdout, "miniapiserver-sandbox %s, Kubernetes %s\n", release(), kubernetes(o))
		return err
	}
	if o.name != "" {
		n, err := takeNamed(o.name)
		if err != nil {
			return err
		}
		defer n.release()
		n.configure(&o.Options)
		o.named = n
	}
	return start(ctx, o, stdout, stderr)
}

// start runs a sandbox until ctx ends or a signal arrives.
func start(ctx context.Context, o options, stdout, stderr io.Writer) error {
	level := new(slog.LevelVar)
	level.Set(slog.LevelError)
	o.Logger = slog.New(sandbox.LogHandler(withoutNoise{slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}), o.verbose}))
	if o.verbose {
		level.Set(slog.LevelInfo)
	}
	klog.SetSlogLogger(o.Logger)
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	endOnPanic(fail)
	ctx, end := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer end()
	defer context.AfterFunc(ctx, end)() // a second signal ends the process at once
	began := time.Now()
	s, err := sandbox.New(ctx, o.Options)
	if err != nil {
		return o.named.explain(err)
	}
	if err := o.named.started(s); err != nil {
		end()
		return errors.Join(err, s.Run(ctx))
	}
	greet(stdout, s, o, time.Since(began))
	err = s.Run(ctx)
	if cause := context.Cause(ctx); errors.Is(cause, errPanic) {
		return errors.Join(cause, err)
	}
	return err
}

var errPanic = errors.New("a component panicked")

// endOnPanic makes panics in goroutines of the components, which log them, stop the sandbox instead of
// ending the process at once.
func endOnPanic(fail context.CancelCauseFunc) {
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(_ context.Context, panicked any) {
		fail(fmt.Errorf("%w: %v", errPanic, panicked))
	})
}

// withoutNoise drops the error that both programs of k8s.io/kubernetes log for a flag that is not set,
// and unless retries is set the errors after which controllers try again: a conflict with another
// writer, a read that is not as new as their last write, or a claim whose StorageClass does not exist, which
// has an event that says so. A failed kubectl exec or port-forward is logged like these, and its client
// has the error.
type withoutNoise struct {
	slog.Handler
	retries bool
}

// Handle implements slog.Handler.
func (h withoutNoise) Handle(ctx context.Context, r slog.Record) error {
	noise := r.Message == "The manifest file is empty, ignoring." ||
		!h.retries && (r.Message == "Unhandled Error" || r.Message == "Error finding provisioning plugin for claim")
	r.Attrs(func(a slog.Attr) bool {
		noise = noise || !h.retries && a.Key == "logger" && strings.HasSuffix(a.Value.String(), "UnhandledError")
		return !noise
	})
	if noise {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h withoutNoise) WithAttrs(attrs []slog.Attr) slog.Handler {
	return withoutNoise{h.Handler.WithAttrs(attrs), h.retries}
}

// WithGroup implements slog.Handler.
func (h withoutNoise) WithGroup(name string) slog.Handler {
	return withoutNoise{h.Handler.WithGroup(name), h.retries}
}

type options struct {
	sandbox.Options
	name    string
	named   *named // if there is a name
	verbose bool
	version bool
}

// compactionInterval is the interval between compactions of etcd, that of kube-apiserver. The zero value of
// the server's options means never.
const compactionInterval = 5 * time.Minute

// parse reads the command line. The error is pflag.ErrHelp after --help.
func parse(args []string, stdout io.Writer) (options, error) {
	var o options
	o.Server.Etcd.CompactionInterval = compactionInterval
	var forward []string
	f := pflag.NewFlagSet("miniapiserver-sandbox", pflag.ContinueOnError)
	f.SetOutput(stdout)
	f.SortFlags = false
	f.IntVar(&o.Nodes, "nodes", 0, "Number of nodes; 0 means as many as the scene needs, or one.")
	f.StringVar(&o.NodePreset, "node-preset", "small", "Size of the nodes: "+strings.Join(sandbox.NodePresets(), ", ")+".")
	f.StringVar(&o.NodesFile, "nodes-file", "", "File of manifests of Nodes to create as well. What they leave out, such as their capacity, is the preset's.")
	f.StringVar(&o.Pods, "pods", sandbox.PodPresets()[0], "How pods behave: "+strings.Join(sandbox.PodPresets(), ", ")+", or a file of kwok Stages.")
	f.StringVar(&o.Scene, "scene", "", "What to load: "+strings.Join(sandbox.Scenes(), ", ")+", a file or directory of manifests, or a file of kubectl lab save.")
	f.StringSliceVar(&o.Without, "without", nil, "Components that do not run here, of "+strings.Join(sandbox.Components(), ", ")+": for your own.")
	f.StringSliceVar(&forward, "forward", nil, "PORT=ADDRESS: kubectl port-forward to this port of any pod reaches the address.")
	f.StringArrayVar(&o.ControllerManagerArgs, "controller-manager-arg", nil, "Flag of the kube-controller-manager, such as --node-monitor-grace-period=20s. Can be repeated.")
	f.StringArrayVar(&o.SchedulerArgs, "scheduler-arg", nil, "Flag of the kube-scheduler. Can be repeated.")
	f.StringVar(&o.name, "name", "", "Name of a sandbox whose data, port and kubeconfig file stay the same from start to start. If empty, nothing is kept.")
	f.StringVar(&o.Server.Dir, "data-dir", "", "Directory of the data, instead of that of --name.")
	f.StringVar(&o.Server.Serving.BindAddress, "bind-address", "127.0.0.1", "Address of the API server.")
	f.IntVar(&o.Server.Serving.Port, "secure-port", 0, "Port of the API server; 0 picks a free one.")
	f.StringVar(&o.Server.Emulation.Version, "kubernetes-version", "",
		"Minor version of Kubernetes to emulate, such as 1.36. If empty, the newest.")
	f.BoolVar(&o.Server.Lab.Enabled, "lab", true,
		"If true, the API server explains what it does: \"kubectl get requests -w\", and kubectl lab.")
	f.IntVar(&o.Server.Lab.Page, "lab-page", -1, "Port of 127.0.0.1 for the page of the lab. If -1, a free port. If 0, there is no page.")
	f.BoolVar(&o.version, "version", false, "If true, the version is printed and no sandbox is started.")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "Log what the components do, and the errors after which they try again.")
	f.Usage = func() {
		fmt.Fprintf(stdout, "Runs a Kubernetes control plane without containers in one process: API server, etcd, kube-controller-manager,\n"+
			"kube-scheduler, and kwok for the nodes. If a component ends, the process ends with its error.\n\n"+
			"  miniapiserver-sandbox [flags]       start a sandbox\n"+
			"  miniapiserver-sandbox list          list the sandboxes that have a --name\n"+
			"  miniapiserver-sandbox delete NAME   stop such a sandbox and delete its data\n\n"+
			"The clock of a lab (--lab) is that of the API server. The other components keep the real time: CronJobs, Job deadlines, TTLs of\n"+
			"finished Jobs and windows of autoscalers do not follow it.\n\nFlags:\n%s", f.FlagUsagesWrapped(120))
	}
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: all settings are flags, see --help", f.Arg(0))
	}
	if o.name != "" && o.Server.Dir != "" {
		return o, errors.New("--name and --data-dir: want one of them")
	}
	var err error
	o.Forward, err = parseForward(forward)
	return o, err
}

// parseForward reads PORT=ADDRESS pairs. Options.Validate checks the addresses.
func parseForward(pairs []string) (map[int32]string, error) {
	forward := map[int32]string{}
	for _, pair := range pairs {
		number, address, found := strings.Cut(pair, "=")
		port, err := strconv.ParseUint(number, 10, 16)
		if err != nil || !found {
			return nil, fmt.Errorf("--forward %s: want PORT=HOST:PORT, such as 8080=127.0.0.1:3000", pair)
		}
		forward[int32(port)] = address
	}
	return forward, nil
}

// kubernetes returns the release of Kubernetes that the sandbox emulates.
func kubernetes(o options) string {
	v := o.Server.Version()
	if v.EmulationMinor != "" && v.EmulationMinor != v.Minor {
		return v.EmulationMajor + "." + v.EmulationMinor + " (emulated)"
	}
	version, _, _ := strings.Cut(v.GitVersion, "+") // what follows is the release of the server
	return version
}

// release returns the version of this program.
func release() string {
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" && build.Main.Version != "(devel)" {
		return build.Main.Version
	}
	return "devel"
}

// greet prints what there is and what to try.
func greet(w io.Writer, s *sandbox.Sandbox, o options, took time.Duration) {
	commands := append([]string{"export KUBECONFIG=" + s.KubeconfigFile}, toTry(o.Scene)...)
	page := ""
	if s.LabPage != "" {
		page = "The page of the lab: " + s.LabPage + "\n\n"
	}
	fmt.Fprintf(w, `Sandbox ready in %s: Kubernetes %s at %s, pods: %s. No container runs.

    %s

%s%sStop with Ctrl-C.
`, took.Round(time.Millisecond), kubernetes(o), s.URL, o.Pods, strings.Join(commands, "\n    "), page, missing(o.Without))
}

// toTry returns commands to try with a scene.
func toTry(scene string) []string {
	if scene == "" {
		return []string{"kubectl get nodes", "kubectl create deployment web --image=nginx --replicas=3", "kubectl get pods -o wide"}
	}
	if commands, err := sandbox.SceneCommands(scene); err == nil && len(commands) > 0 {
		return commands
	}
	return []string{"kubectl get all --all-namespaces", "kubectl get events --all-namespaces --field-selector=type=Warning"}
}

// missing returns a line that says which components do not run here.
func missing(without []string) string {
	if len(without) == 0 {
		return ""
	}
	return fmt.Sprintf("Not running here: %s. Run yours with the KUBECONFIG.\n", strings.Join(without, ", "))
}
