package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/miniapiserver/miniapiserver/admission/plugins"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/nearest"
	"github.com/miniapiserver/miniapiserver/kinds"
	"github.com/miniapiserver/miniapiserver/server/credentials"
	"github.com/miniapiserver/miniapiserver/server/transport"
)

// Checks of one value. Each returns the fault of the value; the name of the flag is
// put before that.

func notNegative[T int | int64 | time.Duration](n T) error {
	if n < 0 {
		return fmt.Errorf("%v is below 0", n)
	}
	return nil
}

// maxObjectBytes checks that a limit of objects has room for those of the server itself.
func maxObjectBytes(n int) error {
	const least = 1 << 20
	if n < least {
		return fmt.Errorf("%d is below %d", n, least)
	}
	return nil
}

func atLeastOne(n int) error {
	if n < 1 {
		return fmt.Errorf("%d is below 1", n)
	}
	return nil
}

func tlsSANs(names []string) error {
	for _, name := range names {
		if !credentials.IsName(name) {
			return fmt.Errorf("%q is neither a host name nor an IP address", name)
		}
	}
	return nil
}

func (o *Options) checkTLSSANs() error {
	if len(o.TLS.SANs) > 0 && o.TLS.CertFile != "" {
		return errors.New("cannot be together with --tls-cert-file, which has its names already")
	}
	return nil
}

func positive(d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("%v is not above 0", d)
	}
	return nil
}

// port checks that a number is a port of at least first; the description says
// which numbers are valid.
func port(first int, description string) func(int) error {
	return func(n int) error {
		if n < first || n > 65535 {
			return fmt.Errorf("%d is not a port (%s)", n, description)
		}
		return nil
	}
}

func ipAddress(text string) error {
	if net.ParseIP(text) == nil {
		return fmt.Errorf("%q is not an IP address", text)
	}
	return nil
}

// etcdURLs checks a list of etcd servers.
func etcdURLs(servers []string) error {
	var errs []error
	for _, server := range servers {
		errs = append(errs, etcdURL(server))
	}
	return errors.Join(errs...)
}

// etcdURL checks the address of an etcd server: all that etcd's client can connect to. The port must be
// there, since the client assumes none.
func etcdURL(server string) error {
	invalid := fmt.Errorf("%q is not the URL of an etcd server, such as http://127.0.0.1:2379", withoutPasswords(server))
	for _, scheme := range []string{"unix:", "unixs:"} {
		if path, ok := strings.CutPrefix(server, scheme); ok && strings.Trim(path, "/") != "" {
			return nil
		}
	}
	address := server
	if strings.Contains(server, "://") {
		u, err := url.Parse(server)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			return invalid
		}
		if address = u.Host; u.Port() == "" {
			return fmt.Errorf("%q has no port, such as 2379", withoutPasswords(server))
		}
	}
	host, port, err := net.SplitHostPort(address)
	if n, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil || n == 0 || host == "" || strings.ContainsAny(host, "/ ") {
		return invalid
	}
	return nil
}

func etcdPrefix(text string) error {
	if strings.Trim(text, "/") == "" {
		return fmt.Errorf("%q must be more than slashes", text)
	}
	return nil
}

func serviceRanges(text string) error {
	_, err := serviceIPs(text)
	return err
}

func nodePorts(r [2]int32) error {
	if r[0] < 1 || r[1] > 65535 || r[0] > r[1] {
		return fmt.Errorf("%q is not a range of ports such as 30000-32767", formatPortRange(r))
	}
	return nil
}

func httpsURL(text string) error {
	if text == "" {
		return nil
	}
	if u, err := url.Parse(text); err != nil || u.Scheme != "https" {
		return fmt.Errorf("%q is no https URL", text)
	}
	return nil
}

// either checks that a text is one of two.
func either(a, b string) func(string) error {
	return func(text string) error {
		if text != a && text != b {
			return fmt.Errorf("%q is neither %s nor %s", text, a, b)
		}
		return nil
	}
}

// among checks that every element of a list is one of the known values.
func among(known ...string) func([]string) error {
	return func(list []string) error {
		var errs []error
		for _, s := range list {
			if !slices.Contains(known, s) {
				errs = append(errs, fmt.Errorf("%q is none of %s", s, strings.Join(known, ", ")))
			}
		}
		return errors.Join(errs...)
	}
}

func noEmptyElement(list []string) error {
	for _, s := range list {
		if strings.TrimSpace(s) == "" {
			return fmt.Errorf("empty value in %q", list)
		}
	}
	return nil
}

// sniCertificates checks elements of the form cert,key[:name,...].
func sniCertificates(values []string) error {
	for _, v := range values {
		if _, err := credentials.ParseSNI(v); err != nil {
			return err
		}
	}
	return nil
}

var maxAge = regexp.MustCompile(`^max-age=[0-9]+$`)

func hstsDirectives(directives []string) error {
	for _, d := range directives {
		if d = strings.TrimSpace(d); d != "includeSubDomains" && d != "preload" && !maxAge.MatchString(d) {
			return fmt.Errorf("%q is invalid, allowed values: max-age=expireTime, includeSubDomains, preload", d)
		}
	}
	return nil
}

func goawayChance(p float64) error {
	if !(p >= 0 && p <= 0.02) {
		return fmt.Errorf("%v can not be less than 0 or greater than 0.02", p)
	}
	return nil
}

func endpointReconciler(name string) error {
	if kinds := []string{"lease", "master-count", "none"}; !slices.Contains(kinds, name) {
		return fmt.Errorf("%q is none of %s", name, strings.Join(kinds, ", "))
	}
	return nil
}

func minTLSVersion(name string) error {
	_, err := tlsVersion(name)
	return err
}

func tlsSuites(names []string) error {
	_, err := cipherSuites(names)
	return err
}

func corsOrigins(expressions []string) error {
	_, err := transport.OriginPatterns(expressions)
	return err
}

func serviceAccountIssuers(issuers []string) error {
	var errs []error
	for i, issuer := range issuers {
		if issuer == "" {
			errs = append(errs, errors.New("must not be empty"))
		} else if strings.Contains(issuer, ":") { // anything else is a plain name
			if _, err := url.Parse(issuer); err != nil {
				errs = append(errs, fmt.Errorf("contained a ':' but was not a valid URL: %w", err))
			}
		}
		if slices.Contains(issuers[:i], issuer) {
			errs = append(errs, fmt.Errorf("%q is given twice", issuer))
		}
	}
	return errors.Join(errs...)
}

// socketPath requires an absolute path, or a name in the abstract namespace.
func socketPath(text string) error {
	if text == "" || path.IsAbs(text) || len(text) > 1 && text[0] == '@' {
		return nil
	}
	return fmt.Errorf("invalid value %q, should be a valid location on the filesystem or must be prefixed with @ to name UDS in abstract namespace", text)
}

func tokenExpiration(d time.Duration) error {
	const longest = 1 << 32 * time.Second
	if d != 0 && (d < time.Hour || d > longest) {
		return fmt.Errorf("%v is not between 1 hour and 2^32 seconds", d)
	}
	return nil
}

func authorizationModes(modes []string) error {
	var errs []error
	for i, mode := range modes {
		if !slices.Contains(authz.Modes(), mode) {
			errs = append(errs, fmt.Errorf("%q is not a valid mode, only %s", mode, strings.Join(authz.Modes(), ", ")))
		}
		if slices.Contains(modes[:i], mode) {
			errs = append(errs, fmt.Errorf("%q is specified more than once", mode))
		}
	}
	return errors.Join(errs...)
}

func knownControllers(value []string) error {
	for _, v := range value {
		if name := strings.TrimPrefix(v, "-"); name != "*" {
			if _, ok := controllers.CanonicalName(name); !ok {
				if near := nearestOf(name, controllers.Names()); near != "" {
					return fmt.Errorf("%q is not a controller%s", name, near)
				}
				return fmt.Errorf("%q is none of %s", name, strings.Join(controllers.Names(), ", "))
			}
		}
	}
	return nil
}

func knownPlugins(names []string) error {
	var errs []error
	for _, name := range names {
		if !slices.Contains(plugins.Names(), name) {
			errs = append(errs, fmt.Errorf("plugin %q is unknown%s", name, nearestOf(name, plugins.Names())))
		}
	}
	return errors.Join(errs...)
}

// checkFeatureGates checks the gates for the emulated release.
func (o *Options) checkFeatureGates() error {
	release, err := o.release()
	if len(o.FeatureGates) == 0 || err != nil {
		return nil // --emulated-version reports the error
	}
	if _, err = features.Emulated(release, o.FeatureGates); err == nil {
		return nil
	}
	known := features.Known(release)
	for _, name := range slices.Sorted(maps.Keys(o.FeatureGates)) {
		if _, ok := known[name]; !ok && strings.HasSuffix(err.Error(), ": "+name) { // the error is about it
			return fmt.Errorf("%w%s", err, nearestOf(name, slices.Sorted(maps.Keys(known))))
		}
	}
	return err
}

// nearestOf returns the end of an error about an unknown name, which suggests the nearest known one.
func nearestOf(name string, known []string) string {
	if near := nearest.Name(name, known); near != "" {
		return "; the nearest is " + near
	}
	return ""
}

// vmodule checks elements of the form pattern=level.
func vmodule(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		pattern, level, ok := strings.Cut(part, "=")
		if n, err := strconv.ParseInt(level, 10, 32); part != "" && (!ok || pattern == "" || err != nil || n < 0) {
			return fmt.Errorf("%q is not of the form pattern=N", part)
		}
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("%q is not a pattern for the names of files", pattern)
		}
	}
	return nil
}

// Checks of a value beside those of other flags.

// checkLoggingFormat refuses the format that a feature gate turns off.
func (c *CommandLine) checkLoggingFormat() error {
	gates, err := c.Options.gates()
	if c.LoggingFormat != "json" || err != nil || gates.Enabled(features.LoggingBetaOptions) { // --feature-gates reports the error
		return nil
	}
	return errors.New("log format json is disabled, see LoggingBetaOptions feature")
}

func (c *CommandLine) checkVModule() error {
	if c.VModule != "" && c.LoggingFormat != "text" {
		return errors.New("only supported for text log format")
	}
	return nil
}

// together returns a check that two flags are both set or both empty.
func together(a, b *string, other string) func() error {
	return func() error {
		if (*a == "") != (*b == "") {
			return fmt.Errorf("must be given together with --%s", other)
		}
		return nil
	}
}

func (c *CommandLine) checkAdmissionControl() error {
	o := &c.Options
	if c.AdmissionControl != nil && len(o.Admission.EnablePlugins)+len(o.Admission.DisablePlugins) > 0 {
		return errors.New("cannot be together with --enable-admission-plugins and --disable-admission-plugins")
	}
	return nil
}

func (o *Options) checkServiceNodePort() error {
	if r, p := o.Services.NodePortRange, int32(o.Services.KubernetesNodePort); p != 0 && (p < r[0] || p > r[1]) {
		return fmt.Errorf("%d is not in --service-node-port-range %s", p, formatPortRange(r))
	}
	return nil
}

func (o *Options) checkInsecurePort() error {
	if o.Serving.InsecurePort > 0 && o.Serving.InsecurePort == o.Serving.Port {
		return fmt.Errorf("%d is --secure-port too", o.Serving.InsecurePort)
	}
	return nil
}

func (o *Options) checkEtcdServers() error {
	if len(o.Etcd.Servers) == 0 && len(o.Etcd.ServersOverrides) == 0 && (o.Etcd.CAFile != "" || o.Etcd.CertFile != "") {
		return errors.New("must be given where --etcd-cafile, --etcd-certfile or --etcd-keyfile are")
	}
	return nil
}

func (o *Options) checkEtcdSnapshot() error {
	if len(o.Etcd.Servers) > 0 && o.Etcd.Snapshot != "" {
		return errors.New("cannot be together with --etcd-servers, it is read into the embedded etcd")
	}
	return nil
}

// checkCipherSuites requires one of the suites that HTTP/2 prescribes for TLS 1.2.
func (o *Options) checkCipherSuites() error {
	version, err := tlsVersion(o.TLS.MinVersion)
	if err != nil || version >= tls.VersionTLS13 {
		return nil
	}
	suites, err := cipherSuites(o.TLS.CipherSuites)
	if err == nil && len(suites) > 0 && !forHTTP2(suites) {
		return errors.New("HTTP/2 needs TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 or TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 among them")
	}
	return nil
}

func (o *Options) checkRuntimeConfig() error {
	if len(o.RuntimeConfig) == 0 {
		return nil // building all kinds takes time, and each start would do it
	}
	gates, err := o.gates()
	if err != nil {
		return nil // --feature-gates reports it
	}
	serving, err := o.serving(gates)
	if err != nil {
		return nil // --emulated-version reports it
	}
	_, err = api.Enable(kinds.For(gates), serving)
	return err
}

// checkAdmissionPlugins requires that no plugin is both enabled and disabled.
func (o *Options) checkAdmissionPlugins() error {
	if knownPlugins(o.Admission.EnablePlugins) != nil || knownPlugins(o.Admission.DisablePlugins) != nil {
		return nil // reported for the flag that has the unknown name
	}
	return plugins.CheckNames(o.Admission.EnablePlugins, o.Admission.DisablePlugins)
}

func (o *Options) checkControllersOff() error {
	return among(controllers.Names()...)(o.Controllers.Off)
}

func (a *Authentication) checkProxyCAFile() error {
	if a.ProxyCAFile == "" && len(a.ProxyUserHeaders) > 0 {
		return errors.New("must be given together with --requestheader-username-headers, or any client could name any user in them")
	}
	return nil
}

func (a *Authentication) checkProxyUserHeaders() error {
	if a.ProxyCAFile != "" && len(a.ProxyUserHeaders) == 0 {
		return errors.New("must be given together with --requestheader-client-ca-file")
	}
	return nil
}

func (o *Options) checkProxyUIDHeaders() error {
	headers := o.Authentication.ProxyUIDHeaders
	gates, err := o.gates()
	if err != nil || len(headers) == 0 {
		return nil // --feature-gates reports the error
	}
	if !gates.Enabled(features.RemoteRequestHeaderUID) {
		return fmt.Errorf("requires the %q feature to be enabled", features.RemoteRequestHeaderUID)
	}
	if !slices.ContainsFunc(headers, func(name string) bool { return strings.EqualFold(name, "X-Remote-Uid") }) {
		return errors.New("is set without specifying the standard X-Remote-Uid header - API aggregation will not work")
	}
	return nil
}

func (a *Authentication) checkSigningEndpoint() error {
	if a.SigningEndpoint != "" && (a.SigningKeyFile != "" || len(a.KeyFiles) > 0) {
		return errors.New("cannot be together with --service-account-signing-key-file and --service-account-key-file")
	}
	return nil
}

// usesOIDC reports whether any flag that begins with --oidc- is set, apart from
// those with a default.
func (a *Authentication) usesOIDC() bool {
	o := &a.OIDC
	return o.IssuerURL != "" || o.ClientID != "" || o.CAFile != "" || o.UsernamePrefix != "" || o.GroupsClaim != "" ||
		o.GroupsPrefix != "" || len(o.RequiredClaims) > 0
}

func (a *Authentication) checkOIDC() error {
	if a.usesOIDC() && (a.OIDC.IssuerURL == "" || a.OIDC.ClientID == "") {
		return errors.New("must be given together with --oidc-client-id when any --oidc-* flags are")
	}
	return nil
}

func (o *Options) checkReloadEncryption() error {
	if o.Encryption.Reload && o.Encryption.ConfigFile == "" {
		return errors.New("must be set with --encryption-provider-config")
	}
	return nil
}

func (a *Authentication) checkConfigFile() error {
	if a.ConfigFile != "" && a.usesOIDC() {
		return errors.New("cannot be together with --oidc-* flags")
	}
	return nil
}

func (a *Authorization) checkConfigFile() error {
	if a.ConfigFile != "" && (len(a.Modes) > 0 || a.WebhookConfigFile != "") {
		return errors.New("can not be specified when --authorization-mode or --authorization-webhook-* flags are defined")
	}
	return nil
}

// checkModes requires the modes for which other flags are set.
func (a *Authorization) checkModes() error {
	var errs []error
	if a.PolicyFile != "" && !slices.Contains(a.Modes, authz.ModeABAC) {
		errs = append(errs, errors.New("must have ABAC where --authorization-policy-file is given"))
	}
	if a.WebhookConfigFile != "" && !slices.Contains(a.Modes, authz.ModeWebhook) {
		errs = append(errs, errors.New("must have Webhook where --authorization-webhook-config-file is given"))
	}
	return errors.Join(errs...)
}

// checkPolicyFile and checkWebhookConfigFile require the files of the modes.
func (a *Authorization) checkPolicyFile() error {
	if a.PolicyFile == "" && slices.Contains(a.Modes, authz.ModeABAC) {
		return errors.New("must be given where ABAC is a mode")
	}
	return nil
}

func (a *Authorization) checkWebhookConfigFile() error {
	if a.WebhookConfigFile == "" && slices.Contains(a.Modes, authz.ModeWebhook) {
		return errors.New("must be given where Webhook is a mode")
	}
	return nil
}

// watchCacheSizes checks elements of the form resource[.group]#size.
func watchCacheSizes(list []string) error {
	for _, s := range list {
		resource, size, ok := strings.Cut(s, "#")
		n, err := strconv.Atoi(size)
		switch {
		case !ok || resource == "" || err != nil:
			return fmt.Errorf("%q is not of the form resource[.group]#size", s)
		case n < 0:
			return fmt.Errorf("watch cache size cannot be negative: %s", s)
		}
	}
	return nil
}
