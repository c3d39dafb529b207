package api

import corev1 "k8s.io/api/core/v1"

// namespaceStatusRules: the phase says whether the namespace is being deleted.
func namespaceStatusRules(at *place, is, _ *corev1.Namespace) {
	phase := at.of("status").of("Phase")
	switch gone := is.DeletionTimestamp != nil; {
	case gone && is.Status.Phase != corev1.NamespaceTerminating:
		phase.invalid(is.Status.Phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")
	case !gone && is.Status.Phase != corev1.NamespaceActive:
		phase.invalid(is.Status.Phase, "may only be 'Active' if `deletionTimestamp` is empty")
	}
}
