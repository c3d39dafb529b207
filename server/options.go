package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/miniapiserver/miniapiserver/registry/allocation"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Options configure a server. Their zero value is a server for a test: in a temporary
// directory, on a free port of 127.0.0.1, without a log.
//
// The comment of a field names the flag of the command that sets it. The flag is described
// in docs/flags.md and by "miniapiserver --help", both generated from the table in
// flagtable.go. A zero field means the default of its flag, unless the comment states what
// else it means. Errors name the flag.
type Options struct {
	Dir string // --data-dir; empty means a temporary directory that Stop removes, as with --ephemeral
	// NoDataDir keeps everything that the server generates in memory, except a serving
	// certificate in Serving.CertDir, as kube-apiserver does. Etcd.Servers and
	// one of Authentication.SigningKeyFile and SigningEndpoint must be set.
	NoDataDir bool

	Emulation     Emulation         // the release of Kubernetes whose API the server has
	RuntimeConfig map[string]string // --runtime-config, such as "api/beta": "true"
	FeatureGates  map[string]bool   // --feature-gates

	Etcd       Etcd
	Encryption Encryption
	Serving    Serving
	TLS        TLS
	Limits     Limits
	Lifecycle  Lifecycle

	Authentication Authentication
	Authorization  Authorization
	Audit          Audit
	Admission      Admission

	Services    Services
	Kubelets    Kubelets
	Aggregation Aggregation
	Controllers Controllers
	Elections   Elections
	Signing     Signing
	Lab         Lab
	Fork        Fork

	Metrics           Metrics
	TracingConfigFile string // --tracing-config-file
	NoProfiling       bool   // --profiling=false
	// Logger is the log; nil discards it. The flags --v and --logging-format configure that
	// of the command.
	Logger *slog.Logger
	// SetVerbosity changes the verbosity of Logger, for PUT /debug/flags/v; nil serves no such
	// path.
	SetVerbosity func(int) `json:"-"`

	// Dial opens connections to kubelets, pods, services and webhooks, and to the health ports
	// of componentstatuses; nil means direct connections. Lookup resolves the hosts of kubelets
	// and pods before that, so that their addresses can be checked; nil means
	// net.DefaultResolver.
	Dial   func(ctx context.Context, network, address string) (net.Conn, error) `json:"-"`
	Lookup func(ctx context.Context, host string) ([]net.IPAddr, error)         `json:"-"`

	// flags are the values of the flags of a command line, for /flagz; nil means those of the fields.
	flags map[string]string
	// forkOf is the server whose content, certificates and keys the server begins with; nil for most.
	forkOf *Server
	// oneOfMany has the server save what it can while it is idle, because its process has many. The options are valid,
	// and complete, then.
	oneOfMany bool
}

// Emulation selects the release of Kubernetes whose API the server has.
type Emulation struct {
	Version                        string // --emulated-version: a minor version, such as "1.35"
	Faithful                       bool   // --faithful-emulation
	MinCompatibilityVersion        string // --min-compatibility-version
	ForwardCompatible              bool   // --emulation-forward-compatible
	RuntimeConfigForwardCompatible bool   // --runtime-config-emulation-forward-compatible
	// Release is a release such as 1.35.4, which /version reports if its minor version is the one
	// that the server has. Empty means the newest release for this build's own minor version, and
	// the first one for an emulated version.
	Release         string
	ReportedVersion string // --version=vX.Y.Z; empty means the version of Kubernetes and the release of this project
}

// Etcd configures the store: the embedded etcd or, with Servers, another one.
type Etcd struct {
	Servers               []string      // --etcd-servers
	CAFile                string        // --etcd-cafile
	CertFile              string        // --etcd-certfile
	KeyFile               string        // --etcd-keyfile
	Prefix                string        // --etcd-prefix
	ServersOverrides      []string      // --etcd-servers-overrides: resources that are stored in other etcds
	MediaType             string        // --storage-media-type
	CompactionInterval    time.Duration // --etcd-compaction-interval; 0 means that etcd is never compacted
	QuotaBytes            int64         // --quota-backend-bytes
	UnsafeNoFsync         bool          // --unsafe-no-fsync
	HealthcheckTimeout    time.Duration // --etcd-healthcheck-timeout
	ReadycheckTimeout     time.Duration // --etcd-readycheck-timeout
	InitializationTimeout time.Duration // --storage-initialization-timeout
	NoWatchCache          bool          // --watch-cache=false
	WatchCacheSizes       []string      // --watch-cache-sizes
	Snapshot              string        // --etcd-snapshot
	SnapshotInterval      time.Duration // --snapshot-interval; 0 saves none
	SnapshotKeep          int           // --snapshot-keep
}

// Encryption configures the encryption of stored objects. Its zero value encrypts nothing.
type Encryption struct {
	ConfigFile string // --encryption-provider-config
	Reload     bool   // --encryption-provider-config-automatic-reload
}

// Serving configures the addresses and the HTTP of the server.
type Serving struct {
	BindAddress        string   // --bind-address
	AdvertiseAddress   string   // --advertise-address
	ExternalHostname   string   // --external-hostname
	Port               int      // --secure-port; 0 picks a free port
	InsecurePort       int      // --insecure-port
	CertDir            string   // --cert-dir
	ShareAddress       bool     // --permit-address-sharing
	SharePort          bool     // --permit-port-sharing
	NoHTTP2            bool     // --disable-http2-serving
	HTTP2MaxStreams    int      // --http2-max-streams-per-connection
	GoawayChance       float64  // --goaway-chance
	HSTSDirectives     []string // --strict-transport-security-directives
	CORSAllowedOrigins []string // --cors-allowed-origins
}

// TLS configures the certificates that the server presents, and the TLS of its port.
type TLS struct {
	CertFile        string        // --tls-cert-file
	KeyFile         string        // --tls-private-key-file
	SANs            []string      // --tls-san
	SNICertificates []string      // --tls-sni-cert-key
	MinVersion      string        // --tls-min-version
	CipherSuites    []string      // --tls-cipher-suites
	Curves          []tls.CurveID // --tls-curve-preferences
}

// Limits bounds requests and objects.
type Limits struct {
	RequestTimeout        time.Duration // --request-timeout
	MinRequestTimeout     time.Duration // --min-request-timeout
	MaxObjectBytes        int           // --max-object-bytes
	NoPriorityAndFairness bool          // --enable-priority-and-fairness=false
	// MaxRequestsInflight and MaxMutatingRequestsInflight are limits, where 0 means
	// no limit. With priority and fairness their sum is the number of seats, and a
	// sum of 0 means 600.
	MaxRequestsInflight         int           // --max-requests-inflight
	MaxMutatingRequestsInflight int           // --max-mutating-requests-inflight
	DeleteCollectionWorkers     int           // --delete-collection-workers
	EventTTL                    time.Duration // --event-ttl
}

// Lifecycle configures the start and the end of the server.
type Lifecycle struct {
	LivezGracePeriod   time.Duration // --livez-grace-period
	ShutdownDelay      time.Duration // --shutdown-delay-duration
	ShutdownRetryAfter bool          // --shutdown-send-retry-after
	ShutdownWatchGrace time.Duration // --shutdown-watch-termination-grace-period
}

// Admission configures the admission plugins.
type Admission struct {
	EnablePlugins                []string // --enable-admission-plugins
	DisablePlugins               []string // --disable-admission-plugins
	ConfigFile                   string   // --admission-control-config-file
	NoPrivileged                 bool     // --allow-privileged=false
	NotReadyTolerationSeconds    *int64   // --default-not-ready-toleration-seconds
	UnreachableTolerationSeconds *int64   // --default-unreachable-toleration-seconds
}

// Services configures the addresses and ports of services, and the service kubernetes.
type Services struct {
	ClusterIPRange     string   // --service-cluster-ip-range
	NodePortRange      [2]int32 // --service-node-port-range: the first and the last port
	KubernetesNodePort int      // --kubernetes-service-node-port
	EndpointReconciler string   // --endpoint-reconciler-type
}

// Kubelets configures the connections to kubelets, pods and services.
type Kubelets struct {
	CertFile          string        // --kubelet-client-certificate
	KeyFile           string        // --kubelet-client-key
	CAFile            string        // --kubelet-certificate-authority
	AddressTypes      []string      // --kubelet-preferred-address-types
	Port              int           // --kubelet-port
	AllowLoopback     bool          // --allow-loopback-kubelets
	Timeout           time.Duration // --kubelet-timeout
	MaxBytesPerSecond int           // --max-connection-bytes-per-sec
}

// Aggregation configures the requests to aggregated API servers.
type Aggregation struct {
	ClientCertFile string // --proxy-client-cert-file
	ClientKeyFile  string // --proxy-client-key-file
	Routing        bool   // --enable-aggregator-routing
	Redirects      bool   // --aggregator-reject-forwarding-redirect=false
}

// Controllers configures the controllers.
type Controllers struct {
	Off                     []string      // --controllers=-name: the full names of controllers that do not run
	RootCAFile              string        // --root-ca-file
	NamespaceConditionDelay time.Duration // --namespace-condition-delay; 0 means no delay
}

// Elections has the periods of the Lease of the server that runs coordinated leader elections.
type Elections struct {
	LeaseDuration time.Duration // --coordinated-leadership-lease-duration
	RenewDeadline time.Duration // --coordinated-leadership-renew-deadline
	RetryPeriod   time.Duration // --coordinated-leadership-retry-period
}

// Signing configures the signing of CertificateSigningRequests.
type Signing struct {
	CertFile string        // --cluster-signing-cert-file
	KeyFile  string        // --cluster-signing-key-file
	Duration time.Duration // --cluster-signing-duration
}

// Metrics configures which metrics the server has.
type Metrics struct {
	Disabled             []string          // --disabled-metrics
	ShowHiddenForVersion string            // --show-hidden-metrics-for-version
	AllowLabels          map[string]string // --allow-metric-labels
	AllowLabelsManifest  string            // --allow-metric-labels-manifest
}

// Ephemeral reports whether the server removes its files when it stops.
func (o Options) Ephemeral() bool { return o.Dir == "" && !o.NoDataDir }

// withDefaults replaces zero fields, except Dir, by their defaults, and gives the prefix of keys the
// slash that kube-apiserver does not require.
func (o Options) withDefaults() Options {
	if o.oneOfMany {
		return o // StartMany has validated and completed the options
	}
	o = withOptions(o).Options
	o.Etcd.Prefix = path.Join("/", o.Etcd.Prefix)
	if o.Serving.CertDir == "" {
		o.Serving.CertDir = o.defaultCertDir()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// defaultCertDir returns the directory of certificates for which no other is given.
func (o *Options) defaultCertDir() string { return filepath.Join(o.Dir, "pki") }

// Validate returns an error with a line for each invalid option.
func (o Options) Validate() error {
	if o.oneOfMany {
		return nil
	}
	err := withOptions(o).validate()
	if o.NoDataDir && (len(o.Etcd.Servers) == 0 || o.Authentication.SigningKeyFile == "" &&
		o.Authentication.SigningEndpoint == "") {
		err = errors.Join(err, errors.New("NoDataDir: --etcd-servers and --service-account-signing-key-file must be given"))
	}
	return err
}

// uncached returns a function that reports whether a resource has no watch cache in kube-apiserver, or
// nil if each has one.
func (o Options) uncached() func(schema.GroupResource) bool {
	if o.Etcd.NoWatchCache {
		return func(schema.GroupResource) bool { return true }
	}
	without := map[schema.GroupResource]bool{}
	for _, entry := range o.Etcd.WatchCacheSizes {
		if resource, size, _ := strings.Cut(entry, "#"); size == "0" {
			without[schema.ParseGroupResource(resource)] = true
		}
	}
	if len(without) == 0 {
		return nil
	}
	return func(gr schema.GroupResource) bool { return without[gr] }
}

// pools returns the addresses and ports that are allocated to services. The options are
// valid.
func (o Options) pools() allocation.Pools {
	p := allocation.Pools{FirstPort: o.Services.NodePortRange[0], LastPort: o.Services.NodePortRange[1]}
	for text := range strings.SplitSeq(o.Services.ClusterIPRange, ",") {
		if prefix, err := netip.ParsePrefix(strings.TrimSpace(text)); err == nil {
			p.Addresses = append(p.Addresses, prefix.Masked())
		}
	}
	return p
}

// serviceIPs returns the first address of each range of a --service-cluster-ip-range, which
// is the address of the service kubernetes.
func serviceIPs(ranges string) ([]net.IP, error) {
	parts := strings.Split(ranges, ",")
	if len(parts) > 2 {
		return nil, fmt.Errorf("%q has more than two ranges", ranges)
	}
	var ips []net.IP
	var families []bool
	for _, part := range parts {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("%q is not a CIDR such as 10.0.0.0/24", part)
		}
		size := prefix.Addr().BitLen() - prefix.Bits()
		if size < 3 {
			return nil, fmt.Errorf("%q has less than 8 addresses", part)
		}
		ips = append(ips, net.IP(prefix.Masked().Addr().Next().AsSlice()))
		families = append(families, prefix.Addr().Is4())
	}
	if len(families) == 2 && families[0] == families[1] {
		return nil, fmt.Errorf("%q has two ranges of the same family", ranges)
	}
	return ips, nil
}
