package api

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// A definition whose versions have fields of these formats.
func formatted(formats ...string) Object {
	d := &apiextensionsv1.CustomResourceDefinition{}
	for _, format := range formats {
		d.Spec.Versions = append(d.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Schema: &apiextensionsv1.CustomResourceValidation{
			OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"f": {Type: "string", Format: format}}},
		}})
	}
	d.Spec.Versions = append(d.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{})
	return d
}

func TestDefinitionWarnings(t *testing.T) {
	for _, c := range []struct {
		obj, old Object
		want     string
	}{
		{formatted("date", "ipv4"), nil, ""},
		{formatted("new", "date", "other"), nil, `unrecognized format "new",unrecognized format "other"`},
		{formatted("new", "other"), formatted("new"), `unrecognized format "other"`},
		{formatted("date", "new"), formatted("new"), ""},
	} {
		if got := strings.Join(definitionWarnings(c.obj, c.old), ","); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
