package registry

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/storage"
)

// TestErrorsNameRequestedGroup checks that an error names a resource of two groups in the group of
// the request.
func TestErrorsNameRequestedGroup(t *testing.T) {
	r := newRegistry(t)
	for want, at := range map[string]Target{
		`events "e" not found`:               r.at(t, corev1.SchemeGroupVersion, "events", "e"),
		`events.events.k8s.io "e" not found`: r.at(t, eventsv1.SchemeGroupVersion, "events", "e"),
	} {
		if _, err := r.Get(t.Context(), at, storage.Read{}); !apierrors.IsNotFound(err) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
