package crd

import (
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/miniapiserver/miniapiserver/api"
)

// labelsOf are the labels by which objects of a version can be selected.
func labelsOf(v *apiextensionsv1.CustomResourceDefinitionVersion) map[string]string {
	out := map[string]string{"metadata.name": "metadata.name", "metadata.namespace": "metadata.namespace"}
	for _, f := range v.SelectableFields {
		label := strings.TrimPrefix(f.JSONPath, ".")
		out[label] = label
	}
	return out
}

// addField makes a field selectable.
func addField(res *api.Resource, path string) {
	label := strings.TrimPrefix(path, ".")
	names, before := strings.Split(label, "."), res.Fields
	res.Fields = func(obj api.Object) map[string]string {
		out := map[string]string{}
		if before != nil {
			out = before(obj)
		}
		out[label] = ""
		if v, ok, err := unstructured.NestedFieldNoCopy(contentOf(obj), names...); ok && err == nil && v != nil {
			out[label] = fmt.Sprint(v)
		}
		return out
	}
}
