// Package request holds what every layer may know of the request being served:
// who asks (User), what for (Info) and the warnings that go back with the
// answer. It is a leaf: it imports nothing of this project, and everything may
// import it.
package request

import (
	"context"
	"maps"
	"sync"
)

// User is an authenticated identity.
type User struct {
	Name   string
	UID    string
	Groups []string
	// Extra are further attributes by lower-case key.
	Extra map[string][]string
}

// Names of users and groups that the server itself knows.
const (
	UserAnonymous        = "system:anonymous"
	UserAPIServer        = "system:apiserver"
	GroupMasters         = "system:masters"
	GroupAuthenticated   = "system:authenticated"
	GroupUnauthenticated = "system:unauthenticated"
)

// Scope is what the layers share about one request. The chain makes it before
// anything else and fills it in as the request goes down.
type Scope struct {
	// ID identifies the request in logs and in the Audit-ID header.
	ID string
	// Info is what the URL and method ask for.
	Info Info
	// User is who asks; nil until authentication has run.
	User *User
	// Impersonator is who sent the request, where User is whom he wants to be
	// for it; nil for those who act as themselves.
	Impersonator *User
	// Routed tells that Info leads to a resource that is served, by a verb that
	// it has: nothing of it is then made up by the client but names.
	Routed bool
	// Begun, where it is set, is to be called when a watch has sent what it
	// begins with, and is no more than a connection.
	Begun func()

	mu          sync.Mutex
	warnings    []string
	annotations map[string]string
}

// Annotate says something of the request for its audit event.
func (s *Scope) Annotate(key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.annotations == nil {
		s.annotations = map[string]string{}
	}
	s.annotations[key] = value
}

// Annotations returns a copy of what was said of the request so far.
func (s *Scope) Annotations() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.annotations)
}

// Warn adds a warning to the answer; one that is there already is not added
// again. It may be called from several goroutines.
func (s *Scope) Warn(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.warnings {
		if w == text {
			return
		}
	}
	s.warnings = append(s.warnings, text)
}

// Warnings returns what was warned of so far, in order.
func (s *Scope) Warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.warnings
}

type scopeKey struct{}

// With returns a context that carries s.
func With(ctx context.Context, s *Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, s)
}

// AsServer returns a context for what the server writes as itself.
func AsServer(ctx context.Context) context.Context {
	return With(ctx, &Scope{User: &User{Name: UserAPIServer, Groups: []string{GroupMasters}}})
}

// From returns the Scope of ctx. A context that carries none gives an empty one
// that nobody else sees, so that callers need no check.
func From(ctx context.Context) *Scope {
	if s, ok := ctx.Value(scopeKey{}).(*Scope); ok {
		return s
	}
	return &Scope{}
}
