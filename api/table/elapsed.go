package table

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Elapsed is a table cell with the time since an event. It is formatted for every response,
// so that rows can be cached.
type Elapsed struct {
	// Before and After surround the duration: "3 (" and " ago)".
	Before, After string
	// Until, if it is set, precedes the duration until an event that is still to come.
	Until string
	// Since is the time of the event; the zero time is formatted as <unknown>.
	Since time.Time
}

// Text returns the text of the cell at the time now.
func (e Elapsed) Text(now time.Time) string {
	if e.Since.IsZero() {
		return e.Before + "<unknown>" + e.After
	}
	if e.Until != "" && e.Since.After(now) {
		return e.Until + duration.HumanDuration(e.Since.Sub(now))
	}
	return e.Before + duration.HumanDuration(now.Sub(e.Since)) + e.After
}

// Age returns the cell of the column Age.
func Age(obj metav1.Object) Elapsed { return Elapsed{Since: obj.GetCreationTimestamp().Time} }
