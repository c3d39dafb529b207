package api

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// namespace is a scope for names and permissions.
func namespace() *Resource {
	return &Resource{
		Name: "namespaces", Singular: "namespace", Kind: "Namespace",
		ShortNames: []string{"ns"},
		// There is no deleting of all namespaces at once.
		Verbs:                []string{VerbCreate, VerbDelete, VerbGet, VerbList, VerbPatch, VerbUpdate, VerbWatch},
		Versions:             selectable(served(corev1.SchemeGroupVersion), nameLabel, "status.phase"),
		New:                  func() Object { return &corev1.Namespace{} },
		Rows:                 &Table{Columns: namespaceColumns, Cells: namespaceCells},
		Subresources:         []*Subresource{finalizeNamespace()},
		Prefix:               "namespaces",
		ValidateStatusUpdate: changesOf(namespaceStatusRules),
		ValidateName:         labelName,
		HasStatus:            true,
		ResetFields:          map[string][]string{"finalize": {"status"}},
		Default: func(obj Object) {
			ns := obj.(*corev1.Namespace)
			labelNamespace(ns)
			if ns.Status.Phase == "" {
				ns.Status.Phase = corev1.NamespaceActive
			}
		},
		PrepareCreate: prepareNamespace,
		PrepareUpdate: prepareNamespaceUpdate,
		Validate:      validateNamespace,
		BeginDelete:   terminateNamespace,
		HasFinalizers: func(obj Object) bool { return len(obj.(*corev1.Namespace).Spec.Finalizers) > 0 },
		Fields: func(obj Object) map[string]string {
			return map[string]string{"status.phase": string(obj.(*corev1.Namespace).Status.Phase)}
		},
	}
}

// labelNamespace lets namespaces be selected by their name.
func labelNamespace(ns *corev1.Namespace) {
	if ns.Name == "" || ns.Labels[corev1.LabelMetadataName] == ns.Name {
		return
	}
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	ns.Labels[corev1.LabelMetadataName] = ns.Name
}

func prepareNamespace(obj Object) {
	ns := obj.(*corev1.Namespace)
	labelNamespace(ns)
	ns.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	// Not gone before the controller that empties it says so.
	if !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
		ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
}

// terminateNamespace shows in the phase that the namespace is being emptied,
// which takes the time it takes and no grace period.
func terminateNamespace(obj Object) {
	ns := obj.(*corev1.Namespace)
	ns.Status.Phase = corev1.NamespaceTerminating
}

// prepareNamespaceUpdate keeps spec.finalizers, which only the finalize
// subresource changes.
func prepareNamespaceUpdate(obj, old Object) {
	ns := obj.(*corev1.Namespace)
	labelNamespace(ns)
	ns.Spec.Finalizers = old.(*corev1.Namespace).Spec.Finalizers
}

func validateNamespace(obj Object) field.ErrorList {
	var errs field.ErrorList
	at := field.NewPath("spec", "finalizers")
	for _, name := range obj.(*corev1.Namespace).Spec.Finalizers {
		if err := finalizerName(string(name), at); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// finalizeNamespace is how whoever empties a namespace says that it is done.
func finalizeNamespace() *Subresource {
	return &Subresource{
		Name: "finalize", Verbs: []string{VerbUpdate},
		Keep: func(obj, old Object) {
			ns := obj.(*corev1.Namespace)
			ns.Status = old.(*corev1.Namespace).Status
		},
		Validate: func(obj, _ Object) field.ErrorList {
			ns, at := obj.(*corev1.Namespace), field.NewPath("spec", "finalizers")
			names := make([]string, len(ns.Spec.Finalizers))
			for i, name := range ns.Spec.Finalizers {
				names[i] = string(name)
			}
			return finalizerNames(names, at)
		},
	}
}
