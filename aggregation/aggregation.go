// Package aggregation finds the server of a group version: this server, or an extension API
// server that an APIService refers to.
//
// Services is an index of the APIServices that is always as new as the cache. A Remote is an
// APIService that refers to a service, with the connections to its server. A DiscoveryDocument
// is the discovery document of a remote server's group version.
//
// Reading order: aggregation.go has the index; remote.go the connections and the user headers;
// check.go the availability check; discovery.go, openapiv3.go and openapiv2.go the remote
// documents, and groups.go the merged discovery.
//
// The package serves no requests: package handlers proxies them, and a loop in package
// controllers runs the availability checks.
package aggregation

import (
	"crypto/tls"
	"net"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/outbound"
	"github.com/miniapiserver/miniapiserver/internal/peercert"
	"github.com/miniapiserver/miniapiserver/kinds/apiregistration"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/registry/services"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Config configures Services.
type Config struct {
	Registry *registry.Registry
	Resolver *services.Resolver
	// Certificate returns the server's client certificate, by which remote servers trust its
	// user headers.
	Certificate func() (*tls.Certificate, error)
	// Dial opens connections; nil means net.Dialer.
	Dial outbound.DialFunc
	// Guard restricts the addresses of connections.
	Guard outbound.Guard
	// PeerCertificates counts weak certificates of remote servers.
	PeerCertificates *peercert.Counters
	// NoUserUIDs omits the UID from the user headers.
	NoUserUIDs bool
}

// Services is an index of the APIServices. It is safe for concurrent use.
type Services struct {
	Config
	mu      sync.RWMutex // guards the fields below, and calls of cursor.Next
	cursor  *storage.Cursor
	entries map[string]*apiServiceEntry // by name
	remotes map[schema.GroupVersion]*Remote
	changes uint64 // number of changes of remotes and their documents
}

// apiServiceEntry is the part of an APIService that discovery needs.
type apiServiceEntry struct {
	name string
	schema.GroupVersion
	priority api.Priority
}

// New returns an index. It fails if the catalogue has no APIServices.
func New(c Config) (*Services, error) {
	cursor, err := c.Registry.Cursor(apiregistrationv1.Resource(apiregistration.APIServices))
	if err != nil {
		return nil, err
	}
	if c.Dial == nil {
		c.Dial = c.Guard.Dialer(net.Dialer{})
	} else {
		c.Dial = c.Guard.Restrict(c.Dial)
	}
	return &Services{Config: c, cursor: cursor, entries: map[string]*apiServiceEntry{}, remotes: map[schema.GroupVersion]*Remote{}}, nil
}

// Close closes idle connections.
func (s *Services) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.remotes {
		r.close()
	}
	clear(s.remotes)
}

// rlock brings the index up to date with the cache and locks it for reading.
func (s *Services) rlock() {
	s.mu.RLock()
	if !s.cursor.Behind() {
		return
	}
	s.mu.RUnlock()
	s.mu.Lock()
	steps, all := s.cursor.Next()
	if all {
		clear(s.entries)
		there := map[schema.GroupVersion]bool{}
		for _, step := range steps {
			there[groupVersionOf(step.Item.Name())] = true
		}
		for gv := range s.remotes {
			if !there[gv] {
				s.removeRemote(gv)
			}
		}
	}
	for _, step := range steps {
		s.applyStep(step)
	}
	s.mu.Unlock()
	s.mu.RLock()
}

// groupVersionOf returns the group version of the APIService with the name.
func groupVersionOf(name string) schema.GroupVersion {
	version, group, _ := strings.Cut(name, ".")
	return schema.GroupVersion{Group: group, Version: version}
}

// applyStep applies one change; the caller holds s.mu.
func (s *Services) applyStep(step storage.Step) {
	name := step.Item.Name()
	gv := groupVersionOf(name)
	obj, err := step.Item.Object()
	if step.Deleted || err != nil { // the store has logged the error
		delete(s.entries, name)
		s.removeRemote(gv)
		return
	}
	a := obj.(*apiregistrationv1.APIService)
	s.entries[name] = &apiServiceEntry{name, gv, api.Priority{Group: a.Spec.GroupPriorityMinimum, Version: a.Spec.VersionPriority}}
	switch was := s.remotes[gv]; {
	case a.Spec.Service == nil:
		s.removeRemote(gv)
	case was != nil && equality.Semantic.DeepEqual(was.spec, a.Spec):
		was.available.Store(isAvailable(a))
	default:
		s.removeRemote(gv)
		s.remotes[gv] = s.connect(a)
		s.changes++
	}
}

// removeRemote removes a remote server; the caller holds s.mu.
func (s *Services) removeRemote(gv schema.GroupVersion) {
	if was := s.remotes[gv]; was != nil {
		was.close()
		delete(s.remotes, gv)
		s.changes++
	}
}

func isAvailable(a *apiregistrationv1.APIService) bool {
	c := apiregistration.APIServiceAvailable(a)
	return c != nil && c.Status == apiregistrationv1.ConditionTrue
}

// Remote returns the remote server of a group version, or nil if this server serves it.
func (s *Services) Remote(gv schema.GroupVersion) *Remote {
	if s == nil {
		return nil
	}
	s.rlock()
	defer s.mu.RUnlock()
	return s.remotes[gv]
}

// ByName returns the remote server of the APIService with the name, or nil if this server
// serves it.
func (s *Services) ByName(name string) *Remote { return s.Remote(groupVersionOf(name)) }

// ForPath returns the remote server of a path, or nil if this server serves it.
func (s *Services) ForPath(path string) *Remote {
	if s == nil {
		return nil
	}
	s.rlock()
	defer s.mu.RUnlock()
	if len(s.remotes) == 0 {
		return nil
	}
	return remoteForPath(s.remotes, path)
}

func remoteForPath(remotes map[schema.GroupVersion]*Remote, path string) *Remote {
	if rest, ok := strings.CutPrefix(path, "/apis/"); ok {
		group, rest, _ := strings.Cut(rest, "/")
		version, _, _ := strings.Cut(rest, "/")
		return remotes[schema.GroupVersion{Group: group, Version: version}]
	}
	if path == "/api" || strings.HasPrefix(path, "/api/") {
		return remotes[schema.GroupVersion{Version: "v1"}]
	}
	return nil
}

// ForService returns the names of the APIServices that refer to a service.
func (s *Services) ForService(namespace, name string) []string {
	s.rlock()
	defer s.mu.RUnlock()
	var names []string
	for _, r := range s.remotes {
		if r.Service.Namespace == namespace && r.Service.Name == name {
			names = append(names, r.Name)
		}
	}
	return names
}
