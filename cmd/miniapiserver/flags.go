package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/server"
)

// settings are what the flags say.
type settings struct {
	server.Options
	ephemeral, anonymous, version, help bool
	profiling                           bool
	priorityAndFairness                 bool
	minRequestSeconds, verbosity        int
	logFormat                           string
	controllers                         []string
	nodePorts                           string
	notReadySeconds, unreachableSeconds int64
	// afterwards is done when all flags are read.
	afterwards []func()
}

// group is a part of the help.
type group struct {
	title string
	flags *pflag.FlagSet
}

// flagGroups binds all flags to s. Their names, and their defaults where the
// meaning is the same, are kube-apiserver's.
func flagGroups(s *settings) []group {
	var groups []group
	in := func(title string) *pflag.FlagSet {
		fs := pflag.NewFlagSet(title, pflag.ContinueOnError)
		fs.SortFlags = false
		groups = append(groups, group{title, fs})
		return fs
	}
	dataFlags(in("Data"), s)
	servingFlags(in("Serving"), s)
	accessFlags(in("Authentication"), s)
	authorizationFlags(in("Authorization"), s)
	requestFlags(in("Requests"), s)
	kubeletFlags(in("Kubelets"), s)
	admissionFlags(in("Admission"), s)
	controllerFlags(in("Controllers"), s)
	otherFlags(in("Logs and help"), s)
	return groups
}

func dataFlags(fs *pflag.FlagSet, s *settings) {
	fs.StringVar(&s.Dir, "data-dir", ".miniapiserver", "Where data, certificates and admin.kubeconfig are kept.")
	fs.BoolVar(&s.ephemeral, "ephemeral", false, "Keep everything in a temporary directory, sync nothing to disk, and leave nothing behind.")
	fs.StringVar(&s.EtcdSnapshot, "etcd-snapshot", "", "`File` with a snapshot of an etcd, such as a cluster's backup, plain or compressed with gzip, to start with; --data-dir must hold no data yet.")
	fs.StringSliceVar(&s.EtcdServers, "etcd-servers", nil, "etcd to use instead of the embedded one: `URLs`, comma separated.")
	fs.StringVar(&s.EtcdCAFile, "etcd-cafile", "", "`File` with the CAs that the certificate of --etcd-servers is verified by.")
	fs.StringVar(&s.EtcdCertFile, "etcd-certfile", "", "`File` with the client certificate for --etcd-servers.")
	fs.StringVar(&s.EtcdKeyFile, "etcd-keyfile", "", "`File` with the key of --etcd-certfile.")
	fs.StringVar(&s.EtcdPrefix, "etcd-prefix", "/registry", "What stands before all keys in etcd.")
	fs.DurationVar(&s.EtcdCompactionInterval, "etcd-compaction-interval", 5*time.Minute, "How long history is kept in etcd; 0 means for ever.")
	fs.Int64Var(&s.EtcdQuotaBytes, "quota-backend-bytes", 8<<30, "How many `bytes` the database of the embedded etcd may have; beyond it nothing but reading and deleting works.")
	fs.DurationVar(&s.EtcdHealthcheckTimeout, "etcd-healthcheck-timeout", 2*time.Second, "Maximum time that the health check etcd waits for an answer of etcd.")
	fs.DurationVar(&s.EtcdReadycheckTimeout, "etcd-readycheck-timeout", 2*time.Second, "Maximum time that the health check etcd-readiness waits for an answer of etcd.")
	fs.DurationVar(&s.StorageInitializationTimeout, "storage-initialization-timeout", time.Minute, "Maximum time that the start waits for --etcd-servers to answer.")
	fs.DurationVar(&s.EventTTL, "event-ttl", time.Hour, "How long events are kept.")
	fs.DurationVar(&s.NamespaceConditionDelay, "namespace-condition-delay", 6*time.Second, "Time from the deletion of a namespace until its conditions report what remains in it, as on a cluster.")
}

func servingFlags(fs *pflag.FlagSet, s *settings) {
	fs.StringVar(&s.BindAddress, "bind-address", "127.0.0.1", "`IP` to listen on; 0.0.0.0 or :: for all interfaces.")
	fs.IntVar(&s.Port, "secure-port", 6443, "Port of HTTPS; 0 picks a free one.")
	fs.IntVar(&s.InsecurePort, "insecure-port", 0, "Port on 127.0.0.1 that serves plain HTTP and takes everybody for an administrator; 0 means none, -1 picks a free one.")
	fs.StringVar(&s.CertDir, "cert-dir", "", "`Directory` where the server keeps its CA and certificates (default: pki in --data-dir).")
	fs.StringVar(&s.TLSCertFile, "tls-cert-file", "", "`File` with a certificate to serve with instead of the server's own, followed by its intermediates; read again when it changes.")
	fs.StringVar(&s.TLSMinVersion, "tls-min-version", "", "Oldest `version` of TLS that is served: VersionTLS12 or VersionTLS13 (default: VersionTLS12).")
	fs.StringSliceVar(&s.TLSCipherSuites, "tls-cipher-suites", nil, "`Suites` of TLS 1.2, such as TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 (default: Go's choice).")
	fs.StringVar(&s.TLSKeyFile, "tls-private-key-file", "", "`File` with the key of --tls-cert-file.")
	fs.StringSliceVar(&s.CORSAllowedOrigins, "cors-allowed-origins", nil, "Comma-separated list of regular `expressions` of the origins whose pages may use the API and open WebSockets. Each must be anchored to the start of the host with ^ or //, and to its end with $ or the : of a port, such as //example.com(:|$) (default: pages of the server itself).")
	fs.StringVar(&s.nodePorts, "service-node-port-range", "30000-32767", "`First-last` port that services of type NodePort get on nodes.")
	fs.StringVar(&s.ServiceClusterIPRange, "service-cluster-ip-range", "10.96.0.0/16", "`CIDR` that services get their addresses from, or two of different families.")
}

func requestFlags(fs *pflag.FlagSet, s *settings) {
	fs.DurationVar(&s.LivezGracePeriod, "livez-grace-period", 0, "Time from the start of the server during which /livez passes although the start is not finished.")
	fs.DurationVar(&s.RequestTimeout, "request-timeout", time.Minute, "How long a request may take that is not a watch.")
	fs.IntVar(&s.minRequestSeconds, "min-request-timeout", 1800, "`Seconds` that a watch lasts at least when it names no timeout of its own.")
	fs.IntVar(&s.MaxRequestsInflight, "max-requests-inflight", 400, "How many reading requests are served at a time; with --enable-priority-and-fairness, its sum with --max-mutating-requests-inflight is shared out.")
	fs.Var((*runtimeConfig)(&s.RuntimeConfig), "runtime-config", "What is served besides and instead of the stable versions: `key=value,...`, where keys are api/all, api/ga, api/beta, api/alpha, GROUP/VERSION and GROUP/VERSION/RESOURCE, and values true (may be left out) or false.")
	fs.Var((*featureGates)(&s.FeatureGates), "feature-gates", "Comma-separated `name=bool,...` pairs that turn features on or off. All feature gates of kube-apiserver 1.36 are accepted; these change the behavior of this server: "+strings.Join(features.Effective(), ", ")+".")
	fs.IntVar(&s.MaxMutatingRequestsInflight, "max-mutating-requests-inflight", 200, "How many writing requests are served at a time; with --enable-priority-and-fairness, see --max-requests-inflight.")
	fs.BoolVar(&s.profiling, "profiling", true, "Serve profiles of the process at /debug/pprof/, to those who may get that path.")
	fs.BoolVar(&s.priorityAndFairness, "enable-priority-and-fairness", true, "Share out the server between priority levels, and have requests wait in fair queues; without it, requests beyond the two limits are rejected.")
}

// kubeletFlags are about where logs, exec, attach, port-forward and proxy lead.
func kubeletFlags(fs *pflag.FlagSet, s *settings) {
	fs.StringVar(&s.KubeletCertFile, "kubelet-client-certificate", "", "`File` with the certificate that is shown to kubelets (default: one of the server's own CA, apiserver-kubelet-client.crt in --cert-dir).")
	fs.StringVar(&s.KubeletKeyFile, "kubelet-client-key", "", "`File` with the private key of --kubelet-client-certificate.")
	fs.StringVar(&s.KubeletCAFile, "kubelet-certificate-authority", "", "`File` with the CAs that kubelets are known by; without one, whoever answers is believed.")
	fs.StringSliceVar(&s.KubeletAddressTypes, "kubelet-preferred-address-types", []string{"Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"}, "`Types` of the addresses of nodes by which kubelets are reached, the best first.")
	fs.IntVar(&s.KubeletPort, "kubelet-port", 10250, "`Port` of kubelets whose node does not tell it.")
	fs.BoolVar(&s.LoopbackKubelets, "allow-loopback-kubelets", false, "If true, kubelets may be at loopback addresses of this machine, such as a test's. Whoever may write the status of nodes then chooses which of its ports the server connects to with --kubelet-client-certificate, except the server's own.")
	fs.DurationVar(&s.KubeletTimeout, "kubelet-timeout", 5*time.Second, "How long connecting to a kubelet may take.")
}

func admissionFlags(fs *pflag.FlagSet, s *settings) {
	fs.StringSliceVar(&s.EnableAdmissionPlugins, "enable-admission-plugins", nil, "Admission plugins that run besides those that do by default ("+strings.Join(admission.DefaultNames(), ", ")+"): `names`, comma separated, of "+strings.Join(admission.Names(), ", ")+". Their order does not matter.")
	fs.StringSliceVar(&s.DisableAdmissionPlugins, "disable-admission-plugins", nil, "Admission plugins that do not run though they are among the default ones: `names`, comma separated.")
	fs.StringVar(&s.AdmissionConfigFile, "admission-control-config-file", "", "`File` with configurations of admission plugins.")
	fs.BoolVar(&s.AggregatorRouting, "enable-aggregator-routing", false, "Call services, of admission webhooks and other API servers, at one of their endpoints instead of their cluster address.")
	fs.StringVar(&s.ProxyClientCertFile, "proxy-client-cert-file", "", "`File` with the certificate that is shown to the API servers of APIServices (default: one of a CA of its own, front-proxy-client.crt in --cert-dir).")
	fs.StringVar(&s.ProxyClientKeyFile, "proxy-client-key-file", "", "`File` with the private key of --proxy-client-cert-file.")
	s.turnOff(fs, &s.AggregatorRedirects, "aggregator-reject-forwarding-redirect", "Answer with an error where an API server of an APIService leads clients elsewhere.")
	fs.Int64Var(&s.notReadySeconds, "default-not-ready-toleration-seconds", 300, "`Seconds` that pods stay on a node that is not ready, if they do not say themselves.")
	fs.Int64Var(&s.unreachableSeconds, "default-unreachable-toleration-seconds", 300, "`Seconds` that pods stay on a node that cannot be reached, if they do not say themselves.")
}

func controllerFlags(fs *pflag.FlagSet, s *settings) {
	fs.StringSliceVar(&s.controllers, "controllers", []string{"*"}, "Controllers that run inside the server: * for all, `name` for one, -name for all but that one ("+strings.Join(controllers.Names(), ", ")+").")
	fs.StringVar(&s.RootCAFile, "root-ca-file", "", "`File` with the certificates by which pods verify the server, published in every namespace (default: the server's own CA).")
	fs.StringVar(&s.ClusterSigningCertFile, "cluster-signing-cert-file", "", "`File` with the CA certificate that CertificateSigningRequests are signed by (default: the server's own CA).")
	fs.StringVar(&s.ClusterSigningKeyFile, "cluster-signing-key-file", "", "`File` with the key of --cluster-signing-cert-file.")
	fs.DurationVar(&s.ClusterSigningDuration, "cluster-signing-duration", 365*24*time.Hour, "How long certificates last at most that are signed for CertificateSigningRequests.")
}

func otherFlags(fs *pflag.FlagSet, s *settings) {
	fs.IntVarP(&s.verbosity, "v", "v", 0, "How much to log: 0 warnings, 2 what happens, 4 details.")
	fs.StringVar(&s.logFormat, "logging-format", "text", "How to log: text or json.")
	fs.StringVar(&s.logFormat, "log-format", "text", "Short for --logging-format.")
	fs.BoolVar(&s.version, "version", false, "Print the version and exit.")
	fs.BoolVarP(&s.help, "help", "h", false, "Print this and exit.")
}

// chooseControllers reads what --controllers turns on and off.
func (s *settings) chooseControllers() error {
	chosen := map[string]bool{}
	// Who only turns some off wants all others.
	all := len(s.controllers) > 0 && !slices.ContainsFunc(s.controllers, func(c string) bool { return !strings.HasPrefix(c, "-") })
	for _, c := range s.controllers {
		if c == "*" {
			all = true
			continue
		}
		name, off := strings.CutPrefix(c, "-")
		known, ok := controllers.Known(name)
		if !ok {
			return fmt.Errorf("--controllers: %q is none of %s", name, strings.Join(controllers.Names(), ", "))
		}
		if _, ok := chosen[known]; !ok { // what is said first counts
			chosen[known] = !off
		}
	}
	for _, name := range controllers.Names() {
		if on, ok := chosen[name]; ok && !on || !ok && !all {
			s.ControllersOff = append(s.ControllersOff, name)
		}
	}
	return nil
}

// parseFlags reads the command line. What it cannot read, or can see to be
// wrong, is an error that names the flag.
func parseFlags(args []string) (*settings, []group, error) {
	s := &settings{}
	groups := flagGroups(s)
	all := pflag.NewFlagSet("miniapiserver", pflag.ContinueOnError)
	all.Usage = func() {} // who wants it asks with --help
	for _, g := range groups {
		all.AddFlagSet(g.flags)
	}
	if err := all.Parse(args); err != nil {
		return nil, nil, fmt.Errorf("%w (see --help)", err)
	}
	if s.help || s.version {
		return s, groups, nil
	}
	if all.NArg() > 0 {
		return nil, nil, fmt.Errorf("takes flags and no arguments, got %q (see --help)", all.Arg(0))
	}
	if !slices.Contains([]string{"text", "json"}, s.logFormat) {
		return nil, nil, fmt.Errorf("--logging-format: %q is neither text nor json", s.logFormat)
	}
	r := &s.ServiceNodePortRange
	if n, err := fmt.Sscanf(s.nodePorts+"\n", "%d-%d\n", &r[0], &r[1]); n != 2 || err != nil || r[0] < 1 || r[1] > 65535 || r[0] > r[1] {
		return nil, nil, fmt.Errorf("--service-node-port-range: %q is not a range of ports such as 30000-32767", s.nodePorts)
	}
	if err := s.chooseControllers(); err != nil {
		return nil, nil, err
	}
	if s.ephemeral {
		if all.Changed("data-dir") {
			return nil, nil, errors.New("--ephemeral: cannot be together with --data-dir")
		}
		s.Dir = ""
	} else if s.Dir == "" {
		return nil, nil, errors.New("--data-dir: must not be empty")
	}
	s.NotReadyTolerationSeconds, s.UnreachableTolerationSeconds = &s.notReadySeconds, &s.unreachableSeconds
	s.NoAnonymous = !s.anonymous
	s.NoPriorityAndFairness = !s.priorityAndFairness
	s.NoProfiling = !s.profiling
	for _, do := range s.afterwards {
		do()
	}
	s.MinRequestTimeout = time.Duration(s.minRequestSeconds) * time.Second
	return s, groups, s.Validate()
}

// printHelp writes what the command is and its flags, by group.
func printHelp(w io.Writer, groups []group) {
	fmt.Fprint(w, `miniapiserver is a Kubernetes API server in one process, with etcd inside.

Started without flags it keeps everything in ./.miniapiserver, serves HTTPS on
127.0.0.1:6443 and prints a kubectl command that works.

Usage:
  miniapiserver [flags]
`)
	const columns = 100
	for _, g := range groups {
		fmt.Fprintf(w, "\n%s:\n%s", g.title, g.flags.FlagUsagesWrapped(columns))
	}
}

// oneLine makes one line of an error that may be several.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
