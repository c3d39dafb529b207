package handlers

import (
	"encoding/base64"
	"errors"
	"path"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/storage"
)

// TestContinueTokens checks that a token decodes to the encoded values.
func TestContinueTokens(t *testing.T) {
	for _, c := range []struct{ key, prefix string }{{"ns/name", ""}, {"ns/name", "ns/"}, {"name", ""}} {
		for _, cached := range []bool{true, false} {
			got, err := parseContinue(tokenAfter(c.key, c.prefix, 7, cached), "0")
			if err != nil || got.after(c.prefix) != c.key || got.read() != (storage.Read{Match: storage.Exact, Revision: 7}) {
				t.Errorf("%+v: %+v, %v", c, got, err)
			}
		}
	}
	// As kube-apiserver writes the tokens of lists.
	for _, c := range []struct {
		key, prefix string
		cached      bool
		want        string
	}{
		{"ns/a", "ns/", true, `/a\u0000`},
		{"ns/a", "", true, `/ns/a\u0000`},
		{"ns/a", "ns/", false, `a\u0000`},
		{"ns/a", "", false, `ns/a\u0000`},
	} {
		if got, want := tokenAfter(c.key, c.prefix, 7, c.cached), `{"v":"meta.k8s.io/v1","rv":7,"start":"`+c.want+`"}`; got != base64.RawURLEncoding.EncodeToString([]byte(want)) {
			t.Errorf("%+v: got %s", c, got)
		}
	}
	// A token for any revision is one of etcd.
	err := errContinueExpired(&continueToken{Revision: 7, Start: "/a\x00"})
	want := base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":-1,"start":"a\u0000"}`))
	if status := (&apierrors.StatusError{}); !errors.As(err, &status) || status.ErrStatus.Continue != want {
		t.Errorf("got %v", err)
	}
	if got, err := parseContinue(continueToken{Revision: 7, Start: "/"}.String(), ""); err != nil || got.after("ns/") != "ns/" {
		t.Errorf("a token for the start: %+v, %v", got, err)
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
		{tokenAfter("a", "", 7, true), "7", "specifying resource version is not allowed when using continue"},
		{"%", "", "illegal base64"},
		{tokenAfter("a", "", 7, true), "00", "specifying resource version is not allowed when using continue"},
		{tokenAfter("a", "", 7, true) + "=", "", "illegal base64"},
		{"%", "7", "illegal base64"},
		{"e30", "", `server does not recognize this encoded version `},
		{base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":"7"}`)), "", "cannot unmarshal"},
		{continueToken{Start: "a"}.String(), "", "incorrect encoded start resourceVersion"},
		{continueToken{Revision: 7}.String(), "", "encoded start key empty"},
		{base64.RawURLEncoding.EncodeToString([]byte(`{"v":"x"}`)), "", "server does not recognize this encoded version x"},
		{base64.RawURLEncoding.EncodeToString([]byte(`[]`)), "", "Go value of type storage.continueToken"},
		{continueToken{Revision: 7, Start: "//a"}.String(), "", "continue key is not valid: //a"},
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
	f.Add(tokenAfter("ns/a", "ns/", 7, true))
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
