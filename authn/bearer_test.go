package authn

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/miniapiserver/miniapiserver/request"
)

// brokenTokens is a kind of token whose lookup fails.
type brokenTokens struct{ err error }

func (b brokenTokens) AuthenticateToken(context.Context, string) (Identity, bool, error) {
	return Identity{}, false, b.err
}

func tokens(t *testing.T) TokenFile {
	t.Helper()
	table := TokenFile{}
	table.Add("good", &request.User{Name: "alice", Groups: []string{"dev"}})
	return table
}

func TestBearerHeader(t *testing.T) {
	cases := []struct {
		header, user string
		bad          bool
	}{
		{header: "Bearer good", user: "alice"},
		{header: "bearer good", user: "alice"},
		{header: " Bearer good ", user: "alice"},
		{header: "Bearer good trailing", user: "alice"},
		{header: ""},
		{header: "Bearer"},
		{header: "Bearer  good"},
		{header: "Basic YWxpY2U6eA=="},
		{header: "Bearergood"},
		{header: "Bearer goo", bad: true},
		{header: "Bearer goodd", bad: true},
		{header: "Bearer GOOD", bad: true},
	}
	for _, c := range cases {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", c.header)
		id, ok, err := Bearer{tokens(t)}.Authenticate(r)
		if (err != nil) != c.bad || ok != (c.user != "") {
			t.Errorf("%q: got ok %v, error %v", c.header, ok, err)
			continue
		}
		if ok && id.User.Name != c.user {
			t.Errorf("%q: got user %q", c.header, id.User.Name)
		}
		if ok && r.Header.Get("Authorization") != "" {
			t.Errorf("%q: the token is still in the request", c.header)
		}
	}
}

func TestBearerAsksOn(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", "Bearer good")
	down := errors.New("issuer is down")
	if _, ok, err := (Bearer{Tokens{brokenTokens{down}, tokens(t)}}).Authenticate(r); !ok || err != nil {
		t.Errorf("a later kind of token knows it: got ok %v, error %v", ok, err)
	}
	r.Header.Set("Authorization", "Bearer other")
	if _, _, err := (Bearer{Tokens{brokenTokens{down}, tokens(t)}}).Authenticate(r); !errors.Is(err, down) {
		t.Errorf("nobody knows it: got error %v, want %v", err, down)
	}
}
