package request

import (
	"bytes"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Recorder records requests with what explains their answers.
type Recorder interface {
	// Begin is called when a request arrives, before its user is known. The scope has the request's ID, info and Account.
	Begin(r *http.Request, scope *Scope, received time.Time) Recording
	// Tap returns what gets the bytes of a request and of its response, before its user is known; nil if nobody wants them.
	Tap(r *http.Request, scope *Scope, received time.Time) Tap
	// Readdress returns the recording to whose address a request was sent, and the beginning of the path that is that address.
	Readdress(path string) (recording, prefix string, ok bool)
}

// Tap gets the bytes of a request and of its response. Only the goroutine that serves the request uses it, and the bytes are valid
// during the call alone.
type Tap interface {
	// Sent is called with bytes of the body of the request when they have been read.
	Sent(b []byte)
	// Began is called when the response begins. The header must not be changed.
	Began(code int, header http.Header)
	// Wrote is called with bytes of the body of the response before they are sent.
	Wrote(b []byte)
	// Ended is called at the end of the response, also of one that did not begin. An aborted one breaks the connection.
	Ended(isAborted bool)
}

// Recording is a request that is recorded. Only the goroutine that serves the request uses it.
type Recording interface {
	// Started is called when the response of a long-running request begins.
	Started(code int)
	// Ended is called at the end of the response, which has written bytes.
	Ended(code, written int)
}

// Account explains the answer to a request: it has the states of the object on the way from the body to the store, and what
// refused the request. The spans of the request have the steps and what each found out; the audit record has the Status. Only
// requests of a server with a lab have an Account. A nil Account records nothing. It is safe for concurrent use.
type Account struct {
	// chain has the steps of the handler chain, of which chainLength are used, and facts what they found out, each after those of the
	// step before. Only the goroutine of the request writes them. Arrays of this size are one allocation for a request.
	chain                    [6]ChainStep
	facts                    [8]Annotation
	chainLength, factsLength uint8
	open                     bool // the last step has not ended

	mu      sync.Mutex
	span    *Span // of the verb
	states  []ObjectState
	refusal Refusal
	status  *metav1.Status // in a response whose audit event has none
	// attempts counts the attempts of the write of an object of the kind written, which begin after the first sent states. kind
	// is that of the last state.
	attempts, sent          int
	written, sentKind, kind any
	stored                  Stored
	dryRun                  bool
	manager                 string
	patch                   Patch
	watch                   func() WatchCounts
}

// Patch is a patch in a request: its media type and the body.
type Patch struct {
	Type string
	Data []byte
}

// ChainStep is a step of the handler chain, with what it found out.
type ChainStep struct {
	Name  string
	Start time.Time
	Took  time.Duration
	// begin and end are its facts in Account.facts.
	begin, end uint8
}

// BeginStep begins a step of the handler chain.
func (a *Account) BeginStep(name string) {
	if a == nil || int(a.chainLength) == len(a.chain) {
		return
	}
	a.chain[a.chainLength] = ChainStep{Name: name, Start: time.Now(), begin: a.factsLength, end: a.factsLength}
	a.chainLength, a.open = a.chainLength+1, true
}

// EndStep ends the step that BeginStep began.
func (a *Account) EndStep() {
	if a == nil || !a.open {
		return
	}
	s := &a.chain[a.chainLength-1]
	s.Took, a.open = time.Since(s.Start), false
}

// Fact records what the current step of the handler chain found out. Behind the chain it records nothing.
func (a *Account) Fact(name, value string) {
	if a == nil || !a.open || value == "" {
		return
	}
	if int(a.factsLength) < len(a.facts) {
		a.facts[a.factsLength] = Annotation{name, value}
		a.factsLength++
		a.chain[a.chainLength-1].end = a.factsLength
	}
}

// Chain returns the steps of the handler chain. It must not be called before the end of the chain.
func (a *Account) Chain() []ChainStep { return a.chain[:a.chainLength] }

// Facts returns what a step of the chain found out.
func (a *Account) Facts(s *ChainStep) []Annotation { return a.facts[s.begin:s.end] }

// SetSpan sets the span of the verb, which has the steps behind the chain.
func (a *Account) SetSpan(s *Span) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.span = s
}

// ObjectState is an object between two steps.
type ObjectState struct {
	// By is what made the state from the one before it, such as the name of an admission plugin. It is empty for a state from
	// which the next one is compared but which was not made from the one before it.
	By string
	// Data is an encoding by which states are compared, and Decode returns the JSON of it. Both are of the same version of the kind as
	// those of the state before, unless By is empty.
	Data   []byte
	Decode func(data []byte) ([]byte, error)
	// kind decodes Data if Decode is nil.
	kind StateKind
}

// JSON returns the JSON of the state.
func (s *ObjectState) JSON() ([]byte, error) {
	if s.Decode != nil {
		return s.Decode(s.Data)
	}
	return s.kind.DecodeState(s.Data)
}

// StateKind encodes the states of objects of a kind.
type StateKind interface {
	// AppendState appends an encoding of an object.
	AppendState(b []byte, obj any) ([]byte, error)
	// DecodeState returns the JSON of an encoding.
	DecodeState(data []byte) ([]byte, error)
}

// Authors of changes that are no plugins (ObjectState.By).
const (
	ChangedByDecoding   = "decoding and defaults"
	ChangedByPatch      = "the patch"
	ChangedByApply      = "the apply"
	ChangedByView       = "the subresource"
	ChangedByServer     = "the server"
	ChangedByAllocation = "allocation"
	ChangedByFields     = "field management"
)

// Layers that refuse requests (Refusal.By), as the lab's API names them.
const (
	RefusedByAuthentication = "authentication"
	RefusedByImpersonation  = "impersonation"
	RefusedByFlowControl    = "flow control"
	RefusedByAuthorization  = "authorization"
	RefusedByRouting        = "routing"
	RefusedByDecoding       = "decoding"
	RefusedByPlugin         = "admission plugin"
	RefusedByWebhook        = "admission webhook"
	RefusedByPolicy         = "admission policy"
	RefusedByConversion     = "conversion webhook"
	RefusedByFieldManagers  = "field management"
	RefusedByPrecondition   = "precondition"
	RefusedByConflict       = "conflict"
	RefusedByValidation     = "validation"
	RefusedByStorage        = "storage"
	RefusedByFault          = "fault"
)

// Refusal is what refused a request.
type Refusal struct {
	// By is the layer, one of the causes of the lab's API.
	By string
	// Name is that of the plugin, the webhook or the policy.
	Name string
	// Message is why, if the response does not say so.
	Message string
	// Expression is that of a policy that was not fulfilled, and Variables are the variables of the policy with their values.
	Expression string
	Variables  map[string]string
}

// Stored is an object after a write.
type Stored struct{ Name, UID, ResourceVersion string }

// WatchCounts are the numbers of what a watch has sent.
type WatchCounts struct {
	Events, Bookmarks int64
	// Lag is the longest time between a change and its event since the last call.
	Lag time.Duration
	// Ended is the reason for which the watch has ended.
	Ended string
}

// scratches are buffers in which states are encoded before they are compared.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

// maxScratch is the size up to which a buffer is used again, in bytes.
const maxScratch = 64 << 10

// NewState adds the state of an object, which by made, unless it equals the state before. States of another kind than that of
// the write, which a layer writes meanwhile, are left out.
func (a *Account) NewState(kind StateKind, by string, obj any) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.attempts > 0 && kind != a.written {
		return
	}
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	encoded, err := kind.AppendState((*scratch)[:0], obj)
	if err != nil {
		return
	}
	if cap(encoded) <= maxScratch {
		*scratch = encoded
	}
	if kind != a.kind { // the body was of another kind: an eviction, a scale
		by = ""
	}
	if n := len(a.states); n > 0 && by != "" && bytes.Equal(a.states[n-1].Data, encoded) {
		return
	}
	a.kind = kind
	a.states = append(a.states, ObjectState{By: by, Data: bytes.Clone(encoded), kind: kind})
}

// SentState adds a state of the body of a request, which is of a kind.
func (a *Account) SentState(kind any, s ObjectState) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kind = kind
	a.states = append(a.states, s)
}

// DropStates drops the states of the object and the patch, which are large.
func (a *Account) DropStates() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.states, a.patch.Data = nil, nil
}

// BeginAttempt is called when an attempt of a write of an object of a kind begins. A further attempt drops the states of the one
// before it. Writes of other kinds, which a layer makes meanwhile, do not count. The manager is the field manager.
func (a *Account) BeginAttempt(kind any, manager string, dryRun bool) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.attempts > 0 && kind != a.written {
		return
	}
	if a.attempts++; a.attempts == 1 {
		a.written, a.sent, a.sentKind = kind, len(a.states), a.kind
		a.manager, a.dryRun = manager, dryRun
	}
	a.states, a.kind = a.states[:a.sent], a.sentKind
}

// Refuse records what refused the request. The first refusal counts, which is that of the innermost layer.
func (a *Account) Refuse(r Refusal) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refusal.By == "" {
		a.refusal = r
	}
}

// SetStatus records the Status in a response whose audit event has none, as in kube-apiserver.
func (a *Account) SetStatus(s *metav1.Status) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status = s
}

// SetStored records the object after the write.
func (a *Account) SetStored(s Stored) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stored = s
}

// HasPatch reports whether the request has a patch.
func (a *Account) HasPatch() bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.patch.Type != ""
}

// SetPatch records the patch in the request.
func (a *Account) SetPatch(mediaType string, data []byte) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.patch = Patch{mediaType, data}
}

// SetDryRun records that a request without attempts, a deletion, must store nothing.
func (a *Account) SetDryRun() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dryRun = true
}

// FollowWatch records how to read what the watch has sent.
func (a *Account) FollowWatch(counts func() WatchCounts) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.watch = counts
}

// Found is the content of an Account.
type Found struct {
	Span    *Span // nil for reads, unless they are traced
	States  []ObjectState
	Refusal Refusal
	Status  *metav1.Status // in the response if the audit record has none
	Retries int
	Stored  Stored
	DryRun  bool
	Manager string
	Patch   Patch
	Watch   func() WatchCounts // nil unless the request is a watch that has begun
}

// Found returns the content.
func (a *Account) Found() Found {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Found{a.span, a.states, a.refusal, a.status, max(a.attempts-1, 0), a.stored, a.dryRun, a.manager, a.patch, a.watch}
}

// SpanStep is a step of a span: an event, or a span in it.
type SpanStep struct {
	// Depth is the number of spans around the step; 0 for the span itself.
	Depth      int
	Name       string
	Start      time.Time
	Took       time.Duration // 0 for an event, and for a span that has not ended
	attributes []attribute.KeyValue
	span       *Span // whose attributes are those of the step; nil for an event
}

// Attributes returns what the step found out.
func (s *SpanStep) Attributes() []attribute.KeyValue {
	if s.span != nil {
		return s.span.attributes()
	}
	return s.attributes
}

// Steps calls f with the span and all steps in it, each before the steps inside it.
func (s *Span) Steps(f func(*SpanStep)) {
	if s != nil {
		s.visit(0, f)
	}
}

func (s *Span) visit(depth int, f func(*SpanStep)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	step := SpanStep{Depth: depth, Name: s.name, Start: s.start, Took: s.took, span: s}
	f(&step)
	for i := range s.steps {
		inner := &s.steps[i]
		if inner.span != nil {
			inner.span.visit(depth+1, f)
			continue
		}
		step = SpanStep{Depth: depth + 1, Name: inner.name, Start: inner.at, Took: inner.took, attributes: inner.attributes}
		f(&step)
	}
}

// Did records a step that took from start until now, without a span of its own.
func (s *Span) Did(name string, start time.Time, took time.Duration, attributes ...attribute.KeyValue) {
	if s == nil {
		return
	}
	s.add(spanStep{name: name, at: start, took: took, attributes: attributes})
}
