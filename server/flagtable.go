package server

import (
	"errors"
	"strings"
	"time"

	"github.com/miniapiserver/miniapiserver/admission/plugins"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// table is the table of flags: one entry for each flag, with the field that it
// sets, its default, the checks of its value, and its help. Names, and defaults
// where the meaning is the same, are kube-apiserver's. The help begins with a
// capital and consists of sentences; the default is shown after it.
//
// flagignored.go has the flags of kube-apiserver that have no effect here and the refused
// ones.
func (c *CommandLine) table() []Flag {
	o := &c.Options
	var all []Flag
	for _, group := range []struct {
		title string
		flags []Flag
	}{
		{"Storage", storageFlags(c, o)},
		{"Secure serving", servingFlags(o)},
		{"Requests", requestFlags(o)},
		{"API", append(versionFlags(o), apiFlags(o)...)},
		{"Authentication", authenticationFlags(o, &o.Authentication)},
		{"Service account tokens", serviceAccountFlags(&o.Authentication)},
		{"Tokens of other issuers", otherTokenFlags(&o.Authentication)},
		{"Authorization", authorizationFlags(&o.Authorization)},
		{"Audit", auditFlags(&o.Audit)},
		{"Admission", admissionFlags(c, o)},
		{"Kubelets", kubeletFlags(o)},
		{"Aggregation", aggregationFlags(o)},
		{"Controllers", controllerFlags(c, o)},
		{"Lab", labFlags(o)},
		{"Metrics", metricFlags(o)},
		{"Traces", tracingFlags(o)},
		{"Logging and help", processFlags(c, o)},
		{"Flags without an effect", ignoredFlags()},
		{"Flags that must be empty", refusedFlags()},
	} {
		for _, f := range group.flags {
			f.Group = group.title
			switch f.Effect {
			case Ignored:
				f.Help = "No effect: " + f.Note + "."
			case Refused:
				f.Help = "Must be empty: " + f.Note + "."
			}
			all = append(all, f)
		}
	}
	markSections(all)
	return all
}

func storageFlags(c *CommandLine, o *Options) []Flag {
	dir := orZero(text(&o.Dir, ".miniapiserver"))
	checkDir := func() error {
		if dir.changed && o.Dir == "" {
			return errors.New("must not be empty")
		}
		return nil
	}
	checkEphemeral := func() error {
		if c.Ephemeral && dir.changed {
			return errors.New("cannot be together with --data-dir")
		}
		return nil
	}
	return []Flag{
		{Name: "data-dir", Value: dir, Check: checkDir,
			Help: "Directory for the data, the certificates and admin.kubeconfig."},
		{Name: "ephemeral", Value: boolean(&c.Ephemeral), Check: checkEphemeral,
			Help: "If true, all files are in a temporary directory, which is removed when the server stops, and no write is synced to disk."},
		{Name: "etcd-snapshot", Value: text(&o.Etcd.Snapshot, ""), Check: o.checkEtcdSnapshot,
			Help: "File containing an etcd snapshot, such as the backup of a cluster, which may be compressed with " +
				"gzip. The server starts with its data; --data-dir must not have data yet."},
		{Name: "snapshot-interval", Value: duration(&o.Etcd.SnapshotInterval, 0, notNegative),
			Check: o.checkSnapshotInterval,
			Help:  "Interval at which the server saves a snapshot of etcd in the directory snapshots of --data-dir. If 0, it saves none."},
		{Name: "snapshot-keep", Value: number(&o.Etcd.SnapshotKeep, 24, atLeastOne),
			Help: "Number of snapshots that are kept; older ones of --snapshot-interval are removed."},
		{Name: "encryption-provider-config", Value: text(&o.Encryption.ConfigFile, ""),
			Help: "File containing an EncryptionConfiguration of apiserver.config.k8s.io, which configures the " +
				"resources whose objects are encrypted in etcd, and their keys. If empty, nothing is encrypted."},
		{Name: "encryption-provider-config-automatic-reload", Value: boolean(&o.Encryption.Reload),
			Check: o.checkReloadEncryption,
			Help: "If true, --encryption-provider-config is read again when it changes. A file with a fault, or " +
				"with a KMS plugin that is not healthy, is not used."},
		{Name: "etcd-servers", Value: list(&o.Etcd.Servers, nil, etcdURLs), Check: o.checkEtcdServers,
			Help: "Comma-separated list of the URLs of etcd servers to use instead of the embedded etcd."},
		{Name: "etcd-servers-overrides", Value: list(&o.Etcd.ServersOverrides, nil, etcdServersOverrides),
			Help: "Comma-separated list of built-in resources that are stored in other etcd servers, each in the " +
				"form group/resource#servers, where servers are URLs separated by semicolons, such as " +
				"/events#http://127.0.0.1:4002. The group of core resources is empty, and the resource * stands " +
				"for all of a group. The TLS files and the prefix are those of --etcd-servers."},
		{Name: "etcd-cafile", Value: text(&o.Etcd.CAFile, ""),
			Help: "File containing the CA bundle used to verify the certificates of --etcd-servers."},
		{Name: "etcd-certfile", Value: text(&o.Etcd.CertFile, ""),
			Check: together(&o.Etcd.CertFile, &o.Etcd.KeyFile, "etcd-keyfile"),
			Help:  "File containing the client certificate for --etcd-servers."},
		{Name: "etcd-keyfile", Value: text(&o.Etcd.KeyFile, ""),
			Help: "File containing the private key of --etcd-certfile."},
		{Name: "etcd-prefix", Value: text(&o.Etcd.Prefix, "/registry", etcdPrefix),
			Help: "Prefix of all keys in etcd."},
		{Name: "watch-cache", Value: inverted(&o.Etcd.NoWatchCache),
			Help: "If true, lists at resourceVersion 0 ignore their limit, as with the watch caches of " +
				"kube-apiserver. In both cases this server has its cache, which grows with its objects."},
		{Name: "watch-cache-sizes", Value: list(&o.Etcd.WatchCacheSizes, nil, watchCacheSizes),
			Help: "Comma-separated list of resource[.group]#size. Lists of a resource of size 0 at resourceVersion " +
				"0 honor their limit, as with --watch-cache=false. Other sizes have no effect."},
		{Name: "storage-media-type", Value: storageMediaType(&o.Etcd.MediaType),
			Help: "Encoding of the stored objects of built-in resources: " + strings.Join(storageMediaTypes(), ", ") +
				". Stored objects can be read in all three. CustomResourceDefinitions and APIServices are always JSON."},
		{Name: "etcd-compaction-interval",
			Value: orZero(duration(&o.Etcd.CompactionInterval, 5*time.Minute, notNegative)),
			Help:  "Interval between compactions of etcd. If 0, etcd is never compacted and keeps all history."},
		{Name: "quota-backend-bytes", Value: number(&o.Etcd.QuotaBytes, 8<<30, notNegative),
			Help: "Maximum size, in bytes, of the database of the embedded etcd. Once it is reached, the server only accepts reads and deletions."},
		{Name: "unsafe-no-fsync", Value: boolean(&o.Etcd.UnsafeNoFsync),
			Help: "If true, the embedded etcd does not wait until its writes are on the disk. Writes are faster, and the last ones are lost if the machine fails."},
		{Name: "etcd-healthcheck-timeout", Value: duration(&o.Etcd.HealthcheckTimeout, 2*time.Second, notNegative),
			Help: "Timeout of the health check of etcd."},
		{Name: "etcd-readycheck-timeout", Value: duration(&o.Etcd.ReadycheckTimeout, 2*time.Second, notNegative),
			Help: "Timeout of the readiness check of etcd."},
		{Name: "storage-initialization-timeout",
			Value: duration(&o.Etcd.InitializationTimeout, time.Minute, notNegative),
			Help:  "Maximum time that the server waits at its start for --etcd-servers to respond."},
	}
}

func servingFlags(o *Options) []Flag {
	return []Flag{
		{Name: "bind-address", Value: typed("ip", text(&o.Serving.BindAddress, "127.0.0.1", ipAddress)),
			Help: "IP address on which the server listens. Use 0.0.0.0 or :: for all interfaces."},
		{Name: "advertise-address", Value: typed("ip", text(&o.Serving.AdvertiseAddress, "", optionalIP)),
			Help: "IP address at which other machines reach the server. It is published in the endpoints of the " +
				"service kubernetes. If empty, --bind-address or, if that is unspecified or a loopback address, an " +
				"address of the machine."},
		{Name: "external-hostname", Value: text(&o.Serving.ExternalHostname, ""),
			Help: "Host name of the server in URLs that it publishes, such as that of the public keys of service " +
				"account tokens. If empty, the address of the server."},
		{Name: "tls-san", Value: list(&o.TLS.SANs, nil, tlsSANs), Check: o.checkTLSSANs,
			Help: "Comma-separated list of further host names and IP addresses by which clients reach the server, " +
				"such as those of a load balancer. They are in the certificate that the server issues for itself. " +
				"May be given several times."},
		{Name: "secure-port", Value: orZero(number(&o.Serving.Port, 6443, port(0, "0 to 65535"))),
			Help: "Port on which the server serves HTTPS. If 0, the server picks a free port."},
		{Name: "insecure-port", Value: number(&o.Serving.InsecurePort, 0, port(-1, "1 to 65535, or 0 for none")),
			Check: o.checkInsecurePort,
			Help: "Port on 127.0.0.1 on which the server serves plain HTTP, where every client is an " +
				"administrator without credentials. If 0, there is no such port; if -1, the server picks a free port."},
		{Name: "cert-dir", Value: text(&o.Serving.CertDir, ""),
			Help: "Directory in which the server keeps its CA, keys and certificates. If empty, the directory pki in --data-dir."},
		{Name: "tls-cert-file", Value: text(&o.TLS.CertFile, ""),
			Check: together(&o.TLS.CertFile, &o.TLS.KeyFile, "tls-private-key-file"),
			Help: "File containing the serving certificate, followed by intermediate certificates if there are " +
				"any. If empty, the server issues a certificate by its own CA. The file is read again when it " +
				"changes."},
		{Name: "tls-private-key-file", Value: text(&o.TLS.KeyFile, ""),
			Help: "File containing the private key of --tls-cert-file."},
		{Name: "tls-min-version", Value: text(&o.TLS.MinVersion, "", minTLSVersion),
			Help: "Minimum TLS version: VersionTLS12 or VersionTLS13. If empty, VersionTLS12."},
		{Name: "tls-cipher-suites", Value: list(&o.TLS.CipherSuites, nil, tlsSuites), Check: o.checkCipherSuites,
			Help: "Comma-separated list of cipher suites for TLS 1.2, such as " +
				"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256. If empty, the default suites of Go."},
		{Name: "tls-curve-preferences", Value: curves(&o.TLS.Curves),
			Help: "Comma-separated list of the numbers of key exchange mechanisms of TLS, as in Go's crypto/tls. " +
				"Their order does not matter. If empty, the default of Go."},
		{Name: "tls-sni-cert-key", Value: typed("namedCertKey", repeated(&o.TLS.SNICertificates, nil, sniCertificates)),
			Help: "Files containing a certificate and its private key, separated by a comma, that the server " +
				"presents to clients which ask for one of the names of the certificate. Names may follow after a " +
				"colon, separated by commas, and may begin with *., as in " +
				"example.crt,example.key:*.example.com,example.com. May be given several times."},
		{Name: "disable-http2-serving", Value: boolean(&o.Serving.NoHTTP2),
			Help: "If true, the server does not serve HTTP/2."},
		{Name: "http2-max-streams-per-connection", Value: number(&o.Serving.HTTP2MaxStreams, 0, notNegative),
			Help: "Maximum number of simultaneous requests of an HTTP/2 connection. If 0, 100."},
		{Name: "permit-address-sharing", Value: boolean(&o.Serving.ShareAddress),
			Help: "If true, the secure port is opened with SO_REUSEADDR, so that wildcard and specific addresses may be bound at the same time."},
		{Name: "permit-port-sharing", Value: boolean(&o.Serving.SharePort),
			Help: "If true, the secure port is opened with SO_REUSEPORT, so that several servers may listen on it."},
		{Name: "strict-transport-security-directives", Value: list(&o.Serving.HSTSDirectives, nil, hstsDirectives),
			Help: "Comma-separated list of directives of the header Strict-Transport-Security of every response: " +
				"max-age=SECONDS, includeSubDomains, preload. If empty, the header is not sent."},
		{Name: "cors-allowed-origins", Value: list(&o.Serving.CORSAllowedOrigins, nil, corsOrigins),
			Help: "Comma-separated list of regular expressions for origins whose web pages may use the API and " +
				"open WebSockets. Each expression must match the start of the host, by ^ or //, and the end, by $ " +
				"or the colon of a port, such as //example.com(:|$). If empty, only pages of the server itself may."},
	}
}

func requestFlags(o *Options) []Flag {
	return []Flag{
		{Name: "request-timeout", Value: duration(&o.Limits.RequestTimeout, time.Minute, notNegative),
			Help: "Maximum duration of a request other than a watch."},
		{Name: "min-request-timeout", Value: seconds(&o.Limits.MinRequestTimeout, 30*time.Minute, notNegative),
			Help: "Minimum duration, in seconds, of a watch without a timeout of its own. The server picks a " +
				"random duration above it, to spread the load of clients that reconnect."},
		{Name: "max-object-bytes", Value: number(&o.Limits.MaxObjectBytes, api.DefaultMaxObjectBytes, maxObjectBytes),
			Help: "Maximum size, in bytes, of an object with everything that its schema's defaults, conversion, " +
				"patches and admission add to it. Larger objects are refused, and cannot be read if they are " +
				"stored. The default is three times the size of a request that etcd accepts by default."},
		{Name: "max-requests-inflight", Value: orZero(number(&o.Limits.MaxRequestsInflight, 400, notNegative)),
			Help: "Maximum number of read requests in flight; further requests are rejected. If 0, there is no " +
				"limit. If --enable-priority-and-fairness is true, the sum of this flag and " +
				"--max-mutating-requests-inflight is the number of seats that the priority levels share."},
		{Name: "max-mutating-requests-inflight",
			Value: orZero(number(&o.Limits.MaxMutatingRequestsInflight, 200, notNegative)),
			Help: "Maximum number of mutating requests in flight; further requests are rejected. If 0, there is " +
				"no limit. If --enable-priority-and-fairness is true, see --max-requests-inflight."},
		{Name: "enable-priority-and-fairness", Value: inverted(&o.Limits.NoPriorityAndFairness),
			Help: "If true, requests are assigned to priority levels with fair queues. If false, requests beyond " +
				"the limits of requests in flight are rejected."},
		{Name: "goaway-chance", Value: decimal(&o.Serving.GoawayChance, 0, goawayChance),
			Help: "Probability, between 0 and 0.02, with which the server ends an HTTP/2 connection after a " +
				"request, so that the client reconnects and may reach another server. If 0, connections are not " +
				"ended."},
		{Name: "shutdown-delay-duration", Value: duration(&o.Lifecycle.ShutdownDelay, 0, notNegative),
			Help: "Time for which the server keeps serving when it is asked to stop, while /readyz already fails, so that load balancers notice."},
		{Name: "shutdown-send-retry-after", Value: boolean(&o.Lifecycle.ShutdownRetryAfter),
			Help: "If true, the server refuses new requests with 429 and Retry-After after " +
				"--shutdown-delay-duration, until the requests in flight are completed, and closes its listeners " +
				"only then."},
		{Name: "shutdown-watch-termination-grace-period",
			Value: duration(&o.Lifecycle.ShutdownWatchGrace, 0, notNegative),
			Help: "Time over which the ends of watches are spread when the server stops, so that not all clients " +
				"begin again at the same time; at least 200 watches end per second. If 0, they end at once."},
		{Name: "livez-grace-period", Value: duration(&o.Lifecycle.LivezGracePeriod, 0, notNegative),
			Help: "Maximum time that the start of the server may take. Until it has passed, /livez reports success " +
				"while the start is not finished."},
		{Name: "profiling", Value: inverted(&o.NoProfiling),
			Help: "If true, profiles of the server are served at /debug/pprof/, and PUT /debug/flags/v changes the verbosity of the log."},
	}
}

func apiFlags(o *Options) []Flag {
	return []Flag{
		{Name: "runtime-config", Value: pairs("key=value,...", &o.RuntimeConfig, parseRuntimeConfig), Check: o.checkRuntimeConfig,
			Help: "Comma-separated list of key=value pairs that turn APIs on or off. Keys are api/all, api/ga, " +
				"api/beta, api/alpha, GROUP/VERSION and GROUP/VERSION/RESOURCE. Values are true and false; true " +
				"may be left out."},
		{Name: "feature-gates", Value: pairs("name=bool,...", &o.FeatureGates, parseFeatureGates), Check: o.checkFeatureGates,
			Help: "Comma-separated list of name=bool pairs that turn features on or off. All feature gates of the " +
				"emulated version of kube-apiserver are accepted; these change the behavior of this " +
				"server: " + strings.Join(features.Effective(), ", ") +
				"; and the gates that guard fields of objects."},
		{Name: "service-cluster-ip-range", Value: text(&o.Services.ClusterIPRange, "10.96.0.0/16", serviceRanges),
			Help: "CIDR from which the server assigns cluster IPs to services, or two CIDRs of different IP families separated by a comma."},
		{Name: "service-node-port-range", Value: portRange(&o.Services.NodePortRange, [2]int32{30000, 32767},
			nodePorts),
			Help: "Range of ports that the server assigns to services of type NodePort and LoadBalancer. The first and the last port are included."},
		{Name: "kubernetes-service-node-port",
			Value: number(&o.Services.KubernetesNodePort, 0,
				port(0, "1 to 65535, or 0 for none")), Check: o.checkServiceNodePort,
			Help: "Node port of the service kubernetes, which then is of type NodePort. If 0, the service is of type ClusterIP."},
		{Name: "endpoint-reconciler-type", Value: text(&o.Services.EndpointReconciler, "lease", endpointReconciler),
			Help: "Kind of maintenance of the endpoints of the service kubernetes: lease, master-count or none. " +
				"lease publishes the addresses of all servers on the same etcd, which renew a key below " +
				"masterleases/ every 10 seconds; master-count publishes the address of this server alone; none " +
				"publishes nothing."},
		{Name: "delete-collection-workers", Value: number(&o.Limits.DeleteCollectionWorkers, 1, notNegative),
			Help: "Number of objects that a request to delete a collection deletes at a time."},
		{Name: "event-ttl", Value: duration(&o.Limits.EventTTL, time.Hour, notNegative),
			Help: "Time for which events are kept."},
		{Name: "namespace-condition-delay",
			Value: orZero(duration(&o.Controllers.NamespaceConditionDelay, 6*time.Second, notNegative)),
			Help:  "Delay between the deletion of a namespace and the conditions in its status that report the remaining objects, as in a cluster."},
	}
}

func authenticationFlags(o *Options, a *Authentication) []Flag {
	return []Flag{
		{Name: "anonymous-auth", Value: inverted(&o.Authentication.NoAnonymous),
			Help: "If true, requests without credentials are accepted as user system:anonymous. If false, they are " +
				"rejected with 401. With --authorization-mode=AlwaysAllow it is false, unless " +
				"--authentication-config says what is anonymous."},
		{Name: "client-ca-file", Value: text(&o.Authentication.ClientCAFile, ""),
			Help: "File containing a CA bundle. Client certificates signed by one of its CAs are accepted, as are " +
				"those signed by the CA of the server. The file is read again when it changes."},
		{Name: "token-auth-file", Value: text(&o.Authentication.TokenFile, ""),
			Help: "CSV file containing bearer tokens, with the columns token, user name, user UID and, optionally, " +
				"quoted group names separated by commas."},
		{Name: "enable-bootstrap-token-auth", Value: boolean(&a.BootstrapTokens),
			Help: "If true, secrets of type bootstrap.kubernetes.io/token in the namespace kube-system are accepted as bearer tokens."},
		{Name: "requestheader-client-ca-file", Value: text(&a.ProxyCAFile, ""), Check: a.checkProxyCAFile,
			Help: "File containing the CA bundle used to verify the client certificates of authenticating proxies. " +
				"The server accepts the user in the headers of a request only with such a certificate. The file is " +
				"read again when it changes."},
		{Name: "requestheader-allowed-names", Value: list(&a.ProxyNames, nil),
			Help: "Comma-separated list of the common names that client certificates of authenticating proxies may " +
				"have. If empty, every name is allowed."},
		{Name: "requestheader-username-headers", Value: list(&a.ProxyUserHeaders, nil, noEmptyElement), Check: a.checkProxyUserHeaders,
			Help: "Comma-separated list of request headers with the user name, in order of precedence. X-Remote-User is common."},
		{Name: "requestheader-uid-headers", Value: list(&a.ProxyUIDHeaders, nil, noEmptyElement), Check: o.checkProxyUIDHeaders,
			Help: "Comma-separated list of request headers with the user UID, in order of precedence. X-Remote-Uid " +
				"must be among them. Requires the feature gate RemoteRequestHeaderUID."},
		{Name: "requestheader-group-headers", Value: list(&a.ProxyGroupHeaders, nil, noEmptyElement),
			Help: "Comma-separated list of request headers with groups of the user. X-Remote-Group is common."},
		{Name: "requestheader-extra-headers-prefix", Value: list(&a.ProxyPrefixes, nil, noEmptyElement),
			Help: "Comma-separated list of prefixes of request headers with extra attributes of the user. X-Remote-Extra- is common."},
	}
}

func serviceAccountFlags(a *Authentication) []Flag {
	return []Flag{
		{Name: "service-account-issuer", Value: repeated(&a.Issuers, []string{defaultIssuer}, serviceAccountIssuers),
			Help: "Issuer of service account tokens, usually a URL. If the flag is given several times, the first " +
				"issuer is used for new tokens, and tokens of all of them are accepted."},
		{Name: "api-audiences", Value: list(&a.Audiences, nil),
			Help: "Comma-separated list of the identifiers of the API. Tokens are accepted if one of them is among " +
				"their audiences. If empty, the values of --service-account-issuer."},
		{Name: "service-account-key-file", Value: repeated(&a.KeyFiles, nil),
			Help: "File containing PEM-encoded public or private keys, or certificates, used to verify service " +
				"account tokens. May be given several times. If empty, the public key of " +
				"--service-account-signing-key-file is used. The file is read again when it changes."},
		{Name: "service-account-signing-key-file", Value: text(&a.SigningKeyFile, ""),
			Help: "File containing the PEM-encoded private key used to sign service account tokens. If empty, the " +
				"server generates a key, sa.key in --cert-dir. The file is read again when it changes."},
		{Name: "service-account-signing-endpoint", Value: text(&a.SigningEndpoint, "", socketPath), Check: a.checkSigningEndpoint,
			Help: "Unix socket of an external signer, which signs service account tokens and publishes their " +
				"public keys (externaljwt.k8s.io, v1): a path, or @ and a name in the abstract namespace. It " +
				"cannot be combined with --service-account-signing-key-file and --service-account-key-file."},
		{Name: "service-account-jwks-uri", Value: text(&a.JWKSURI, "", httpsURL),
			Help: "URL of the public keys of service account tokens in the discovery document at " +
				"/.well-known/openid-configuration. It must begin with https. If empty, the URL of this server."},
		{Name: "service-account-lookup", Value: inverted(&a.NoLookup),
			Help: "If true, service account tokens that are stored in secrets are accepted only as long as the secret exists."},
		{Name: "service-account-max-token-expiration", Value: duration(&a.MaxTokenExpiration, 0, tokenExpiration),
			Help: "Maximum lifetime of service account tokens, between an hour and 2^32 seconds. If a longer " +
				"lifetime is requested, the token gets this one. If 0, there is no maximum."},
		{Name: "service-account-extend-token-expiration", Value: inverted(&a.NoExtension),
			Help: "If true, the tokens that are mounted into pods are valid for up to a year instead of an hour, " +
				"for clients that do not reload them. Metrics count the use of such tokens."},
	}
}

func otherTokenFlags(a *Authentication) []Flag {
	o := &a.OIDC
	return []Flag{
		{Name: "authentication-config", Value: text(&a.ConfigFile, ""), Check: a.checkConfigFile,
			Help: "File containing an AuthenticationConfiguration of apiserver.config.k8s.io, which configures the " +
				"issuers of JWTs and the anonymous user. It cannot be combined with --oidc-* flags. The file is " +
				"read again when it changes."},
		{Name: "oidc-issuer-url", Value: text(&o.IssuerURL, ""), Check: a.checkOIDC,
			Help: "URL of an OpenID Connect issuer whose tokens are accepted. It must begin with https."},
		{Name: "oidc-client-id", Value: text(&o.ClientID, ""),
			Help: "Client ID that must be among the audiences of OpenID Connect tokens. Required if --oidc-issuer-url is set."},
		{Name: "oidc-ca-file", Value: text(&o.CAFile, ""),
			Help: "File containing the CA bundle used to verify the certificate of --oidc-issuer-url. If empty, the root CAs of the host are used."},
		{Name: "oidc-username-claim", Value: text(&o.UsernameClaim, "sub"),
			Help: "Claim of OpenID Connect tokens that is the user name."},
		{Name: "oidc-username-prefix", Value: text(&o.UsernamePrefix, ""),
			Help: "Prefix of the user names of OpenID Connect tokens. If empty, the prefix is the issuer URL " +
				"followed by #, or nothing if the user name is the claim email. Use - for no prefix."},
		{Name: "oidc-groups-claim", Value: text(&o.GroupsClaim, ""),
			Help: "Claim of OpenID Connect tokens that is the group of the user or a list of groups. If empty, " +
				"such users have no groups of their own."},
		{Name: "oidc-groups-prefix", Value: text(&o.GroupsPrefix, ""),
			Help: "Prefix of the group names of OpenID Connect tokens."},
		{Name: "oidc-required-claim", Value: pairs("key=value", &o.RequiredClaims, parsePair),
			Help: "A key=value pair of a claim and the value that OpenID Connect tokens must have for it. May be given several times."},
		{Name: "oidc-signing-algs", Value: list(&o.Algorithms, []string{"RS256"}, among(authn.SafeAlgorithms()...)),
			Help: "Comma-separated list of the algorithms that OpenID Connect tokens may be signed with, " +
				"among " + strings.Join(authn.SafeAlgorithms(), ", ") + "."},
		{Name: "authentication-token-webhook-config-file", Value: text(&a.WebhookFile, ""),
			Help: "File in kubeconfig format with the URL and the credentials of a webhook that authenticates bearer tokens."},
		{Name: "authentication-token-webhook-version", Value: text(&a.WebhookVersion, "v1beta1", either("v1", "v1beta1")),
			Help: "API version of the TokenReviews sent to the webhook: v1 or v1beta1."},
		{Name: "authentication-token-webhook-cache-ttl", Value: orZero(duration(&a.WebhookTTL, 2*time.Minute, notNegative)),
			Help: "Time for which responses of the token webhook are cached. If 0, they are not cached."},
	}
}

func authorizationFlags(a *Authorization) []Flag {
	return []Flag{
		{Name: "authorization-mode", Value: list(&a.Modes, nil, authorizationModes), Check: a.checkModes,
			Help: "Ordered, comma-separated list of authorization " +
				"modes: " + strings.Join(authz.Modes(), ", ") +
				". If empty, Node,RBAC. Members of the group system:masters are always authorized."},
		{Name: "authorization-config", Value: text(&a.ConfigFile, ""), Check: a.checkConfigFile,
			Help: "File containing an AuthorizationConfiguration of apiserver.config.k8s.io, which configures the " +
				"chain of authorizers. It cannot be combined with --authorization-mode and " +
				"--authorization-webhook-*. The file is read again when it changes."},
		{Name: "authorization-policy-file", Value: text(&a.PolicyFile, ""), Check: a.checkPolicyFile,
			Help: "File containing the policies of mode ABAC, one JSON object per line."},
		{Name: "authorization-webhook-config-file", Value: text(&a.WebhookConfigFile, ""), Check: a.checkWebhookConfigFile,
			Help: "File in kubeconfig format with the URL and the credentials of the webhook of mode Webhook."},
		{Name: "authorization-webhook-version", Value: text(&a.WebhookVersion, "v1beta1", either("v1", "v1beta1")),
			Help: "API version of the SubjectAccessReviews sent to the webhook: v1 or v1beta1."},
		{Name: "authorization-webhook-cache-authorized-ttl", Value: cacheTTL(&a.AuthorizedTTL, 5*time.Minute),
			Help: "Time for which responses of the webhook that allow a request are cached. If 0, they are not cached."},
		{Name: "authorization-webhook-cache-unauthorized-ttl", Value: cacheTTL(&a.UnauthorizedTTL, 30*time.Second),
			Help: "Time for which responses of the webhook that do not allow a request are cached. If 0, they are not cached."},
	}
}

func admissionFlags(c *CommandLine, o *Options) []Flag {
	return []Flag{
		{Name: "enable-admission-plugins", Value: list(&o.Admission.EnablePlugins, nil, knownPlugins),
			Check: o.checkAdmissionPlugins,
			Help: "Comma-separated list of admission plugins to enable in addition to the default ones " +
				"(" + strings.Join(plugins.DefaultNames(), ", ") + "). All plugins: " + strings.Join(plugins.Names(),
				", ") + ". The order of the list does not matter."},
		{Name: "disable-admission-plugins", Value: list(&o.Admission.DisablePlugins, nil, knownPlugins),
			Help: "Comma-separated list of admission plugins to disable although they are enabled by default. The " +
				"order of the list does not matter."},
		{Name: "allow-privileged", Value: inverted(&o.Admission.NoPrivileged),
			Help: "If true, containers may be privileged. If false, pods and pod templates with a privileged container are refused."},
		{Name: "admission-control", Value: list(&c.AdmissionControl, nil, knownPlugins), Check: c.checkAdmissionControl,
			Help: "Comma-separated list of all admission plugins to enable. Deprecated, use " +
				"--enable-admission-plugins and --disable-admission-plugins instead."},
		{Name: "admission-control-config-file", Value: text(&o.Admission.ConfigFile, ""),
			Help: "File containing an AdmissionConfiguration with the configurations of admission plugins."},
		{Name: "default-not-ready-toleration-seconds",
			Value: optionalNumber(&o.Admission.NotReadyTolerationSeconds, 300),
			Help: "Number of seconds that a pod stays bound to a node that is not ready, for pods without a " +
				"toleration of node.kubernetes.io/not-ready:NoExecute."},
		{Name: "default-unreachable-toleration-seconds",
			Value: optionalNumber(&o.Admission.UnreachableTolerationSeconds, 300),
			Help: "Number of seconds that a pod stays bound to a node that is unreachable, for pods without a " +
				"toleration of node.kubernetes.io/unreachable:NoExecute."},
	}
}

func kubeletFlags(o *Options) []Flag {
	types := []string{"Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"}
	return []Flag{
		{Name: "kubelet-client-certificate", Value: text(&o.Kubelets.CertFile, ""),
			Check: together(&o.Kubelets.CertFile, &o.Kubelets.KeyFile, "kubelet-client-key"),
			Help: "File containing the client certificate for kubelets. If empty, the server issues " +
				"apiserver-kubelet-client.crt in --cert-dir by its own CA. The file is read again when it changes."},
		{Name: "kubelet-client-key", Value: text(&o.Kubelets.KeyFile, ""),
			Help: "File containing the private key of --kubelet-client-certificate."},
		{Name: "kubelet-certificate-authority", Value: text(&o.Kubelets.CAFile, ""),
			Help: "File containing the CA bundle used to verify the certificates of kubelets. If empty, they are " +
				"not verified. The file is read again when it changes."},
		{Name: "kubelet-preferred-address-types", Value: list(&o.Kubelets.AddressTypes, types),
			Help: "Comma-separated list of the types of node addresses used for connections to kubelets, in order of preference."},
		{Name: "kubelet-port", Value: number(&o.Kubelets.Port, 10250, port(0, "1 to 65535")),
			Help: "Port of kubelets whose node does not report a port in its status."},
		{Name: "allow-loopback-kubelets", Value: boolean(&o.Kubelets.AllowLoopback),
			Help: "If true, nodes/proxy connects to kubelets at loopback addresses, as in tests. Users who may " +
				"write the status of nodes can then send requests with --kubelet-client-certificate to any local " +
				"port, except those of the server itself. Logs, exec, attach and portforward connect to kubelets " +
				"at loopback addresses without it, as with kube-apiserver."},
		{Name: "max-connection-bytes-per-sec", Value: number(&o.Kubelets.MaxBytesPerSecond, 0, notNegative),
			Help: "Maximum number of bytes per second, in each direction, of a connection to a kubelet, a pod or a " +
				"service. If 0, there is no limit."},
		{Name: "kubelet-timeout", Value: duration(&o.Kubelets.Timeout, 5*time.Second, notNegative),
			Help: "Timeout for connecting to a kubelet."},
	}
}

func aggregationFlags(o *Options) []Flag {
	return []Flag{
		{Name: "proxy-client-cert-file", Value: text(&o.Aggregation.ClientCertFile, ""),
			Check: together(&o.Aggregation.ClientCertFile, &o.Aggregation.ClientKeyFile, "proxy-client-key-file"),
			Help: "File containing the client certificate by which aggregated API servers recognize this server. " +
				"If empty, the server issues front-proxy-client.crt in --cert-dir by a CA for this purpose. The " +
				"file is read again when it changes."},
		{Name: "proxy-client-key-file", Value: text(&o.Aggregation.ClientKeyFile, ""),
			Help: "File containing the private key of --proxy-client-cert-file."},
		{Name: "enable-aggregator-routing", Value: boolean(&o.Aggregation.Routing),
			Help: "If true, requests to the services of webhooks and aggregated API servers are sent to the IP of " +
				"an endpoint instead of the cluster IP."},
		{Name: "aggregator-reject-forwarding-redirect", Value: inverted(&o.Aggregation.Redirects),
			Help: "If true, redirects in responses of aggregated API servers are rejected. If false, they are returned to the client."},
	}
}

func controllerFlags(c *CommandLine, o *Options) []Flag {
	return []Flag{
		{Name: "controllers", Value: list(&c.Controllers, []string{"*"}, knownControllers), Check: o.checkControllersOff,
			Help: "Comma-separated list of controllers to run: * runs all, name runs one, and -name does not run " +
				"it. A list of -name only runs all others. All " +
				"controllers: " + strings.Join(controllers.Names(), ", ") + "."},
		{Name: "root-ca-file", Value: text(&o.Controllers.RootCAFile, ""),
			Help: "File containing the CA bundle by which pods verify this server. It is published in the " +
				"ConfigMap kube-root-ca.crt of every namespace. If empty, the CA of the server."},
		{Name: "cluster-signing-cert-file", Value: text(&o.Signing.CertFile, ""),
			Check: together(&o.Signing.CertFile, &o.Signing.KeyFile, "cluster-signing-key-file"),
			Help:  "File containing the CA certificate used to sign CertificateSigningRequests. If empty, the CA of the server."},
		{Name: "cluster-signing-key-file", Value: text(&o.Signing.KeyFile, ""),
			Help: "File containing the private key of --cluster-signing-cert-file."},
		{Name: "cluster-signing-duration", Value: duration(&o.Signing.Duration, 365*24*time.Hour, notNegative),
			Help: "Maximum lifetime of certificates signed for CertificateSigningRequests."},
		{Name: "coordinated-leadership-lease-duration",
			Value: duration(&o.Elections.LeaseDuration, electionLeaseDuration), Check: o.checkElectionPeriods,
			Help: "Time after which another server takes over the coordinated leader elections (feature gate " +
				"CoordinatedLeaderElection) from one that no longer renews its Lease."},
		{Name: "coordinated-leadership-renew-deadline",
			Value: duration(&o.Elections.RenewDeadline, electionRenewDeadline),
			Help:  "Time without a renewed Lease after which a server stops to run the elections."},
		{Name: "coordinated-leadership-retry-period",
			Value: duration(&o.Elections.RetryPeriod, electionRetryPeriod, positive),
			Help:  "Time between two attempts to take or renew that Lease."},
	}
}

func processFlags(c *CommandLine, o *Options) []Flag {
	return []Flag{
		{Name: "v", Shorthand: "v", Value: number(&c.Verbosity, 0),
			Help: "Verbosity of the log: 0 for warnings and errors, 2 for information and requests that take " +
				"longer than 500 ms, 3 for all requests, 4 for debugging."},
		{Name: "vmodule", Value: typed("pattern=N,...", text(&c.VModule, "", vmodule)), Check: c.checkVModule,
			Help: "Comma-separated list of the verbosity of source files, such as oidc=4,watch*=4: their names " +
				"without .go, with wildcards. The first match counts if it is above --v. Only " +
				"--logging-format=text can be combined with it."},
		{Name: "logging-format", Value: text(&c.LoggingFormat, "text", either("text", "json")), Check: c.checkLoggingFormat,
			Help: "Format of the log: text or json."},
		{Name: "log-format", Value: text(&c.LoggingFormat, "text"),
			Help: "Alias of --logging-format."},
		{Name: "contention-profiling", Value: boolean(&c.ContentionProfiling),
			Help: "If true, the profile block at /debug/pprof/ records where goroutines wait. It slows the server down."},
		{Name: "output", Value: text(&c.Output, "text", either("text", "json")),
			Help: "Form of the message that the server is ready: text, or json for one line of JSON, which docs/other-languages.md describes."},
		{Name: "stdin-lifetime", Value: boolean(&c.StdinLifetime),
			Help: "If true, the server also stops when its standard input ends, as it does when the process that holds the other end exits."},
		{Name: "version", Value: versionRequest(&c.Version, o),
			Help: "If true, the version is printed and the server is not started. Use --version=raw for all its " +
				"parts. If --version=vX.Y.Z with a suffix such as -rc.1 or +build, the server reports that " +
				"version; the three numbers must be its own."},
		{Name: "help", Shorthand: "h", Value: boolean(&c.Help),
			Help: "If true, this help is printed and the server is not started."},
	}
}
