package request

import (
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AuditLevel determines how much of a request its audit events contain.
type AuditLevel int8

// The levels of audit policies. Each includes the ones before it.
const (
	AuditNone AuditLevel = iota
	AuditMetadata
	AuditRequest
	AuditRequestResponse
)

// AuditRecord collects the data of a request for its audit events that only the layers
// behind the audit step of the chain have. A nil AuditRecord belongs to a request that is
// not audited, and records nothing. Only the goroutine that serves the request uses it.
type AuditRecord struct {
	Level AuditLevel
	// OmitManagedFields removes managedFields from the objects.
	OmitManagedFields bool
	// RequestObject is the JSON of the decoded body, or a patch as the client sent it.
	RequestObject []byte
	// BodyMeta is the metadata of the object in the body; nil if there is none.
	BodyMeta *AuditMeta
	// ResponseStatus is the Status in the response. It is nil for other responses.
	ResponseStatus *metav1.Status
	// ResponseObject is the JSON of the object, list or Table in the response.
	ResponseObject []byte
	// Constraint is the verb of the constrained impersonation that was authorized.
	Constraint string
}

// AuditMeta is the part of an object's metadata that completes the object reference of an
// audit event.
type AuditMeta struct{ Namespace, Name, UID, ResourceVersion string }

// WantsRequestObject reports whether the audit events contain the object in the request.
func (a *AuditRecord) WantsRequestObject() bool { return a != nil && a.Level >= AuditRequest }

// WantsResponseObject reports whether the audit events contain the object in the response.
func (a *AuditRecord) WantsResponseObject() bool { return a != nil && a.Level >= AuditRequestResponse }

// Part is a part of the work for a request whose duration the audit events of slow requests
// contain.
type Part int

// The parts, named as in the annotations apiserver.latency.k8s.io/NAME.
const (
	PartAPFQueueWait Part = iota
	PartAuthentication
	PartAuthorization
	PartEtcd
	PartImpersonation
	PartMutatingWebhook
	PartResponseWrite
	PartSerialize
	PartValidatingWebhook
	partCount
)

// String returns the name of the part in annotations.
func (p Part) String() string {
	return [partCount]string{"apf-queue-wait", "authentication", "authorization", "etcd", "impersonation", "mutating-webhook",
		"response-write", "serialize-response-object", "validating-webhook"}[p]
}

// Durations has the durations of the parts of a request. It is safe for concurrent use.
type Durations struct{ parts [partCount]atomic.Int64 }

// Add adds to the duration of a part.
func (d *Durations) Add(p Part, took time.Duration) { d.parts[p].Add(int64(took)) }

// Of returns the duration of a part.
func (d *Durations) Of(p Part) time.Duration { return time.Duration(d.parts[p].Load()) }

// Raise raises the duration of a part whose work runs in parallel to that of its longest piece.
func (d *Durations) Raise(p Part, took time.Duration) {
	for {
		old := d.parts[p].Load()
		if int64(took) <= old || d.parts[p].CompareAndSwap(old, int64(took)) {
			return
		}
	}
}

// Each calls f with every part that took time.
func (d *Durations) Each(f func(Part, time.Duration)) {
	for p := range d.parts {
		if took := d.parts[p].Load(); took > 0 {
			f(Part(p), time.Duration(took))
		}
	}
}
