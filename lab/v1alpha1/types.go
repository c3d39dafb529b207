// Package v1alpha1 has the Go types of the group lab.miniapiserver.io: what the lab of a server shows of the
// requests that it served and of the objects that they changed. Package lab above it serves the kinds, whose
// OpenAPI descriptions are made from these types and their comments. Clients in Go decode the objects of the API into them.
//
// The package imports nothing of this project, so that clients can use it alone.
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:generate go run ./internal/generate

// GroupVersion is the group and version of the lab.
var GroupVersion = schema.GroupVersion{Group: "lab.miniapiserver.io", Version: "v1alpha1"}

// Request is a request that the server has served or is serving. Its name is the audit ID of the request, unless the client
// chose one that cannot be a name, or that another request has.
type Request struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata. creationTimestamp is the time at which the request arrived.
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What the client sent.
	Spec RequestSpec `json:"spec"`
	// What the server did with it.
	Status RequestStatus `json:"status,omitempty"`
}

// RequestSpec is what the client sent.
type RequestSpec struct {
	// Time at which the request arrived.
	Time metav1.MicroTime `json:"time"`
	// API verb of a request for a resource (get, list, watch, create, update, patch, delete, deletecollection), or the method of
	// any other in lower case.
	Verb string `json:"verb"`
	// HTTP method.
	Method string `json:"method"`
	// Path and query as the client sent them. Parameters that are not of the API are left out, since they may be credentials.
	URI string `json:"uri"`
	// Name of the user that was authorized, after impersonation.
	User string `json:"user,omitempty"`
	// Groups of the user.
	Groups []string `json:"groups,omitempty"`
	// Name of the authenticated user if it impersonated User.
	Impersonator string `json:"impersonator,omitempty"`
	// Address of the client.
	SourceIP string `json:"sourceIP,omitempty"`
	// User-Agent of the client, at most 256 bytes.
	UserAgent string `json:"userAgent,omitempty"`
	// API group of the resource.
	Group string `json:"group,omitempty"`
	// API version of the resource.
	Version string `json:"version,omitempty"`
	// Resource with the subresource, such as pods or pods/status; empty if the request is for another path.
	Resource string `json:"resource,omitempty"`
	// Namespace of the object.
	Namespace string `json:"namespace,omitempty"`
	// Name of the object. For a create with generateName it is the generated name.
	ObjectName string `json:"objectName,omitempty"`
	// True if nothing was to be stored.
	DryRun bool `json:"dryRun,omitempty"`
	// Field manager of a write.
	FieldManager string `json:"fieldManager,omitempty"`
	// Content-Type of the body.
	ContentType string `json:"contentType,omitempty"`
	// Patch in the body, only if a single Request is read.
	Patch string `json:"patch,omitempty"`
	// Size of the body in bytes.
	BodyBytes int64 `json:"bodyBytes,omitempty"`
	// SHA-256 of a body that is too large to be kept.
	BodyDigest string `json:"bodyDigest,omitempty"`
}

// Phases of a request.
const (
	// PhaseRunning is the phase of a request whose response has not ended, such as a watch.
	PhaseRunning = "Running"
	// PhaseComplete is the phase of a request whose response has ended.
	PhaseComplete = "Complete"
)

// RequestStatus is what the server did with a request.
type RequestStatus struct {
	// Running while the response has not ended, then Complete.
	Phase string `json:"phase"`
	// HTTP status of the response.
	Code int32 `json:"code,omitempty"`
	// Reason of the Status in the response, such as NotFound.
	Reason string `json:"reason,omitempty"`
	// Message of the Status in the response. If it may quote the object, only a get of the Request shows it.
	Message string `json:"message,omitempty"`
	// Why the server answered so, in one line: what refused the request, or what is remarkable about its success.
	Why string `json:"why,omitempty"`
	// Duration of the request, such as 1.234ms.
	Took string `json:"took,omitempty"`
	// Duration of the request in microseconds.
	Microseconds int64 `json:"microseconds,omitempty"`
	// Size of the response in bytes.
	ResponseBytes int64 `json:"responseBytes,omitempty"`
	// Warnings in the response, only if a single Request is read.
	Warnings []string `json:"warnings,omitempty"`
	// Steps of the request, in the order in which they began.
	Steps []Step `json:"steps,omitempty"`
	// Fields whose value was changed on the way from the body to the stored object, with what changed it. For a patch also the
	// fields that the patch changed. Only if a single Request is read.
	Changes []FieldChange `json:"changes,omitempty"`
	// Field managers that own other fields after a patch or an apply than before. Only if a single Request is read.
	Owners []OwnerChange `json:"owners,omitempty"`
	// Set if the user who reads the Request may not read the object. Then there are no Changes, and nothing that may quote the object.
	Hidden string `json:"hidden,omitempty"`
	// Object after a write.
	Stored *StoredObject `json:"stored,omitempty"`
	// What refused the request; missing if it was not refused.
	Cause *Cause `json:"cause,omitempty"`
	// What a watch has sent; missing for other requests.
	Watch *WatchStatus `json:"watch,omitempty"`
}

// Step is a part of the work for a request.
type Step struct {
	// Name of the step, such as authorization or admission plugin. A step within another one has the path: "Create/mutating
	// admission/ServiceAccount".
	Name string `json:"name"`
	// Time from the arrival of the request to the beginning of the step, in microseconds.
	Start int64 `json:"start"`
	// Duration in microseconds; 0 for an event.
	Microseconds int64 `json:"microseconds,omitempty"`
	// What the step found out, by name: the priority level of flow control, the binding that allowed the request, ...
	Facts map[string]string `json:"facts,omitempty"`
}

// FieldChange is a changed field.
type FieldChange struct {
	// Path of the field, such as spec.containers[0].imagePullPolicy.
	Path string `json:"path"`
	// Value before as JSON; empty if there was no such field.
	Before string `json:"before,omitempty"`
	// Value after as JSON; empty if the field was removed.
	After string `json:"after,omitempty"`
	// What changed the field: defaults, pruning, an admission plugin, a webhook, a policy, the server, ...; empty in a Change.
	By string `json:"by,omitempty"`
}

// OwnerChange is what a field manager gained and lost by a write.
type OwnerChange struct {
	// Manager with the operation and the subresource: kubectl (Apply), controller (Update, status).
	Manager string `json:"manager"`
	// Fields that the manager owns now and did not own before.
	Gained []string `json:"gained,omitempty"`
	// Fields that the manager owned and does not own any more.
	Lost []string `json:"lost,omitempty"`
}

// StoredObject is an object after a write.
type StoredObject struct {
	// Its uid.
	UID string `json:"uid,omitempty"`
	// Its resourceVersion.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// How often the write was repeated because other writes came first.
	Retries int32 `json:"retries,omitempty"`
	// The writes that came first, the oldest first. Only if a single Request is read.
	Writes []ConflictingWrite `json:"writes,omitempty"`
}

// Layers that refuse requests (Cause.By).
const (
	CauseAuthentication   = "authentication"
	CauseImpersonation    = "impersonation"
	CauseFlowControl      = "flow control"
	CauseAuthorization    = "authorization"
	CauseRouting          = "routing"
	CauseDecoding         = "decoding"
	CauseAdmissionPlugin  = "admission plugin"
	CauseAdmissionWebhook = "admission webhook"
	CauseAdmissionPolicy  = "admission policy"
	CauseConversion       = "conversion webhook"
	CauseFieldManagement  = "field management"
	CauseConflict         = "conflict"
	CausePrecondition     = "precondition"
	CauseValidation       = "validation"
	CauseStorage          = "storage"
	CauseServer           = "server"
	CauseFault            = "fault"
)

// Cause is what refused a request.
type Cause struct {
	// Layer that refused the request: authentication, impersonation, flow control, authorization, routing, decoding, admission
	// plugin, admission webhook, admission policy, conversion webhook, field management, conflict, precondition, validation,
	// storage, server or fault (of a Fault of the lab).
	By string `json:"by"`
	// Name of the plugin, the webhook (CONFIGURATION/WEBHOOK) or the policy and its binding (POLICY/BINDING). Of an authorization beyond
	// that of the request, what it is for.
	Name string `json:"name,omitempty"`
	// Why, if the answer does not say so.
	Message string `json:"message,omitempty"`
	// Expression of a policy or of a validation rule that was not fulfilled.
	Expression string `json:"expression,omitempty"`
	// Variables of the policy with their values.
	Variables map[string]string `json:"variables,omitempty"`
	// Fields that caused the refusal, with the error of each.
	Fields []CauseField `json:"fields,omitempty"`
	// For a request that authorization refused: what the user lacks.
	Missing *MissingPermission `json:"missing,omitempty"`
	// For a conflict: the writes that came between the client's read and its write, the newest first.
	Writes []ConflictingWrite `json:"writes,omitempty"`
}

// CauseField is an error about a field.
type CauseField struct {
	// Path of the field.
	Path string `json:"path,omitempty"`
	// Type of the error, such as FieldValueInvalid.
	Type string `json:"type,omitempty"`
	// The error, with the value that was seen.
	Message string `json:"message,omitempty"`
}

// MissingPermission is what a user lacks.
type MissingPermission struct {
	// Verb that is missing.
	Verb string `json:"verb"`
	// API group of the resource.
	Group string `json:"group,omitempty"`
	// Resource with the subresource.
	Resource string `json:"resource,omitempty"`
	// Namespace; empty for a resource without namespaces, or for all of them.
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	Name string `json:"name,omitempty"`
	// Path of a request that is not for a resource.
	Path string `json:"path,omitempty"`
	// Rules that the user has and that come nearest, the nearest first, at most five.
	Nearest []NearRule `json:"nearest,omitempty"`
}

// NearRule is a rule that nearly allows a request.
type NearRule struct {
	// Binding by which the user has the rule: RoleBinding NAMESPACE/NAME or ClusterRoleBinding NAME.
	Binding string `json:"binding"`
	// Role that has the rule: Role NAMESPACE/NAME or ClusterRole NAME.
	Role string `json:"role"`
	// The rule in one line: get,list pods in namespace a.
	Rule string `json:"rule"`
	// What the rule lacks: verb, group, resource, name, namespace, path.
	Lacks []string `json:"lacks"`
}

// ConflictingWrite is a write between a client's read and its write.
type ConflictingWrite struct {
	// Name of the Request; empty if it is not kept any more.
	Request string `json:"request,omitempty"`
	// User who wrote.
	User string `json:"user,omitempty"`
	// Field manager of the write.
	Manager string `json:"manager,omitempty"`
	// Time of the write.
	Time metav1.MicroTime `json:"time,omitempty"`
	// resourceVersion that the write made.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Fields that the write changed.
	Fields []FieldChange `json:"fields,omitempty"`
}

// WatchStatus is what a watch has sent.
type WatchStatus struct {
	// Number of events.
	Events int64 `json:"events"`
	// Number of bookmarks.
	Bookmarks int64 `json:"bookmarks,omitempty"`
	// Longest time between a change and its event in the last minute, such as 2ms.
	Lag string `json:"lag,omitempty"`
	// Why the watch ended; empty while it runs.
	Ended string `json:"ended,omitempty"`
}

// Change is a revision of an object: what differs from the revision before it, and who wrote it. Its name is the
// resourceVersion. Changes are made from the history of the store when they are read. A list needs the field selector
// object=RESOURCE.GROUP/NAMESPACE/NAME; without it the newest changes of all objects are listed.
type Change struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata. creationTimestamp is the time of the change, as far as it is known.
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// The change.
	Spec ChangeSpec `json:"spec"`
}

// Types of a Change.
const (
	ChangeCreated  = "Created"
	ChangeModified = "Modified"
	ChangeDeleted  = "Deleted"
)

// ChangeSpec is a change of an object.
type ChangeSpec struct {
	// The object: RESOURCE.GROUP/NAMESPACE/NAME, such as deployments.apps/default/web, pods/default/p or nodes/n.
	Object string `json:"object"`
	// API version of the paths: that in which the object is stored.
	APIVersion string `json:"apiVersion"`
	// Kind of the object.
	Kind string `json:"kind"`
	// Created, Modified or Deleted.
	Type string `json:"type"`
	// resourceVersion of the change.
	ResourceVersion string `json:"resourceVersion"`
	// resourceVersion before; empty for a created object.
	Previous string `json:"previous,omitempty"`
	// Time of the change; missing if it is not known.
	Time *metav1.MicroTime `json:"time,omitempty"`
	// User who made the change; empty if the request is not kept any more.
	User string `json:"user,omitempty"`
	// Field manager that made the change, with the subresource (manager/status).
	Manager string `json:"manager,omitempty"`
	// Name of the Request that made the change; empty if it is not kept any more.
	Request string `json:"request,omitempty"`
	// Verb of that request.
	Verb string `json:"verb,omitempty"`
	// Changed fields, by path. managedFields are left out. They are empty if Hidden is set.
	Fields []FieldChange `json:"fields,omitempty"`
	// Set if the user who reads the Change may not read the object.
	Hidden string `json:"hidden,omitempty"`
	// The object after the change as JSON, only if a single Change is read; empty for a deletion.
	After string `json:"after,omitempty"`
}
