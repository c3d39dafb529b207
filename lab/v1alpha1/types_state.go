package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Checkpoint is the state of all stored objects at the moment of its creation, or at a resourceVersion within the history of the
// store. A Rewind goes back to it. It is kept until it is deleted, or the server ends.
type Checkpoint struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// The state.
	Spec CheckpointSpec `json:"spec,omitempty"`
	// What the state contains.
	Status CheckpointStatus `json:"status,omitempty"`
}

// CheckpointSpec is the state of a Checkpoint.
type CheckpointSpec struct {
	// resourceVersion of the state. If empty, it is that of the moment at which the Checkpoint is created.
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// CheckpointStatus is what the state of a Checkpoint contains.
type CheckpointStatus struct {
	// resourceVersion of the state.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Number of objects in the state.
	Objects int64 `json:"objects,omitempty"`
	// Size of the objects as they are stored, in bytes. Only objects that are changed or deleted later take memory for the Checkpoint.
	Bytes int64 `json:"bytes,omitempty"`
}

// Rewind goes back to an earlier state: it makes the stored objects what they were, with ordinary events for watches. It can only be
// created. Leases, Events and the addresses of running servers stay as they are, unless Include names them.
type Rewind struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// The state to go back to: one of checkpoint, resourceVersion and ago.
	Spec RewindSpec `json:"spec"`
	// What was changed.
	Status RewindStatus `json:"status,omitempty"`
}

// RewindSpec is the state to which a Rewind goes back.
type RewindSpec struct {
	// Name of a Checkpoint.
	Checkpoint string `json:"checkpoint,omitempty"`
	// resourceVersion within the history of the store.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Time before now, such as 30s or 5m.
	Ago string `json:"ago,omitempty"`
	// Namespaces whose objects go back; empty means all, and objects without a namespace.
	Namespaces []string `json:"namespaces,omitempty"`
	// Resources whose objects go back, such as deployments.apps; empty means all.
	Resources []string `json:"resources,omitempty"`
	// What is left out otherwise: leases, events or addresses.
	Include []string `json:"include,omitempty"`
	// True if nothing is to be changed.
	DryRun bool `json:"dryRun,omitempty"`
}

// RewindStatus is what a Rewind changed.
type RewindStatus struct {
	// resourceVersion of the state to which the Rewind went back.
	To string `json:"to,omitempty"`
	// resourceVersion of the last write of the Rewind; of the present state if it changed nothing.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Number of objects that exist again.
	Restored int64 `json:"restored"`
	// Number of objects that were changed.
	Changed int64 `json:"changed"`
	// Number of objects that do not exist any more.
	Removed int64 `json:"removed"`
	// The objects, at most 1000.
	Objects []RewoundObject `json:"objects,omitempty"`
	// Duration, such as 2.1ms.
	Took string `json:"took,omitempty"`
}

// RewoundObject is an object that a Rewind changed.
type RewoundObject struct {
	// The object: RESOURCE.GROUP/NAMESPACE/NAME.
	Object string `json:"object"`
	// Restored, Changed or Removed.
	Action string `json:"action"`
}

// Actions of a RewoundObject.
const (
	ActionRestored = "Restored"
	ActionChanged  = "Changed"
	ActionRemoved  = "Removed"
)

// Fault has the server misbehave, as a real one does now and then: it says which requests, when, and what happens to them. It acts
// from the moment of its creation until it is deleted, or the server ends. Requests for the group of the lab match only a Fault that
// names their resource.
type Fault struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What happens to which requests.
	Spec FaultSpec `json:"spec"`
	// How often it happened. It is brought up to date every second.
	Status FaultStatus `json:"status,omitempty"`
}

// FaultSpec says what happens to which requests.
type FaultSpec struct {
	// Requests that match. A list that is empty matches all. An entry may end in a star.
	Match FaultMatch `json:"match,omitempty"`
	// Which of the requests that match.
	When FaultWhen `json:"when,omitempty"`
	// What happens: exactly one of its fields.
	Inject FaultInjection `json:"inject"`
}

// FaultMatch selects the requests of a Fault or a Recording.
type FaultMatch struct {
	// Names of users.
	Users []string `json:"users,omitempty"`
	// User-Agents.
	UserAgents []string `json:"userAgents,omitempty"`
	// API verbs: get, list, watch, create, update, patch, delete, deletecollection.
	Verbs []string `json:"verbs,omitempty"`
	// Resources with the group and the subresource: pods, deployments.apps, deployments.apps/status.
	Resources []string `json:"resources,omitempty"`
	// Namespaces of the objects.
	Namespaces []string `json:"namespaces,omitempty"`
	// Names of the objects.
	Names []string `json:"names,omitempty"`
	// Addresses of the server to which the requests are sent: first, or second, which is that of --lab-second-port.
	Servers []string `json:"servers,omitempty"`
}

// FaultWhen selects some of the requests that match. The same seed and the same sequence of requests have the same requests hit.
type FaultWhen struct {
	// Number of requests that are let pass at first.
	Skip int64 `json:"skip,omitempty"`
	// Number of requests that are hit; 0 means no limit.
	Times int64 `json:"times,omitempty"`
	// Share of the requests that are hit, in percent, at random; 0 means all.
	Percent int64 `json:"percent,omitempty"`
	// Seed of what is random.
	Seed int64 `json:"seed,omitempty"`
	// What is counted: Fault (the default) counts all requests together, Client those of each user and User-Agent, Object those of
	// each object.
	Per string `json:"per,omitempty"`
}

// What FaultWhen counts.
const (
	PerFault  = "Fault"
	PerClient = "Client"
	PerObject = "Object"
)

// FaultInjection is what happens to a request.
type FaultInjection struct {
	// The request is refused with an error, as the server sends it for that code.
	Error *FaultError `json:"error,omitempty"`
	// The request waits.
	Delay *FaultDelay `json:"delay,omitempty"`
	// The response breaks off: Request before the request has an effect, Response after it. Connection closes the connection
	// before, with all requests on it, as a server that dies.
	Lose string `json:"lose,omitempty"`
	// Another writer changes the object before this write of it, so that an update of an older state is a conflict.
	Conflict *FaultConflict `json:"conflict,omitempty"`
	// What happens to a watch.
	Watch *FaultWatch `json:"watch,omitempty"`
	// Reads are answered from a state of the past, and events come late, as from another server whose cache is behind. Reads that must
	// be consistent are not.
	Stale *FaultStale `json:"stale,omitempty"`
	// The server sees changes so much later, such as 2s, at most 5m: definitions are served, policies and their parameters, roles, webhooks
	// and quotas take effect later. Only match.resources may be set with it, which says of which resources; all if it is empty.
	Lag string `json:"lag,omitempty"`
	// Etcd is compacted before the request: continue tokens and watches of older states end with 410.
	Compact *FaultCompact `json:"compact,omitempty"`
	// What a write does in an order that is random in kube-apiserver happens in a random order, by the seed: a conversion webhook gets the
	// requests for the versions of other field managers, and the conflicts of an apply have their causes, in another order each time.
	Shuffle *FaultShuffle `json:"shuffle,omitempty"`
}

// Values of FaultInjection.Lose.
const (
	LoseRequest  = "Request"
	LoseResponse = "Response"
	// LoseConnection has the connection closed.
	LoseConnection = "Connection"
)

// FaultError is an error.
type FaultError struct {
	// HTTP status: 400 to 599. A request with the parameter timeout gets a 504 after that time, at most a minute.
	Code int32 `json:"code"`
	// Message instead of that of the server.
	Message string `json:"message,omitempty"`
	// Seconds after which the client may try again.
	RetryAfterSeconds int32 `json:"retryAfterSeconds,omitempty"`
}

// FaultDelay is a time, at random between two.
type FaultDelay struct {
	// Shortest time, such as 100ms.
	Min string `json:"min"`
	// Longest time; empty means min.
	Max string `json:"max,omitempty"`
}

// FaultConflict is another write of the object. It has no fields.
type FaultConflict struct{}

// FaultCompact is a compaction of etcd. It has no fields.
type FaultCompact struct{}

// FaultShuffle is a random order. It has no fields.
type FaultShuffle struct{}

// FaultStale says how old the states are.
type FaultStale struct {
	// Age of the states, such as 10s, at most 5m. It can be less where a resource had very many changes since.
	Age string `json:"age"`
}

// FaultWatch is what happens to a watch, when it begins or while it runs: exactly one of its fields.
type FaultWatch struct {
	// The watch ends, without an error.
	Close *FaultClose `json:"close,omitempty"`
	// Nothing is sent for a time, such as 30s, from the beginning of the watch or of the Fault on. Afterwards the watch sends what it
	// has missed.
	Freeze string `json:"freeze,omitempty"`
	// Each event is sent so much later, such as 2s.
	Delay string `json:"delay,omitempty"`
	// The watch ends at once with 410.
	Expire *FaultExpire `json:"expire,omitempty"`
	// No bookmarks are sent.
	NoBookmarks *FaultNoBookmarks `json:"noBookmarks,omitempty"`
}

// FaultClose says when a watch ends.
type FaultClose struct {
	// Number of events after which the watch ends.
	AfterEvents int64 `json:"afterEvents,omitempty"`
}

// FaultExpire has no fields.
type FaultExpire struct{}

// FaultNoBookmarks has no fields.
type FaultNoBookmarks struct{}

// FaultStatus is how often a Fault acted.
type FaultStatus struct {
	// Number of requests that matched.
	Matched int64 `json:"matched"`
	// Number of requests that were hit.
	Injected int64 `json:"injected"`
}

// Clock is the clock of the server, by which it stamps objects and decides what has expired. There is one, called server. Timeouts of
// requests, intervals and other durations are not moved, and other programs have clocks of their own.
type Clock struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What the clock is to show. It goes forward only: to go back, remove everything from it, which has the clock show the real time.
	Spec ClockSpec `json:"spec,omitempty"`
	// What the clock shows.
	Status ClockStatus `json:"status,omitempty"`
}

// ClockSpec is what a Clock is to show.
type ClockSpec struct {
	// Time by which the clock is ahead of the real time, such as 24h or 90m; at most ten years. Empty or 0 means no time.
	Offset string `json:"offset,omitempty"`
	// Time at which the clock stands, whatever the offset is. If absent, the clock runs. A time that has passed a few seconds ago means the
	// present one.
	FrozenAt *metav1.MicroTime `json:"frozenAt,omitempty"`
}

// ClockStatus is what a Clock shows.
type ClockStatus struct {
	// Time of the clock. In lists and watches it is the time at the last change of the Clock.
	Now metav1.MicroTime `json:"now,omitempty"`
	// Real time at which the clock showed that time.
	RealTime metav1.MicroTime `json:"realTime,omitempty"`
}
