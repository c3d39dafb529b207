package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// namespaceAutoProvision creates the missing namespace of a created object.
func namespaceAutoProvision(o *Objects) Plugin {
	namespaces := namespacesOf(o)
	return Plugin{
		Handles: handle(nil, api.VerbCreate),
		Mutate: func(ctx context.Context, a *registry.Attributes) error {
			if a.DryRun || a.Namespace == "" || isNamespace(a) || isAccessReview(a) {
				return nil
			}
			if _, err := namespaces.get(ctx, "", a.Namespace); !apierrors.IsNotFound(err) {
				return err
			}
			if err := a.AuthorizeCreate(ctx); err != nil {
				return err
			}
			ctx = request.With(ctx, &request.Scope{User: &request.User{Name: request.UserAPIServer, Groups: []string{request.GroupMasters}}})
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.Namespace}}
			_, err := o.registry.Create(ctx, namespaces.target, ns, registry.WriteOptions{Manager: "kube-apiserver"})
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return forbidden(a, err)
			}
			return nil
		},
	}
}

// namespaceExists rejects writes in a namespace that does not exist.
func namespaceExists(o *Objects) Plugin {
	namespaces := namespacesOf(o)
	return Plugin{
		Handles: handle(nil, writeVerbs()...),
		Validate: func(ctx context.Context, a *registry.Attributes) error {
			if a.Namespace == "" || isNamespace(a) {
				return nil
			}
			_, err := namespaces.get(ctx, "", a.Namespace)
			return err
		},
	}
}
