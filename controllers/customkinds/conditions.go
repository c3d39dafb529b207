package customkinds

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/miniapiserver/miniapiserver/kinds/apiextensions"
)

// The conditions of a definition are state that clients can overwrite, and each is written for a reason
// of its own, as by the controllers of kube-apiserver: those of the names when the accepted names are
// not those of the spec, Established when the names are accepted, the approval when its annotation
// changed, that of the schemas once for each generation. What a client writes stays otherwise.

func isTrue(d *definition, t apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	c := conditionOf(d, t)
	return c != nil && c.Status == apiextensionsv1.ConditionTrue
}

// conditionOf returns the first condition of a type, or nil.
func conditionOf(d *definition, t apiextensionsv1.CustomResourceDefinitionConditionType) *definitionCondition {
	i := slices.IndexFunc(d.Status.Conditions, func(c definitionCondition) bool { return c.Type == t })
	if i < 0 {
		return nil
	}
	return &d.Status.Conditions[i]
}

func (k *Controller) setCondition(d *definition, t apiextensionsv1.CustomResourceDefinitionConditionType, ok bool, reason, message string) {
	status := apiextensionsv1.ConditionFalse
	if ok {
		status = apiextensionsv1.ConditionTrue
	}
	d.Status.Conditions = apiextensions.SetDefinitionCondition(d.Status.Conditions, definitionCondition{
		Type: t, Status: status, Reason: reason, Message: message,
	}, k.Now())
}

// setNameConditions sets the conditions of d after its names were accepted or not. reason and message
// report a conflict; reason is empty if there is none.
func (k *Controller) setNameConditions(d *definition, reason, message string) {
	if reason == "" {
		k.setCondition(d, apiextensionsv1.NamesAccepted, true, "NoConflicts", "no conflicts found")
	} else {
		k.setCondition(d, apiextensionsv1.NamesAccepted, false, reason, message)
	}
	switch established := conditionOf(d, apiextensionsv1.Established); {
	case established != nil: // it gets the time that a client may have removed
		d.Status.Conditions = apiextensions.SetDefinitionCondition(d.Status.Conditions, *established, k.Now())
	case reason != "":
		k.setCondition(d, apiextensionsv1.Established, false, "NotAccepted", "not all names are accepted")
	}
}

// setEstablished sets the condition Established of a definition whose names are accepted.
func (k *Controller) setEstablished(d *definition) {
	switch {
	case !isTrue(d, apiextensionsv1.NamesAccepted), isTrue(d, apiextensionsv1.Established):
	case apiextensions.ValidateConversion(d) != nil:
		k.setCondition(d, apiextensionsv1.Established, false, "InvalidCABundle", "The conversion webhook CABundle is invalid")
	default:
		k.setCondition(d, apiextensionsv1.Established, true, "InitialNamesAccepted", "the initial names have been accepted")
	}
}

// setApproval sets the condition about the approval of a kind in a group of the Kubernetes community,
// unless it was set for the same annotation before. It reports whether the condition changed.
func (k *Controller) setApproval(d *definition) bool {
	needed, status, reason, message := apiextensions.DefinitionApproval(d)
	c := conditionOf(d, apiextensionsv1.KubernetesAPIApprovalPolicyConformant)
	if !needed || c != nil && c.Status == status && c.Reason == reason && c.Message == message {
		return false
	}
	annotation := d.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation]
	k.mu.Lock()
	defer k.mu.Unlock()
	if last, ok := k.approvals[d.Name]; ok && last == annotation {
		return false
	}
	k.setCondition(d, apiextensionsv1.KubernetesAPIApprovalPolicyConformant, status == apiextensionsv1.ConditionTrue, reason, message)
	return true
}

// approvalWritten records that the condition of a definition was written.
func (k *Controller) approvalWritten(d *definition) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.approvals[d.Name] = d.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation]
}

func (k *Controller) forgetApproval(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.approvals, name)
}
