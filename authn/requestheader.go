package authn

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/miniapiserver/miniapiserver/request"
)

// Proxy is the method of authenticating proxies: the proxy found out who the
// user is, says so in headers, and shows by its client certificate that it may
// be believed. The headers of anybody else count for nothing.
type Proxy struct {
	chains *chains[string] // their values are common names
	names  []string
	ProxyHeaders
}

// ProxyHeaders are the names of the headers: of the first of Users and UIDs that
// is there, and of all Groups. What follows one of Extra in the name of a header
// is, percent-decoded, the key of a further attribute.
type ProxyHeaders struct{ Users, UIDs, Groups, Extra []string }

// NewProxy returns the method for proxies with certificates of the CAs and a
// common name out of names; no names mean any.
func NewProxy(cas *CAFile, names []string, headers ProxyHeaders) *Proxy {
	common := func(c *x509.Certificate) (string, error) { return c.Subject.CommonName, nil }
	return &Proxy{chains: newChains(cas, common), names: names, ProxyHeaders: headers}
}

// Authenticate believes the headers of r if they are a proxy's.
func (p *Proxy) Authenticate(r *http.Request) (Identity, bool, error) {
	name := first(r.Header, p.Users)
	if name == "" || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return Identity{}, false, nil
	}
	proxy, err := p.chains.check(r.TLS.PeerCertificates)
	if err != nil {
		return Identity{}, false, err
	}
	if len(p.names) > 0 && !slices.Contains(p.names, proxy) {
		return Identity{}, false, fmt.Errorf("x509: subject with cn=%s is not in the allowed list", proxy)
	}
	user := &request.User{Name: name, UID: first(r.Header, p.UIDs), Extra: p.extra(r.Header)}
	for _, header := range p.Groups {
		for _, group := range r.Header.Values(header) {
			if group != "" {
				user.Groups = append(user.Groups, group)
			}
		}
	}
	p.Clear(r.Header)
	return Identity{User: user}, true, nil
}

func first(header http.Header, names []string) string {
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
			rest, ok := cutPrefixFold(name, prefix)
			if !ok {
				continue
			}
			if extra == nil {
				extra = map[string][]string{}
			}
			key := decodedKey(strings.ToLower(rest))
			extra[key] = append(extra[key], values...)
		}
	}
	return extra
}

// decodedKey is a percent-encoded key; one that is not well encoded is taken as
// it is.
func decodedKey(key string) string {
	if decoded, err := url.PathUnescape(key); err == nil {
		return decoded
	}
	return key
}

func cutPrefixFold(s, prefix string) (rest string, ok bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// Clear takes the headers out of a request, so that nothing behind this server
// believes what nobody vouched for.
func (h *ProxyHeaders) Clear(header http.Header) {
	for _, names := range [][]string{h.Users, h.UIDs, h.Groups} {
		for _, name := range names {
			header.Del(name)
		}
	}
	for _, prefix := range h.Extra {
		for name := range header {
			if _, ok := cutPrefixFold(name, prefix); ok {
				delete(header, name)
			}
		}
	}
}
