package plugins

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// namespaceAutoProvision creates the missing namespace of a created object.
func namespaceAutoProvision(o *admission.Objects) admission.Plugin {
	namespaces := admission.NamespacesOf(o)
	return admission.Plugin{
		Handles: admission.HandlesFor(nil, api.VerbCreate),
		Mutate: func(ctx context.Context, a *registry.Attributes) error {
			if a.DryRun || a.Namespace == "" || isNamespace(a) || isAccessReview(a) {
				return nil
			}
			if _, err := namespaces.Get(ctx, "", a.Namespace); !apierrors.IsNotFound(err) {
				return err
			}
			if err := a.AuthorizeCreate(ctx); err != nil {
				return err
			}
			ctx = request.With(ctx, &request.Scope{User: &request.User{Name: request.UserAPIServer, Groups: []string{request.GroupMasters}}})
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.Namespace}}
			_, err := o.Registry().Create(ctx, namespaces.Target("", ""), ns, registry.WriteOptions{Manager: "kube-apiserver"})
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return admission.Forbidden(a, err)
			}
			return nil
		},
	}
}

// namespaceExists rejects writes in a namespace that does not exist.
func namespaceExists(o *admission.Objects) admission.Plugin {
	namespaces := admission.NamespacesOf(o)
	return admission.Plugin{
		Handles: admission.HandlesFor(nil, admission.WriteVerbs()...),
		Validate: func(ctx context.Context, a *registry.Attributes) error {
			if a.Namespace == "" || isNamespace(a) {
				return nil
			}
			_, err := namespaces.Get(ctx, "", a.Namespace)
			return err
		},
	}
}
