package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server/bootstrap"
	"github.com/miniapiserver/miniapiserver/server/credentials"
)

func startWithClient(t *testing.T, o Options) (*Server, *kubernetes.Clientset) {
	t.Helper()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return s, kubernetes.NewForConfigOrDie(s.RESTConfig())
}

// addNode creates a node whose kubelet is at an address.
func addNode(t *testing.T, c kubernetes.Interface, name, host string, port int) {
	t.Helper()
	_, err := c.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(port)}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// addPods creates a pod on each of some nodes.
func addPods(t *testing.T, c kubernetes.Interface, nodes ...string) {
	t.Helper()
	for _, node := range nodes {
		_, err := c.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "on-" + node},
			Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestNodeProxyToServerItself checks that a node whose kubelet address is the server's own
// cannot be reached through the server, whether loopback kubelets are allowed or not.
func TestNodeProxyToServerItself(t *testing.T) {
	kubelet := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "kubelet") }))
	defer kubelet.Close()
	at, err := url.Parse(kubelet.URL)
	if err != nil {
		t.Fatal(err)
	}
	kubeletPort, err := strconv.Atoi(at.Port())
	if err != nil {
		t.Fatal(err)
	}
	for _, loopback := range []bool{false, true} {
		s, admin := startWithClient(t, Options{Kubelets: Kubelets{AllowLoopback: loopback},
			Serving: Serving{InsecurePort: -1}})
		own := map[string]string{"secure": s.URL, "insecure": s.InsecureURL}
		for name, u := range own {
			at, err := url.Parse(u)
			if err != nil {
				t.Fatal(err)
			}
			port, err := strconv.Atoi(at.Port())
			if err != nil {
				t.Fatal(err)
			}
			addNode(t, admin, name, "127.0.0.1", port)
		}
		addNode(t, admin, "kubelet", "127.0.0.1", kubeletPort)
		addPods(t, admin, "secure", "kubelet")
		for name, want := range map[string]string{"secure": "", "insecure": "", "kubelet": map[bool]string{true: "kubelet"}[loopback]} {
			body, err := admin.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes/" + name + "/proxy/api/v1/secrets").Do(t.Context()).Raw()
			refused := apierrors.IsBadRequest(err) && strings.Contains(string(body), "address not allowed")
			if want == "" && !refused || want != "" && string(body) != want {
				t.Errorf("loopback %v, node %s: %s, %v", loopback, name, body, err)
			}
			if name == "kubelet" && err != nil && !strings.Contains(string(body), "--allow-loopback-kubelets") {
				t.Errorf("the error does not name the flag: %s", body)
			}
		}
		// The kubelets of pods may be anywhere but at the server itself.
		for pod, want := range map[string]string{"on-secure": "", "on-kubelet": "kubelet"} {
			body, err := admin.CoreV1().Pods("default").GetLogs(pod, &corev1.PodLogOptions{}).DoRaw(t.Context())
			if string(body) != want && want != "" || want == "" && !apierrors.IsBadRequest(err) {
				t.Errorf("loopback %v, log of %s: %s, %v", loopback, pod, body, err)
			}
		}
	}
}

// TestOwnCertificatesAsCaller checks that no server takes the client certificates that it, or another
// server with the same CA, shows to kubelets and API servers for a credential.
func TestOwnCertificatesAsCaller(t *testing.T) {
	dir, copied := t.TempDir(), t.TempDir()
	if _, err := credentials.Load(dir, credentials.Names{}, time.Now(), false); err != nil {
		t.Fatal(err)
	}
	// The second server has the CAs of the first, and client certificates of its own.
	for _, name := range []string{"ca", "front-proxy-ca"} {
		for _, extension := range []string{".crt", ".key"} {
			data, err := os.ReadFile(filepath.Join(dir, name+extension))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(copied, name+extension), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for at, pki := range map[string]string{"itself": dir, "another": copied} {
		s, admin := startWithClient(t, Options{Serving: Serving{CertDir: pki}, Authentication: Authentication{
			ProxyCAFile: filepath.Join(pki, "front-proxy-ca.crt"), ProxyUserHeaders: []string{"X-Remote-User"}, ProxyGroupHeaders: []string{"X-Remote-Group"}, ProxyPrefixes: []string{"X-Remote-Extra-"},
		}})
		for _, name := range []string{"apiserver-kubelet-client", "front-proxy-client"} {
			cert, err := credentials.ReadPair(filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key"))
			if err != nil {
				t.Fatal(err)
			}
			config := &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{CAData: s.CA, CertData: cert.CertPEM, KeyData: cert.KeyPEM}}
			request := kubernetes.NewForConfigOrDie(config).RESTClient().Get().AbsPath("/api").SetHeader("X-Remote-User", "kubernetes-admin").SetHeader("X-Remote-Group", "system:masters")
			if err := request.Do(t.Context()).Error(); !apierrors.IsUnauthorized(err) {
				t.Errorf("%s at %s: %v", name, at, err)
			}
		}
		binding, err := admin.RbacV1().ClusterRoleBindings().Get(t.Context(), bootstrap.KubeletClientBinding().Name, metav1.GetOptions{})
		if err != nil || binding.RoleRef.Name != "system:kubelet-api-admin" || len(binding.Subjects) != 1 || binding.Subjects[0].Name != credentials.KubeletClientGroup || binding.Subjects[0].Kind != rbacv1.GroupKind {
			t.Errorf("%+v, %v", binding, err)
		}
	}
}

// TestRelayedKubeletRequest checks that a server does not serve requests that another server sends to
// a kubelet, whatever client certificate for kubelets that one was given.
func TestRelayedKubeletRequest(t *testing.T) {
	dir := t.TempDir()
	own, err := credentials.Load(dir, credentials.Names{}, time.Now(), false)
	if err != nil {
		t.Fatal(err)
	}
	// An administrator's certificate is given, which the second server accepts from others.
	second, _ := startWithClient(t, Options{Serving: Serving{CertDir: dir}})
	_, admin := startWithClient(t, Options{Kubelets: Kubelets{AllowLoopback: true,
		CertFile: filepath.Join(dir, "admin.crt"), KeyFile: filepath.Join(dir, "admin.key")}})
	config := &rest.Config{Host: second.URL, TLSClientConfig: rest.TLSClientConfig{CAData: second.CA, CertData: own.Admin.CertPEM, KeyData: own.Admin.KeyPEM}}
	if _, err := kubernetes.NewForConfigOrDie(config).CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(second.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(at.Port())
	if err != nil {
		t.Fatal(err)
	}
	addNode(t, admin, "relay", at.Hostname(), port)
	for _, path := range []string{"/api/v1/secrets", "/api/v1/nodes", "/version"} {
		body, err := admin.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes/relay/proxy" + path).Do(t.Context()).Raw()
		if !apierrors.IsUnauthorized(err) {
			t.Errorf("%s: %s, %v", path, body, err)
		}
	}
}

// TestOwnAddresses checks which addresses are recognized as the server's own.
func TestOwnAddresses(t *testing.T) {
	ranges := Options{Services: Services{ClusterIPRange: "10.0.0.0/24,fd00::/112"}}.pools().Addresses
	for _, c := range []struct {
		bind, address string
		want          bool
	}{
		{"127.0.0.1:6443", "127.0.0.1:6443", true},
		{"127.0.0.1:6443", "127.0.0.1:10250", false},
		{"127.0.0.1:6443", "127.0.0.2:6443", false},
		{"127.0.0.1:6443", "[::ffff:127.0.0.1]:6443", true},
		{"127.0.0.1:6443", "0.0.0.0:6443", true},
		{"127.0.0.1:6443", "[::]:6443", true},
		{"[::1]:6443", "[::1%lo]:6443", true},
		{"[::1]:6443", "[::%lo]:6443", true},
		{"[fe80::1%lo]:6443", "[fe80::1%1]:6443", true},
		{"[::]:6443", "[::1%1]:6443", true},
		{"192.0.2.1:6443", "192.0.2.1:6443", true},
		{"192.0.2.1:6443", "198.51.100.9:6443", false},
		{"[::]:6443", "127.0.0.2:6443", true},
		{"[::]:6443", "[::1]:6443", true},
		{"0.0.0.0:6443", "127.0.0.1:10250", false},
		{"0.0.0.0:6443", "198.51.100.9:6443", false},
		{"127.0.0.1:6443", "10.0.0.1:443", true},
		{"127.0.0.1:6443", "[fd00::1]:443", true},
		{"127.0.0.1:6443", "10.0.0.1:8443", false},
		{"127.0.0.1:6443", "10.0.0.2:443", false},
	} {
		own := newOwnAddresses([]netip.AddrPort{netip.MustParseAddrPort(c.bind)}, ranges)
		if got := own.contain(netip.MustParseAddrPort(c.address)); got != c.want {
			t.Errorf("a server at %s listens at %s: %v", c.bind, c.address, got)
		}
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	own := newOwnAddresses([]netip.AddrPort{netip.MustParseAddrPort("[::]:6443")}, ranges)
	for _, a := range addrs {
		ip, _ := netip.AddrFromSlice(a.(*net.IPNet).IP)
		if !own.contain(netip.AddrPortFrom(ip.Unmap(), 6443)) {
			t.Errorf("a server at all addresses does not listen at %s", ip)
		}
	}
}
