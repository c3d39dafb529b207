package server

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/controllers"
)

// set sets flags, each given as name=value.
func set(c *CommandLine, flags ...string) error {
	for _, f := range flags {
		name, text, _ := strings.Cut(f, "=")
		i := slices.IndexFunc(c.Flags(), func(f Flag) bool { return f.Name == name })
		if i < 0 {
			return fmt.Errorf("there is no flag --%s", name)
		}
		if err := c.Flags()[i].Value.Set(text); err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
	}
	return nil
}

func TestFlagFaults(t *testing.T) {
	for want, flags := range map[string]string{
		// Text that is not of the type.
		`--secure-port: "x" is not a whole number`:                                                            "secure-port=x",
		`--default-not-ready-toleration-seconds: "" is not a whole number`:                                    "default-not-ready-toleration-seconds=",
		`--ephemeral: "perhaps" is neither true nor false`:                                                    "ephemeral=perhaps",
		`--anonymous-auth: "no" is neither true nor false`:                                                    "anonymous-auth=no",
		`--event-ttl: "5" has no unit, such as 5s, 5m or 5h`:                                                  "event-ttl=5",
		`--authorization-webhook-cache-authorized-ttl: "x" is not a duration such as 500ms, 30s, 5m or 1h30m`: "authorization-webhook-cache-authorized-ttl=x",
		`--min-request-timeout: "1m" is not a whole number`:                                                   "min-request-timeout=1m",
		`--service-node-port-range: "30000" is not a range of ports such as 30000-32767`:                      "service-node-port-range=30000",
		`--etcd-servers: "a\"b" has a quotation mark that is not closed, or within a value`:                   `etcd-servers=a"b`,
		`--oidc-required-claim: a must be formatted as key=value`:                                             "oidc-required-claim=a",
		`--runtime-config: "=true" has no key`:                                                                "runtime-config==true",
		`--feature-gates: missing bool value for ClusterTrustBundle`:                                          "feature-gates=ClusterTrustBundle",
		// Values that are invalid on their own.
		`--bind-address: "localhost" is not an IP address`:                                                           "bind-address=localhost",
		`--secure-port: 65536 is not a port (0 to 65535)`:                                                            "secure-port=65536",
		`--insecure-port: -2 is not a port (1 to 65535, or 0 for none)`:                                              "insecure-port=-2",
		`--kubelet-port: -1 is not a port (1 to 65535)`:                                                              "kubelet-port=-1",
		`--service-node-port-range: "0-1" is not a range of ports such as 30000-32767`:                               "service-node-port-range=0-1",
		`--service-node-port-range: "2-1" is not a range of ports such as 30000-32767`:                               "service-node-port-range=2-1",
		`--service-cluster-ip-range: "10.0.0.0" is not a CIDR such as 10.0.0.0/24`:                                   "service-cluster-ip-range=10.0.0.0",
		`--quota-backend-bytes: -1 is below 0`:                                                                       "quota-backend-bytes=-1",
		`--livez-grace-period: -1s is below 0`:                                                                       "livez-grace-period=-1s",
		`--min-request-timeout: -1s is below 0`:                                                                      "min-request-timeout=-1",
		`--authentication-token-webhook-cache-ttl: -1s is below 0`:                                                   "authentication-token-webhook-cache-ttl=-1s",
		`--etcd-prefix: "//" must be more than slashes`:                                                              "etcd-prefix=//",
		`--tls-min-version: VersionTLS11 is not safe, must be VersionTLS12 or VersionTLS13`:                          "tls-min-version=VersionTLS11",
		`--tls-cipher-suites: cipher suite NOPE is not supported or doesn't exist`:                                   "tls-cipher-suites=NOPE",
		`--cors-allowed-origins: an expression is empty`:                                                             `cors-allowed-origins=""`,
		`--service-account-issuer: "a" is given twice`:                                                               "service-account-issuer=a service-account-issuer=a",
		`--service-account-max-token-expiration: 1m0s is not between 1 hour and 2^32 seconds`:                        "service-account-max-token-expiration=1m",
		`--service-account-jwks-uri: "http://x" is no https URL`:                                                     "service-account-jwks-uri=http://x",
		`--requestheader-group-headers: empty value in ["a" ""]`:                                                     "requestheader-group-headers=a,",
		`--oidc-signing-algs: "HS256" is none of ES256, ES384, ES512, PS256, PS384, PS512, RS256, RS384, RS512`:      "oidc-signing-algs=HS256",
		`--authorization-mode: "Magic" is not a valid mode, only AlwaysAllow, AlwaysDeny, ABAC, Webhook, RBAC, Node`: "authorization-mode=Magic",
		`--authorization-webhook-version: "v2" is neither v1 nor v1beta1`:                                            "authorization-webhook-version=v2",
		`--enable-admission-plugins: plugin "Nonsense" is unknown`:                                                   "enable-admission-plugins=Nonsense",
		`--disable-admission-plugins: plugin "Nonsense" is unknown`:                                                  "disable-admission-plugins=Nonsense",
		`--feature-gates: unrecognized feature gate: Nonsense`:                                                       "feature-gates=Nonsense=true",
		`--runtime-config: `: "runtime-config=foo/v1",
		`--controllers: "nothing" is none of bootstrap-signer-controller, `:                                  "controllers=*,-nothing",
		`--logging-format: "xml" is neither text nor json`:                                                   "logging-format=xml",
		`--logging-format: log format json is disabled, see LoggingBetaOptions feature`:                      "logging-format=json feature-gates=LoggingBetaOptions=false",
		`--advertise-address: "x" is not an IP address`:                                                      "advertise-address=x",
		`--goaway-chance: 0.5 can not be less than 0 or greater than 0.02`:                                   "goaway-chance=0.5",
		`--goaway-chance: NaN can not be less than 0`:                                                        "goaway-chance=nan",
		`--strict-transport-security-directives: "max-age=x" is invalid, allowed values: max-age=expireTime`: "strict-transport-security-directives=max-age=x",
		`--tls-curve-preferences: "7" is not the number of a curve, only [23 24`:                             "tls-curve-preferences=7",
		`--tls-sni-cert-key: expected comma separated certificate and key file paths`:                        "tls-sni-cert-key=a",
		`--endpoint-reconciler-type: "x" is none of lease, master-count, none`:                               "endpoint-reconciler-type=x",
		`--http2-max-streams-per-connection: -1 is below 0`:                                                  "http2-max-streams-per-connection=-1",
		`--shutdown-delay-duration: -1s is below 0`:                                                          "shutdown-delay-duration=-1s",
		`--shutdown-watch-termination-grace-period: -1s is below 0`:                                          "shutdown-watch-termination-grace-period=-1s",
		`--admission-control: plugin "Nonsense" is unknown`:                                                  "admission-control=Nonsense",
		`--version: "x" is none of true, false, raw and a version such as v1.37.2`:                           "version=x",
		`--audit-log-mode: "x" is none of batch, blocking, blocking-strict`:                                  "audit-log-mode=x",
		`--audit-log-format: "x" is neither json nor legacy`:                                                 "audit-log-format=x",
		`--audit-log-maxage: -1 is below 0`:                                                                  "audit-log-maxage=-1",
		`--audit-webhook-initial-backoff: -1s is below 0`:                                                    "audit-webhook-initial-backoff=-1s",
		`--version: version "v1.2.3-x" must match major/minor/patch of default version "v1.`:                 "version=v1.2.3-x",
		`--version: "v1.x" is not a version such as v1.37.2`:                                                 "version=v1.x",
		`--vmodule: "a" is not of the form pattern=N`:                                                        "vmodule=a",
		`--vmodule: "a=-1" is not of the form pattern=N`:                                                     "vmodule=a=-1",
		`--vmodule: "[" is not a pattern for the names of files`:                                             "vmodule=[=1",
		`--vmodule: only supported for text log format`:                                                      "vmodule=a=1 logging-format=json",
		`--etcd-servers: "foo" is not the URL of an etcd server, such as http://127.0.0.1:2379`:              "etcd-servers=http://a:1,foo",
		`--etcd-servers: "http://etcd" has no port, such as 2379`:                                            "etcd-servers=http://etcd",
		`--etcd-servers: "ftp://etcd:1" is not the URL of an etcd server`:                                    "etcd-servers=ftp://etcd:1",
		`--etcd-servers: "etcd:http" is not the URL of an etcd server`:                                       "etcd-servers=etcd:http",
		`--etcd-servers: "" is not the URL of an etcd server`:                                                "etcd-servers=http://a:1,",
		`--etcd-servers: "http://u:xxxxx@etcd" has no port`:                                                  "etcd-servers=http://u:secret@etcd",
		`--etcd-servers-overrides: "foo" is not the URL of an etcd server, such as http://127.0.0.1:2379`:    "etcd-servers-overrides=/events#http://a:1;foo",
		// Values of flags without an effect.
		`--storage-media-type: "text/plain" invalid, allowed values: application/json, application/vnd.kubernetes.protobuf, application/yaml`: "storage-media-type=text/plain",
		`--etcd-servers-overrides: invalid, must be of format: group/resource#servers, where servers are URLs, semicolon separated`:           "etcd-servers-overrides=/events/http://127.0.0.1:4002",
		`--etcd-servers-overrides: invalid, must be of format: group/resource#servers`:                                                        "etcd-servers-overrides=events#http://127.0.0.1:4002",
		`--etcd-servers-overrides: invalid, must be of format: group/resource#servers, where servers are URLs, semicolon`:                     "etcd-servers-overrides=/events#http://127.0.0.1:4002;",
		`--emulated-version: emulation version 1.30 is not between 1.34 and 1.37`:                                                             "emulated-version=1.30",
		`--min-compatibility-version: component not registered: etcd`:                                                                         "min-compatibility-version=etcd=1.36",
		`--storage-backend: "etcd2" is invalid, allowed values: etcd3`:                                                                        "storage-backend=etcd2",
		`--watch-cache-sizes: "pods" is not of the form resource[.group]#size`:                                                                "watch-cache-sizes=pods",
		`--watch-cache-sizes: watch cache size cannot be negative: pods#-1`:                                                                   "watch-cache-sizes=pods#-1",
		`--peer-advertise-ip: "x" is not an IP address`:                                                                                       "peer-advertise-ip=x",
		`--peer-advertise-port: "x" is not a port (1 to 65535)`:                                                                               "peer-advertise-port=x",
		`--audit-webhook-version: "x" is not audit.k8s.io/v1`:                                                                                 "audit-webhook-version=x",
		// Metrics.
		`--allow-metric-labels: "a" is not of the form metric,label='value,value'`:           "allow-metric-labels=a",
		`--disabled-metrics: "a-b" is not the name of a metric`:                              "disabled-metrics=a-b",
		`--show-hidden-metrics-for-version: "1.35" must be omitted or have the value "1.36"`: "show-hidden-metrics-for-version=1.35",
		`--allow-metric-labels: "a" is not of the form metric,label`:                         "allow-metric-labels=a=b",
		// Values that other flags rule out.
		`--data-dir: must not be empty`:                                                                               "data-dir=",
		`--ephemeral: cannot be together with --data-dir`:                                                             "ephemeral=true data-dir=x",
		`--etcd-snapshot: cannot be together with --etcd-servers, it is read into the embedded etcd`:                  "etcd-servers=http://e:1 etcd-snapshot=s",
		`--etcd-servers: must be given where --etcd-cafile, --etcd-certfile or --etcd-keyfile are`:                    "etcd-cafile=ca",
		`--etcd-certfile: must be given together with --etcd-keyfile`:                                                 "etcd-servers=http://e:1 etcd-keyfile=k",
		`--insecure-port: 80 is --secure-port too`:                                                                    "secure-port=80 insecure-port=80",
		`--tls-cert-file: must be given together with --tls-private-key-file`:                                         "tls-private-key-file=k",
		`--tls-cipher-suites: HTTP/2 needs TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`:                                     "tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
		`--requestheader-client-ca-file: must be given together with --requestheader-username-headers`:                "requestheader-username-headers=X",
		`--requestheader-username-headers: must be given together with --requestheader-client-ca-file`:                "requestheader-client-ca-file=x",
		`--authentication-config: cannot be together with --oidc-* flags`:                                             "authentication-config=x oidc-issuer-url=https://x oidc-client-id=a",
		`--oidc-issuer-url: must be given together with --oidc-client-id when any --oidc-* flags are`:                 "oidc-client-id=a",
		`--authorization-mode: must have ABAC where --authorization-policy-file is given`:                             "authorization-policy-file=x",
		`--authorization-mode: must have Webhook where --authorization-webhook-config-file is given`:                  "authorization-webhook-config-file=x",
		`--authorization-policy-file: must be given where ABAC is a mode`:                                             "authorization-mode=ABAC",
		`--authorization-webhook-config-file: must be given where Webhook is a mode`:                                  "authorization-mode=Webhook",
		`--authorization-config: can not be specified when --authorization-mode or`:                                   "authorization-config=x authorization-mode=RBAC",
		`--enable-admission-plugins: [Priority] in enable-admission-plugins and disable-admission-plugins overlapped`: "enable-admission-plugins=Priority disable-admission-plugins=Priority",
		`--admission-control: cannot be together with --enable-admission-plugins`:                                     "admission-control=Priority enable-admission-plugins=Priority",
		`--audit-log-path: invalid audit batch log buffer size -1, must be a positive number`:                         "audit-log-path=x audit-log-mode=batch audit-log-batch-buffer-size=-1",
		`--audit-log-path: invalid audit truncate log max batch size 1, must be greater than max event size (102400)`: "audit-log-path=x audit-log-truncate-max-batch-size=1",
		`--audit-log-path: invalid audit batch log throttle QPS 0, must be a positive number`:                         "audit-log-path=x audit-log-mode=batch audit-log-batch-throttle-enable=true",
		`--audit-webhook-config-file: invalid audit batch webhook max batch size -1, must be a positive number`:       "audit-webhook-config-file=x audit-webhook-batch-max-size=-1",
		`--kubernetes-service-node-port: 1 is not in --service-node-port-range 30000-32767`:                           "kubernetes-service-node-port=1",
		`--kubelet-client-certificate: must be given together with --kubelet-client-key`:                              "kubelet-client-key=k",
		`--proxy-client-cert-file: must be given together with --proxy-client-key-file`:                               "proxy-client-key-file=k",
		`--cluster-signing-cert-file: must be given together with --cluster-signing-key-file`:                         "cluster-signing-key-file=k",
	} {
		c := NewCommandLine()
		err := set(c, strings.Fields(flags)...)
		if err == nil {
			_, err = c.Complete()
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s:\n got %v\nwant %s", flags, err, want)
		}
	}
}

func TestFlagValues(t *testing.T) {
	c := NewCommandLine()
	for _, f := range []struct{ flag, want string }{
		{"etcd-servers=a,b", "a,b"},
		{"etcd-servers=c", "a,b,c"},
		{"kubelet-preferred-address-types=InternalIP", "InternalIP"},
		{"controllers=", ""},
		{"service-account-key-file=a,b", "a,b"},
		{"oidc-required-claim=a=b,c=d", "a=b,c=d"},
		{"feature-gates=kube:B=true, A=false", "A=false,B=true"},
		{"feature-gates=B=false", "A=false,B=false"},
		{"runtime-config=api/beta, apps/v1=false", "api/beta=,apps/v1=false"},
		{"profiling=false", "false"},
		{"min-request-timeout=60", "60"},
		{"authorization-webhook-cache-authorized-ttl=0", "0s"},
		{"default-not-ready-toleration-seconds=0", "0"},
		{"service-node-port-range=1-2", "1-2"},
	} {
		name, _, _ := strings.Cut(f.flag, "=")
		if err := set(c, f.flag); err != nil {
			t.Error(err)
		}
		i := slices.IndexFunc(c.Flags(), func(f Flag) bool { return f.Name == name })
		if got := c.Flags()[i].Value.String(); got != f.want {
			t.Errorf("%s: got %s, want %s", f.flag, got, f.want)
		}
	}
	o := &c.Options
	if len(o.Authentication.KeyFiles) != 1 || o.Authentication.OIDC.RequiredClaims["a"] != "b,c=d" || !o.NoProfiling || o.Authorization.AuthorizedTTL >= 0 ||
		*o.Admission.NotReadyTolerationSeconds != 0 || o.Services.NodePortRange != [2]int32{1, 2} {
		t.Errorf("got %+v", o)
	}
}

// leaves calls visit for the exported fields below v that are no structs of this package.
func leaves(v reflect.Value, path string, visit func(path string, v reflect.Value)) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name := path + field.Name
		switch {
		case !field.IsExported():
		case v.Field(i).Kind() == reflect.Struct:
			leaves(v.Field(i), name+".", visit)
		default:
			visit(name, v.Field(i))
		}
	}
}

// fieldsOfFlags returns the fields that flags change, with the name of the flag. It
// sets each flag of a command line of its own to see that.
func fieldsOfFlags(t *testing.T) map[string]string {
	t.Helper()
	sample := map[string]string{
		"int": "7", "duration": "7s", "ip": "192.0.2.1", "string": "x", "strings": "x", "stringArray": "x", "portRange": "1-2",
		"key=value": "a=b", "key=value,...": "a=b", "name=bool,...": "a=true", "float": "0.01", "float32": "7", "int32Slice": "29",
		"namedCertKey": "a,b", "pattern=N,...": "a=1", "quantity": "7", "stringToString": "a,b=c",
	}
	fields := map[string]string{}
	for i, f := range NewCommandLine().Flags() {
		text := sample[f.Value.Type()]
		if f.Value.Type() == "bool" {
			text = fmt.Sprint(f.Default == "false")
		}
		c := NewCommandLine()
		before := map[string]any{}
		leaves(reflect.ValueOf(c).Elem(), "", func(path string, v reflect.Value) {
			if v.Kind() != reflect.Func {
				before[path] = v.Interface()
			}
		})
		if err := c.Flags()[i].Value.Set(text); err != nil {
			t.Errorf("--%s %s: %v", f.Name, text, err)
		}
		changed := 0
		leaves(reflect.ValueOf(c).Elem(), "", func(path string, v reflect.Value) {
			if old, ok := before[path]; ok && !reflect.DeepEqual(old, v.Interface()) {
				changed++
				if fields[path] == "" {
					fields[path] = f.Name
				} else if f.Name != "log-format" { // an alias
					t.Errorf("--%s and --%s set %s", fields[path], f.Name, path)
				}
			}
		})
		want := 1
		if f.Effect != Effective {
			want = 0
		}
		if changed != want {
			t.Errorf("--%s changes %d fields, want %d", f.Name, changed, want)
		}
	}
	return fields
}

func TestEveryOptionHasAFlag(t *testing.T) {
	without := map[string]string{
		"Options.NoDataDir":                 "set by NewKubeAPIServerCommandLine",
		"Options.Controllers.Off":           "made from --controllers",
		"Options.Emulation.Release":         "set by SetRelease",
		"Options.Emulation.ReportedVersion": "set by --version=vX.Y.Z, but not by --version",
		"Options.Dial":                      "a function",
		"Options.Lookup":                    "a function",
		"Options.SetVerbosity":              "a function",
		"Options.Logger":                    "made from --v and --logging-format",
	}
	flags := fieldsOfFlags(t)
	leaves(reflect.ValueOf(CommandLine{}), "", func(path string, _ reflect.Value) {
		switch _, exempt := without[path]; {
		case flags[path] == "" && !exempt:
			t.Errorf("%s has no flag", path)
		case flags[path] != "" && exempt:
			t.Errorf("%s has a flag", path)
		}
	})
}

// prefixesOf adds the structs of this package below t, by name, with the path of their fields.
func prefixesOf(t reflect.Type, path string, found map[string]string) {
	for i := range t.NumField() {
		if f := t.Field(i); f.Type.Kind() == reflect.Struct {
			found[f.Type.Name()] = path + f.Name + "."
			prefixesOf(f.Type, path+f.Name+".", found)
		}
	}
}

// TestCommentsOfOptionsNameFlags checks that the comment of a field names its flag, and does not
// repeat the help of the flag.
func TestCommentsOfOptionsNameFlags(t *testing.T) {
	flags, isTrueByDefault := fieldsOfFlags(t), map[string]bool{}
	prefixes := map[string]string{"Options": "Options."} // of the fields of each struct
	prefixesOf(reflect.TypeFor[Options](), "Options.", prefixes)
	delete(prefixes, "AuditBackend") // its comments are patterns, for two prefixes
	for _, f := range NewCommandLine().Flags() {
		isTrueByDefault[f.Name] = f.Default == "true"
	}
	for _, file := range []string{"options.go", "options_authn.go", "options_authz.go", "audit.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for name, prefix := range prefixes {
			object := parsed.Scope.Lookup(name)
			if object == nil {
				continue // in another file
			}
			for _, field := range object.Decl.(*ast.TypeSpec).Type.(*ast.StructType).Fields.List {
				flag := flags[prefix+field.Names[0].Name]
				if flag == "" {
					continue
				}
				want := "--" + flag
				if isTrueByDefault[flag] { // the field is the opposite of the flag
					want += "=false"
				}
				if comment := field.Comment.Text(); !regexp.MustCompile(`^` + want + `[;:,]?\s`).MatchString(comment) {
					t.Errorf("%s%s: the comment %q does not begin with %s", prefix, field.Names[0].Name, comment, want)
				}
			}
		}
	}
}

// TestDefaultsOfOptionsAreThoseOfFlags checks that zero options and a command line without flags
// mean the same, except where a zero value has a meaning of its own, which the comment of the
// field states.
func TestDefaultsOfOptionsAreThoseOfFlags(t *testing.T) {
	zero := map[string]bool{
		"Dir": true, "Serving.Port": true, "Etcd.CompactionInterval": true, "Limits.MaxRequestsInflight": true, "Limits.MaxMutatingRequestsInflight": true,
		"Controllers.NamespaceConditionDelay": true, "Lab.Page": true, "Authentication.WebhookTTL": true,
		"Audit.Log.MaxSize": true, "Audit.Log.MaxAge": true, "Audit.Log.MaxBackups": true,
	}
	o, err := NewCommandLine().Complete()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{}
	leaves(reflect.ValueOf(o), "", func(path string, v reflect.Value) { want[path] = v.Interface() })
	leaves(reflect.ValueOf(withOptions(Options{}).Options), "", func(path string, v reflect.Value) {
		if v.Kind() == reflect.Func {
			return
		}
		if zero[path] != !reflect.DeepEqual(v.Interface(), want[path]) {
			t.Errorf("%s: zero means %v, the default of the flag is %v", path, v, want[path])
		}
		if zero[path] && !v.IsZero() {
			t.Errorf("%s: zero became %v", path, v)
		}
	})
}

func TestTableOfFlags(t *testing.T) {
	name, unwanted := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`), regexp.MustCompile("  |[`\n]|/home/|/root/|localhost| (tells?|told|whoever|believed?|gone) ")
	host, _ := os.Hostname()
	seen := map[string]bool{}
	var groups []string
	for _, f := range NewCommandLine().Flags() {
		if !name.MatchString(f.Name) || seen[f.Name] {
			t.Errorf("--%s: a bad name, or one of two flags", f.Name)
		}
		seen[f.Name] = true
		if len(groups) == 0 || groups[len(groups)-1] != f.Group {
			groups = append(groups, f.Group)
		}
		if f.Value.Type() == "" || f.Default != f.Value.String() {
			t.Errorf("--%s: type %q, default %q, value %q", f.Name, f.Value.Type(), f.Default, f.Value)
		}
		switch {
		case len(f.Help) == 0 || f.Help[0] < 'A' || f.Help[0] > 'Z':
			t.Errorf("--%s: the help does not begin with a capital: %s", f.Name, f.Help)
		case !strings.HasSuffix(f.Help, ".") || strings.HasSuffix(f.Help, ".."):
			t.Errorf("--%s: the help does not end with a period: %s", f.Name, f.Help)
		case unwanted.MatchString(f.Help) || host != "" && strings.Contains(f.Help, " "+host+" "):
			t.Errorf("--%s: the help has %q", f.Name, unwanted.FindString(f.Help))
		case f.Value.Type() == "bool" && f.Effect == Effective && !strings.HasPrefix(f.Help, "If true, "):
			t.Errorf(`--%s: the help does not begin with "If true, "`, f.Name)
		}
		// A flag that is named in a help exists.
		for _, other := range regexp.MustCompile(`--([a-z0-9-]*[a-z0-9])([ .,;)]|$)`).FindAllStringSubmatch(f.Help, -1) {
			if i := slices.IndexFunc(NewCommandLine().Flags(), func(f Flag) bool { return f.Name == other[1] }); i < 0 {
				t.Errorf("--%s: the help names --%s, which does not exist", f.Name, other[1])
			}
		}
	}
	if slices.Sort(groups); len(groups) != len(slices.Compact(slices.Clone(groups))) {
		t.Errorf("the flags of a group are not together: %q", groups)
	}
}

func TestDefaultsAreThoseOfKubeAPIServer(t *testing.T) {
	different := map[string]string{
		"allow-privileged":         "a server for development refuses no containers",
		"bind-address":             "a server for development is reached from its own machine only",
		"cert-dir":                 "everything is in --data-dir",
		"service-cluster-ip-range": "kube-apiserver requires a value",
		"service-account-issuer":   "kube-apiserver requires a value",
	}
	reference, _ := kubeFlags()
	common := 0
	for _, f := range NewCommandLine().Flags() {
		kube, ok := reference[f.Name]
		if !ok {
			continue
		}
		common++
		got, want := f.Default, strings.Trim(kube.Default, "[]")
		if got == "false" || got == "0" || got == "0s" {
			got = ""
		}
		if _, known := different[f.Name]; known != (got != want) {
			t.Errorf("--%s: default %q, that of kube-apiserver is %q; in the list of differences: %v", f.Name, got, want, known)
		}
	}
	if common != len(reference) || common < 170 {
		t.Errorf("%d flags, kube-apiserver has %d", common, len(reference))
	}
}

// TestKubeAPIServerCommandLine checks that the flags of kube-apiserver are those of its
// help, with its defaults, and that a command line as envtest writes it is complete.
func TestKubeAPIServerCommandLine(t *testing.T) {
	different := map[string]string{"service-cluster-ip-range": "10.0.0.0/24"} // assumed for an empty value
	reference, sections := kubeFlags()
	c := NewKubeAPIServerCommandLine()
	section := 0
	for _, f := range c.Flags() {
		kube, ok := reference[f.Name]
		if !ok || f.Group != kube.Section {
			t.Errorf("--%s: in group %q, want %q", f.Name, f.Group, kube.Section)
		}
		if at := slices.Index(sections, f.Group); at < section {
			t.Errorf("--%s: after a flag of section %q", f.Name, sections[section])
		} else {
			section = at
		}
		got, want := f.Default, strings.Trim(kube.Default, "[]")
		if got == "false" || got == "0" || got == "0s" {
			got = ""
		}
		if got != want && different[f.Name] != got {
			t.Errorf("--%s: default %q, want %q", f.Name, f.Default, want)
		}
	}
	if len(c.Flags()) != len(reference) {
		t.Errorf("%d flags, want %d", len(c.Flags()), len(reference))
	}
	err := set(c, "etcd-servers=http://127.0.0.1:1", "service-account-issuer=https://127.0.0.1:2/", "service-account-signing-key-file=sa.key")
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.Complete()
	if err != nil {
		t.Fatal(err)
	}
	if !o.NoDataDir || o.Serving.BindAddress != "0.0.0.0" || o.Serving.CertDir != "/var/run/kubernetes" ||
		o.Serving.Port != 6443 || o.Services.ClusterIPRange != "10.0.0.0/24" {
		t.Errorf("got %+v", o)
	}
	if !slices.Equal(o.Authorization.Modes, []string{"AlwaysAllow"}) ||
		!slices.Equal(o.Controllers.Off, controllers.Names()) {
		t.Errorf("modes %q, controllers off %q", o.Authorization.Modes, o.Controllers.Off)
	}
	if err := c.SetControllers("*,-nothing"); err == nil {
		t.Error("an unknown controller is accepted")
	}
	if err := c.SetControllers("-*"); err != nil {
		t.Fatal(err)
	}
	if o, err = c.Complete(); err != nil || !slices.Equal(o.Controllers.Off, controllers.Names()) {
		t.Errorf("controllers off: %q, %v", o.Controllers.Off, err)
	}
	if err := c.SetControllers("*"); err != nil {
		t.Fatal(err)
	}
	if o, err = c.Complete(); err != nil || len(o.Controllers.Off) > 0 {
		t.Errorf("controllers off: %q, %v", o.Controllers.Off, err)
	}
}

// TestKubeAPIServerFaults checks what only kube-apiserver requires.
func TestKubeAPIServerFaults(t *testing.T) {
	c := NewKubeAPIServerCommandLine()
	if err := set(c, "secure-port=0"); err != nil {
		t.Fatal(err)
	}
	_, err := c.Complete()
	for _, want := range []string{
		"--etcd-servers: must be specified", "--service-account-issuer: must be specified", "--service-account-signing-key-file: must be specified",
		"--secure-port: 0 is not a valid port number between 1 and 65535, inclusive. It cannot be turned off with 0",
	} {
		if err == nil || !slices.Contains(strings.Split(err.Error(), "\n"), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	for _, other := range []string{"data-dir", "ephemeral", "insecure-port", "controllers"} {
		if err := set(c, other+"=1"); err == nil {
			t.Errorf("kube-apiserver has --%s", other)
		}
	}
}

// TestIgnoredAndRefusedFlags checks that flags without an effect are reported if they are
// given, and that others must be empty.
func TestIgnoredAndRefusedFlags(t *testing.T) {
	c := NewCommandLine()
	if len(c.Ignored()) > 0 {
		t.Errorf("without flags, %v are reported", c.Ignored())
	}
	if err := set(c, "enable-logs-handler=true", "profiling=true", "debug-socket-path=x", "egress-selector-config-file=", "etcd-servers-overrides="); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Complete(); err != nil {
		t.Error(err)
	}
	var names []string
	for _, f := range c.Ignored() {
		names = append(names, f.Name)
	}
	if slices.Sort(names); !slices.Equal(names, []string{"debug-socket-path", "enable-logs-handler"}) {
		t.Errorf("reported %q", names)
	}
	for _, f := range c.Flags() {
		if f.Effect != Refused {
			continue
		}
		c := NewCommandLine()
		err := set(c, f.Name+"=x")
		if err == nil {
			_, err = c.Complete()
		}
		if want := "--" + f.Name + ": is not supported: " + f.Note; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestEtcdURLs checks that all addresses are accepted to which etcd's client can connect.
func TestEtcdURLs(t *testing.T) {
	servers := []string{"http://127.0.0.1:2379", "https://etcd.example.com:2379/", "[::1]:2379", "etcd:2379", "http://user:secret@etcd:1", "unix:///run/etcd.sock", "unixs://localhost:2379", "unix:etcd.sock"}
	if err := etcdURLs(servers); err != nil {
		t.Error(err)
	}
}

// TestNearest checks that a mistyped flag finds the one that was meant.
func TestNearest(t *testing.T) {
	c := NewCommandLine()
	for name, want := range map[string]string{"etcd-server": "etcd-servers", "secureport": "secure-port", "zzz": ""} {
		if got := c.Nearest(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
