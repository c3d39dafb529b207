package core

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// Namespace describes the kind Namespace, which is a scope for names and permissions.
func Namespace() *api.Resource {
	return api.NewResource(api.Kind[*corev1.Namespace]{
		Names: api.Names{
			Name: "namespaces", Singular: "namespace", Kind: "Namespace",
			ShortNames: []string{"ns"},
			// Namespaces don't support deletecollection.
			Verbs: []string{api.VerbCreate, api.VerbDelete, api.VerbGet, api.VerbList, api.VerbPatch, api.VerbUpdate, api.VerbWatch},
		},
		Versions: api.WithFieldLabels(api.Served(corev1.SchemeGroupVersion), api.NameLabel, "status.phase"),
		Default: func(ns *corev1.Namespace) {
			labelNamespace(ns)
			if ns.Status.Phase == "" {
				ns.Status.Phase = corev1.NamespaceActive
			}
		},
		Storage:      api.Storage{Prefix: "namespaces"},
		ValidateName: validation.LabelName,
		Prepare:      api.Prepare(prepareNamespace, prepareNamespaceUpdate),
		Checks:       api.Checks(api.NewMetadata, validateNamespace, api.Declared),
		Status:       api.NewStatus(nil, api.Metadata, api.Changes(namespaceStatusRules), api.Declared),
		Selectable: func(obj *corev1.Namespace) map[string]string {
			return map[string]string{"status.phase": string(obj.Status.Phase)}
		},
		Reset:        map[string][]string{"finalize": {"status"}},
		Subresources: []api.Subresource{finalizeNamespace()},
		Delete: api.Deletion{
			MarkTerminating:   terminateNamespace,
			PreconditionError: "Precondition failed",
			IsScope:           true,
			HasFinalizers:     func(obj api.Object) bool { return len(obj.(*corev1.Namespace).Spec.Finalizers) > 0 },
		},
		Table: api.Rows(namespaceRow),
	})
}

// labelNamespace sets the label kubernetes.io/metadata.name, so that selectors can select a
// namespace by name.
func labelNamespace(ns *corev1.Namespace) {
	if ns.Name == "" || ns.Labels[corev1.LabelMetadataName] == ns.Name {
		return
	}
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	ns.Labels[corev1.LabelMetadataName] = ns.Name
}

func prepareNamespace(ns *corev1.Namespace) {
	if len(validation.LabelName(ns.Name, false)) == 0 { // validation refuses a generated name that is no label
		labelNamespace(ns)
	}
	ns.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	// The namespace controller removes this finalizer when the namespace is empty.
	if !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
		ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
}

// terminateNamespace sets the phase Terminating. A namespace has no grace period: it exists
// until its finalizers are removed.
func terminateNamespace(ns api.Object) {
	ns.(*corev1.Namespace).Status.Phase = corev1.NamespaceTerminating
}

// prepareNamespaceUpdate restores spec.finalizers, which only the subresource finalize
// changes.
func prepareNamespaceUpdate(ns, old *corev1.Namespace) {
	labelNamespace(ns)
	ns.Spec.Finalizers = old.Spec.Finalizers
}

func validateNamespace(w *api.Write[*corev1.Namespace]) {
	for _, name := range w.Object.Spec.Finalizers {
		w.Add(namespaceFinalizer(string(name), field.NewPath("spec", "finalizers"))...)
	}
}

// namespaceFinalizer validates a finalizer in the spec, to which the rules of metadata do not apply.
func namespaceFinalizer(name string, at *field.Path) field.ErrorList {
	errs := apivalidation.ValidateFinalizerName(name, at)
	if err := api.FinalizerName(name, at); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// finalizeNamespace describes the subresource finalize, by which the namespace controller
// removes a finalizer.
func finalizeNamespace() *api.Field {
	return api.NewField("finalize", []string{api.VerbUpdate},
		func(ns, old *corev1.Namespace) { ns.Status = old.Status },
		api.Metadata, validateFinalize, api.Declared)
}

// validateFinalize is validateNamespace with the index of a finalizer in the path of its errors.
func validateFinalize(w *api.Write[*corev1.Namespace]) {
	for i, name := range w.Object.Spec.Finalizers {
		w.Add(namespaceFinalizer(string(name), field.NewPath("spec", "finalizers").Index(i))...)
	}
}

func namespaceRow(row *table.Row, n *corev1.Namespace) {
	row.Name(n.Name)
	row.Text("Status", "The status of the namespace", string(n.Status.Phase))
	row.Age(n)
}

// namespaceStatusRules validates that the phase is Terminating if and only if the namespace
// is being deleted.
func namespaceStatusRules(at *validation.Path, obj, _ *corev1.Namespace) {
	phase := at.Child("status").Child("Phase")
	switch terminating := obj.DeletionTimestamp != nil; {
	case terminating && obj.Status.Phase != corev1.NamespaceTerminating:
		phase.Invalid(obj.Status.Phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")
	case !terminating && obj.Status.Phase != corev1.NamespaceActive:
		phase.Invalid(obj.Status.Phase, "may only be 'Active' if `deletionTimestamp` is empty")
	}
}
