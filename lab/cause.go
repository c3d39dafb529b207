package lab

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/request"
)

// cause returns what refused a request, nil if it was not refused: what a layer said, else what the Status in the response
// says.
func (l *Lab) cause(r *record, found request.Found) *v1alpha1.Cause {
	if r.code < http.StatusBadRequest {
		return nil
	}
	refusal, status := found.Refusal, cmp.Or(r.scope.Audit.ResponseStatus, found.Status)
	c := &v1alpha1.Cause{By: refusal.By, Name: refusal.Name, Expression: refusal.Expression, Variables: refusal.Variables}
	if c.By == "" {
		c.By = causeOf(r.code, status)
	}
	if res := l.find(&r.scope.Info); refusal.Message != "" && (res == nil || len(res.Confidential) == 0) {
		c.Message = cut(refusal.Message, maxText)
	}
	if status != nil && status.Details != nil {
		for _, cause := range status.Details.Causes {
			if cause.Field == "" && cause.Type == "" { // it repeats the message
				continue
			}
			c.Fields = append(c.Fields, v1alpha1.CauseField{Path: cause.Field, Type: string(cause.Type), Message: cut(cause.Message, maxText)})
			if len(c.Fields) == maxCauses {
				break
			}
		}
	}
	if c.By == v1alpha1.CauseAuthorization && c.Name == "" {
		c.Missing = l.missing(r.scope)
	}
	return c
}

// disruptionBudgetCause is the type of the cause by which a disruption budget refuses an eviction.
const disruptionBudgetCause = "DisruptionBudget"

// maxCauses is the maximum number of the errors of a Cause.
const maxCauses = 100

// missing returns what the user of a request lacks.
func (l *Lab) missing(s *request.Scope) *v1alpha1.MissingPermission {
	info := &s.Info
	m := &v1alpha1.MissingPermission{Verb: info.Verb}
	if info.IsResource {
		m.Group, m.Resource, m.Namespace, m.Name = info.Group, info.Resource, info.Namespace, info.Name
		if info.Subresource != "" {
			m.Resource += "/" + info.Subresource
		}
	} else {
		m.Path = info.Path
	}
	if l.connections.Nearest != nil && s.User != nil {
		m.Nearest = l.connections.Nearest(s.User, info)
	}
	return m
}

// causeOf returns the layer that answers with a Status.
func causeOf(code int, status *metav1.Status) string {
	if status == nil {
		switch {
		case code == http.StatusUnauthorized:
			return v1alpha1.CauseAuthentication
		case code == http.StatusTooManyRequests:
			return v1alpha1.CauseFlowControl
		case code == http.StatusNotAcceptable, code == http.StatusUnsupportedMediaType, code == http.StatusRequestEntityTooLarge:
			return v1alpha1.CauseDecoding
		case code >= http.StatusInternalServerError:
			return v1alpha1.CauseServer
		}
		return v1alpha1.CauseRouting
	}
	switch status.Reason {
	case metav1.StatusReasonUnauthorized:
		return v1alpha1.CauseAuthentication
	case metav1.StatusReasonConflict:
		return conflictCause(status)
	case metav1.StatusReasonAlreadyExists:
		return v1alpha1.CauseStorage
	case metav1.StatusReasonNotFound:
		if status.Details == nil || status.Details.Name == "" {
			return v1alpha1.CauseRouting
		}
		return v1alpha1.CauseStorage
	case metav1.StatusReasonInvalid:
		return v1alpha1.CauseValidation
	case metav1.StatusReasonMethodNotAllowed:
		return v1alpha1.CauseRouting
	case metav1.StatusReasonBadRequest, metav1.StatusReasonUnsupportedMediaType, metav1.StatusReasonNotAcceptable,
		metav1.StatusReasonRequestEntityTooLarge:
		return v1alpha1.CauseDecoding
	case metav1.StatusReasonExpired, metav1.StatusReasonGone:
		return v1alpha1.CauseStorage
	case metav1.StatusReasonTimeout:
		if hasCause(status, metav1.CauseTypeResourceVersionTooLarge) {
			return v1alpha1.CauseStorage
		}
	case metav1.StatusReasonTooManyRequests:
		if hasCause(status, disruptionBudgetCause) {
			return v1alpha1.CausePrecondition
		}
	case metav1.StatusReasonForbidden:
		if hasCause(status, disruptionBudgetCause) {
			return v1alpha1.CausePrecondition
		}
		return v1alpha1.CauseValidation // the kind itself forbids it; the layers say it if they do
	}
	return v1alpha1.CauseServer
}

// conflictCause tells the conflicts apart: those of an apply, of a precondition, and of another write.
func conflictCause(status *metav1.Status) string {
	if hasCause(status, metav1.CauseTypeFieldManagerConflict) {
		return v1alpha1.CauseFieldManagement
	}
	for _, text := range []string{"Precondition failed", "uid mismatch", " in the precondition "} {
		if strings.Contains(status.Message, text) {
			return v1alpha1.CausePrecondition
		}
	}
	return v1alpha1.CauseConflict
}

// hasCause reports whether a Status has a cause of a type.
func hasCause(status *metav1.Status, t metav1.CauseType) bool {
	return status.Details != nil && slices.ContainsFunc(status.Details.Causes, func(c metav1.StatusCause) bool { return c.Type == t })
}
