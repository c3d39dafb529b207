package request

import (
	"context"
	"net/http"
	"time"
)

// Faults decides which requests a server with a lab has misbehave, and how.
type Faults interface {
	// For returns the fault of a request; nil for nearly all.
	For(r *http.Request, s *Scope) *Fault
}

// Fault is what happens to a request on purpose. One of its fields besides Name is set.
type Fault struct {
	// Name is shown to the client in the header Lab-Fault.
	Name string
	// Error is the response; nil for none.
	Error error
	// Before is called before the request is served, such as to wait. An error is the response.
	Before func(context.Context) error
	// LosesRequest and LosesResponse break the connection before and after the request has its effect.
	LosesRequest, LosesResponse bool
	// Watch is what happens to a watch; nil for none.
	Watch *WatchFault
}

// WatchFault is what happens to a watch. Its zero value is nothing.
type WatchFault struct {
	// CloseAfter is the number of events after which the watch ends, if Closes is set.
	Closes     bool
	CloseAfter int64
	// Freeze is the time for which nothing is sent, from the beginning.
	Freeze time.Duration
	// Delay is the time by which each event is late.
	Delay time.Duration
	// Expires ends the watch with the error that its state is too old.
	Expires bool
	// NoBookmarks leaves out bookmarks.
	NoBookmarks bool
}
