package core

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/authentication"
)

// ServiceAccount describes the kind ServiceAccount, an identity for pods.
func ServiceAccount(gates features.Gates) *api.Resource {
	return api.NewResource(api.Kind[*corev1.ServiceAccount]{
		Names: api.Names{
			Name: "serviceaccounts", Singular: "serviceaccount", Kind: "ServiceAccount",
			ShortNames: []string{"sa"},
			Namespaced: true,
		},
		Versions: api.Served(corev1.SchemeGroupVersion),
		Storage:  api.Storage{Prefix: "serviceaccounts"},
		Prepare: api.Prepare(func(obj *corev1.ServiceAccount) { keepSecretNames(obj) },
			func(obj, _ *corev1.ServiceAccount) { keepSecretNames(obj) }),
		Checks: api.Checks(
			api.Metadata,
			api.RevalidatedMetadata,
			api.Declared,
			api.OnCreate(api.Warn(serviceAccountWarnings)),
			api.OnUpdate(api.WarnOfChange(func(obj, old *corev1.ServiceAccount) []string {
				if len(serviceAccountWarnings(old)) > 0 {
					return nil // the annotation is not new
				}
				return serviceAccountWarnings(obj)
			})),
		),
		Subresources: []api.Subresource{authentication.TokenRequest(gates)},
		Delete:       api.Deletion{ReturnDeletedObject: true},
		Table:        api.NameAndAge[*corev1.ServiceAccount](),
	})
}

// keepSecretNames removes all fields of the references to secrets except the name.
func keepSecretNames(a *corev1.ServiceAccount) {
	for i := range a.Secrets {
		a.Secrets[i] = corev1.ObjectReference{Name: a.Secrets[i].Name}
	}
}

func serviceAccountWarnings(obj *corev1.ServiceAccount) []string {
	const key = "kubernetes.io/enforce-mountable-secrets"
	if _, ok := obj.GetAnnotations()[key]; !ok {
		return nil
	}
	return []string{"metadata.annotations[" + key + "]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"}
}
