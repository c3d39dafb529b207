package webhook

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// callError reports that the call of a hook failed or its response was invalid. The failure policy
// decides whether it rejects the request.
type callError struct {
	hook   string
	reason error
	code   int32 // for metrics
}

// Error implements error.
func (e *callError) Error() string {
	return fmt.Sprintf("failed calling webhook %q: %v", e.hook, e.reason)
}

// Unwrap returns the underlying error.
func (e *callError) Unwrap() error { return e.reason }

// rejection is the error of a hook that rejects a request.
type rejection struct{ *apierrors.StatusError }

// maxCode is the maximum status code in an HTTP response.
const maxCode = 999

// newRejection returns the rejection with the status from the hook's response.
func newRejection(hook string, status *metav1.Status) error {
	if status == nil {
		status = &metav1.Status{}
	}
	if status.Code < http.StatusBadRequest {
		status.Code = http.StatusBadRequest
	}
	if status.Code > maxCode {
		status.Code = http.StatusInternalServerError
	}
	if status.Status == "" || status.Status == metav1.StatusSuccess {
		status.Status = metav1.StatusFailure
	}
	by := fmt.Sprintf("admission webhook %q denied the request", hook)
	switch {
	case status.Message != "":
		status.Message = by + ": " + status.Message
	case status.Reason != "":
		status.Message = by + ": " + string(status.Reason)
	default:
		status.Message = by + " without explanation"
	}
	return rejection{&apierrors.StatusError{ErrStatus: *status}}
}

func dryRunUnsupported(hook string) error {
	return apierrors.NewBadRequest(fmt.Sprintf("admission webhook %q does not support dry run", hook))
}

func requestTimeout() error {
	return apierrors.NewTimeoutError("request did not complete within requested timeout", 0)
}
