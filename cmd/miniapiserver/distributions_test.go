package main

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/porttest"
)

// A distribution is a way in which a program starts kube-apiserver: the flags that it passes, and
// what it probes until the server is ready.
type distribution struct {
	name  string
	flags string // with ${pki}, ${etcd}, ${events}, ${port} and ${dir}
	// probes are paths. With certificate they are requested as an administrator, otherwise
	// anonymously.
	probes      []string
	certificate bool
}

// The flags that nearly all distributions pass in the same form.
const (
	tlsFlags = ` --client-ca-file=${pki}/ca.crt --tls-cert-file=${pki}/apiserver.crt --tls-private-key-file=${pki}/apiserver.key --secure-port=${port}`

	etcdFlags = ` --etcd-servers=${etcd} --etcd-cafile=${pki}/ca.crt --etcd-certfile=${pki}/admin.crt --etcd-keyfile=${pki}/admin.key`

	frontProxyFlags = ` --proxy-client-cert-file=${pki}/front-proxy-client.crt --proxy-client-key-file=${pki}/front-proxy-client.key
		--requestheader-client-ca-file=${pki}/front-proxy-ca.crt --requestheader-extra-headers-prefix=X-Remote-Extra-
		--requestheader-group-headers=X-Remote-Group --requestheader-username-headers=X-Remote-User`

	kubeletFlags = ` --kubelet-client-certificate=${pki}/apiserver-kubelet-client.crt --kubelet-client-key=${pki}/apiserver-kubelet-client.key
		--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname`

	serviceAccountFlags = ` --service-account-key-file=${pki}/admin.key --service-account-signing-key-file=${pki}/admin.key`
)

// k3s passes --advertise-port as well, to its own build of kube-apiserver, and
// --egress-selector-config-file unless it is started with --egress-selector-mode=disabled. The server
// refuses these flags, because ignoring them would be dangerous or because kube-apiserver has
// none of that name.
var distributions = []distribution{
	{
		name: "kubeadm",
		flags: `--advertise-address=127.0.0.1 --allow-privileged=true --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction
			--enable-bootstrap-token-auth=true --requestheader-allowed-names=front-proxy-client
			--service-account-issuer=https://kubernetes.default.svc.cluster.local --service-cluster-ip-range=10.96.0.0/12` +
			tlsFlags + etcdFlags + frontProxyFlags + kubeletFlags + serviceAccountFlags,
		probes: []string{"/livez", "/readyz"},
	},
	{
		name: "kwokctl",
		flags: `--etcd-prefix=/registry --allow-privileged=true --max-requests-inflight=1000 --max-mutating-requests-inflight=1000 --authorization-mode=Node,RBAC
			--bind-address=0.0.0.0 --service-account-issuer=https://kubernetes.default.svc.cluster.local
			--proxy-client-key-file=${pki}/admin.key --proxy-client-cert-file=${pki}/admin.crt` + tlsFlags + etcdFlags + serviceAccountFlags,
		probes: []string{"/healthz"}, certificate: true,
	},
	{
		name: "kwokctl without admission",
		flags: `--etcd-prefix=/registry --allow-privileged=true --admission-control= --bind-address=127.0.0.1
			--service-account-issuer=https://kubernetes.default.svc.cluster.local
			--proxy-client-key-file=${pki}/admin.key --proxy-client-cert-file=${pki}/admin.crt` + tlsFlags + etcdFlags + serviceAccountFlags,
		probes: []string{"/healthz"}, certificate: true,
	},
	{
		name: "k3s",
		flags: `--allow-privileged=true --anonymous-auth=false --api-audiences=https://kubernetes.default.svc.cluster.local,k3s --authorization-mode=Node,RBAC
			--bind-address=127.0.0.1 --cert-dir=${dir}/temporary-certs --enable-admission-plugins=NodeRestriction --enable-aggregator-routing=true
			--enable-bootstrap-token-auth=true --kubelet-certificate-authority=${pki}/ca.crt --profiling=false
			--requestheader-allowed-names=system:auth-proxy --service-account-issuer=https://kubernetes.default.svc.cluster.local
			--service-cluster-ip-range=10.43.0.0/16 --service-node-port-range=30000-32767 --storage-backend=etcd3
			--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` +
			tlsFlags + etcdFlags + frontProxyFlags + kubeletFlags + serviceAccountFlags,
		probes: []string{"/readyz"}, certificate: true,
	},
	{
		name: "k0s",
		flags: `--advertise-address=127.0.0.1 --allow-privileged=true --anonymous-auth=false --api-audiences=https://kubernetes.default.svc,system:konnectivity-server
			--authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --enable-bootstrap-token-auth=true --endpoint-reconciler-type=none
			--kubelet-certificate-authority=${pki}/ca.crt --profiling=false --requestheader-allowed-names=front-proxy-client
			--service-account-issuer=https://kubernetes.default.svc --service-account-jwks-uri=https://kubernetes.default.svc/openid/v1/jwks
			--service-cluster-ip-range=10.96.0.0/12 --tls-min-version=VersionTLS12
			--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 --v=1` +
			tlsFlags + etcdFlags + frontProxyFlags + kubeletFlags + serviceAccountFlags,
		probes: []string{"/readyz?verbose"}, certificate: true,
	},
	{
		name: "kops",
		flags: `--allow-privileged=true --anonymous-auth=false --api-audiences=kubernetes.svc.default --authorization-mode=Node,RBAC
			--bind-address=0.0.0.0 --enable-admission-plugins=DefaultStorageClass,DefaultTolerationSeconds,LimitRanger,MutatingAdmissionWebhook,NamespaceLifecycle,NodeRestriction,ResourceQuota,RuntimeClass,ServiceAccount,ValidatingAdmissionPolicy,ValidatingAdmissionWebhook
			--profiling=false --requestheader-allowed-names=aggregator --service-account-issuer=https://api.internal.example.com
			--service-account-jwks-uri=https://api.internal.example.com/openid/v1/jwks --service-cluster-ip-range=100.64.0.0/13 --storage-backend=etcd3 --etcd-servers-overrides=/events#${events} --v=2` +
			tlsFlags + etcdFlags + frontProxyFlags + kubeletFlags + serviceAccountFlags,
		probes: []string{"/healthz", "/livez"}, certificate: true,
	},
}

// TestDistributions checks that the flags of distributions start kube-apiserver on an etcd with
// certificates, and that their probes succeed.
func TestDistributions(t *testing.T) {
	dir := t.TempDir()
	other, _ := start(t, "--data-dir", dir, "--secure-port", "0") // makes certificates
	if code := stop(t, other, syscall.SIGTERM); code != 0 {
		t.Fatalf("status %d", code)
	}
	pki := filepath.Join(dir, "pki")
	etcd, events := startDistributedEtcd(t, pki), startDistributedEtcd(t, pki)
	for _, d := range distributions {
		t.Run(d.name, func(t *testing.T) {
			port := fmt.Sprint(porttest.Free(t))
			flags := strings.NewReplacer("${pki}", pki, "${etcd}", etcd, "${events}", events, "${port}", port, "${dir}", t.TempDir()).Replace(d.flags)
			p := commandAs(t, asKubeAPIServer, strings.Fields(flags)...)
			launch(t, p)
			config := &tls.Config{InsecureSkipVerify: true}
			if d.certificate {
				certificate, err := tls.LoadX509KeyPair(filepath.Join(pki, "admin.crt"), filepath.Join(pki, "admin.key"))
				if err != nil {
					t.Fatal(err)
				}
				config.Certificates = []tls.Certificate{certificate}
			}
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
			for _, path := range d.probes {
				waitWith(t, p, client, "https://127.0.0.1:"+port+path)
			}
			terminate(t, p)
		})
	}
}

// startDistributedEtcd starts an etcd with the flags of kwokctl, but with certificates, and
// returns its URL.
func startDistributedEtcd(t *testing.T, pki string) string {
	t.Helper()
	client, peer := fmt.Sprintf("https://127.0.0.1:%d", porttest.Free(t)), fmt.Sprintf("http://127.0.0.1:%d", porttest.Free(t))
	metrics := fmt.Sprintf("http://127.0.0.1:%d", porttest.Free(t))
	in := func(name string) string { return filepath.Join(pki, name) }
	p := commandAs(t, asEtcd, "--name=node0", "--initial-advertise-peer-urls="+peer, "--listen-peer-urls="+peer,
		"--advertise-client-urls="+client, "--listen-client-urls="+client, "--listen-metrics-urls="+metrics, "--initial-cluster=node0="+peer,
		"--auto-compaction-retention=1", "--quota-backend-bytes=8589934592", "--data-dir="+t.TempDir(), "--unsafe-no-fsync",
		"--cert-file="+in("apiserver.crt"), "--key-file="+in("apiserver.key"), "--trusted-ca-file="+in("ca.crt"), "--client-cert-auth=true",
		"--enable-grpc-gateway=false")
	launch(t, p)
	waitFor(t, p, metrics+"/health")
	return client
}
