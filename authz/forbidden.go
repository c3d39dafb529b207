package authz

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/request"
)

// Forbidden is the answer to a user who may not do what info asks for.
func Forbidden(user *request.User, info *request.Info, reason string) *apierrors.StatusError {
	details := &metav1.StatusDetails{}
	if info.IsResource {
		details.Group, details.Kind, details.Name = info.Group, info.Resource, info.Name
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusForbidden,
		Reason:  metav1.StatusReasonForbidden,
		Details: details,
		Message: ForbiddenMessage(user, info, reason),
	}}
}

// ForbiddenMessage says, in kube-apiserver's words, that user may not do what
// info asks for:
//
//	pods "x" is forbidden: User "alice" cannot get resource "pods" in API group "" in the namespace "ns"
//	forbidden: User "alice" cannot get path "/metrics"
//
// The reason of the authorizers, if any, comes last.
func ForbiddenMessage(user *request.User, info *request.Info, reason string) string {
	name := ""
	if user != nil {
		name = user.Name
	}
	message := subjectOf(info) + fmt.Sprintf("User %q cannot %s", name, actionOf(info))
	if reason != "" {
		message += ": " + reason
	}
	return message
}

// subjectOf is the beginning of the message: what is forbidden.
func subjectOf(info *request.Info) string {
	resource := schema.GroupResource{Group: info.Group, Resource: info.Resource}
	switch {
	case !info.IsResource || (resource.Empty() && info.Name == ""):
		return "forbidden: "
	case info.Name == "":
		return resource.String() + " is forbidden: "
	}
	return fmt.Sprintf("%s %q is forbidden: ", resource, info.Name)
}

// actionOf is what the user cannot do.
func actionOf(info *request.Info) string {
	if !info.IsResource {
		return fmt.Sprintf("%s path %q", info.Verb, info.Path)
	}
	resource := info.Resource
	if info.Subresource != "" {
		resource += "/" + info.Subresource
	}
	scope := "at the cluster scope"
	if info.Namespace != "" {
		scope = fmt.Sprintf("in the namespace %q", info.Namespace)
	}
	return fmt.Sprintf("%s resource %q in API group %q %s", info.Verb, resource, info.Group, scope)
}
