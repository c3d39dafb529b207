package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/registry"
)

// Options say how a server runs. The zero value is a server for a test: in a
// temporary directory, on a free port of 127.0.0.1, silent.
//
// Each field is a flag of the command, which its comment names; errors name it
// too. What the flags default to is for the command to say.
type Options struct {
	// Dir (--data-dir) is where data, certificates and admin.kubeconfig are
	// kept. Empty (--ephemeral) means a temporary directory that Stop removes;
	// nothing is then synced to disk.
	Dir string

	// BindAddress (--bind-address) is the IP to listen on; empty means
	// 127.0.0.1.
	BindAddress string
	// Port (--secure-port) is that of HTTPS; 0 picks a free one.
	Port int
	// InsecurePort (--insecure-port) serves plain HTTP on 127.0.0.1 to whoever
	// reaches it, as a member of system:masters; 0 means not at all and -1
	// picks a free one.
	InsecurePort int

	// CertDir (--cert-dir) is where the server keeps its CA and certificates;
	// empty means pki in Dir.
	CertDir string
	// TLSCertFile and TLSKeyFile (--tls-cert-file, --tls-private-key-file) are
	// served instead of a certificate of the server's own CA.
	TLSCertFile, TLSKeyFile string
	// TLSMinVersion (--tls-min-version) is VersionTLS12, as is empty, or
	// VersionTLS13; TLSCipherSuites (--tls-cipher-suites) are the suites of TLS
	// 1.2 by name, empty meaning Go's choice.
	TLSMinVersion   string
	TLSCipherSuites []string
	// ClientCAFile (--client-ca-file) has CAs whose client certificates are
	// accepted besides those of the server's own CA.
	ClientCAFile string
	// TokenFile (--token-auth-file) has lines of token,user,uid,"groups".
	TokenFile string
	// CORSAllowedOrigins (--cors-allowed-origins) are regular expressions of the
	// origins whose pages may use the API and open WebSockets.
	CORSAllowedOrigins []string
	// NoAnonymous (--anonymous-auth=false) refuses requests that carry no
	// credential with 401.
	NoAnonymous bool

	// Authentication says how else users are known.
	Authentication Authentication
	// Authorization says who decides what they may do.
	Authorization Authorization

	// EtcdServers (--etcd-servers) are used instead of the embedded etcd, with
	// the files for TLS.
	EtcdServers                           []string
	EtcdCAFile, EtcdCertFile, EtcdKeyFile string
	// EtcdSnapshot (--etcd-snapshot) is a file that etcd's snapshots are saved
	// to, compressed or not. The server starts with what it holds, in a data
	// directory that has no data yet.
	EtcdSnapshot string
	// EtcdPrefix (--etcd-prefix) stands before all keys; empty means /registry.
	EtcdPrefix string
	// EtcdCompactionInterval (--etcd-compaction-interval) is how long history
	// is kept; 0 means for ever.
	EtcdCompactionInterval time.Duration

	// EtcdQuotaBytes (--quota-backend-bytes) bounds the database of the embedded
	// etcd: beyond it nothing but reading and deleting works; 0 means 8 GiB.
	EtcdQuotaBytes int64

	// EtcdHealthcheckTimeout and EtcdReadycheckTimeout
	// (--etcd-healthcheck-timeout, --etcd-readycheck-timeout) bound the health
	// checks etcd and etcd-readiness; 0 means two seconds.
	EtcdHealthcheckTimeout, EtcdReadycheckTimeout time.Duration
	// StorageInitializationTimeout (--storage-initialization-timeout) bounds how
	// long a start waits for EtcdServers to answer; 0 means a minute.
	StorageInitializationTimeout time.Duration
	// LivezGracePeriod (--livez-grace-period) is how long from the start of the
	// server /livez passes although the start is not finished.
	LivezGracePeriod time.Duration

	// ServiceClusterIPRange (--service-cluster-ip-range) is one CIDR, or two of
	// different families; empty means 10.96.0.0/16.
	ServiceClusterIPRange string
	// ServiceNodePortRange (--service-node-port-range) is the first and the last
	// port that services are given on nodes; zero means 30000-32767.
	ServiceNodePortRange [2]int32
	// RequestTimeout and MinRequestTimeout (--request-timeout,
	// --min-request-timeout) bound requests, and watches that name no bound of
	// their own; 0 means a minute and half an hour.
	RequestTimeout, MinRequestTimeout time.Duration
	// MaxRequestsInflight and MaxMutatingRequestsInflight
	// (--max-requests-inflight, --max-mutating-requests-inflight): together they
	// are the seats that priority and fairness shares out, 600 if both are 0.
	// Without it each bounds requests of its kind, and 0 means no bound.
	MaxRequestsInflight, MaxMutatingRequestsInflight int
	// NoPriorityAndFairness (--enable-priority-and-fairness=false) leaves it at
	// the two bounds: what exceeds them is rejected, whoever it is from.
	NoPriorityAndFairness bool
	// NoProfiling (--profiling=false) serves nothing at /debug/pprof/.
	NoProfiling bool
	// EventTTL (--event-ttl) is how long events live; 0 means an hour.
	EventTTL time.Duration
	// NamespaceConditionDelay (--namespace-condition-delay) is the time from the
	// deletion of a namespace until its conditions report what remains in it.
	NamespaceConditionDelay time.Duration

	// KubeletCertFile, KubeletKeyFile and KubeletCAFile
	// (--kubelet-client-certificate, --kubelet-client-key,
	// --kubelet-certificate-authority) are what the server shows to kubelets, and
	// what it knows them by. Without the first it shows a certificate of its own
	// CA; without the last it believes whoever answers.
	KubeletCertFile, KubeletKeyFile, KubeletCAFile string
	// KubeletAddressTypes (--kubelet-preferred-address-types) are those of a
	// node's addresses by which its kubelet is reached, the best first; none means
	// Hostname, InternalDNS, InternalIP, ExternalDNS, ExternalIP.
	KubeletAddressTypes []string
	// KubeletPort (--kubelet-port) is that of kubelets whose node does not tell
	// it; 0 means 10250. KubeletTimeout (--kubelet-timeout) bounds how long
	// connecting to one takes; 0 means five seconds.
	KubeletPort    int
	KubeletTimeout time.Duration
	// LoopbackKubelets (--allow-loopback-kubelets) allows kubelets at loopback
	// addresses, where tests have theirs. Users who may write the status of nodes
	// then choose which port of this machine the server connects to as itself;
	// its own ports are refused all the same.
	LoopbackKubelets bool
	// Dial makes the connections to kubelets, pods and services, those of webhooks
	// among them; nil means directly. Hosts of kubelets and pods are resolved
	// before, by Lookup, and their addresses checked; nil means net.DefaultResolver.
	Dial   func(ctx context.Context, network, address string) (net.Conn, error) `json:"-"`
	Lookup func(ctx context.Context, host string) ([]net.IPAddr, error)         `json:"-"`

	// ControllersOff are the names of controllers that do not run
	// (--controllers=-name).
	ControllersOff []string

	// EnableAdmissionPlugins and DisableAdmissionPlugins
	// (--enable-admission-plugins, --disable-admission-plugins) are besides, and
	// taken from, admission.DefaultNames.
	EnableAdmissionPlugins, DisableAdmissionPlugins []string
	// AdmissionConfigFile (--admission-control-config-file) has the plugins' own
	// configurations.
	AdmissionConfigFile string
	// AggregatorRouting (--enable-aggregator-routing) calls services, such as those
	// of admission webhooks, at one of their endpoints and not at the cluster's
	// address, for a machine on which that leads nowhere.
	AggregatorRouting bool
	// ProxyClientCertFile and ProxyClientKeyFile (--proxy-client-cert-file,
	// --proxy-client-key-file) are who the server is to the API servers that
	// APIServices lead to; read again when they change. Empty means a certificate
	// of the server's own making.
	ProxyClientCertFile, ProxyClientKeyFile string
	// AggregatorRedirects (--aggregator-reject-forwarding-redirect=false) lets these
	// servers lead clients elsewhere.
	AggregatorRedirects bool
	// NotReadyTolerationSeconds and UnreachableTolerationSeconds
	// (--default-not-ready-toleration-seconds,
	// --default-unreachable-toleration-seconds) are how long pods stay on a node
	// that fails, if they do not say themselves; nil means 300.
	NotReadyTolerationSeconds, UnreachableTolerationSeconds *int64

	// RootCAFile (--root-ca-file) has the certificates by which pods verify the
	// server; empty means those of the server's own CA, or what it serves with.
	RootCAFile string
	// ClusterSigningCertFile and ClusterSigningKeyFile
	// (--cluster-signing-cert-file, --cluster-signing-key-file) are a CA that
	// signs requests for certificates; empty means the server's own.
	ClusterSigningCertFile, ClusterSigningKeyFile string
	// ClusterSigningDuration (--cluster-signing-duration) is how long what is
	// signed lasts at most; 0 means a year.
	ClusterSigningDuration time.Duration

	// RuntimeConfig (--runtime-config) turns versions and resources on and off,
	// as api.Enable tells: "api/beta": "true".
	RuntimeConfig map[string]string
	// FeatureGates (--feature-gates) turns features on and off that are on the way
	// in or out, by their names.
	FeatureGates map[string]bool

	// Logger is told what happens; nil discards it.
	Logger *slog.Logger
}

// Ephemeral tells whether nothing is to be left behind.
func (o Options) Ephemeral() bool { return o.Dir == "" }

// withDefaults fills in what was left empty, but for Dir.
func (o Options) withDefaults() Options {
	if o.BindAddress == "" {
		o.BindAddress = "127.0.0.1"
	}
	if o.CertDir == "" {
		o.CertDir = filepath.Join(o.Dir, "pki")
	}
	if o.EtcdPrefix == "" {
		o.EtcdPrefix = "/registry"
	}
	if o.ServiceNodePortRange == [2]int32{} {
		o.ServiceNodePortRange = [2]int32{30000, 32767}
	}
	if o.ServiceClusterIPRange == "" {
		o.ServiceClusterIPRange = "10.96.0.0/16"
	}
	if o.RequestTimeout == 0 {
		o.RequestTimeout = time.Minute
	}
	if o.StorageInitializationTimeout == 0 {
		o.StorageInitializationTimeout = time.Minute
	}
	if o.EtcdHealthcheckTimeout == 0 {
		o.EtcdHealthcheckTimeout = 2 * time.Second
	}
	if o.EtcdReadycheckTimeout == 0 {
		o.EtcdReadycheckTimeout = 2 * time.Second
	}
	if len(o.KubeletAddressTypes) == 0 {
		o.KubeletAddressTypes = []string{"Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"}
	}
	if o.KubeletPort == 0 {
		o.KubeletPort = 10250
	}
	if o.EventTTL == 0 {
		o.EventTTL = time.Hour
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Validate says what is wrong with the options, one error for each fault.
func (o Options) Validate() error {
	o = o.withDefaults()
	var errs []error
	fault := func(flag, format string, args ...any) {
		errs = append(errs, fmt.Errorf("--"+flag+": "+format, args...))
	}
	if net.ParseIP(o.BindAddress) == nil {
		fault("bind-address", "%q is not an IP address", o.BindAddress)
	}
	if o.Port < 0 || o.Port > 65535 {
		fault("secure-port", "%d is not a port (0 to 65535)", o.Port)
	}
	if o.InsecurePort < -1 || o.InsecurePort > 65535 {
		fault("insecure-port", "%d is not a port (1 to 65535, or 0 for none)", o.InsecurePort)
	}
	if o.InsecurePort > 0 && o.InsecurePort == o.Port {
		fault("insecure-port", "%d is --secure-port too", o.InsecurePort)
	}
	if (o.TLSCertFile == "") != (o.TLSKeyFile == "") {
		fault("tls-cert-file", "must be given together with --tls-private-key-file")
	}
	if (o.ClusterSigningCertFile == "") != (o.ClusterSigningKeyFile == "") {
		fault("cluster-signing-cert-file", "must be given together with --cluster-signing-key-file")
	}
	if (o.ProxyClientCertFile == "") != (o.ProxyClientKeyFile == "") {
		fault("proxy-client-cert-file", "must be given together with --proxy-client-key-file")
	}
	if (o.KubeletCertFile == "") != (o.KubeletKeyFile == "") {
		fault("kubelet-client-certificate", "must be given together with --kubelet-client-key")
	}
	if o.KubeletPort < 0 || o.KubeletPort > 65535 {
		fault("kubelet-port", "%d is not a port (1 to 65535)", o.KubeletPort)
	}
	if (o.EtcdCertFile == "") != (o.EtcdKeyFile == "") {
		fault("etcd-certfile", "must be given together with --etcd-keyfile")
	}
	if len(o.EtcdServers) == 0 && (o.EtcdCAFile != "" || o.EtcdCertFile != "") {
		fault("etcd-servers", "must be given where --etcd-cafile, --etcd-certfile or --etcd-keyfile are")
	}
	if len(o.EtcdServers) > 0 && o.EtcdSnapshot != "" {
		fault("etcd-snapshot", "cannot be together with --etcd-servers, it is read into the embedded etcd")
	}
	if !strings.HasPrefix(o.EtcdPrefix, "/") || o.EtcdPrefix == "/" {
		fault("etcd-prefix", "%q must begin with a slash, and be more than that", o.EtcdPrefix)
	}
	if _, err := serviceIPs(o.ServiceClusterIPRange); err != nil {
		fault("service-cluster-ip-range", "%w", err)
	}
	if _, err := o.resources(); err != nil {
		errs = append(errs, err)
	}
	if err := admission.CheckNames(o.EnableAdmissionPlugins, o.DisableAdmissionPlugins); err != nil {
		errs = append(errs, err)
	}
	if _, err := originPatterns(o.CORSAllowedOrigins); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, o.validateTLS()...)
	errs = append(errs, o.Authentication.validate()...)
	errs = append(errs, o.Authorization.validate()...)
	errs = append(errs, o.validateLimits()...)
	return errors.Join(errs...)
}

// validateLimits says which of the bounds are below what can be kept.
func (o Options) validateLimits() []error {
	var errs []error
	if o.LivezGracePeriod < 0 {
		errs = append(errs, errors.New("--livez-grace-period can not be a negative value"))
	}
	for _, bound := range []struct {
		flag  string
		value int64
		shown any
	}{
		{"request-timeout", int64(o.RequestTimeout), o.RequestTimeout},
		{"min-request-timeout", int64(o.MinRequestTimeout), o.MinRequestTimeout},
		{"etcd-compaction-interval", int64(o.EtcdCompactionInterval), o.EtcdCompactionInterval},
		{"quota-backend-bytes", o.EtcdQuotaBytes, o.EtcdQuotaBytes},
		{"kubelet-timeout", int64(o.KubeletTimeout), o.KubeletTimeout},
		{"event-ttl", int64(o.EventTTL), o.EventTTL},
		{"namespace-condition-delay", int64(o.NamespaceConditionDelay), o.NamespaceConditionDelay},
		{"etcd-healthcheck-timeout", int64(o.EtcdHealthcheckTimeout), o.EtcdHealthcheckTimeout},
		{"etcd-readycheck-timeout", int64(o.EtcdReadycheckTimeout), o.EtcdReadycheckTimeout},
		{"storage-initialization-timeout", int64(o.StorageInitializationTimeout), o.StorageInitializationTimeout},
		{"cluster-signing-duration", int64(o.ClusterSigningDuration), o.ClusterSigningDuration},
		{"max-requests-inflight", int64(o.MaxRequestsInflight), o.MaxRequestsInflight},
		{"max-mutating-requests-inflight", int64(o.MaxMutatingRequestsInflight), o.MaxMutatingRequestsInflight},
	} {
		if bound.value < 0 {
			errs = append(errs, fmt.Errorf("--%s: %v is below 0", bound.flag, bound.shown))
		}
	}
	return errs
}

// pools are what services are given out of. The options are valid.
func (o Options) pools() registry.Pools {
	p := registry.Pools{FirstPort: o.ServiceNodePortRange[0], LastPort: o.ServiceNodePortRange[1]}
	for text := range strings.SplitSeq(o.ServiceClusterIPRange, ",") {
		if prefix, err := netip.ParsePrefix(strings.TrimSpace(text)); err == nil {
			p.Addresses = append(p.Addresses, prefix.Masked())
		}
	}
	return p
}

// serviceIPs returns the first address of each range of a
// --service-cluster-ip-range: that of the service "kubernetes".
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
