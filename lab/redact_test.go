package lab

import (
	"encoding/base64"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api"
)

// secretKind is a kind with confidential fields.
var secretKind = &api.Resource{AnyKind: api.AnyKind{Names: api.Names{Name: "secrets", Kind: "Secret"}, Confidential: []string{"data", "stringData", "metadata.annotations"}},
	New: func() api.Object { return &corev1.Secret{} }}

// TestRedact checks what of a body is kept. The placeholders of a row are numbered from 1.
func TestRedact(t *testing.T) {
	const encoded = "bGFiLXJlZGFjdGVkLTE=" // lab-redacted-1
	jwt := "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.c2lnbmF0dXJl"
	key := base64.StdEncoding.EncodeToString([]byte("-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\n"))
	for _, c := range []struct{ body, want string }{
		{`{"kind":"Secret","data":{"a":"c2VjcmV0"},"stringData":{"b":"secret"}}`, `{"data":{"a":"` + encoded + `"},"kind":"Secret","stringData":{"b":"lab-redacted-1"}}`},
		{`{"data":{"a":null,"b":""}}`, `{"data":{"a":null,"b":""}}`},
		{`{"stringData":["secret"]}`, `{"stringData":["lab-redacted-1"]}`},
		{`{"stringData":{"a":"{\"auths\":{}}"}}`, `{"stringData":{"a":"{\"lab-redacted-1\":\"\"}"}}`},
		{`[{"op":"add","path":"/data/x","value":"c2VjcmV0"},{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`,
			`[{"op":"add","path":"/data/x","value":"` + encoded + `"},{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`},
		{`[{"op":"replace","path":"","value":{"data":{"a":"c2VjcmV0"}}}]`, `[{"op":"replace","path":"","value":{"data":{"a":"` + encoded + `"}}}]`},
		{`{"kind":"ConfigMap","data":{"a":"secret"}}`, ""}, // of another kind
		{`not JSON`, ""},
	} {
		got, ok := newRedactor(newSecrets(), secretKind, "").request([]byte(c.body))
		if string(got) != c.want || ok != (c.want != "") {
			t.Errorf("%s: %s", c.body, got)
		}
	}
	for _, c := range []struct{ body, want string }{
		{`{"kind":"SecretList","items":[{"data":{"a":"c2VjcmV0"}}]}`, `{"items":[{"data":{"a":"` + encoded + `"}}],"kind":"SecretList"}`},
		{`{"type":"ADDED","object":{"kind":"Secret","data":{"a":"c2VjcmV0"}}}`, `{"object":{"data":{"a":"` + encoded + `"},"kind":"Secret"},"type":"ADDED"}`},
		{`{"kind":"Table","rows":[{"cells":["x"],"object":{"metadata":{"annotations":{"a":"secret"}}}}]}`,
			`{"kind":"Table","rows":[{"cells":["x"],"object":{"metadata":{"annotations":{"a":"lab-redacted-1"}}}}]}`},
		{`{"kind":"Status","message":"invalid: secret","details":{"causes":[{"message":"secret"}],"name":"x"}}`,
			`{"details":{"name":"x"},"kind":"Status","message":"` + withheldMessage + `"}`},
	} {
		if got, ok := newRedactor(newSecrets(), secretKind, "").response([]byte(c.body)); string(got) != c.want || !ok {
			t.Errorf("%s: %s", c.body, got)
		}
	}
	// Credentials in the text of any kind.
	for text, want := range map[string]string{
		"token " + jwt + ".": "token lab-redacted-1.",
		"key: " + key:        "key: " + encoded,
		"-----BEGIN PRIVATE KEY-----\\nMII\\n-----END PRIVATE KEY-----":                     "lab-redacted-1",
		"Authorization: Bearer abcdef123456789":                                             "Authorization: Bearer lab-redacted-1",
		"bearer of bad news":                                                                "bearer of bad news",
		`current-context: a\nusers:\n- user:\n    token: s3cret\n    password: other\n`:     `current-context: a\nusers:\n- user:\n    token: lab-redacted-1\n    password: lab-redacted-2\n`,
		`{\"current-context\":\"a\",\"users\":[{\"user\":{\"client-key-data\":\"AAAA\"}}]}`: `{\"current-context\":\"a\",\"users\":[{\"user\":{\"client-key-data\":\"lab-redacted-1\"}}]}`,
		"event nginx1.17a3f2b4c5d6e7f8":                                                     "event nginx1.17a3f2b4c5d6e7f8",
	} {
		if got := newRedactor(newSecrets(), nil, "").text(text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	// The same value has the same placeholder.
	r := newRedactor(newSecrets(), secretKind, "")
	first, _ := r.request([]byte(`{"stringData":{"a":"one","b":"two","c":"one"}}`))
	if want := `{"stringData":{"a":"lab-redacted-N","b":"lab-redacted-M","c":"lab-redacted-N"}}`; strings.NewReplacer("-1", "-N", "-2", "-M").Replace(string(first)) != want &&
		strings.NewReplacer("-2", "-N", "-1", "-M").Replace(string(first)) != want {
		t.Errorf("%s", first)
	}
}

// BenchmarkTap measures what a request pays while there is no Recording.
func BenchmarkTap(b *testing.B) {
	l := New(Config{})
	r, s := httptest.NewRequest("GET", "/", nil), scopeOf("get")
	b.ReportAllocs()
	for b.Loop() {
		if l.Tap(r, s, time.Time{}) != nil {
			b.Fatal("it is recorded")
		}
		if _, _, ok := l.Readdress("/api/v1/namespaces/default/configmaps/c"); ok {
			b.Fatal("it is readdressed")
		}
	}
}
