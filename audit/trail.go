package audit

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/net"

	"github.com/miniapiserver/miniapiserver/request"
)

// slow is the time from which on the events of a request contain the durations of its
// parts.
const slow = 500 * time.Millisecond

// latencyPrefix is the prefix of the annotations with durations.
const latencyPrefix = "apiserver.latency.k8s.io/"

// Trail makes the events of one request. Only the goroutine that serves the request uses
// it.
type Trail struct {
	auditor *Auditor
	scope   *request.Scope
	event   Event
	omit    stageSet
	// longRunning requests have an event when their response starts, which is made once.
	longRunning, started bool
	received             time.Time     // in real time
	status               metav1.Status // that of the event, unless the response has no header
}

// trails are those of requests that have ended, whose memory is used again.
var trails = sync.Pool{New: func() any { return new(Trail) }}

// Begin decides how the request is recorded and returns its trail; nil if it is not. The
// authenticated user, if there is one, is in scope. received is the time at which the
// request arrived. From then on scope.Audit collects data for the events.
func (a *Auditor) Begin(r *http.Request, scope *request.Scope, received time.Time) *Trail {
	d := a.policy.decide(scope.User, &scope.Info)
	a.metrics.levels[d.level].Inc()
	if d.level == request.AuditNone {
		return nil
	}
	return a.newTrail(r, scope, received, d)
}

// newTrail returns a trail with the metadata of the request.
func (a *Auditor) newTrail(r *http.Request, scope *request.Scope, received time.Time, d decision) *Trail {
	info, arrived := &scope.Info, received
	if a.isMovable {
		arrived = a.now().Add(-time.Since(received))
	}
	scope.Audit = &request.AuditRecord{Level: d.level, OmitManagedFields: d.omitManagedFields}
	t := trails.Get().(*Trail)
	*t = Trail{auditor: a, scope: scope, omit: d.omit, longRunning: info.IsLongRunning(), received: received, event: Event{
		Level: d.level, ID: scope.ID, RequestURI: r.URL.RequestURI(), Verb: info.Verb, User: scope.User,
		UserAgent: truncateUserAgent(r.UserAgent()), RequestReceivedTimestamp: arrived,
		described: t.event.described[:0],
	}}
	t.event.SourceIPs = sourceIPs(r)
	if info.IsResource {
		t.event.IsResource = true
		t.event.Object = ObjectReference{Resource: info.Resource, Namespace: info.Namespace, Name: info.Name,
			Group: info.Group, Version: info.Version, Subresource: info.Subresource}
	}
	return t
}

// sourceIPs returns the addresses from which a request came: those in the headers of proxies, and
// that of its connection.
func sourceIPs(r *http.Request) []string {
	if r.Header.Get("X-Forwarded-For") == "" && r.Header.Get("X-Real-Ip") == "" {
		if at, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && at.Addr().Zone() == "" {
			return []string{at.Addr().Unmap().String()}
		}
	}
	var out []string
	for _, ip := range net.SourceIPs(r) {
		out = append(out, ip.String())
	}
	return out
}

// Received records that the request arrived. If it returns false, the request must be
// refused, because the event of its arrival could not be recorded.
func (t *Trail) Received() bool {
	if t.record(StageRequestReceived) {
		return true
	}
	t.auditor.metrics.rejected.Inc()
	return false
}

// Started records the code of the response when its header is written.
func (t *Trail) Started(code int) {
	if t.started {
		return
	}
	t.started = true
	if s := t.scope.Audit.ResponseStatus; s != nil {
		t.status = metav1.Status{Status: s.Status, Message: s.Message, Reason: s.Reason, Details: s.Details}
		t.event.ResponseStatus = &t.status
	} else if t.event.ResponseStatus == nil {
		t.event.ResponseStatus = &t.status
	}
	t.event.ResponseStatus.Code = int32(code)
	if t.longRunning {
		t.record(StageResponseStarted)
	}
}

// Complete records the end of the request. The trail is not used afterwards.
func (t *Trail) Complete() {
	if !t.started {
		t.event.ResponseStatus = &metav1.Status{Code: http.StatusOK, Status: metav1.StatusSuccess, Message: "Connection closed early"}
		if t.longRunning {
			t.record(StageResponseStarted)
		}
	}
	now := t.auditor.now()
	// The time of a watch is not that of work.
	took := now.Sub(t.event.RequestReceivedTimestamp)
	if t.auditor.isMovable {
		took = time.Since(t.received)
	}
	if took > slow && !t.scope.Info.Watch {
		t.annotateDurations(took)
	}
	t.recordAt(StageResponseComplete, now)
	t.release()
}

// release lets another request use the memory of the trail, and keeps nothing of this one alive.
func (t *Trail) release() {
	const maxKept = 16 << 10
	described := t.event.described[:0]
	if cap(described) > maxKept {
		described = nil
	}
	*t = Trail{event: Event{described: described}}
	trails.Put(t)
}

func (t *Trail) annotateDurations(total time.Duration) {
	found := false
	t.scope.Durations.Each(func(p request.Part, took time.Duration) {
		t.scope.Annotate(latencyPrefix+p.String(), took.String())
		found = true
	})
	if found {
		t.scope.Annotate(latencyPrefix+"total", total.String())
	}
}

// Panicked records that the request ended by a panic.
func (t *Trail) Panicked(value any) {
	t.event.ResponseStatus = &metav1.Status{Code: http.StatusInternalServerError, Status: metav1.StatusFailure,
		Reason: metav1.StatusReasonInternalError, Message: fmt.Sprintf("APIServer panic'd: %v", value)}
	t.record(StagePanic)
}

// record makes the event of a stage, and reports whether the backends accepted it.
func (t *Trail) record(stage Stage) bool {
	if t.omit.has(stage) {
		return true
	}
	at := t.event.RequestReceivedTimestamp
	if stage != StageRequestReceived {
		at = t.auditor.now()
	}
	return t.recordAt(stage, at)
}

// recordAt is record for a stage that was reached at a time.
func (t *Trail) recordAt(stage Stage, at time.Time) bool {
	if t.omit.has(stage) {
		return true
	}
	e, record := &t.event, t.scope.Audit
	e.Stage, e.StageTimestamp = stage, at
	if stage == StageRequestReceived {
		e.describe() // the event of the end is likely to describe the request in the same way
	} else {
		if t.scope.Impersonator != nil || record.BodyMeta != nil || record.Constraint != "" {
			e.forget()
		}
		e.RequestObject, e.ResponseObject, e.Constraint = record.RequestObject, record.ResponseObject, record.Constraint
		if t.scope.Impersonator != nil {
			e.ImpersonatedUser = t.scope.User
		}
		if record.BodyMeta != nil {
			e.Object.complete(record.BodyMeta)
		}
	}
	e.Annotations = t.scope.Annotations()
	return t.auditor.process(e)
}

// complete adds the metadata of the object in the body where the path has none.
func (o *ObjectReference) complete(m *request.AuditMeta) {
	o.Namespace, o.Name = cmp.Or(o.Namespace, m.Namespace), cmp.Or(o.Name, m.Name)
	o.UID, o.ResourceVersion = cmp.Or(o.UID, m.UID), cmp.Or(o.ResourceVersion, m.ResourceVersion)
}

// RefuseUnauthenticated turns the trail into that of a request whose authentication failed.
// Such a request has a single event, when its response starts.
func (t *Trail) RefuseUnauthenticated(r *http.Request) {
	t.longRunning = true
	t.event.ResponseStatus = &metav1.Status{Message: authenticationAttempt(r)}
}

// authenticationAttempt describes the credentials of a request, without their values.
func authenticationAttempt(r *http.Request) string {
	var methods []string
	if _, _, ok := r.BasicAuth(); ok {
		methods = append(methods, "basic")
	}
	if scheme, _, ok := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " "); ok && strings.EqualFold(scheme, "bearer") {
		methods = append(methods, "bearer")
	}
	if strings.TrimSpace(r.URL.Query().Get("access_token")) != "" {
		methods = append(methods, "access_token")
	}
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		methods = append(methods, "x509")
	}
	if len(methods) == 0 {
		return "Authentication failed, no credentials provided"
	}
	return "Authentication failed, attempted: " + strings.Join(methods, ", ")
}
