package plugins

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// namespaceLifecycle rejects creates in a namespace that does not exist or is terminating, and
// deletion of the namespaces that the system requires. Updates pass: controllers must be able
// to remove finalizers, even of objects that outlived their namespace.
func namespaceLifecycle(o *admission.Objects) admission.Plugin {
	namespaces := admission.NamespacesOf(o)
	return admission.Plugin{
		Handles: admission.HandlesFor(nil, admission.WriteVerbs()...),
		Mutate: func(ctx context.Context, a *registry.Attributes) error {
			switch {
			case a.Verb == api.VerbDelete && isNamespace(a) && isProtectedNamespace(a.Name) && !a.Unreadable(): // the server recreates an unreadable one
				return apierrors.NewForbidden(a.GroupResource(), a.Name, errors.New("this namespace may not be deleted"))
			case a.Verb != api.VerbCreate || !a.Resource.Namespaced || a.Namespace == "",
				isAccessReview(a):
				return nil
			}
			ns, err := namespaces.GetAt(ctx, "", a.Namespace, storage.Read{})
			if err != nil {
				return err
			}
			// A webhook may hold the creation for longer than the namespace lasts.
			a.SetGuard(registry.Guard{Scope: namespaces.Target("", a.Namespace), UID: ns.UID, Check: refuseTerminating})
			return refuseTerminating(a, ns)
		},
	}
}

// refuseTerminating returns an error if a namespace is being deleted.
func refuseTerminating(a *registry.Attributes, namespace api.Object) error {
	if namespace.GetDeletionTimestamp() == nil {
		return nil
	}
	refusal := admission.Forbidden(a, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", a.Namespace))
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

// isAccessReview reports whether the request is an access review in a namespace, which need not
// exist.
func isAccessReview(a *registry.Attributes) bool {
	return a.Resource.Name == "localsubjectaccessreviews" && a.Resource.Versions[0].Group == "authorization.k8s.io"
}

func isProtectedNamespace(name string) bool {
	return name == metav1.NamespaceDefault || name == metav1.NamespaceSystem || name == metav1.NamespacePublic
}
