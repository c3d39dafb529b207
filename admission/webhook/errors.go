package webhook

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// callError tells that a hook could not be asked, or gave no proper answer. The
// failure policy says what follows from it.
type callError struct {
	hook   string
	reason error
	code   int32 // for metrics
}

// Error implements error.
func (e *callError) Error() string {
	return fmt.Sprintf("failed calling webhook %q: %v", e.hook, e.reason)
}

// Unwrap returns what went wrong.
func (e *callError) Unwrap() error { return e.reason }

// refusal is the answer of a hook that does not allow a request.
type refusal struct{ *apierrors.StatusError }

// maxCode is the highest code that HTTP can send.
const maxCode = 999

// refused makes the answer from what the hook said.
func refused(hook string, said *metav1.Status) error {
	if said == nil {
		said = &metav1.Status{}
	}
	if said.Code < http.StatusBadRequest {
		said.Code = http.StatusBadRequest
	}
	if said.Code > maxCode {
		said.Code = http.StatusInternalServerError
	}
	if said.Status == "" || said.Status == metav1.StatusSuccess {
		said.Status = metav1.StatusFailure
	}
	by := fmt.Sprintf("admission webhook %q denied the request", hook)
	switch {
	case said.Message != "":
		said.Message = by + ": " + said.Message
	case said.Reason != "":
		said.Message = by + ": " + string(said.Reason)
	default:
		said.Message = by + " without explanation"
	}
	return refusal{&apierrors.StatusError{ErrStatus: *said}}
}

func noDryRun(hook string) error {
	return apierrors.NewBadRequest(fmt.Sprintf("admission webhook %q does not support dry run", hook))
}

func timedOut() error {
	return apierrors.NewTimeoutError("request did not complete within requested timeout", 0)
}
