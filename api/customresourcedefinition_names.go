package api

import (
	"net/url"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

func definitionNames(at *place, n *apiextensionsv1.CustomResourceDefinitionNames) {
	label := func(at *place, name string) {
		if faults := validation.IsDNS1035Label(name); name != "" && len(faults) > 0 {
			at.invalid(name, strings.Join(faults, ","))
		}
	}
	kind := func(at *place, name string) {
		if faults := validation.IsDNS1035Label(strings.ToLower(name)); name != "" && len(faults) > 0 {
			at.invalid(name, "may have mixed case, but should otherwise match: "+strings.Join(faults, ","))
		}
	}
	listed := func(at *place, names []string) {
		for i, name := range names {
			if faults := validation.IsDNS1035Label(name); len(faults) > 0 {
				at.item(i).invalid(name, strings.Join(faults, ","))
			}
		}
	}
	label(at.of("plural"), n.Plural)
	label(at.of("singular"), n.Singular)
	kind(at.of("kind"), n.Kind)
	kind(at.of("listKind"), n.ListKind)
	listed(at.of("shortNames"), n.ShortNames)
	if n.Kind != "" && n.Kind == n.ListKind {
		at.of("listKind").invalid(n.ListKind, "kind and listKind may not be the same")
	}
	listed(at.of("categories"), n.Categories)
}

func storedVersions(at *place, d *definition) {
	if len(d.Status.StoredVersions) == 0 {
		at.invalid(d.Status.StoredVersions, "must have at least one stored version")
		return
	}
	for _, v := range d.Spec.Versions {
		if v.Storage && !slices.Contains(d.Status.StoredVersions, v.Name) {
			at.invalid(d.Status.StoredVersions, "must have the storage version "+v.Name)
		}
	}
	for i, name := range d.Status.StoredVersions {
		if !slices.ContainsFunc(d.Spec.Versions, func(v definitionVersion) bool { return v.Name == name }) {
			at.item(i).invalid(name, "missing from spec.versions; "+name+" was previously a storage version, and must remain in spec.versions "+
				"until a storage migration ensures no data remains persisted in "+name+" and removes "+name+" from status.storedVersions")
		}
	}
}

// Approval of kinds in the groups of the Kubernetes community.
const approvalNeeded = `protected groups must have approval annotation "api-approved.kubernetes.io"`

const approvalMore = ", see https://github.com/kubernetes/enhancements/pull/1111"

// protected reports whether kinds of the group need approval.
func protected(group string) bool {
	return group == "k8s.io" || strings.HasSuffix(group, ".k8s.io") || group == "kubernetes.io" || strings.HasSuffix(group, ".kubernetes.io")
}

// DefinitionApproval tells how it stands about the approval that a definition
// needs: needed is false where none is, and reason is one of those of the condition
// KubernetesAPIApprovalPolicyConformant.
func DefinitionApproval(d *definition) (needed bool, status apiextensionsv1.ConditionStatus, reason, message string) {
	if !protected(d.Spec.Group) {
		return false, "", "", ""
	}
	text := d.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation]
	u, err := url.ParseRequestURI(text)
	switch {
	case text == "":
		return true, apiextensionsv1.ConditionFalse, "MissingAnnotation", approvalNeeded + approvalMore
	case strings.HasPrefix(text, "unapproved"):
		return true, apiextensionsv1.ConditionFalse, "UnapprovedAnnotation", "not approved: \"" + text + "\""
	case err == nil && u.Host != "" && u.Scheme != "":
		return true, apiextensionsv1.ConditionTrue, "ApprovedAnnotation", "approved in " + text
	}
	return true, apiextensionsv1.ConditionFalse, "InvalidAnnotation", approvalNeeded + ` with either a URL or a reason starting with "unapproved"` + approvalMore
}

// approvalReason returns the reason of DefinitionApproval. The group of a definition
// never changes, so that reasons of two states can be compared.
func approvalReason(d *definition) string {
	_, _, reason, _ := DefinitionApproval(d)
	return reason
}

func approval(at *place, d *definition) {
	at = at.of("metadata").of("annotations").key(apiextensionsv1.KubeAPIApprovedAnnotation)
	switch _, _, reason, message := DefinitionApproval(d); reason {
	case "MissingAnnotation":
		at.required(message)
	case "InvalidAnnotation":
		at.invalid(d.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation], message)
	}
}
