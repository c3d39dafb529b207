package conformance

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/server"
)

// startServer starts a server.
func startServer(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	s, err := server.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return s
}

func clientFor(t *testing.T, c *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// userOf returns the user that the server authenticates for a client.
func userOf(t *testing.T, client kubernetes.Interface) (string, error) {
	t.Helper()
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return review.Status.UserInfo.Username, nil
}

// plugin is a credential plugin that prints the content of a file.
type plugin struct{ path string }

func (p plugin) says(t *testing.T, status map[string]any) {
	t.Helper()
	data, err := json.Marshal(map[string]any{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status})
	if err == nil {
		err = os.WriteFile(p.path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// config returns the server's client configuration with the plugin for credentials.
func (p plugin) config(s *server.Server) *rest.Config {
	return &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{CAData: s.CA}, QPS: -1,
		ExecProvider: &api.ExecConfig{APIVersion: "client.authentication.k8s.io/v1", Command: "cat", Args: []string{p.path}, InteractiveMode: api.NeverExecInteractiveMode}}
}

// TestExecPluginToken checks that client-go runs the credential plugin again after its token, which
// is bound to a Secret, has been revoked.
func TestExecPluginToken(t *testing.T) {
	s := startServer(t, server.Options{})
	admin := clientFor(t, s.RESTConfig())
	ctx := t.Context()
	if _, err := admin.CoreV1().ServiceAccounts("default").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token := func(name string) string {
		t.Helper()
		if _, err := admin.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		r, err := admin.CoreV1().ServiceAccounts("default").CreateToken(ctx, "robot", &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: name}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Status.Token
	}
	p := plugin{filepath.Join(t.TempDir(), "credential")}
	p.says(t, map[string]any{"token": token("first")})
	client := clientFor(t, p.config(s))
	const robot = "system:serviceaccount:default:robot"
	if who, err := userOf(t, client); err != nil || who != robot {
		t.Fatalf("got %s, %v", who, err)
	}
	p.says(t, map[string]any{"token": token("second")})
	if err := admin.CoreV1().Secrets("default").Delete(ctx, "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	// The authenticator reads the cache, which follows the deletion. A 401 makes the client run the
	// plugin again.
	eventually(t, "the token ends with what it is bound to", func(context.Context) (bool, error) {
		_, err := userOf(t, client)
		if apierrors.IsUnauthorized(err) {
			return true, nil
		}
		return false, err
	})
	if who, err := userOf(t, client); err != nil || who != robot {
		t.Errorf("after rotation: %s, %v", who, err)
	}
}

// signed returns a client certificate of the CA in a directory.
func signed(t *testing.T, dir, name string, lasts time.Duration) (certPEM, keyPEM string) {
	t.Helper()
	read := func(file string) []byte {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	ca, err := authn.ParseCertificates(read("ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := authn.ParsePrivateKey(read("ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(lasts), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, ca[0], key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
}

// coder records the last status code.
type coder struct {
	next http.RoundTripper
	code *atomic.Int32
}

// RoundTrip implements http.RoundTripper.
func (c *coder) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	if err == nil {
		c.code.Store(int32(resp.StatusCode))
	}
	return resp, err
}

// TestExecPluginCertificate checks that the plugin's client certificate is replaced when the server
// no longer accepts it.
func TestExecPluginCertificate(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, server.Options{Serving: server.Serving{CertDir: dir}})
	p := plugin{filepath.Join(t.TempDir(), "credential")}
	awaitConditions := func(name string, lasts time.Duration) {
		t.Helper()
		cert, key := signed(t, dir, name, lasts)
		p.says(t, map[string]any{"clientCertificateData": cert, "clientKeyData": key})
	}
	awaitConditions("jane", time.Hour)
	if who, err := userOf(t, clientFor(t, p.config(s))); err != nil || who != "jane" {
		t.Errorf("got %s, %v", who, err)
	}
	awaitConditions("june", -time.Minute)
	config := p.config(s)
	config.ExecProvider.Args = []string{"-u", p.path} // another plugin without cached credentials
	// The server closes the connection with this response, possibly before the client has read it
	// completely.
	var code atomic.Int32
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &coder{next, &code} })
	client := clientFor(t, config)
	if who, err := userOf(t, client); err == nil || code.Load() != http.StatusUnauthorized {
		t.Errorf("an expired certificate: %s, %d, %v", who, code.Load(), err)
	}
	awaitConditions("june", time.Hour)
	code.Store(0)
	// The client tries the previous credential once more before it runs the plugin.
	if who, err := userOf(t, client); err == nil || code.Load() != http.StatusUnauthorized {
		t.Errorf("an expired certificate: %s, %d, %v", who, code.Load(), err)
	}
	if who, err := userOf(t, client); err != nil || who != "june" {
		t.Errorf("after rotation: %s, %v", who, err)
	}
}

// TestAuthenticatingProxy checks that the user headers of an authenticating proxy are trusted, and
// those of other clients are not.
func TestAuthenticatingProxy(t *testing.T) {
	proxies, clients := t.TempDir(), t.TempDir()
	startServer(t, server.Options{Serving: server.Serving{CertDir: proxies}}) // makes a CA
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte("alice-token,alice,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, server.Options{Serving: server.Serving{CertDir: clients},
		Authentication: server.Authentication{TokenFile: tokens, ProxyCAFile: filepath.Join(proxies, "ca.crt"),
			ProxyNames: []string{"front"}, ProxyUserHeaders: []string{"X-Remote-User"},
			ProxyGroupHeaders: []string{"X-Remote-Group"}, ProxyPrefixes: []string{"X-Remote-Extra-"}, ProxyUIDHeaders: []string{"X-Remote-Uid"}}})
	frontCert, frontKey := signed(t, proxies, "front", time.Hour)
	otherCert, otherKey := signed(t, proxies, "other", time.Hour)
	janeCert, janeKey := signed(t, clients, "jane", time.Hour)
	headers := map[string]string{"X-Remote-User": "root", "X-Remote-Group": "system:masters", "X-Remote-Uid": "7"}
	for _, c := range []struct {
		name, cert, key, token string
		want                   string // empty: 401
	}{
		{"the proxy", frontCert, frontKey, "", "root"},
		{"another name", otherCert, otherKey, "", ""},
		{"a client", janeCert, janeKey, "", "jane"},
		{"a token", "", "", "alice-token", "alice"},
		{"a bad token", "", "", "nope", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := &rest.Config{Host: s.URL, BearerToken: c.token, QPS: -1,
				TLSClientConfig: rest.TLSClientConfig{CAData: s.CA, CertData: []byte(c.cert), KeyData: []byte(c.key)}}
			client := clientFor(t, config)
			var review authenticationv1.SelfSubjectReview
			r := client.AuthenticationV1().RESTClient().Post().Resource("selfsubjectreviews").Body(&authenticationv1.SelfSubjectReview{})
			for name, value := range headers {
				r.SetHeader(name, value)
			}
			err := r.Do(t.Context()).Into(&review)
			u := review.Status.UserInfo
			switch {
			case c.want == "" && !apierrors.IsUnauthorized(err), c.want != "" && (err != nil || u.Username != c.want):
				t.Errorf("got %+v, %v", u, err)
			case c.want == "root" && (u.UID != "7" || !strings.Contains(fmt.Sprint(u.Groups), "system:masters")),
				c.want != "root" && strings.Contains(fmt.Sprint(u.Groups), "system:masters"):
				t.Errorf("got %+v", u)
			}
		})
	}
}
