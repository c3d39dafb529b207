package server

import (
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestLogHasNoSecrets sends Secrets, tokens and credentials of all kinds in valid and invalid
// forms, and looks for them in the log at the highest verbosity.
func TestLogHasNoSecrets(t *testing.T) {
	const marker = "SENSITIVE" // base64url, and part of every secret below
	encoded := base64.StdEncoding.EncodeToString([]byte(marker))
	key := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(marker, 4)[:32]))
	dir := t.TempDir()
	encryption, tokens := filepath.Join(dir, "encryption.yaml"), filepath.Join(dir, "tokens.csv")
	encryptionConfig(t, encryption, "secrets", "{secretbox: {keys: [{name: k, secret: "+key+"}]}}")
	if err := os.WriteFile(tokens, []byte(marker+"-known,jane,jane-id\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log := &lockedBuffer{}
	s, err := Start(t.Context(), Options{
		Encryption:     Encryption{ConfigFile: encryption},
		Authentication: Authentication{BootstrapTokens: true, TokenFile: tokens},
		Logger:         slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.Level(-1000)})),
	})
	if err != nil {
		t.Fatal(err)
	}
	client := clientOf(t, s.RESTConfig())
	_, err = client.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"k": marker},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var issued *authenticationv1.TokenRequest
	eventually.Succeeds(t, "a token is issued", func() (err error) { // a controller creates the account
		issued, err = client.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		return err
	})
	c := raw(t, s)
	secrets := s.URL + "/api/v1/namespaces/default/secrets"
	claims := base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"https://kubernetes.default.svc.cluster.local","sub":"` + marker + `"}`))
	head := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256","kid":"` + marker + `"}`))
	for _, r := range []struct {
		method, url, body string
		headers           []string
	}{
		{"GET", secrets, "", []string{"Authorization", "Bearer " + marker}},
		{"GET", secrets, "", []string{"Authorization", "Bearer " + marker + "-known"}},
		{"GET", secrets, "", []string{"Authorization", "Bearer " + marker + ".b.c"}},
		{"GET", secrets, "", []string{"Authorization", "Bearer " + head + "." + claims + "." + marker}},
		{"GET", secrets, "", []string{"Authorization", "Bearer " + head + "." + marker + "." + marker}},
		{"GET", secrets, "", []string{"Authorization", "Bearer abcdef." + strings.ToLower(marker) + "1234567"}},
		{"GET", secrets, "", []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("u:"+marker))}},
		{"GET", secrets, "", []string{"Authorization", "Negotiate " + marker, "Proxy-Authorization", "Basic " + marker, "Cookie", "session=" + marker}},
		{"GET", secrets, "", []string{"Authorization", "Bearer " + issued.Status.Token}},
		{"GET", secrets + "?watch=1", "", []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13",
			"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol", "base64url.bearer.authorization.k8s.io." + marker}},
		{"GET", secrets + "/s", "", []string{"Authorization", "Bearer " + s.Token}},
		{"POST", secrets, `{"metadata":{"name":"a"},"data":{"k":"` + marker + `!"}}`, nil},
		{"POST", secrets, `{"metadata":{"name":"a"},"data":{"k":"` + encoded + `"}`, nil},
		{"POST", secrets, `{"metadata":{"name":"A B"},"data":{"k":"` + encoded + `"}}`, nil},
		{"POST", secrets, `{"metadata":{"name":"s"},"data":{"k":"` + encoded + `"}}`, nil},
		{"PUT", secrets + "/s", `{"metadata":{"name":"s","resourceVersion":"1"},"stringData":{"k":"` + marker + `"}}`, nil},
		{"PATCH", secrets + "/s", `{"stringData":{"k":"` + marker + `"}}`, []string{"Content-Type", "application/merge-patch+json"}},
		{"PATCH", secrets + "/s", `[{"op":"test","path":"/data/k","value":"` + marker + `"}]`, []string{"Content-Type", "application/json-patch+json"}},
		{"PATCH", secrets + "/s?fieldManager=m&force=true", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"k":"` + marker + `"}}`,
			[]string{"Content-Type", "application/apply-patch+yaml"}},
		{"POST", s.URL + "/apis/authentication.k8s.io/v1/tokenreviews", `{"spec":{"token":"` + marker + `"}}`, nil},
		{"POST", s.URL + "/apis/authentication.k8s.io/v1/tokenreviews", `{"spec":{"token":"` + head + "." + claims + "." + marker + `"}}`, nil},
		{"POST", s.URL + "/apis/authentication.k8s.io/v1/tokenreviews", `{"spec":{"token":"` + issued.Status.Token + `"}}`, nil},
	} {
		request, err := http.NewRequestWithContext(t.Context(), r.method, r.url, strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		if r.headers == nil || r.method == "PATCH" {
			request.Header.Set("Authorization", "Bearer "+s.Token)
		}
		for i := 0; i < len(r.headers); i += 2 {
			request.Header.Set(r.headers[i], r.headers[i+1])
		}
		used := c
		if request.Header.Get("Upgrade") != "" {
			used = &http.Client{Transport: &http.Transport{TLSClientConfig: c.Transport.(*http.Transport).TLSClientConfig.Clone(), DisableKeepAlives: true}}
		}
		w, err := used.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, w.Body)
		if err = errors.Join(err, w.Body.Close()); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s %s: %d", r.method, r.url, w.StatusCode)
	}
	if err := client.CoreV1().Secrets("default").Delete(t.Context(), "s", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	token := s.Token
	halt(t, s)
	text := log.String()
	if n := strings.Count(text, `"msg":"request"`); n < 24 {
		t.Fatalf("the log has %d requests", n)
	}
	signature := issued.Status.Token[strings.LastIndexByte(issued.Status.Token, '.')+1:]
	for name, secret := range map[string]string{
		"a value": marker, "its base64 form": encoded, "a lower-case value": strings.ToLower(marker), "a key": key, "the administrator's token": token,
		"an issued token": signature, "the claims of a token": claims,
	} {
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("the log has %s: %s", name, text[max(0, i-300):min(len(text), i+300)])
		}
	}
}
