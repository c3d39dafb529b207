package authn

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/miniapiserver/miniapiserver/request"
)

// Proxy authenticates requests of an authenticating proxy, which sends the user in headers and
// identifies itself by a client certificate. The headers of other clients are ignored.
type Proxy struct {
	chains *chainVerifier[string] // maps certificates to common names
	own    *OwnCertificates
	names  []string
	ProxyHeaders
}

// ProxyHeaders are the names of the headers that contain the user: the first of Users and UIDs that
// is set, and all of Groups. Extra are prefixes; the percent-decoded rest of a header's name is the
// extra key.
type ProxyHeaders struct{ Users, UIDs, Groups, Extra []string }

// NewProxy returns the method for proxies with a certificate issued by one of the CAs and a common
// name in names; empty names allow any. It refuses certificates that API servers show to others.
func NewProxy(cas *CAFile, own *OwnCertificates, names []string, headers ProxyHeaders) *Proxy {
	common := func(c *x509.Certificate) (string, error) { return c.Subject.CommonName, own.checkMarks(c) }
	return &Proxy{chains: newChains(cas, common), own: own, names: names, ProxyHeaders: headers}
}

// WithClock has certificates judged by a clock, and returns p.
func (p *Proxy) WithClock(now func() time.Time) *Proxy {
	p.chains.now = now
	return p
}

// Authenticate implements Authenticator. It removes the headers from r.
func (p *Proxy) Authenticate(r *http.Request) (Identity, bool, error) {
	name := firstHeader(r.Header, p.Users)
	if name == "" || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return Identity{}, false, nil
	}
	if err := checkNotForKubelet(r); err != nil {
		return Identity{}, false, err
	}
	proxy, err := p.chains.check(r.TLS.PeerCertificates)
	if err != nil {
		return Identity{}, false, err
	}
	if len(p.names) > 0 && !slices.Contains(p.names, proxy) {
		return Identity{}, false, fmt.Errorf("x509: subject with cn=%s is not in the allowed list", proxy)
	}
	user := &request.User{Name: name, UID: firstHeader(r.Header, p.UIDs), Extra: p.extra(r.Header)}
	for _, header := range p.Groups {
		for _, group := range r.Header.Values(header) {
			if group != "" {
				user.Groups = append(user.Groups, group)
			}
		}
	}
	p.Clear(r.Header)
	return Identity{Method: "authenticating proxy", User: user}, true, nil
}

func firstHeader(header http.Header, names []string) string {
	for _, name := range names {
		if value := header.Get(name); value != "" {
			return value
		}
	}
	return ""
}

func (h *ProxyHeaders) extra(header http.Header) map[string][]string {
	var extra map[string][]string
	for _, prefix := range h.Extra {
		for name, values := range header {
			if len(name) < len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) {
				continue
			}
			if extra == nil {
				extra = map[string][]string{}
			}
			key := decodeExtraKey(strings.ToLower(name[len(prefix):]))
			extra[key] = append(extra[key], values...)
		}
	}
	return extra
}

// decodeExtraKey percent-decodes an extra key. A malformed one is used unchanged.
func decodeExtraKey(key string) string {
	if decoded, err := url.PathUnescape(key); err == nil {
		return decoded
	}
	return key
}

// Clear removes the headers, so that no backend trusts headers that a client sent.
func (h *ProxyHeaders) Clear(header http.Header) {
	for _, names := range [][]string{h.Users, h.UIDs, h.Groups} {
		for _, name := range names {
			header.Del(name)
		}
	}
	for _, prefix := range h.Extra {
		for name := range header {
			if len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
				delete(header, name)
			}
		}
	}
}
