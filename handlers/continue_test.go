package handlers

import (
	"encoding/base64"
	"path"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/storage"
)

// TestContinueTokens checks that a token decodes to the encoded values.
func TestContinueTokens(t *testing.T) {
	for _, c := range []struct{ key, prefix string }{{"ns/name", ""}, {"ns/name", "ns/"}, {"name", ""}} {
		got, err := parseContinue(tokenAfter(c.key, c.prefix, 7), "0")
		if err != nil || got.after(c.prefix) != c.key || got.read() != (storage.Read{Match: storage.Exact, Revision: 7}) {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
	// As kube-apiserver writes the token of a list of one namespace.
	if got, want := tokenAfter("ns/a", "ns/", 7), `{"v":"meta.k8s.io/v1","rv":7,"start":"a\u0000"}`; got != base64.RawURLEncoding.EncodeToString([]byte(want)) {
		t.Errorf("got %s", got)
	}
	if got, err := parseContinue("", "5"); got != nil || err != nil {
		t.Errorf("no token: %v, %v", got, err)
	}
	if got, err := parseContinue(continueToken{Revision: -1, Start: "a"}.String(), ""); err != nil || got.read().Match != storage.Consistent {
		t.Errorf("a token for any revision: %+v, %v", got, err)
	}
}

// TestBadContinueTokens checks that invalid tokens are bad requests.
func TestBadContinueTokens(t *testing.T) {
	for _, c := range []struct{ token, version, message string }{
		{tokenAfter("a", "", 7), "7", "specifying resource version is not allowed when using continue"},
		{"%", "", "illegal base64"},
		{"%", "7", "illegal base64"},
		{"e30", "", `server does not recognize this encoded version `},
		{base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":"7"}`)), "", "cannot unmarshal"},
		{continueToken{Start: "a"}.String(), "", "incorrect encoded start resourceVersion"},
		{continueToken{Revision: 7}.String(), "", "encoded start key empty"},
		{base64.RawURLEncoding.EncodeToString([]byte(`{"v":"x"}`)), "", "server does not recognize this encoded version x"},
		{base64.RawURLEncoding.EncodeToString([]byte(`[]`)), "", "Go value of type storage.continueToken"},
		{continueToken{Revision: 7, Start: "//a"}.String(), "", "continue key is not valid: /a"},
		{continueToken{Revision: 7, Start: "../a"}.String(), "", "continue key is not valid: ../a"},
		{continueToken{Revision: 7, Start: "a/.."}.String(), "", "continue key is not valid: a/.."},
		{continueToken{Revision: 7, Start: "a//b"}.String(), "", "continue key is not valid: a//b"},
	} {
		_, err := parseContinue(c.token, c.version)
		if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v, want %q", c.token, err, c.message)
		}
	}
}

// FuzzContinue checks that no token makes the parser panic or leave the collection.
func FuzzContinue(f *testing.F) {
	f.Add(tokenAfter("ns/a", "ns/", 7))
	f.Add(base64.URLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":-1,"start":"a/b"}`)))
	f.Add(base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":9223372036854775808,"start":"../../x"}`)))
	f.Fuzz(func(t *testing.T, s string) {
		token, err := parseContinue(s, "")
		if err != nil {
			if !apierrors.IsBadRequest(err) {
				t.Error(err)
			}
			return
		}
		if token == nil {
			return
		}
		if key := "/" + token.after("ns/"); path.Clean(key) != key && path.Clean(key+"\x00") != key+"\x00" {
			t.Errorf("%q leads to %q", s, key)
		}
		again, err := parseContinue(token.String(), "")
		if err != nil || *again != *token {
			t.Errorf("%q: written and read again it is %+v, %v; was %+v", s, again, err, token)
		}
	})
}
