package aggregation

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/peercert"
	"github.com/miniapiserver/miniapiserver/registry/services"
	"github.com/miniapiserver/miniapiserver/request"
)

// What Go and kube-apiserver allow idle connections and handshakes.
const (
	idleTimeout      = 90 * time.Second
	handshakeTimeout = 10 * time.Second
	maxIdle          = 25
)

// Remote is a server that serves a group version in the place of this one.
type Remote struct {
	Name string
	schema.GroupVersion
	Priority api.Priority
	// To is the service that the server is behind.
	To services.Reference

	spec      apiregistrationv1.APIServiceSpec
	available atomic.Bool
	document  atomic.Pointer[Document]
	schemas   atomic.Pointer[schemas]
	swagger   atomic.Pointer[swagger]
	resolver  *services.Resolver
	// plain and upgrades are connections for requests, and for those that turn
	// into something else, which HTTP/2 cannot. Err says why there are none.
	plain, upgrades *http.Transport
	shown           *peercert.Counters
	err             error
}

// connect makes the connections to the server that an APIService leads to. They
// are only dialled when they are used.
func (s *Services) connect(a *apiregistrationv1.APIService) *Remote {
	r := &Remote{
		Name: a.Name, GroupVersion: versionOf(a.Name),
		Priority: api.Priority{Group: a.Spec.GroupPriorityMinimum, Version: a.Spec.VersionPriority},
		To:       services.Reference{Namespace: a.Spec.Service.Namespace, Name: a.Spec.Service.Name, Port: *a.Spec.Service.Port},
		spec:     *a.Spec.DeepCopy(), resolver: s.Resolver, shown: s.Shown,
	}
	r.available.Store(isAvailable(a))
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: r.To.ServerName(), InsecureSkipVerify: a.Spec.InsecureSkipTLSVerify,
	}
	if s.Certificate != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return s.Certificate() }
	}
	if len(a.Spec.CABundle) > 0 {
		if config.RootCAs, r.err = services.Roots(a.Spec.CABundle); r.err != nil {
			return r
		}
	}
	transport := func(http2 bool) *http.Transport {
		var p http.Protocols
		p.SetHTTP1(true)
		p.SetHTTP2(http2)
		return &http.Transport{
			TLSClientConfig: config.Clone(), TLSHandshakeTimeout: handshakeTimeout, Protocols: &p,
			IdleConnTimeout: idleTimeout, MaxIdleConnsPerHost: maxIdle, DisableCompression: true,
			DialContext: r.dial(s.Dial),
		}
	}
	r.plain, r.upgrades = transport(true), transport(false)
	return r
}

// dial connects to where the address that the cluster knows leads.
func (r *Remote) dial(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if at, err := r.resolver.Resolve(ctx, r.To); err == nil && at.Host == address {
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

// Available tells whether the server could be reached when that was looked at
// last.
func (r *Remote) Available() bool { return r.available.Load() }

// Transport is how the server is spoken to, for a request that wants to become
// something else or not.
func (r *Remote) Transport(upgrade bool) (http.RoundTripper, error) {
	switch {
	case r.err != nil:
		return nil, r.err
	case upgrade:
		return r.shown.Watch(r.upgrades), nil
	}
	return r.shown.Watch(r.plain), nil
}

// Host is the address of the server.
func (r *Remote) Host(ctx context.Context) (string, error) {
	at, err := r.resolver.Resolve(ctx, r.To)
	return at.Host, err
}

// Names of headers that say for whom a request is passed on.
const (
	headerUser  = "X-Remote-User"
	headerUID   = "X-Remote-Uid"
	headerGroup = "X-Remote-Group"
	headerExtra = "X-Remote-Extra-"
)

// SayUser says in headers who sent a request. What they said before is no more.
func SayUser(h http.Header, user *request.User) {
	for name := range h {
		if len(name) >= len(headerExtra) && strings.EqualFold(name[:len(headerExtra)], headerExtra) {
			delete(h, name)
		}
	}
	h.Set(headerUser, user.Name)
	h.Del(headerUID)
	if user.UID != "" {
		h.Set(headerUID, user.UID)
	}
	h.Del(headerGroup)
	for _, group := range user.Groups {
		h.Add(headerGroup, group)
	}
	for key, values := range user.Extra {
		for _, value := range values {
			h.Add(headerExtra+escape(key), value)
		}
	}
}

// escape writes a key so that it can be a part of a header's name.
func escape(key string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(key) {
		if c := key[i]; legal(c) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// legal tells of what a header's name may consist of, but for the sign of what is
// escaped.
func legal(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$&'*+-.^_`|~", c) >= 0
}
