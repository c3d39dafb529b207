package api

import (
	corev1 "k8s.io/api/core/v1"
)

// serviceAccount is an identity for pods.
func serviceAccount() *Resource {
	return &Resource{
		Name: "serviceaccounts", Singular: "serviceaccount", Kind: "ServiceAccount",
		ShortNames:          []string{"sa"},
		Namespaced:          true,
		Versions:            served(corev1.SchemeGroupVersion),
		New:                 func() Object { return &corev1.ServiceAccount{} },
		Rows:                nameAndAge(),
		Prefix:              "serviceaccounts",
		PrepareCreate:       func(obj Object) { keepSecretNames(obj.(*corev1.ServiceAccount)) },
		PrepareUpdate:       func(obj, _ Object) { keepSecretNames(obj.(*corev1.ServiceAccount)) },
		ObjectWarnings:      serviceAccountWarnings,
		Subresources:        []*Subresource{tokenRequest()},
		MetadataRevalidated: true,
		ReturnDeletedObject: true,
	}
}

// keepSecretNames drops what else is said of a secret: only its name counts.
func keepSecretNames(a *corev1.ServiceAccount) {
	for i := range a.Secrets {
		a.Secrets[i] = corev1.ObjectReference{Name: a.Secrets[i].Name}
	}
}

func serviceAccountWarnings(obj, old Object) []string {
	const key = "kubernetes.io/enforce-mountable-secrets"
	if _, ok := obj.GetAnnotations()[key]; !ok || old != nil {
		return nil
	}
	return []string{"metadata.annotations[" + key + "]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"}
}
