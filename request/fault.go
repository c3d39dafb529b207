package request

import (
	"context"
	"net/http"
	"time"
)

// Faults decides which requests a server with a lab has misbehave, and how.
type Faults interface {
	// For returns the fault of a request that begins; nil for nearly all.
	For(r *http.Request, s *Scope) *Fault
	// Attend is For for a long-running request, which has a Running. Until leave is called, that request meets faults that begin and
	// end while it runs.
	Attend(r *http.Request, s *Scope) (fault *Fault, leave func())
}

// Fault is what happens to a request on purpose. One of its fields besides Name and Since is set, or Error and Before.
type Fault struct {
	// Name is shown to the client in the header Lab-Fault.
	Name string
	// Since is the time at which the fault met the request.
	Since time.Time
	// Error is the response; nil for none. It ends a running watch as an event if it says that the state is too old, else
	// it ends a running request by cutting its connection.
	Error error
	// Before is called before the request is served, such as to wait. An error is the response.
	Before func(context.Context) error
	// LosesRequest and LosesResponse end the response without an end, before and after the request has its effect.
	LosesRequest, LosesResponse bool
	// LosesConnection closes the connection, with all requests on it.
	LosesConnection bool
	// Watch is what happens to a watch; nil for none.
	Watch *WatchFault
	// View is the late view from which reads are answered; nil for none.
	View View
	// Shuffle puts things in a random order; see Scope.Shuffle.
	Shuffle func(n int, swap func(i, j int))
}

// View is a late view of the store; see storage.View.
type View interface{ End() }

// WatchFault is what happens to a watch. Its zero value is nothing.
type WatchFault struct {
	// CloseAfter is the number of events after which the watch ends, if Closes is set.
	Closes     bool
	CloseAfter int64
	// Freeze is the time for which nothing is sent, from Fault.Since on.
	Freeze time.Duration
	// Delay is the time by which each event is late.
	Delay time.Duration
	// Expires ends the watch with the error that its state is too old.
	Expires bool
	// NoBookmarks leaves out bookmarks.
	NoBookmarks bool
}

// EndsAtOnce reports whether the fault ends a running request when it meets it.
func (f *Fault) EndsAtOnce() bool {
	w := f.Watch
	return f.Error != nil || f.LosesRequest || f.LosesResponse || f.LosesConnection || w != nil && (w.Expires || w.Closes && w.CloseAfter == 0)
}
