package representation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
)

// Responder writes responses that have no object: errors and other Statuses.
type Responder struct {
	Logger *slog.Logger
	// CBOR is true if clients can get CBOR.
	CBOR bool
}

// RequestLogger returns a logger that adds the id of a request.
func (p *Responder) RequestLogger(r *http.Request) *slog.Logger {
	return p.Logger.With("id", request.From(r.Context()).LogID())
}

// WriteError responds with the Status of err, in the client's media type if the server
// supports it and otherwise in JSON. Only this function turns errors into responses.
func (p *Responder) WriteError(w http.ResponseWriter, r *http.Request, err error) {
	p.writeError(w, r, offerStatus, err)
}

// writeError is WriteError with the media types that the path has for errors.
func (p *Responder) writeError(w http.ResponseWriter, r *http.Request, o Offer, err error) {
	status := p.Status(r, err)
	if errors.Is(r.Context().Err(), context.DeadlineExceeded) && (status.Code != http.StatusGatewayTimeout ||
		errors.Is(err, context.DeadlineExceeded)) {
		writeTimeout(w, r)
		return
	}
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	media, accepted := p.errorMedia(r, o)
	if accepted {
		auditStatus(r, status)
	} else { // as in kube-apiserver, these are indented, and audit events have only their code
		media.Pretty = true
		request.From(r.Context()).Account.SetStatus(status)
	}
	p.writeStatus(w, r, media, int(status.Code), status)
}

// writeTimeout responds to a request whose time is over, whatever failed then. As in kube-apiserver, whose timeout does
// not wait for the handler of the request, the response is a Status without a kind, of the type of its text.
func writeTimeout(w http.ResponseWriter, r *http.Request) {
	status := errTimedOut().Status()
	auditStatus(r, &status)
	data, err := json.Marshal(status)
	if err != nil {
		data = []byte(status.Message)
	}
	WriteBody(w, int(status.Code), "text/plain; charset=utf-8", append(data, '\n'))
}

// errTimedOut returns the error of a request that took too long.
func errTimedOut() *apierrors.StatusError {
	return apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0)
}

// Status returns the Status of any error.
func (p *Responder) Status(r *http.Request, err error) *metav1.Status {
	var apiStatus apierrors.APIStatus
	var size *api.ObjectSizeError
	switch {
	case errors.As(err, &apiStatus):
		s := apiStatus.Status()
		s.Kind, s.APIVersion = "Status", "v1"
		if s.Status == "" {
			s.Status = metav1.StatusFailure
		}
		if s.Code == 0 {
			s.Code = http.StatusInternalServerError
		}
		return &s
	case errors.As(err, &size):
		return p.Status(r, errTooLarge("%v", size))
	case errors.Is(err, context.DeadlineExceeded):
		return p.Status(r, errTimedOut())
	case errors.Is(err, context.Canceled):
		return NewStatus(http.StatusRequestTimeout, "", "the client went away", nil)
	}
	p.Logger.Error("request failed", "id", request.From(r.Context()).LogID(), "method", r.Method, "path", r.URL.Path, "error", err)
	return NewStatus(http.StatusInternalServerError, "", err.Error(), nil)
}

// NewStatus returns a Status of a failure.
func NewStatus(code int, reason metav1.StatusReason, message string, details *metav1.StatusDetails) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message, Details: details,
	}
}

// Success returns the Status of a successful write that returns no object.
func Success(details *metav1.StatusDetails) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess, Details: details,
	}
}

// Created returns the Status of a POST that returns no object.
func Created() *metav1.Status {
	s := Success(nil)
	s.Code = http.StatusCreated
	return s
}

// NewStatusError returns NewStatus as an error.
func NewStatusError(code int, reason metav1.StatusReason, message string, details *metav1.StatusDetails) error {
	return &apierrors.StatusError{ErrStatus: *NewStatus(code, reason, message, details)}
}

// ErrNoResource returns the error of a path without a resource. Its details are empty, like
// those of kube-apiserver.
func ErrNoResource() error {
	return NewStatusError(http.StatusNotFound, metav1.StatusReasonNotFound,
		"the server could not find the requested resource", &metav1.StatusDetails{})
}

// ErrMethodNotAllowed returns the error of a method that the path does not have.
func ErrMethodNotAllowed() error {
	return NewStatusError(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
		"the server does not allow this method on the requested resource", &metav1.StatusDetails{})
}

// errTooLarge returns the error of a body or a patch that exceeds a limit.
func errTooLarge(format string, args ...any) error {
	return NewStatusError(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
		fmt.Sprintf("Request entity too large: "+format, args...), nil)
}

// ServeNotFound responds to paths outside the API in plain text, as net/http does.
func ServeNotFound(w http.ResponseWriter, r *http.Request) {
	http.Error(w, "404 page not found", http.StatusNotFound)
}

// ServeMethodNotAllowed responds with ErrMethodNotAllowed.
func (p *Responder) ServeMethodNotAllowed(w http.ResponseWriter, r *http.Request) {
	p.WriteError(w, r, ErrMethodNotAllowed())
}
