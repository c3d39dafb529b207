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
