package sandbox

import (
	"fmt"
	"log/slog"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/miniapiserver/miniapiserver/server"
)

// The components beside the API server.
const (
	ControllerManager = "controller-manager"
	Scheduler         = "scheduler"
	Kubelets          = "kubelets"
)

// Components returns the names of the components beside the API server, each of which
// Options.Without can turn off.
func Components() []string { return []string{ControllerManager, Scheduler, Kubelets} }

// Options configure a sandbox. Their zero value is a sandbox for a test: one node, pods that start at
// once, on a free port of 127.0.0.1, without a log, and nothing left behind.
type Options struct {
	// Server configures the API server: its port, its directory, its version of Kubernetes. The
	// sandbox sets what the other components need: Controllers.Off, Dial and signing keys.
	Server server.Options
	// Nodes is the number of nodes to create besides NodesFile; 0 means as many as the scene needs,
	// or none if there is a file.
	Nodes int
	// NodePreset names the size of the nodes: see NodePresets. Empty means the first.
	NodePreset string
	// NodesFile is a file of manifests of Nodes. What a manifest leaves out, such as the capacity, is
	// that of the NodePreset.
	NodesFile string
	// Pods names how pods behave: see PodPresets. Empty means the first. A name with a
	// slash or a dot is a file of kwok Stages.
	Pods string
	// Forward names, for ports of pods, the addresses that kubectl port-forward reaches, such as
	// "127.0.0.1:8080". Whoever may forward ports of pods reaches them.
	Forward map[int32]string
	// Scene is what New loads: one of Scenes, a file or directory of manifests (see Load), or an etcd snapshot, such as a file of
	// "kubectl lab save", with whose objects the sandbox starts.
	Scene string
	// Without turns components off, for a component that runs elsewhere.
	Without []string
	// ControllerManagerArgs and SchedulerArgs are flags of these programs, such as
	// "--horizontal-pod-autoscaler-sync-period=5s".
	ControllerManagerArgs []string
	SchedulerArgs         []string
	// Logger is the log of all components; nil discards it.
	Logger *slog.Logger `json:"-"`
}

// Validate returns an error that names the wrong option, or nil.
func (o Options) Validate() error {
	for _, name := range o.Without {
		if !slices.Contains(Components(), name) {
			return fmt.Errorf("--without %s: the components are %s", name, strings.Join(Components(), ", "))
		}
	}
	if o.Nodes < 0 {
		return fmt.Errorf("--nodes %d: want 0 or more", o.Nodes)
	}
	if _, err := nodePreset(o.NodePreset); err != nil {
		return err
	}
	if err := o.Server.Validate(); err != nil {
		if text, ok := strings.CutPrefix(err.Error(), "--emulated-version: "); ok { // the server's name of the flag
			return fmt.Errorf("--kubernetes-version: %s", text)
		}
		return err
	}
	if o.Scene != "" {
		if _, err := readScene(o.Scene); err != nil {
			return err
		}
	}
	if _, err := readNodes(o.NodesFile); err != nil {
		return err
	}
	for port, address := range o.Forward {
		host, number, err := net.SplitHostPort(address)
		if _, notPort := strconv.ParseUint(number, 10, 16); port <= 0 || port > math.MaxUint16 || err != nil || host == "" || notPort != nil {
			return fmt.Errorf("--forward %d=%s: want PORT=HOST:PORT, such as 8080=127.0.0.1:3000", port, address)
		}
	}
	_, err := readStages(o.Pods)
	return err
}

// runs reports whether a component is part of the sandbox.
func (o Options) runs(component string) bool { return !slices.Contains(o.Without, component) }

func (o Options) withDefaults() Options {
	if o.Nodes == 0 && o.NodesFile == "" {
		o.Nodes = max(1, sceneNodes[o.Scene])
	}
	if isSnapshot(o.Scene) {
		o.Server.Etcd.Snapshot, o.Scene = o.Scene, ""
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Server.Logger == nil {
		o.Server.Logger = o.Logger
	}
	o.Logger = slog.New(LogHandler(o.Logger.Handler()))
	return o
}
