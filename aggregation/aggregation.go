// Package aggregation knows who serves a group version: this server itself, or
// another one that an APIService leads to.
//
// The nouns: Services is an index of the APIServices, as new as the cache that it
// is read from; a Remote is an APIService that names a service, with its
// connections; a Document is what a remote server tells of the kinds that it has.
//
// Reading order: aggregation.go has the index; remote.go connections and what
// they show of the user; check.go whether a remote server can be reached;
// discovery.go, openapi.go and swagger.go what it serves, and groups.go the order
// of all that is served.
//
// It answers no requests: package handlers passes them on, and a loop in package
// controllers checks what can be reached.
package aggregation

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/peercert"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/registry/services"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Config is what Services are made from.
type Config struct {
	Registry *registry.Registry
	Resolver *services.Resolver
	// Certificate is what the server shows to remote servers, so that they believe
	// what it says of users.
	Certificate func() (*tls.Certificate, error)
	// Dial makes connections; nil means net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Shown counts the certificates that remote servers show.
	Shown *peercert.Counters
}

// Services are the APIServices that there are. It is safe for concurrent use.
type Services struct {
	Config
	mu      sync.RWMutex // guards what follows, and the cursor while it moves
	cursor  *storage.Cursor
	entries map[string]*entry // by name
	remotes map[schema.GroupVersion]*Remote
	changes uint64 // how often remotes, or their documents, were others
}

// entry is what discovery has to know of an APIService.
type entry struct {
	name string
	schema.GroupVersion
	priority api.Priority
}

// New makes an index; nil if there are no APIServices in the catalogue.
func New(c Config) (*Services, error) {
	cursor, err := c.Registry.Cursor(apiregistrationv1.Resource(api.APIServices))
	if err != nil {
		return nil, err
	}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{}).DialContext
	}
	return &Services{Config: c, cursor: cursor, entries: map[string]*entry{}, remotes: map[schema.GroupVersion]*Remote{}}, nil
}

// Close ends the connections that are not in use.
func (s *Services) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.remotes {
		r.close()
	}
	clear(s.remotes)
}

// rlock locks the index for reading, as new as the cache.
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
			there[versionOf(step.Item.Name())] = true
		}
		for gv := range s.remotes {
			if !there[gv] {
				s.drop(gv)
			}
		}
	}
	for _, step := range steps {
		s.take(step)
	}
	s.mu.Unlock()
	s.mu.RLock()
}

// versionOf is the group version that an APIService of a name is about.
func versionOf(name string) schema.GroupVersion {
	version, group, _ := strings.Cut(name, ".")
	return schema.GroupVersion{Group: group, Version: version}
}

// take takes in one change; s.mu is held.
func (s *Services) take(step storage.Step) {
	name := step.Item.Name()
	gv := versionOf(name)
	obj, err := step.Item.Object()
	if step.Gone || err != nil { // storage has told of it
		delete(s.entries, name)
		s.drop(gv)
		return
	}
	a := obj.(*apiregistrationv1.APIService)
	s.entries[name] = &entry{name, gv, api.Priority{Group: a.Spec.GroupPriorityMinimum, Version: a.Spec.VersionPriority}}
	switch was := s.remotes[gv]; {
	case a.Spec.Service == nil:
		s.drop(gv)
	case was != nil && equality.Semantic.DeepEqual(was.spec, a.Spec):
		was.available.Store(isAvailable(a))
	default:
		s.drop(gv)
		s.remotes[gv] = s.connect(a)
		s.changes++
	}
}

// drop forgets a remote server; s.mu is held.
func (s *Services) drop(gv schema.GroupVersion) {
	if was := s.remotes[gv]; was != nil {
		was.close()
		delete(s.remotes, gv)
		s.changes++
	}
}

func isAvailable(a *apiregistrationv1.APIService) bool {
	c := api.APIServiceAvailable(a)
	return c != nil && c.Status == apiregistrationv1.ConditionTrue
}

// Remote is the server that serves a group version; nil if that is this one.
func (s *Services) Remote(gv schema.GroupVersion) *Remote {
	if s == nil {
		return nil
	}
	s.rlock()
	defer s.mu.RUnlock()
	return s.remotes[gv]
}

// Named is the server that an APIService of a name leads to; nil if that is this
// one.
func (s *Services) Named(name string) *Remote { return s.Remote(versionOf(name)) }

// At is the server that serves a path; nil if that is this one.
func (s *Services) At(path string) *Remote {
	if s == nil {
		return nil
	}
	s.rlock()
	defer s.mu.RUnlock()
	return at(s.remotes, path)
}

func at(remotes map[schema.GroupVersion]*Remote, path string) *Remote {
	if len(remotes) == 0 {
		return nil
	}
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

// Behind are the names of the APIServices that lead to a service.
func (s *Services) Behind(namespace, name string) []string {
	s.rlock()
	defer s.mu.RUnlock()
	var names []string
	for _, r := range s.remotes {
		if r.To.Namespace == namespace && r.To.Name == name {
			names = append(names, r.Name)
		}
	}
	return names
}
