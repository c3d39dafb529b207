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

// namespaceAutoProvision makes the namespaces that things are put into.
func namespaceAutoProvision(o *Objects) Plugin {
	namespaces := namespacesOf(o)
	return Plugin{
		Handles: on(nil, api.VerbCreate),
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

// namespaceExists lets nothing be done in namespaces that are not there.
func namespaceExists(o *Objects) Plugin {
	namespaces := namespacesOf(o)
	return Plugin{
		Handles: on(nil, writes()...),
		Validate: func(ctx context.Context, a *registry.Attributes) error {
			if a.Namespace == "" || isNamespace(a) {
				return nil
			}
			_, err := namespaces.get(ctx, "", a.Namespace)
			return err
		},
	}
}
