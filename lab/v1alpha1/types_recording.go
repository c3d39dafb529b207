package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Recording keeps the requests that match and their answers, with their times, until it is stopped, deleted or full, or the server
// ends. Contents of Secrets, tokens and other credentials are replaced, the same value always by the same placeholder. The subresource
// log has what was kept, of the objects that the user who reads it may get: lines of JSON, or an HTTP archive (format=har).
// "kubectl lab record" records what a command does, and "kubectl lab replay" sends it again.
type Recording struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What is recorded.
	Spec RecordingSpec `json:"spec,omitempty"`
	// What was recorded. Lists and watches have it as of the last second.
	Status RecordingStatus `json:"status,omitempty"`
}

// RecordingSpec is what a Recording keeps.
type RecordingSpec struct {
	// Requests that match. A list that is empty matches all. An entry may end in a star. Requests for the group of the lab match only if
	// their resource is named.
	Match FaultMatch `json:"match,omitempty"`
	// True if only requests match that are sent to the address of the Recording: /lab.miniapiserver.io/recordings/NAME after the address
	// of the server. The server serves them as if they had been sent to its own address.
	Addressed bool `json:"addressed,omitempty"`
	// How much is kept.
	Limits RecordingLimits `json:"limits,omitempty"`
	// True if nothing more is to be recorded.
	Stopped bool `json:"stopped,omitempty"`
}

// RecordingLimits bound what a Recording keeps. It ends with the request that exceeds a limit.
type RecordingLimits struct {
	// Size of what is kept, in bytes; 0 means a quarter of --lab-memory. All Recordings together have at most half of it.
	Bytes int64 `json:"bytes,omitempty"`
	// Number of requests, at most 1000000; 0 means 100000.
	Requests int64 `json:"requests,omitempty"`
}

// Phases of a Recording.
const (
	// RecordingRunning is the phase of a Recording that keeps what matches.
	RecordingRunning = "Running"
	// RecordingStopped is the phase of a Recording whose spec says that it is stopped.
	RecordingStopped = "Stopped"
	// RecordingFull is the phase of a Recording that has reached a limit.
	RecordingFull = "Full"
)

// RecordingStatus is what a Recording has kept.
type RecordingStatus struct {
	// Running, Stopped or Full.
	Phase string `json:"phase,omitempty"`
	// Number of requests.
	Requests int64 `json:"requests"`
	// Number of events of watches.
	Events int64 `json:"events"`
	// Size of what is kept, in bytes.
	Bytes int64 `json:"bytes"`
	// Number of requests whose answer has not ended.
	Open int64 `json:"open"`
	// Number of requests that matched and were not kept: connections to pods, nodes and services, whose contents the lab does not keep.
	LeftOut int64 `json:"leftOut,omitempty"`
	// Which limit ended the Recording.
	Reason string `json:"reason,omitempty"`
	// Time at which it began.
	Begin *metav1.MicroTime `json:"begin,omitempty"`
	// Time at which it was stopped or full.
	End *metav1.MicroTime `json:"end,omitempty"`
}

// RecordingAddress is the path before those of requests that are sent to the address of a Recording, whose name follows.
const RecordingAddress = "/lab.miniapiserver.io/recordings/"
