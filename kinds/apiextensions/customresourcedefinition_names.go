package apiextensions

import (
	"net/url"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

func definitionNameRules(at *validation.Path, n *apiextensionsv1.CustomResourceDefinitionNames) {
	label := func(at *validation.Path, name string) {
		if faults := utilvalidation.IsDNS1035Label(name); name != "" && len(faults) > 0 {
			at.Invalid(name, strings.Join(faults, ","))
		}
	}
	kind := func(at *validation.Path, name string) {
		if faults := utilvalidation.IsDNS1035Label(strings.ToLower(name)); name != "" && len(faults) > 0 {
			at.Invalid(name, "may have mixed case, but should otherwise match: "+strings.Join(faults, ","))
		}
	}
	listed := func(at *validation.Path, names []string) {
		for i, name := range names {
			if faults := utilvalidation.IsDNS1035Label(name); len(faults) > 0 {
				at.Index(i).Invalid(name, strings.Join(faults, ","))
			}
		}
	}
	label(at.Child("plural"), n.Plural)
	label(at.Child("singular"), n.Singular)
	kind(at.Child("kind"), n.Kind)
	kind(at.Child("listKind"), n.ListKind)
	listed(at.Child("shortNames"), n.ShortNames)
	if n.Kind != "" && n.Kind == n.ListKind {
		at.Child("listKind").Invalid(n.ListKind, "kind and listKind may not be the same")
	}
	listed(at.Child("categories"), n.Categories)
}

func storedVersionRules(at *validation.Path, d *definition) {
	if len(d.Status.StoredVersions) == 0 {
		at.Invalid(d.Status.StoredVersions, "must have at least one stored version")
		return
	}
	missing := map[string]int{} // the last index of each stored version that spec.versions lacks
	for i, name := range d.Status.StoredVersions {
		missing[name] = i
	}
	for _, v := range d.Spec.Versions {
		if _, ok := missing[v.Name]; v.Storage && !ok {
			at.Invalid(d.Status.StoredVersions, "must have the storage version "+v.Name)
		}
		delete(missing, v.Name)
	}
	for i, name := range d.Status.StoredVersions {
		if last, ok := missing[name]; ok && i == last {
			at.Index(i).Invalid(name, "missing from spec.versions; "+name+" was previously a storage version, and must remain in spec.versions "+
				"until a storage migration ensures no data remains persisted in "+name+" and removes "+name+" from status.storedVersions")
		}
	}
}

// approvalNeeded is the message for kinds in Kubernetes community groups.
const approvalNeeded = `protected groups must have approval annotation "api-approved.kubernetes.io"`

const approvalLink = ", see https://github.com/kubernetes/enhancements/pull/1111"

// isProtectedGroup reports whether kinds of the group need approval.
func isProtectedGroup(group string) bool {
	return group == "k8s.io" || strings.HasSuffix(group, ".k8s.io") || group == "kubernetes.io" || strings.HasSuffix(group, ".kubernetes.io")
}

// DefinitionApproval returns the condition KubernetesAPIApprovalPolicyConformant of a
// definition; needed is false if the group needs no approval.
func DefinitionApproval(d *definition) (needed bool, status apiextensionsv1.ConditionStatus, reason, message string) {
	if !isProtectedGroup(d.Spec.Group) {
		return false, "", "", ""
	}
	status, reason, message = annotatedApproval(d)
	return true, status, reason, message
}

// annotatedApproval returns the condition for the annotation of a definition in any group.
func annotatedApproval(d *definition) (status apiextensionsv1.ConditionStatus, reason, message string) {
	text := d.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation]
	u, err := url.ParseRequestURI(text)
	switch {
	case text == "":
		return apiextensionsv1.ConditionFalse, "MissingAnnotation", approvalNeeded + approvalLink
	case strings.HasPrefix(text, "unapproved"):
		return apiextensionsv1.ConditionFalse, "UnapprovedAnnotation", "not approved: \"" + text + "\""
	case err == nil && u.Host != "" && u.Scheme != "":
		return apiextensionsv1.ConditionTrue, "ApprovedAnnotation", "approved in " + text
	}
	return apiextensionsv1.ConditionFalse, "InvalidAnnotation", approvalNeeded + ` with either a URL or a reason starting with "unapproved"` + approvalLink
}

// approvalReason returns the reason of the approval condition that a definition has in a protected group,
// so that the annotations before and after an update can be compared.
func approvalReason(d *definition) string {
	_, reason, _ := annotatedApproval(d)
	return reason
}

func approvalRules(at *validation.Path, d *definition) {
	at = at.Child("metadata").Child("annotations").Key(apiextensionsv1.KubeAPIApprovedAnnotation)
	switch _, _, reason, message := DefinitionApproval(d); reason {
	case "MissingAnnotation":
		at.Required(message)
	case "InvalidAnnotation":
		at.Invalid(d.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation], message)
	}
}
