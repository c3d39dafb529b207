package admission

import (
	"context"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// Namespaces reads a namespace, consistently; a NotFound Status when there is
// none.
type Namespaces func(ctx context.Context, name string) (*corev1.Namespace, error)

// NamespaceLifecycle lets nothing be put into a namespace that is not there, or
// that is being deleted, and keeps those that the system itself lives in.
func NamespaceLifecycle(namespaces Namespaces) Plugin {
	return Plugin{
		Name: "NamespaceLifecycle",
		Mutate: func(ctx context.Context, a *registry.Attributes) error {
			switch {
			case a.Verb == api.VerbDelete && isNamespace(a) && immortal(a.Name):
				return apierrors.NewForbidden(a.GroupResource(), a.Name, errors.New("this namespace may not be deleted"))
			case a.Verb == api.VerbDelete || !a.Resource.Namespaced || a.Namespace == "" || asksForAccess(a):
				return nil
			}
			ns, err := namespaces(ctx, a.Namespace)
			if err != nil {
				return err
			}
			if a.Verb != api.VerbCreate || ns.DeletionTimestamp == nil {
				return nil
			}
			refusal := apierrors.NewForbidden(a.GroupResource(), a.Name,
				fmt.Errorf("unable to create new content in namespace %s because it is being terminated", a.Namespace))
			refusal.ErrStatus.Details.Causes = append(refusal.ErrStatus.Details.Causes, metav1.StatusCause{
				Type:    corev1.NamespaceTerminatingCause,
				Message: fmt.Sprintf("namespace %s is being terminated", a.Namespace),
				Field:   "metadata.namespace",
			})
			return refusal
		},
	}
}

func isNamespace(a *registry.Attributes) bool {
	return a.Resource.Kind == "Namespace" && a.Resource.Versions[0].Group == ""
}

// asksForAccess: what may be done in a namespace can be asked before it is there.
func asksForAccess(a *registry.Attributes) bool {
	return a.GroupResource() == authorizationv1.Resource("localsubjectaccessreviews")
}

func immortal(name string) bool {
	return name == metav1.NamespaceDefault || name == metav1.NamespaceSystem || name == metav1.NamespacePublic
}
