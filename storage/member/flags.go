package member

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.etcd.io/etcd/pkg/v3/flags"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/rafthttp"
	"go.uber.org/zap"

	"github.com/miniapiserver/miniapiserver/internal/nearest"
)

// environmentPrefix begins the environment variables that stand for flags, such as
// ETCD_DATA_DIR.
const environmentPrefix = "ETCD"

// ignored are flags of earlier versions that etcd accepts without any effect.
var ignored = []string{
	"cluster-active-size", "cluster-remove-delay", "cluster-sync-interval", "config", "force", "max-result-buffer",
	"max-retry-attempts", "peer-heartbeat-interval", "peer-election-timeout", "retry-interval", "snapshot", "v", "vv",
	"v2-deprecation", "discovery-fallback",
}

// renamed are flags of earlier versions, which kubeadm still writes for these, by their
// present name.
var renamed = map[string]string{
	"experimental-bootstrap-defrag-threshold-megabytes": "bootstrap-defrag-threshold-megabytes",
	"experimental-compact-hash-check-time":              "compact-hash-check-time",
	"experimental-compaction-batch-limit":               "compaction-batch-limit",
	"experimental-compaction-sleep-interval":            "compaction-sleep-interval",
	"experimental-corrupt-check-time":                   "corrupt-check-time",
	"experimental-downgrade-check-time":                 "downgrade-check-time",
	"experimental-max-learners":                         "max-learners",
	"experimental-memory-mlock":                         "memory-mlock",
	"experimental-peer-skip-client-san-verification":    "peer-skip-client-san-verification",
	"experimental-snapshot-catchup-entries":             "snapshot-catchup-entries",
	"experimental-warning-apply-duration":               "warning-apply-duration",
	"experimental-warning-unary-request-duration":       "warning-unary-request-duration",
	"experimental-watch-progress-notify-interval":       "watch-progress-notify-interval",
}

// gates are flags of earlier versions that are feature gates now.
var gates = map[string]string{
	"experimental-compact-hash-check-enabled": "CompactHashCheck",
	"experimental-initial-corrupt-check":      "InitialCorruptCheck",
}

// gate is the value of a flag that sets a feature gate.
type gate struct {
	name string
	all  flag.Value
}

func (g gate) IsBoolFlag() bool      { return true }
func (g gate) String() string        { return "" }
func (g gate) Set(text string) error { return g.all.Set(g.name + "=" + text) }

// commandLine holds the flags of etcd. Most belong to embed.Config.
type commandLine struct {
	config        *embed.Config
	flags         *flag.FlagSet
	cluster       string // --initial-cluster by default
	state         *flags.SelectiveStringValue
	file          string // --config-file
	help, version bool
}

func newCommandLine() *commandLine {
	c := &commandLine{
		config: embed.NewConfig(), flags: flag.NewFlagSet("etcd", flag.ContinueOnError),
		state: flags.NewSelectiveStringValue(embed.ClusterStateFlagNew, embed.ClusterStateFlagExisting),
	}
	c.cluster = c.config.InitialCluster
	c.flags.SetOutput(io.Discard)
	c.flags.Usage = func() {}
	c.config.AddFlags(c.flags)
	c.flags.StringVar(&c.file, "config-file", "",
		"Path to a configuration file. Other flags and environment variables are ignored if it is given.")
	c.flags.Var(c.state, "initial-cluster-state", "State of the cluster when this member starts for the first time: new or existing.")
	c.flags.BoolVar(&c.version, "version", false, "Print the version and exit.")
	c.flags.BoolVar(&c.help, "help", false, "Print this help and exit.")
	c.flags.BoolVar(&c.help, "h", false, "Print this help and exit.")
	for earlier, name := range renamed {
		f := c.flags.Lookup(name)
		c.flags.Var(f.Value, earlier, f.Usage)
	}
	for earlier, name := range gates {
		c.flags.Var(gate{name, c.flags.Lookup(embed.ServerFeatureGateFlagName).Value}, earlier, "")
	}
	for _, name := range ignored {
		c.flags.Var(&flags.IgnoredFlag{Name: name}, name, "")
	}
	return c
}

// parse reads the arguments.
func (c *commandLine) parse(args []string) error {
	err := c.flags.Parse(args)
	if err != nil {
		return c.explain(err)
	}
	if c.flags.NArg() > 0 && !c.help && !c.version {
		return fmt.Errorf("takes flags and no arguments, got %q (see --help)", c.flags.Arg(0))
	}
	return nil
}

// explain adds the nearest known name to the error about an unknown flag.
func (c *commandLine) explain(err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return fmt.Errorf("%w (see --help)", err)
	}
	var known []string
	c.flags.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
	if near := nearest.Name(strings.TrimPrefix(name, "-"), known); near != "" {
		return fmt.Errorf("unknown flag: --%s; the nearest is --%s (see --help)", name, near)
	}
	return fmt.Errorf("unknown flag: --%s (see --help)", name)
}

// complete returns the configuration that the configuration file, or else flags and
// environment variables, describe.
func (c *commandLine) complete() (cfg *embed.Config, err error) {
	if c.file == "" {
		c.file = os.Getenv(flags.FlagToEnv(environmentPrefix, "config-file"))
	}
	if c.file != "" {
		if cfg, err = embed.ConfigFromFile(c.file); err != nil {
			return nil, fmt.Errorf("--config-file: %w", err)
		}
	} else if cfg, err = c.fromFlags(); err != nil {
		return nil, err
	}
	// Without a network the default stays localhost.
	_, _ = cfg.UpdateDefaultClusterFromName(c.cluster)
	if cfg.Dir == "" {
		cfg.Dir = cfg.Name + ".etcd"
	}
	if cfg.WarningUnaryRequestDuration == 0 {
		cfg.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration
	}
	return cfg, nil
}

// fromFlags copies the flags that are not fields of the configuration into it, and
// checks the configuration.
func (c *commandLine) fromFlags() (*embed.Config, error) {
	if err := os.Unsetenv(flags.FlagToEnv(environmentPrefix, "version")); err != nil { // often set in images of etcd
		return nil, err
	}
	var twice error
	c.flags.Visit(func(f *flag.Flag) {
		if name := flags.FlagToEnv(environmentPrefix, f.Name); os.Getenv(name) != "" && twice == nil {
			twice = fmt.Errorf("--%s: the environment variable %s is set too", f.Name, name)
		}
	})
	if twice != nil {
		return nil, twice
	}
	if err := flags.SetFlagsFromEnv(zap.NewNop(), environmentPrefix, c.flags); err != nil {
		return nil, err
	}
	cfg, fs := c.config, c.flags
	rafthttp.ConnReadTimeout = max(rafthttp.ConnReadTimeout, rafthttp.DefaultConnReadTimeout)
	rafthttp.ConnWriteTimeout = max(rafthttp.ConnWriteTimeout, rafthttp.DefaultConnWriteTimeout)
	cfg.ListenPeerUrls = flags.UniqueURLsFromFlag(fs, "listen-peer-urls")
	cfg.AdvertisePeerUrls = flags.UniqueURLsFromFlag(fs, "initial-advertise-peer-urls")
	cfg.ListenClientUrls = flags.UniqueURLsFromFlag(fs, "listen-client-urls")
	cfg.ListenClientHttpUrls = flags.UniqueURLsFromFlag(fs, "listen-client-http-urls")
	cfg.AdvertiseClientUrls = flags.UniqueURLsFromFlag(fs, "advertise-client-urls")
	cfg.ListenMetricsUrls = flags.UniqueURLsFromFlag(fs, "listen-metrics-urls")
	cfg.DiscoveryCfg.Endpoints = flags.UniqueStringsFromFlag(fs, "discovery-endpoints")
	cfg.CORS = flags.UniqueURLsMapFromFlag(fs, "cors")
	cfg.HostWhitelist = flags.UniqueStringsMapFromFlag(fs, "host-whitelist")
	cfg.ClientTLSInfo.AllowedHostnames = flags.StringsFromFlag(fs, "client-cert-allowed-hostname")
	cfg.PeerTLSInfo.AllowedCNs = flags.StringsFromFlag(fs, "peer-cert-allowed-cn")
	cfg.PeerTLSInfo.AllowedHostnames = flags.StringsFromFlag(fs, "peer-cert-allowed-hostname")
	cfg.CipherSuites = flags.StringsFromFlag(fs, "cipher-suites")
	cfg.MaxConcurrentStreams = flags.Uint32FromFlag(fs, "max-concurrent-streams")
	cfg.LogOutputs = flags.UniqueStringsFromFlag(fs, "log-outputs")
	cfg.ClusterState = c.state.String()
	if flags.IsSet(fs, "listen-client-urls") && !flags.IsSet(fs, "advertise-client-urls") {
		return nil, errors.New("--advertise-client-urls: must be given together with --listen-client-urls")
	}
	if (cfg.DNSCluster != "" || cfg.DNSClusterServiceName != "" || len(cfg.DiscoveryCfg.Endpoints) > 0) &&
		!flags.IsSet(fs, "initial-cluster") {
		cfg.InitialCluster = ""
	}
	fs.Visit(func(f *flag.Flag) { cfg.FlagsExplicitlySet[f.Name] = true })
	return cfg, cfg.Validate()
}

// printHelp writes the usage of the command and its flags.
func (c *commandLine) printHelp(w io.Writer) error {
	var b strings.Builder
	b.WriteString("Usage:\n\n  etcd [flags]\n    Start an etcd server.\n\nFlags:\n\n")
	c.flags.VisitAll(func(f *flag.Flag) {
		if f.Name == "h" || slices.Contains(ignored, f.Name) || strings.HasPrefix(f.Name, "experimental-") {
			return
		}
		fmt.Fprintf(&b, "  --%s '%s'\n    %s\n", f.Name, f.DefValue, f.Usage)
	})
	_, err := io.WriteString(w, b.String())
	return err
}
