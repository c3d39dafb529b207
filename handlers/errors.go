package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// fail responds with the Status of err, in the client's media type if the server
// supports it and otherwise in JSON. Only this function turns errors into responses.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := h.statusOf(r, err)
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	h.writeStatus(w, r, errorMedia(r), int(status.Code), status)
}

// statusOf returns the Status of any error.
func (h *Handler) statusOf(r *http.Request, err error) *metav1.Status {
	var known apierrors.APIStatus
	switch {
	case errors.As(err, &known):
		s := known.Status()
		s.Kind, s.APIVersion = "Status", "v1"
		if s.Status == "" {
			s.Status = metav1.StatusFailure
		}
		if s.Code == 0 {
			s.Code = http.StatusInternalServerError
		}
		return &s
	case errors.Is(err, context.DeadlineExceeded):
		return h.statusOf(r, apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0))
	case errors.Is(err, context.Canceled):
		return newStatus(http.StatusRequestTimeout, "", "the client went away", nil)
	}
	h.Logger.Error("request failed", "id", request.From(r.Context()).ID, "method", r.Method, "path", r.URL.Path, "error", err)
	return newStatus(http.StatusInternalServerError, "", err.Error(), nil)
}

func newStatus(code int, reason metav1.StatusReason, message string, details *metav1.StatusDetails) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message, Details: details,
	}
}

// success returns the Status of a successful write that returns no object.
func success(details *metav1.StatusDetails) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess, Details: details,
	}
}

// created returns the Status of a POST that returns no object.
func created() *metav1.Status {
	s := success(nil)
	s.Code = http.StatusCreated
	return s
}

func statusError(code int, reason metav1.StatusReason, message string, details *metav1.StatusDetails) error {
	return &apierrors.StatusError{ErrStatus: *newStatus(code, reason, message, details)}
}

// Errors about the request line; kube-apiserver gives them empty details.
func errNoResource() error {
	return statusError(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource", &metav1.StatusDetails{})
}

func errMethod() error {
	return statusError(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "the server does not allow this method on the requested resource", &metav1.StatusDetails{})
}

func errTooLarge(format string, args ...any) error {
	return statusError(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, fmt.Sprintf("Request entity too large: "+format, args...), nil)
}

// notFound responds to paths outside the API in plain text, as net/http does.
func (h *Handler) notFound(w http.ResponseWriter, r *http.Request) {
	http.Error(w, "404 page not found", http.StatusNotFound)
}

func (h *Handler) methodNotAllowed(w http.ResponseWriter, r *http.Request) { h.fail(w, r, errMethod()) }
