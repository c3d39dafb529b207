package api

import (
	"fmt"
	"strings"
)

// Field selectors that every kind supports, and the messages for unsupported ones.
const (
	NameLabel      = "metadata.name"
	NamespaceLabel = "metadata.namespace"

	unknownField     = `%q is not a known field selector: only "metadata.name", "metadata.namespace"`
	UnsupportedField = "field label not supported: %s"
)

// FieldLabel converts the label of a field selector from version v to the hub version. The
// error is the message for the client.
func (r *Resource) FieldLabel(v *Version, label string) (string, error) {
	if v.FieldLabels == nil {
		if label == NameLabel || label == NamespaceLabel {
			return label, nil
		}
	} else if hub, ok := v.FieldLabels[label]; ok {
		return hub, nil
	}
	message := v.FieldLabelError
	if message == "" {
		message = unknownField
	}
	// The only verbs of a message are %s and %q, both for the label.
	if strings.Contains(message, "%q") {
		message = strings.ReplaceAll(message, "%q", fmt.Sprintf("%q", label))
	}
	return "", fmt.Errorf("%s", strings.ReplaceAll(message, "%s", label))
}

// WithFieldLabels sets the field labels of the first version.
func WithFieldLabels(versions []Version, labels ...string) []Version {
	m := make(map[string]string, len(labels))
	for _, l := range labels {
		m[l] = l
	}
	versions[0].FieldLabels, versions[0].FieldLabelError = m, UnsupportedField
	return versions
}
