// Package request has the state of a request that all layers share: the user, the parsed
// path and the warnings of the response. It is a leaf: it imports no other package of this
// project, and every package may import it.
package request

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"
	"unicode/utf8"
)

// User is an authenticated identity.
type User struct {
	Name   string
	UID    string
	Groups []string
	// Extra has further attributes by lower-case key.
	Extra map[string][]string
}

// Names of the built-in users and groups.
const (
	UserAnonymous        = "system:anonymous"
	UserAPIServer        = "system:apiserver"
	GroupMasters         = "system:masters"
	GroupAuthenticated   = "system:authenticated"
	GroupUnauthenticated = "system:unauthenticated"
)

// HeaderForKubelet marks requests that an API server sends to a kubelet with its client certificate. Users
// who choose the address of a kubelet can direct them to another API server, where the certificate is
// no credential.
const HeaderForKubelet = "Miniapiserver-For-Kubelet"

// Scope is the state of one request that the layers share. The handler chain creates it
// first and fills it in.
type Scope struct {
	// ID identifies the request in audit events and in the Audit-ID header. A client can choose it.
	ID string
	// Info is the parsed method and path.
	Info Info
	// User is the user that is authorized, after impersonation; nil before authentication.
	User *User
	// Impersonator is the authenticated user if it impersonates User; nil otherwise.
	Impersonator *User
	// Routed is set if Info matches a served resource and a verb that it supports. Then only
	// names and namespaces in Info are chosen by the client, which bounds the cardinality of
	// metrics.
	Routed bool
	// CountedAs has the labels with which metrics count a request for a page about the server; nil for all others.
	CountedAs *Counted
	// Traced is set if the context of the request has a Span, to which layers may add. Code that
	// every request runs must check it first: a request that is not traced pays nothing else.
	Traced bool
	// Audit collects data for the audit events; nil if the request is neither audited nor explained.
	Audit *AuditRecord
	// Account explains the answer; nil unless the server has a lab.
	Account *Account
	// Recording is the name of the recording to whose address the request was sent; empty for nearly all.
	Recording string
	// Running is the request as faults meet it while it runs; nil unless the server has a lab and the request is long-running.
	Running *Running
	// View is the late view from which the lab has the request read; nil for none.
	View View
	// Shuffle puts n things in a random order, as rand.Rand.Shuffle does, where kube-apiserver has a random one; nil keeps their order. It is
	// not safe for concurrent use.
	Shuffle func(n int, swap func(i, j int))
	// Durations has the durations of parts of the work.
	Durations Durations
	// InitialEventsSent, if set, must be called when a watch has sent its initial events.
	InitialEventsSent func()

	mu       sync.Mutex
	warnings []string
	// warned has the texts in warnings, and warnedLength their length as far as responses
	// show it.
	warned       map[string]struct{}
	warnedLength int
	annotations  annotations
}

// LogID returns the ID for logs and traces, which do not grow with what a client sends.
func (s *Scope) LogID() string {
	const longest = 64
	return s.ID[:min(len(s.ID), longest)]
}

// Counted are labels of metrics.
type Counted struct{ Group, Version, Resource string }

// Annotate adds an annotation to the audit events of the request. The first value of a key
// is kept. It is safe for concurrent use.
func (s *Scope) Annotate(key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.annotations.add(key, value)
}

// Annotations returns the audit annotations, sorted by key.
func (s *Scope) Annotations() []Annotation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.annotations.sorted()
}

// Bounds of the warnings in one response, in characters. If they are longer than
// WarningsTotal together, each is truncated to WarningsEach.
const (
	WarningsTotal = 4 << 10
	WarningsEach  = 256
)

// Warn adds a warning to the response, unless it is there already, or the response has no
// room for it. It is safe for concurrent use.
func (s *Scope) Warn(text string) {
	if text == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.warnedLength > WarningsTotal {
		return // a body may have hundreds of thousands of faults
	}
	if _, ok := s.warned[text]; ok {
		return
	}
	if s.warned == nil {
		s.warned = map[string]struct{}{}
	}
	s.warned[text] = struct{}{}
	s.warnings = append(s.warnings, text)
	s.warnedLength += min(utf8.RuneCountInString(text), WarningsEach)
}

// Warnings returns the warnings in the order in which they were added, as many as a response
// has room for.
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

// AsServer returns a context for writes by the server itself.
func AsServer(ctx context.Context) context.Context {
	return With(ctx, &Scope{User: &User{Name: UserAPIServer, Groups: []string{GroupMasters}}})
}

// From returns the Scope of ctx, or a new empty one if ctx has none, so that callers need no
// check.
func From(ctx context.Context) *Scope {
	if s, ok := ctx.Value(scopeKey{}).(*Scope); ok {
		return s
	}
	return newScope()
}

// newScope is not inlined, because an empty Scope would take half a kilobyte of the stack of every function that calls From.
//
//go:noinline
func newScope() *Scope { return &Scope{} }

// NewUUID returns a random (version 4) UUID with 36 characters.
func NewUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return formatUUID(b)
}

// NewOrderedUUID returns a UUID (version 7) that begins with the time, in quarters of a microsecond. Those of one process are
// in the order in which they were made, as far as the clock tells.
func NewOrderedUUID(now time.Time) string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	const perMilli = 4096
	millis, fraction := uint64(now.UnixMilli()), uint64(now.Nanosecond()%int(time.Millisecond))*perMilli/uint64(time.Millisecond)
	binary.BigEndian.PutUint64(b[:8], millis<<16|0x7000|fraction)
	b[8] = b[8]&0x3f | 0x80
	return formatUUID(b)
}

func formatUUID(b [16]byte) string {
	text := []byte("........-....-....-....-............")
	hex.Encode(text, b[:4])
	hex.Encode(text[9:], b[4:6])
	hex.Encode(text[14:], b[6:8])
	hex.Encode(text[19:], b[8:10])
	hex.Encode(text[24:], b[10:])
	return string(text)
}
