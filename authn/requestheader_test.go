package authn

import (
	"crypto/x509/pkix"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/request"
)

func TestProxy(t *testing.T) {
	proxies, clients := newIssuer(t), newIssuer(t)
	cas, err := NewCAFile("CAs of proxies", proxies.pem(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	headers := ProxyHeaders{Users: []string{"X-Remote-User", "X-User"}, UIDs: []string{"X-Remote-Uid"}, Groups: []string{"X-Remote-Group"}, Extra: []string{"X-Remote-Extra-"}}
	front := with(proxies.client(t, pkix.Name{CommonName: "front"}))
	other := with(proxies.client(t, pkix.Name{CommonName: "other"}))
	client := with(clients.client(t, pkix.Name{CommonName: "front"}))
	none := with()
	full := map[string][]string{"X-Remote-User": {"jane"}, "X-Remote-Uid": {"7"}, "X-Remote-Group": {"dev", "", "ops"},
		"X-Remote-Extra-Acme.com%2fproject": {"one", "two"}, "X-Remote-Extra-Scopes": {"view"}}
	for _, c := range []struct {
		name    string
		names   []string
		r       *http.Request
		headers map[string][]string
		want    *request.User
		err     string
	}{
		{name: "all", r: front, headers: full, want: &request.User{Name: "jane", UID: "7", Groups: []string{"dev", "ops"},
			Extra: map[string][]string{"acme.com/project": {"one", "two"}, "scopes": {"view"}}}},
		{name: "second header", r: front, headers: map[string][]string{"X-User": {"june"}}, want: &request.User{Name: "june"}},
		{name: "any name", r: other, headers: full, names: []string{}, want: &request.User{Name: "jane", UID: "7", Groups: []string{"dev", "ops"},
			Extra: map[string][]string{"acme.com/project": {"one", "two"}, "scopes": {"view"}}}},
		{name: "no headers", r: front},
		{name: "groups alone", r: front, headers: map[string][]string{"X-Remote-Group": {"system:masters"}}},
		{name: "no certificate", r: none, headers: full},
		{name: "a client's certificate", r: client, headers: full, err: "certificate signed by unknown authority"},
		{name: "another name", r: other, headers: full, err: "x509: subject with cn=other is not in the allowed list"},
	} {
		t.Run(c.name, func(t *testing.T) {
			names := c.names
			if names == nil {
				names = []string{"front"}
			}
			proxy := NewProxy(cas, nil, names, headers)
			for range 2 { // the second result comes from the cache
				r := c.r.Clone(t.Context())
				for name, values := range c.headers {
					r.Header[name] = values
				}
				id, ok, err := proxy.Authenticate(r)
				if ok != (c.want != nil) || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
					t.Fatalf("got %v, %v", ok, err)
				}
				if !reflect.DeepEqual(id.User, c.want) {
					t.Errorf("got %+v", id.User)
				}
				if ok && len(r.Header) > 0 {
					t.Errorf("left: %v", r.Header)
				}
			}
		})
	}
}

func TestWebSocketToken(t *testing.T) {
	const good = "base64url.bearer.authorization.k8s.io.Z29vZA" // "good"
	for _, c := range []struct {
		name, protocols, left string
		ok                    bool
		err                   string
	}{
		{name: "none", protocols: "v4.channel.k8s.io", left: "v4.channel.k8s.io"},
		{name: "good", protocols: good + ", v4.channel.k8s.io", left: "v4.channel.k8s.io", ok: true},
		{name: "alone", protocols: good, err: "missing additional subprotocol"},
		{name: "bad", protocols: protocolPrefix + "bm8, x", err: "invalid bearer token"},
		{name: "two", protocols: good + "," + good + ",x", err: "multiple base64.bearer.authorization tokens specified"},
		{name: "encoding", protocols: protocolPrefix + "?,x", err: "invalid base64.bearer.authorization token encoding"},
		{name: "no text", protocols: protocolPrefix + "_w,x", err: "invalid base64.bearer.authorization token"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := with()
			r.Header.Set("Upgrade", "websocket")
			r.Header.Set("Connection", "keep-alive, Upgrade")
			r.Header.Set("Sec-WebSocket-Protocol", c.protocols)
			id, ok, err := WebSocket{tokens(t)}.Authenticate(r)
			if ok != c.ok || (err != nil) != (c.err != "") || err != nil && err.Error() != c.err {
				t.Fatalf("got %v, %v", ok, err)
			}
			if ok && id.User.Name != "alice" {
				t.Errorf("got %+v", id.User)
			}
			if err == nil && r.Header.Get("Sec-WebSocket-Protocol") != c.left {
				t.Errorf("left: %q", r.Header.Get("Sec-WebSocket-Protocol"))
			}
		})
	}
	plain := with()
	plain.Header.Set("Sec-WebSocket-Protocol", good+",x")
	if _, ok, err := (WebSocket{tokens(t)}).Authenticate(plain); ok || err != nil {
		t.Errorf("no WebSocket: %v, %v", ok, err)
	}
}
