package conformance

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server"
)

// logged collects the log of a server.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestRefused checks that invalid credentials are rejected with the right code for every request,
// and appear neither in responses nor in logs nor in metrics.
func TestRefused(t *testing.T) {
	log := &logged{}
	dir := t.TempDir()
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte("alice-token-is-secret,alice,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, server.Options{Serving: server.Serving{CertDir: dir},
		Authentication: server.Authentication{TokenFile: tokens},
		Logger:         slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug - 10}))})
	admin := clientFor(t, s.RESTConfig())
	ctx := t.Context()
	if _, err := admin.CoreV1().ServiceAccounts("default").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token := func(audiences ...string) string {
		t.Helper()
		r, err := admin.CoreV1().ServiceAccounts("default").CreateToken(ctx, "robot", &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Status.Token
	}
	good, vault := token(), token("vault")
	parts := strings.Split(good, ".")
	encode := base64.RawURLEncoding.EncodeToString
	masters := encode([]byte(`{"iss":"https://kubernetes.default.svc.cluster.local","sub":"system:serviceaccount:kube-system:admin"}`))
	strangersCert, strangersKey := signed(t, otherCA(t), "root", time.Hour)
	oldCert, oldKey := signed(t, dir, "root", -time.Minute)
	for _, c := range []struct {
		name, token, cert, key string
		headers                []string
		want                   int
		secret                 string
	}{
		{name: "good", token: good, want: 200},
		{name: "unknown", token: "no-such-token-is-secret", want: 401, secret: "no-such-token-is-secret"},
		{name: "almost", token: "alice-token-is-secreT", want: 401, secret: "alice-token-is-secreT"},
		{name: "bootstrap", token: "abcdef.0123456789abcdef", want: 401, secret: "0123456789abcdef"},
		{name: "audience", token: vault, want: 401, secret: strings.Split(vault, ".")[2]},
		{name: "alg none", token: encode([]byte(`{"alg":"none"}`)) + "." + masters + ".", want: 401, secret: masters},
		{name: "payload changed", token: parts[0] + "." + masters + "." + parts[2], want: 401, secret: parts[2]},
		{name: "signature cut", token: parts[0] + "." + parts[1] + ".", want: 401, secret: parts[1]},
		{name: "certificate of another CA", cert: strangersCert, key: strangersKey, want: 401},
		{name: "certificate expired", cert: oldCert, key: oldKey, want: 401},
		{name: "headers without a proxy", headers: []string{"X-Remote-User", "root", "X-Remote-Group", "system:masters"}, want: 403},
		{name: "impersonation", token: "alice-token-is-secret", headers: []string{"Impersonate-User", "root"}, want: 403, secret: "alice-token-is-secret"},
		{name: "impersonation of masters", token: good, headers: []string{"Impersonate-User", "root", "Impersonate-Group", "system:masters"}, want: 403, secret: parts[2]},
		{name: "impersonation by nobody", headers: []string{"Impersonate-User", "root"}, want: 403},
		{name: "group without a user", token: good, headers: []string{"Impersonate-Group", "system:masters"}, want: 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			transport, err := rest.TransportFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: s.CA, CertData: []byte(c.cert), KeyData: []byte(c.key)}})
			if err != nil {
				t.Fatal(err)
			}
			path := "/api/v1/secrets"
			if c.want == 200 {
				path = "/version"
			}
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.token != "" {
				r.Header.Set("Authorization", "Bearer "+c.token)
			}
			for i := 0; i < len(c.headers); i += 2 {
				r.Header.Set(c.headers[i], c.headers[i+1])
			}
			resp, err := (&http.Client{Transport: transport}).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != c.want {
				t.Fatalf("got %s %s, %v", resp.Status, body, err)
			}
			if c.want == 401 && !bytes.Contains(body, []byte(`"reason":"Unauthorized"`)) {
				t.Errorf("got %s", body)
			}
			if c.secret != "" && bytes.Contains(body, []byte(c.secret)) {
				t.Error("the answer holds the secret")
			}
			if c.secret != "" && strings.Contains(log.String(), c.secret) {
				t.Error("the log holds the secret")
			}
		})
	}
	if text := log.String(); strings.Count(text, "authentication failed") < 8 {
		t.Errorf("it is not logged who is not let in:\n%s", text)
	}
	metrics, err := admin.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`apiserver_client_certificate_expiration_seconds_count `, `authentication_attempts{result="error"} `, `authenticated_user_requests{username="other"} `, `apiserver_impersonation_attempts_total{decision="denied",mode=""} `} {
		if !bytes.Contains(metrics, []byte(want)) {
			t.Errorf("metrics have no %s", want)
		}
	}
	for _, secret := range []string{"is-secret", parts[2]} {
		if bytes.Contains(metrics, []byte(secret)) {
			t.Error("metrics hold a secret")
		}
	}
	key, err := os.Stat(filepath.Join(dir, "sa.key"))
	if err != nil || fmt.Sprint(key.Mode()) != "-rw-------" {
		t.Errorf("the key: %v, %v", key, err)
	}
}

// otherCA returns a directory with an untrusted CA.
func otherCA(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	startServer(t, server.Options{Serving: server.Serving{CertDir: dir}})
	return dir
}
