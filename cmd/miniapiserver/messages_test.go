package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
)

var updateMessages = flag.Bool("update", false, "write testdata/messages.txt")

// wrongCommands are command lines that end at once, one per line, by what is wrong in them. $DIR is a directory
// with wrongFiles, and $PORT a port in use.
const wrongCommands = `
# The command line
--no-such-flag
--secure-prot 1
--kubeconfig x
-secure-port 1
-help
-x
--secure-port
start
--secure-port 1 --secure-port x
--etcd-server http://127.0.0.1:1

# Values
--secure-port x
--secure-port 6443x
--secure-port -1
--secure-port 65536
--secure-port 99999999999999999999
--secure-port=
--insecure-port -2
--secure-port 80 --insecure-port 80
--bind-address localhost
--advertise-address x
--ephemeral=perhaps
--anonymous-auth=no
--event-ttl 5
--event-ttl 5x
--request-timeout -1s
--goaway-chance x
--goaway-chance 1
--service-node-port-range 30000
--service-cluster-ip-range 10.0.0.0
--service-cluster-ip-range 10.0.0.0/30
--kubernetes-service-node-port 1
--etcd-servers foo
--etcd-servers http://127.0.0.1
--etcd-servers ftp://127.0.0.1:1
--etcd-servers 127.0.0.1:1,
--etcd-servers a"b
--etcd-servers-overrides /events#foo
--etcd-servers-overrides events
--etcd-prefix /
--tls-min-version VersionTLS10
--tls-cipher-suites x
--tls-curve-preferences x
--tls-sni-cert-key x
--strict-transport-security-directives x
--cors-allowed-origins *
--logging-format xml
--output yaml
--vmodule x
--v x
--version=x
--version=v1.20.0
--emulated-version 1.33
--emulated-version 1.36.2
--emulated-version newest
--min-compatibility-version 1.33
--feature-gates x
--feature-gates ClusterTrustBundel=true
--feature-gates Nonsense=true
--feature-gates ClusterTrustBundle=perhaps
--runtime-config foo/v1
--runtime-config apps/v1=perhaps
--enable-admission-plugins PodSecurty
--enable-admission-plugins Nonsense
--disable-admission-plugins NamespaceLifecycel
--controllers *,-nothing
--controllers garbagecollectr
--authorization-mode RBCA
--service-account-issuer a --service-account-issuer a
--service-account-max-token-expiration 1m
--service-account-jwks-uri http://x
--storage-media-type x
--watch-cache-sizes x
--endpoint-reconciler-type x
--audit-log-mode x
--disabled-metrics a-b
--allow-metric-labels x
--oidc-signing-algs HS256

# Flags that belong together
--ephemeral --data-dir x
--data-dir=
--tls-cert-file $DIR/pem
--etcd-cafile $DIR/pem
--etcd-servers http://127.0.0.1:1 --etcd-snapshot $DIR/text
--authorization-mode ABAC
--authorization-config $DIR/text --authorization-mode RBAC
--oidc-client-id a
--authentication-config $DIR/text --oidc-issuer-url https://x --oidc-client-id a
--enable-admission-plugins Priority --disable-admission-plugins Priority
--egress-selector-config-file $DIR/text

# Directories and ports
--secure-port $PORT --ephemeral
--secure-port 0 --ephemeral --insecure-port $PORT
--secure-port 0 --ephemeral --bind-address 192.0.2.1
--data-dir $DIR/text/data
--data-dir $DIR/text
--data-dir /proc/data
--cert-dir $DIR/text --ephemeral --secure-port 0
TMPDIR=$DIR/missing --ephemeral

# Files
--token-auth-file $DIR/missing
--token-auth-file $DIR
--token-auth-file $DIR/pipe
--token-auth-file /dev/zero
--token-auth-file $DIR/large
--token-auth-file $DIR/text
--client-ca-file $DIR/text
--tls-cert-file $DIR/text --tls-private-key-file $DIR/text
--tls-cert-file $DIR/pem --tls-private-key-file $DIR/text
--tls-sni-cert-key $DIR/missing,$DIR/text
--service-account-key-file $DIR/text
--service-account-signing-key-file $DIR/text
--kubelet-certificate-authority $DIR/text
--root-ca-file $DIR/text
--cluster-signing-cert-file $DIR/missing --cluster-signing-key-file $DIR/text
--etcd-servers http://127.0.0.1:1 --etcd-cafile $DIR/text
--etcd-snapshot $DIR/missing
--etcd-snapshot $DIR/text
--oidc-issuer-url https://127.0.0.1:1 --oidc-client-id a --oidc-ca-file $DIR/text
--oidc-issuer-url http://127.0.0.1:1 --oidc-client-id a
--service-account-signing-endpoint x

# Configuration files
--authentication-config $DIR/empty
--authentication-config $DIR/text
--authentication-config $DIR/list
--authentication-config $DIR/authentication-type
--authentication-config $DIR/authentication-url
--authentication-token-webhook-config-file $DIR/empty
--authentication-token-webhook-config-file $DIR/text
--authentication-token-webhook-config-file $DIR/kubeconfig
--authentication-token-webhook-config-file $DIR/kubeconfig-context
--authorization-config $DIR/empty
--authorization-config $DIR/text
--authorization-config $DIR/authorization-type
--authorization-config $DIR/authorization-mode
--authorization-mode ABAC --authorization-policy-file $DIR/text
--authorization-mode ABAC --authorization-policy-file $DIR/missing
--authorization-mode Webhook --authorization-webhook-config-file $DIR/text
--audit-policy-file $DIR/empty
--audit-policy-file $DIR/text
--audit-policy-file $DIR/audit-level
--admission-control-config-file $DIR/empty
--admission-control-config-file $DIR/text
--admission-control-config-file $DIR/admission-name
--admission-control-config-file $DIR/admission-security
--admission-control-config-file $DIR/admission-file
--admission-control-config-file $DIR/admission-webhook
--encryption-provider-config $DIR/missing
--encryption-provider-config $DIR/empty
--encryption-provider-config $DIR/text
--encryption-provider-config $DIR/encryption-key
--encryption-provider-config $DIR/encryption-field
--tracing-config-file $DIR/empty
--tracing-config-file $DIR/text
--tracing-config-file $DIR/tracing-type
--tracing-config-file $DIR/tracing-rate
--allow-metric-labels-manifest $DIR/text
--allow-metric-labels-manifest $DIR/list

# As kube-apiserver
kube-apiserver
kube-apiserver --secure-port x
kube-apiserver --secure-port 0
kube-apiserver --data-dir x
kube-apiserver --etcd-servers foo
# Snapshots and other parts of the program
etcd --no-such-flag
snapshot save
snapshot restore $DIR/missing --data-dir $DIR/new
`

// wrongFiles are the contents of the files in $DIR.
var wrongFiles = map[string]string{
	"empty": "",
	"text":  "some text\n",
	"list":  "- a\n- b\n",
	"pem":   "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",

	"authentication-type": "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt: none\n",
	"authentication-url":  "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt: [{issuer: {url: 'http://x', audiences: [a]}, claimMappings: {username: {claim: sub, prefix: ''}}}]\n",
	"kubeconfig":          "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1', certificate-authority: missing}}]\ncontexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n",
	"kubeconfig-context":  "apiVersion: v1\nkind: Config\ncurrent-context: x\n",
	"authorization-type":  "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: RBAC\n",
	"authorization-mode":  "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: [{type: RBCA, name: r}]\n",
	"audit-level":         "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: All}]\n",
	"admission-name":      "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: [{nme: PodSecurity}]\n",
	"admission-security":  "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: [{name: PodSecurity, configuration: {apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration, defaults: {enforce: strict}}}]\n",
	"admission-file":      "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: [{name: PodSecurity, path: text}]\n",
	"admission-webhook":   "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: [{name: ValidatingAdmissionWebhook, configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: here}}]\n",
	"encryption-key":      "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: [{resources: [secrets], providers: [{aescbc: {keys: [{name: k, secret: c2hvcnQ=}]}}]}]\n",
	"encryption-field":    "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresource: []\n",
	"tracing-type":        "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nsamplingRatePerMillion: many\n",
	"tracing-rate":        "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nsamplingRatePerMillion: -1\n",
}

// TestMessages compares the messages for wrong flags and files with testdata/messages.txt, which a person
// reads: each names the flag, or the file, and what is wrong. Run it with -update to write the file.
func TestMessages(t *testing.T) {
	dir := t.TempDir()
	for name, content := range wrongFiles {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "large"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "large"), configfile.MaxSize+1); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())

	var got strings.Builder
	for line := range strings.Lines(strings.TrimPrefix(wrongCommands, "\n")) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			fmt.Fprintln(&got, line)
			continue
		}
		args := strings.Fields(strings.NewReplacer("$DIR", dir, "$PORT", port).Replace(line))
		message := strings.NewReplacer(dir, "$DIR", port, "$PORT").Replace(messageOf(t, args, strings.Contains(line, "file ") || strings.Contains(line, "config ") || strings.Contains(line, "$DIR/")))
		checkMessage(t, line, message)
		fmt.Fprintf(&got, "$ %s\n%s\n", line, message)
	}
	const golden = "testdata/messages.txt"
	if *updateMessages {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		g, w := "", ""
		if i < len(gotLines) {
			g = gotLines[i]
		}
		if i < len(wantLines) {
			w = wantLines[i]
		}
		if g != w {
			t.Errorf("line %d of %s:\n got %s\nwant %s", i+1, golden, g, w)
		}
	}
}

// messageOf runs the command, which must fail, and returns its message.
func messageOf(t *testing.T, args []string, isAboutFile bool) string {
	t.Helper()
	var environment []string
	for len(args) > 0 && strings.HasPrefix(args[0], "TMPDIR=") {
		environment, args = append(environment, args[0]), args[1:]
	}
	given := slices.ContainsFunc(args, func(arg string) bool { return arg == "--ephemeral" || arg == "--data-dir" })
	if isAboutFile && !given && strings.HasPrefix(args[0], "--") { // a wrong file ends a start that is otherwise possible
		args = append(slices.Clone(args), "--ephemeral", "--secure-port", "0")
	}
	p := command(t, args...)
	p.Env = append(p.Env, environment...)
	out, err := p.Output()
	if err == nil || p.ProcessState.ExitCode() != 1 || len(out) > 0 {
		t.Errorf("%q: status %d, stdout %q", args, p.ProcessState.ExitCode(), out)
	}
	return strings.TrimSuffix(p.errors(), "\n")
}

// checkMessage checks what all messages have in common.
func checkMessage(t *testing.T, line, message string) {
	t.Helper()
	for _, internal := range []string{"strconv.", "json: ", "yaml: ", "Go struct", "Go value", "%!", "time: ", "\n", "  ", "&{", "0x"} {
		if strings.Contains(message, internal) {
			t.Errorf("%s: %q in %s", line, internal, message)
		}
	}
	if about := strings.TrimSuffix(message, " (see --help)"); !flagOrArgument.MatchString(about) {
		t.Errorf("%s: no flag in %s", line, message)
	}
}

// flagOrArgument matches a message that names a flag, an argument or a file.
var flagOrArgument = regexp.MustCompile(`unknown command|--[a-z]|unknown shorthand flag|takes |\$DIR/`)
