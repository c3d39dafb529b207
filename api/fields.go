package api

import (
	"fmt"
	"strings"
)

// Labels of the fields that can be selected by in every kind, and the messages
// for those that cannot.
const (
	nameLabel      = "metadata.name"
	namespaceLabel = "metadata.namespace"

	unknownField     = `%q is not a known field selector: only "metadata.name", "metadata.namespace"`
	unsupportedField = "field label not supported: %s"
)

// FieldLabel translates the label of a field selector in version v into the
// hub's. The error says what a client is told of a label that is not known.
func (r *Resource) FieldLabel(v *Version, label string) (string, error) {
	if v.FieldLabels == nil {
		if label == nameLabel || label == namespaceLabel {
			return label, nil
		}
	} else if hub, ok := v.FieldLabels[label]; ok {
		return hub, nil
	}
	message := v.FieldLabelError
	if message == "" {
		message = unknownField
	}
	// A message may name nothing but the label, in one of two forms.
	if strings.Contains(message, "%q") {
		message = strings.ReplaceAll(message, "%q", fmt.Sprintf("%q", label))
	}
	return "", fmt.Errorf("%s", strings.ReplaceAll(message, "%s", label))
}

// selectable gives the only version of a resource its field labels, which are
// the hub's own.
func selectable(versions []Version, labels ...string) []Version {
	m := make(map[string]string, len(labels))
	for _, l := range labels {
		m[l] = l
	}
	versions[0].FieldLabels, versions[0].FieldLabelError = m, unsupportedField
	return versions
}
