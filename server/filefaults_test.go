package server

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/server/credentials"
)

// fileFaults are the faults of a file, and a part of the error about it. An empty part stands for any text.
var fileFaults = []struct{ name, want string }{
	{"missing", "no such file or directory"},
	{"directory", "is a directory and not a regular file"},
	{"pipe", "is a pipe "},
	{"device", "is a device and not a regular file"},
	{"large", "is larger than 16 MiB, the maximum"},
	{"empty", ""},
	{"garbage", ""},
}

// makeFaultyFiles makes a file for each of fileFaults in a directory.
func makeFaultyFiles(t *testing.T, dir string) {
	t.Helper()
	for name, data := range map[string][]byte{"large": nil, "empty": nil, "garbage": bytes.Repeat([]byte{0, 1, 0xff, '\n', '"', ':'}, 50)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		os.Truncate(filepath.Join(dir, "large"), configfile.MaxSize+1),
		os.Mkdir(filepath.Join(dir, "directory"), 0o700),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		os.Symlink("/dev/zero", filepath.Join(dir, "device")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// startWith parses a command line and starts a server, which must fail.
func startWith(t *testing.T, flags ...string) error {
	t.Helper()
	c := NewCommandLine()
	err := set(c, append([]string{"ephemeral=true", "secure-port=0"}, flags...)...)
	var o Options
	if err == nil {
		o, err = c.Complete()
	}
	if err != nil {
		return err
	}
	s, err := Start(t.Context(), o)
	if err == nil {
		_ = s.Stop(t.Context()) // the start is the failure
	}
	return err
}

// TestFaultsOfFiles checks, for each flag that names a file, that a server ends its start at once if the file
// is not a regular one of a bounded size, or has another content. The error is a line with the flag and the file.
func TestFaultsOfFiles(t *testing.T) {
	dir := t.TempDir()
	makeFaultyFiles(t, dir)
	pair := writePair(t, dir)
	policy := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	etcd := "etcd-servers=http://127.0.0.1:1 storage-initialization-timeout=1ms "
	for _, c := range []struct {
		flag, others string
		valid        []string // faults that are none for this flag
	}{
		{flag: "encryption-provider-config"},
		{flag: "etcd-snapshot", valid: []string{"large"}},
		{flag: "etcd-cafile", others: etcd},
		{flag: "etcd-certfile", others: etcd + "etcd-keyfile=" + pair[1]},
		{flag: "etcd-keyfile", others: etcd + "etcd-certfile=" + pair[0]},
		{flag: "tls-cert-file", others: "tls-private-key-file=" + pair[1]},
		{flag: "tls-private-key-file", others: "tls-cert-file=" + pair[0]},
		{flag: "client-ca-file"},
		{flag: "token-auth-file", valid: []string{"empty"}},
		{flag: "requestheader-client-ca-file", others: "requestheader-username-headers=X-Remote-User"},
		{flag: "service-account-key-file"},
		{flag: "service-account-signing-key-file"},
		{flag: "authentication-config"},
		{flag: "oidc-ca-file", others: "oidc-issuer-url=https://127.0.0.1:1 oidc-client-id=a"},
		{flag: "authentication-token-webhook-config-file"},
		{flag: "authorization-config"},
		{flag: "authorization-policy-file", others: "authorization-mode=ABAC", valid: []string{"empty"}},
		{flag: "authorization-webhook-config-file", others: "authorization-mode=Webhook"},
		{flag: "audit-policy-file"},
		{flag: "audit-webhook-config-file", others: "audit-policy-file=" + policy},
		{flag: "admission-control-config-file"},
		{flag: "kubelet-client-certificate", others: "kubelet-client-key=" + pair[1]},
		{flag: "kubelet-client-key", others: "kubelet-client-certificate=" + pair[0]},
		{flag: "kubelet-certificate-authority"},
		{flag: "proxy-client-cert-file", others: "proxy-client-key-file=" + pair[1]},
		{flag: "proxy-client-key-file", others: "proxy-client-cert-file=" + pair[0]},
		{flag: "root-ca-file"},
		{flag: "cluster-signing-cert-file", others: "cluster-signing-key-file=" + pair[1]},
		{flag: "cluster-signing-key-file", others: "cluster-signing-cert-file=" + pair[0]},
		{flag: "allow-metric-labels-manifest", valid: []string{"empty"}},
		{flag: "tracing-config-file"},
	} {
		for _, fault := range fileFaults {
			if slices.Contains(c.valid, fault.name) {
				continue
			}
			path := filepath.Join(dir, fault.name)
			err := startWith(t, append(strings.Fields(c.others), c.flag+"="+path)...)
			checkFault(t, "--"+c.flag, path, fault.want, err)
		}
	}
	for _, fault := range fileFaults {
		path := filepath.Join(dir, fault.name)
		checkFault(t, "--tls-sni-cert-key", path, fault.want, startWith(t, "tls-sni-cert-key="+path+","+pair[1]))
		checkFault(t, "--tls-sni-cert-key", path, fault.want, startWith(t, "tls-sni-cert-key="+pair[0]+","+path))
	}
}

// TestFaultsOfNamedFiles is the same for files that other files name.
func TestFaultsOfNamedFiles(t *testing.T) {
	dir := t.TempDir()
	makeFaultyFiles(t, dir)
	pair := writePair(t, dir)
	kubeconfig := func(cluster, user string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'%s}}]\nusers: [{name: u, user: {%s}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n", cluster, user)
	}
	admission := func(plugin, config string) string {
		return fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: [{name: %s, %s}]\n", plugin, config)
	}
	webhooks := filepath.Join(dir, "webhooks.kubeconfig")
	webhookConfig := admission("ValidatingAdmissionWebhook", "configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: "+webhooks+"}")
	for _, c := range []struct {
		flag     string
		content  func(path string) string // of the file that the flag names
		webhooks func(path string) string // of the kubeconfig of admission webhooks
		valid    []string
	}{
		{flag: "authentication-token-webhook-config-file", content: func(path string) string { return kubeconfig(", certificate-authority: "+path, "") }},
		{flag: "authentication-token-webhook-config-file", content: func(path string) string {
			return kubeconfig("", "client-certificate: "+path+", client-key: "+pair[1])
		}},
		{flag: "authentication-token-webhook-config-file", content: func(path string) string {
			return kubeconfig("", "client-certificate: "+pair[0]+", client-key: "+path)
		}},
		{flag: "authentication-token-webhook-config-file", content: func(path string) string { return kubeconfig("", "tokenFile: "+path) }, valid: []string{"empty", "garbage"}},
		{flag: "admission-control-config-file", content: func(path string) string { return admission("PodSecurity", "path: "+path) }, valid: []string{"empty"}},
		{flag: "admission-control-config-file", content: func(path string) string {
			return admission("ValidatingAdmissionWebhook", "configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: "+path+"}")
		}, valid: []string{"empty"}},
		{flag: "admission-control-config-file", content: func(string) string { return webhookConfig },
			webhooks: func(path string) string {
				return kubeconfig("", "client-certificate: "+pair[0]+", client-key: "+path)
			}},
		{flag: "admission-control-config-file", content: func(string) string { return webhookConfig },
			webhooks: func(path string) string { return kubeconfig("", "tokenFile: "+path) }, valid: []string{"empty", "garbage"}},
		{flag: "authorization-config", content: func(path string) string {
			return "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: [{type: Webhook, name: w, webhook: {timeout: 1s, subjectAccessReviewVersion: v1, matchConditionSubjectAccessReviewVersion: v1, failurePolicy: Deny, connectionInfo: {type: KubeConfigFile, kubeConfigFile: " + path + "}}}]\n"
		}},
	} {
		for _, fault := range fileFaults {
			if slices.Contains(c.valid, fault.name) {
				continue
			}
			path, file := filepath.Join(dir, fault.name), filepath.Join(dir, "file")
			if err := os.WriteFile(file, []byte(c.content(path)), 0o600); err != nil {
				t.Fatal(err)
			}
			if c.webhooks != nil {
				if err := os.WriteFile(webhooks, []byte(c.webhooks(path)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			checkFault(t, "--"+c.flag, path, fault.want, startWith(t, c.flag+"="+file))
		}
	}
}

func checkFault(t *testing.T, flag, path, want string, err error) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), flag) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("%s=%s: got %v, want one line with %q", flag, path, err, want)
	}
}

// writePair writes a valid certificate and its key.
func writePair(t *testing.T, dir string) [2]string {
	t.Helper()
	own, err := credentials.Generate(filepath.Join(dir, "pki"), credentials.Names{DNS: []string{"localhost"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	files := [2]string{filepath.Join(dir, "pki", credentials.ServingName+".crt"), filepath.Join(dir, "pki", credentials.ServingName+".key")}
	if own.Serving == nil {
		t.Fatal("no serving certificate")
	}
	return files
}
