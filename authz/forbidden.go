package authz

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/request"
)

// Forbidden returns the error response to a request that user is not authorized to make.
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
		Message: forbiddenMessage(user, info, reason),
	}}
}

// forbiddenMessage returns kube-apiserver's message for a forbidden request:
//
//	pods "x" is forbidden: User "alice" cannot get resource "pods" in API group "" in the namespace "ns"
//	forbidden: User "alice" cannot get path "/metrics"
//
// The reason of the authorizers, if any, follows.
func forbiddenMessage(user *request.User, info *request.Info, reason string) string {
	name := ""
	if user != nil {
		name = user.Name
	}
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	message := forbiddenPrefix(info) + escape.Replace(fmt.Sprintf("User %q cannot %s", name, forbiddenAction(info)))
	if reason != "" {
		message += ": " + reason
	}
	return message
}

// forbiddenPrefix returns the start of the message, which names the object.
func forbiddenPrefix(info *request.Info) string {
	resource := schema.GroupResource{Group: info.Group, Resource: info.Resource}
	switch {
	case !info.IsResource || (resource.Empty() && info.Name == ""):
		return "forbidden: "
	case info.Name == "":
		return resource.String() + " is forbidden: "
	}
	return fmt.Sprintf("%s %q is forbidden: ", resource, info.Name)
}

// forbiddenAction returns the part of the message that names the verb and resource.
func forbiddenAction(info *request.Info) string {
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
