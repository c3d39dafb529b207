package custom

import (
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/miniapiserver/miniapiserver/api"
)

// fieldLabels returns the field labels that field selectors of a version may use.
func fieldLabels(v *apiextensionsv1.CustomResourceDefinitionVersion, scope apiextensionsv1.ResourceScope) map[string]string {
	out := map[string]string{"metadata.name": "metadata.name"}
	if scope == apiextensionsv1.NamespaceScoped {
		out["metadata.namespace"] = "metadata.namespace"
	}
	for _, f := range v.SelectableFields {
		label := strings.TrimPrefix(f.JSONPath, ".")
		out[label] = label
	}
	return out
}

// selectableFields returns a function that reads the selectable fields of all versions
// from an object of any version; nil if no version has selectable fields.
func selectableFields(d *apiextensionsv1.CustomResourceDefinition) func(api.Object) map[string]string {
	paths := map[string][]string{}
	for _, v := range d.Spec.Versions {
		for _, f := range v.SelectableFields {
			label := strings.TrimPrefix(f.JSONPath, ".")
			paths[label] = strings.Split(label, ".")
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return func(obj api.Object) map[string]string {
		out := make(map[string]string, len(paths))
		for label, names := range paths {
			out[label] = ""
			if v, ok, err := unstructured.NestedFieldNoCopy(contentOf(obj), names...); ok && err == nil && v != nil {
				out[label] = fmt.Sprint(v)
			}
		}
		return out
	}
}
