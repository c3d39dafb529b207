package admission

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// namespaceLifecycle lets nothing be put into a namespace that is not there, or
// that is being deleted, and keeps those that the system itself lives in.
func namespaceLifecycle(o *Objects) Plugin {
	namespaces := namespacesOf(o)
	return Plugin{
		Handles: on(nil, writes()...),
		Mutate: func(ctx context.Context, a *registry.Attributes) error {
			switch {
			case a.Verb == api.VerbDelete && isNamespace(a) && immortal(a.Name) && !a.Unreadable(): // the server recreates it
				return apierrors.NewForbidden(a.GroupResource(), a.Name, errors.New("this namespace may not be deleted"))
			case a.Verb == api.VerbDelete || !a.Resource.Namespaced || a.Namespace == "" || isAccessReview(a):
				return nil
			}
			// Read as it is now, not as it was: nothing must get into a namespace
			// after its content has begun to be deleted.
			ns, err := namespaces.at(ctx, "", a.Namespace, storage.Read{})
			if err != nil {
				return err
			}
			if a.Verb != api.VerbCreate || ns.DeletionTimestamp == nil {
				return nil
			}
			return terminatingNamespace(a)
		},
	}
}

func terminatingNamespace(a *registry.Attributes) error {
	refusal := forbidden(a, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", a.Namespace))
	refusal.ErrStatus.Details.Causes = append(refusal.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    corev1.NamespaceTerminatingCause,
		Message: fmt.Sprintf("namespace %s is being terminated", a.Namespace),
		Field:   "metadata.namespace",
	})
	return refusal
}

func isNamespace(a *registry.Attributes) bool {
	return a.Resource.Kind == "Namespace" && a.Resource.Versions[0].Group == ""
}

// isAccessReview tells of questions about a namespace that may be asked whether
// or not it is there.
func isAccessReview(a *registry.Attributes) bool {
	return a.Resource.Name == "localsubjectaccessreviews" && a.Resource.Versions[0].Group == "authorization.k8s.io"
}

func immortal(name string) bool {
	return name == metav1.NamespaceDefault || name == metav1.NamespaceSystem || name == metav1.NamespacePublic
}
