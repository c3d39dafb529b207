package aggregation

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/outbound"
	"github.com/miniapiserver/miniapiserver/internal/peercert"
	"github.com/miniapiserver/miniapiserver/registry/services"
	"github.com/miniapiserver/miniapiserver/request"
)

// Remote is an extension API server that serves a group version.
type Remote struct {
	Name string
	schema.GroupVersion
	Priority api.Priority
	// Service is the service of the server.
	Service outbound.Service

	spec      apiregistrationv1.APIServiceSpec
	available atomic.Bool
	document  atomic.Pointer[DiscoveryDocument]
	openAPIV3 atomic.Pointer[openAPIV3Location]
	openAPIV2 atomic.Pointer[openAPIV2Document]
	resolver  *services.Resolver
	// plain has connections for requests, and upgrades for requests that switch protocols,
	// which HTTP/2 cannot do. Both are nil if err is set.
	plain, upgrades  *http.Transport
	peerCertificates *peercert.Counters
	noUserUIDs       bool
	err              error
}

// connect returns the Remote of an APIService. Connections are dialled on use.
func (s *Services) connect(a *apiregistrationv1.APIService) *Remote {
	r := &Remote{
		Name: a.Name, GroupVersion: groupVersionOf(a.Name),
		Priority: api.Priority{Group: a.Spec.GroupPriorityMinimum, Version: a.Spec.VersionPriority},
		Service:  outbound.Service{Namespace: a.Spec.Service.Namespace, Name: a.Spec.Service.Name, Port: *a.Spec.Service.Port},
		spec:     *a.Spec.DeepCopy(), resolver: s.Resolver, peerCertificates: s.PeerCertificates, noUserUIDs: s.NoUserUIDs,
	}
	r.available.Store(isAvailable(a))
	config := &tls.Config{
		ServerName: r.Service.ServerName(), InsecureSkipVerify: a.Spec.InsecureSkipTLSVerify,
	}
	if s.Certificate != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return s.Certificate() }
	}
	if len(a.Spec.CABundle) > 0 {
		if config.RootCAs, r.err = outbound.ParseCABundle(a.Spec.CABundle); r.err != nil {
			return r
		}
	}
	// As in kube-apiserver, the server asks for compressed responses on behalf of clients that say
	// nothing about compression, and decompresses them.
	transport := func(plain bool) *http.Transport {
		return outbound.Transport(outbound.Config{TLS: config, Dial: r.dial(s.Dial), HTTP2: plain, Verbatim: !plain})
	}
	r.plain, r.upgrades = transport(true), transport(false)
	return r
}

// dial returns a dial function that replaces the cluster address of the service by its
// resolved address.
func (r *Remote) dial(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string,
	string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if at, err := r.resolver.Resolve(ctx, r.Service); err == nil && at.Host == address {
			address = at.Dial
		}
		return dial(ctx, network, address)
	}
}

func (r *Remote) close() {
	if r.err == nil {
		r.plain.CloseIdleConnections()
		r.upgrades.CloseIdleConnections()
	}
}

// Available reports the result of the last availability check.
func (r *Remote) Available() bool { return r.available.Load() }

// Transport returns the transport for requests that upgrade the connection, or for others.
func (r *Remote) Transport(upgrade bool) (http.RoundTripper, error) {
	switch {
	case r.err != nil:
		return nil, r.err
	case upgrade:
		return r.peerCertificates.InstrumentTransport(r.upgrades), nil
	}
	return r.peerCertificates.InstrumentTransport(r.plain), nil
}

// Host returns the address of the server.
func (r *Remote) Host(ctx context.Context) (string, error) {
	at, err := r.resolver.Resolve(ctx, r.Service)
	return at.Host, err
}

// Request headers that carry the user of a proxied request.
const (
	headerUser  = "X-Remote-User"
	headerUID   = "X-Remote-Uid"
	headerGroup = "X-Remote-Group"
	headerExtra = "X-Remote-Extra-"
)

// SetUserHeaders sets the headers that carry the user of a request, in place of any that the
// client sent.
func (r *Remote) SetUserHeaders(h http.Header, user *request.User) {
	for name := range h {
		if len(name) >= len(headerExtra) && strings.EqualFold(name[:len(headerExtra)], headerExtra) {
			delete(h, name)
		}
	}
	h.Set(headerUser, user.Name)
	h.Del(headerUID)
	if user.UID != "" && !r.noUserUIDs {
		h.Set(headerUID, user.UID)
	}
	h.Del(headerGroup)
	for _, group := range user.Groups {
		h.Add(headerGroup, group)
	}
	for key, values := range user.Extra {
		for _, value := range values {
			h.Add(headerExtra+escapeHeaderKey(key), value)
		}
	}
}

// escapeHeaderKey percent-encodes a key for use in a header name.
func escapeHeaderKey(key string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(key) {
		if c := key[i]; isHeaderNameByte(c) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// isHeaderNameByte reports whether a header name may contain c unescaped. The percent sign is
// excluded because escape uses it.
func isHeaderNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$&'*+-.^_`|~", c) >= 0
}
