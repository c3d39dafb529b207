package crd

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api/structural"
)

// openAPIOf is the schema of a version as OpenAPI has it: with what every object
// has, and with the group, version and kind that it is of.
func openAPIOf(gvk schema.GroupVersionKind, s *structural.Schema) ([]byte, error) {
	props := s.Props().DeepCopy()
	if props.Properties == nil {
		props.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
	}
	meta := "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
	props.Properties["metadata"] = apiextensionsv1.JSONSchemaProps{Ref: &meta}
	props.Properties["apiVersion"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	props.Properties["kind"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	data, err := json.Marshal(props)
	if err != nil {
		return nil, err
	}
	var document map[string]any
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	document["x-kubernetes-group-version-kind"] = []any{map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}}
	return json.Marshal(document)
}
