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

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/registry"
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

	EtcdSnapshot                 string        // --etcd-snapshot
	SnapshotInterval             time.Duration // --snapshot-interval; 0 saves none
	SnapshotKeep                 int           // --snapshot-keep
	EncryptionConfigFile         string        // --encryption-provider-config
	ReloadEncryption             bool          // --encryption-provider-config-automatic-reload
	EtcdServers                  []string      // --etcd-servers
	EtcdCAFile                   string        // --etcd-cafile
	EtcdCertFile                 string        // --etcd-certfile
	EtcdKeyFile                  string        // --etcd-keyfile
	EtcdPrefix                   string        // --etcd-prefix
	EtcdServersOverrides         []string      // --etcd-servers-overrides: resources that are stored in other etcds
	StorageMediaType             string        // --storage-media-type
	EtcdCompactionInterval       time.Duration // --etcd-compaction-interval; 0 means that etcd is never compacted
	EtcdQuotaBytes               int64         // --quota-backend-bytes
	EtcdHealthcheckTimeout       time.Duration // --etcd-healthcheck-timeout
	EtcdReadycheckTimeout        time.Duration // --etcd-readycheck-timeout
	StorageInitializationTimeout time.Duration // --storage-initialization-timeout

	BindAddress        string        // --bind-address
	AdvertiseAddress   string        // --advertise-address
	ExternalHostname   string        // --external-hostname
	TLSSANs            []string      // --tls-san
	Port               int           // --secure-port; 0 picks a free port
	InsecurePort       int           // --insecure-port
	CertDir            string        // --cert-dir
	TLSCertFile        string        // --tls-cert-file
	TLSKeyFile         string        // --tls-private-key-file
	TLSMinVersion      string        // --tls-min-version
	TLSCipherSuites    []string      // --tls-cipher-suites
	TLSCurves          []tls.CurveID // --tls-curve-preferences
	SNICertificates    []string      // --tls-sni-cert-key
	NoHTTP2            bool          // --disable-http2-serving
	HTTP2MaxStreams    int           // --http2-max-streams-per-connection
	ShareAddress       bool          // --permit-address-sharing
	SharePort          bool          // --permit-port-sharing
	HSTSDirectives     []string      // --strict-transport-security-directives
	CORSAllowedOrigins []string      // --cors-allowed-origins

	DisabledMetrics             []string          // --disabled-metrics
	ShowHiddenMetricsForVersion string            // --show-hidden-metrics-for-version
	AllowMetricLabels           map[string]string // --allow-metric-labels
	AllowMetricLabelsManifest   string            // --allow-metric-labels-manifest

	// NoDataDir keeps everything that the server generates in memory, except a serving
	// certificate in CertDir, as kube-apiserver does. EtcdServers and
	// one of Authentication.SigningKeyFile and SigningEndpoint must be set.
	NoDataDir bool

	RequestTimeout        time.Duration // --request-timeout
	MinRequestTimeout     time.Duration // --min-request-timeout
	MaxObjectBytes        int           // --max-object-bytes
	NoPriorityAndFairness bool          // --enable-priority-and-fairness=false
	GoawayChance          float64       // --goaway-chance
	ShutdownDelay         time.Duration // --shutdown-delay-duration
	ShutdownRetryAfter    bool          // --shutdown-send-retry-after
	ShutdownWatchGrace    time.Duration // --shutdown-watch-termination-grace-period
	LivezGracePeriod      time.Duration // --livez-grace-period
	NoProfiling           bool          // --profiling=false
	NoWatchCache          bool          // --watch-cache=false
	WatchCacheSizes       []string      // --watch-cache-sizes
	// MaxRequestsInflight and MaxMutatingRequestsInflight are limits, where 0 means
	// no limit. With priority and fairness their sum is the number of seats, and a
	// sum of 0 means 600.
	MaxRequestsInflight         int // --max-requests-inflight
	MaxMutatingRequestsInflight int // --max-mutating-requests-inflight

	KubernetesVersion                       string // --emulated-version: the minor version of Kubernetes whose behaviour the server has, such as "1.35"
	FaithfulEmulation                       bool   // --faithful-emulation
	MinCompatibilityVersion                 string // --min-compatibility-version
	EmulationForwardCompatible              bool   // --emulation-forward-compatible
	RuntimeConfigEmulationForwardCompatible bool   // --runtime-config-emulation-forward-compatible

	RuntimeConfig map[string]string // --runtime-config, such as "api/beta": "true"
	FeatureGates  map[string]bool   // --feature-gates
	// The periods of the Lease of the server that runs coordinated leader elections; 0 means the default.
	ElectionLeaseDuration   time.Duration // --coordinated-leadership-lease-duration
	ElectionRenewDeadline   time.Duration // --coordinated-leadership-renew-deadline
	ElectionRetryPeriod     time.Duration // --coordinated-leadership-retry-period
	ServiceClusterIPRange   string        // --service-cluster-ip-range
	ServiceNodePortRange    [2]int32      // --service-node-port-range: the first and the last port
	ServiceNodePort         int           // --kubernetes-service-node-port
	EndpointReconciler      string        // --endpoint-reconciler-type
	EventTTL                time.Duration // --event-ttl
	DeleteCollectionWorkers int           // --delete-collection-workers
	NamespaceConditionDelay time.Duration // --namespace-condition-delay; 0 means no delay

	NoAnonymous    bool   // --anonymous-auth=false
	ClientCAFile   string // --client-ca-file
	TokenFile      string // --token-auth-file
	Authentication Authentication
	Authorization  Authorization
	Audit          Audit

	NoPrivileged                 bool     // --allow-privileged=false
	EnableAdmissionPlugins       []string // --enable-admission-plugins
	DisableAdmissionPlugins      []string // --disable-admission-plugins
	AdmissionConfigFile          string   // --admission-control-config-file
	NotReadyTolerationSeconds    *int64   // --default-not-ready-toleration-seconds
	UnreachableTolerationSeconds *int64   // --default-unreachable-toleration-seconds

	KubeletCertFile     string        // --kubelet-client-certificate
	KubeletKeyFile      string        // --kubelet-client-key
	KubeletCAFile       string        // --kubelet-certificate-authority
	KubeletAddressTypes []string      // --kubelet-preferred-address-types
	KubeletPort         int           // --kubelet-port
	LoopbackKubelets    bool          // --allow-loopback-kubelets
	MaxBytesPerSecond   int           // --max-connection-bytes-per-sec
	KubeletTimeout      time.Duration // --kubelet-timeout

	ProxyClientCertFile string // --proxy-client-cert-file
	ProxyClientKeyFile  string // --proxy-client-key-file
	AggregatorRouting   bool   // --enable-aggregator-routing
	AggregatorRedirects bool   // --aggregator-reject-forwarding-redirect=false

	ControllersOff         []string      // --controllers=-name: the full names of controllers that do not run
	RootCAFile             string        // --root-ca-file
	ClusterSigningCertFile string        // --cluster-signing-cert-file
	ClusterSigningKeyFile  string        // --cluster-signing-key-file
	ClusterSigningDuration time.Duration // --cluster-signing-duration

	// Release is a release such as 1.35.4, which /version reports if its minor version is the one
	// that the server has. Empty means the newest release for this build's own minor version, and
	// the first one for an emulated version.
	Release         string
	ReportedVersion string // --version=vX.Y.Z; empty means the version of Kubernetes and the release of this project

	// Dial opens connections to kubelets, pods, services and webhooks, and to the health ports
	// of componentstatuses; nil means direct connections. Lookup resolves the hosts of kubelets
	// and pods before that, so that their addresses can be checked; nil means
	// net.DefaultResolver.
	Dial              func(ctx context.Context, network, address string) (net.Conn, error) `json:"-"`
	Lookup            func(ctx context.Context, host string) ([]net.IPAddr, error)         `json:"-"`
	TracingConfigFile string                                                               // --tracing-config-file
	// Logger is the log; nil discards it. The flags --v and --logging-format configure that
	// of the command.
	Logger *slog.Logger
	// SetVerbosity changes the verbosity of Logger, for PUT /debug/flags/v; nil serves no such
	// path.
	SetVerbosity func(int) `json:"-"`

	// flags are the values of the flags of a command line, for /flagz; nil means those of the fields.
	flags map[string]string
}

// Ephemeral reports whether the server removes its files when it stops.
func (o Options) Ephemeral() bool { return o.Dir == "" && !o.NoDataDir }

// withDefaults replaces zero fields, except Dir, by their defaults, and gives the prefix of keys the
// slash that kube-apiserver does not require.
func (o Options) withDefaults() Options {
	o = withOptions(o).Options
	o.EtcdPrefix = path.Join("/", o.EtcdPrefix)
	if o.CertDir == "" {
		o.CertDir = filepath.Join(o.Dir, "pki")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Validate returns an error with a line for each invalid option.
func (o Options) Validate() error {
	err := withOptions(o).validate()
	if o.NoDataDir && (len(o.EtcdServers) == 0 || o.Authentication.SigningKeyFile == "" && o.Authentication.SigningEndpoint == "") {
		err = errors.Join(err, errors.New("NoDataDir: --etcd-servers and --service-account-signing-key-file must be given"))
	}
	return err
}

// uncached returns a function that reports whether a resource has no watch cache in kube-apiserver, or
// nil if each has one.
func (o Options) uncached() func(schema.GroupResource) bool {
	if o.NoWatchCache {
		return func(schema.GroupResource) bool { return true }
	}
	without := map[schema.GroupResource]bool{}
	for _, entry := range o.WatchCacheSizes {
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
func (o Options) pools() registry.Pools {
	p := registry.Pools{FirstPort: o.ServiceNodePortRange[0], LastPort: o.ServiceNodePortRange[1]}
	for text := range strings.SplitSeq(o.ServiceClusterIPRange, ",") {
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
