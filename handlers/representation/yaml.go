package representation

import (
	"net/http"

	"sigs.k8s.io/yaml"
)

// ToYAML converts JSON to YAML. As in kube-apiserver, which reads its JSON as YAML to that end, it fails for
// characters that YAML allows only as escapes, such as DEL and C1 controls.
func ToYAML(data []byte) ([]byte, error) {
	out, err := yaml.JSONToYAML(data)
	if err != nil {
		return nil, NewStatusError(http.StatusInternalServerError, "", err.Error(), nil)
	}
	return out, nil
}
