package apiextensions

import (
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/miniapiserver/miniapiserver/api/custom/structural"
	"github.com/miniapiserver/miniapiserver/api/expression"
)

// TestRepeatedErrors checks that a default which breaks two rules with one text has an error for each.
func TestRepeatedErrors(t *testing.T) {
	d := &apiextensionsv1.CustomResourceDefinition{}
	d.Name = "things.example.com"
	d.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Singular: "thing", Kind: "Thing", ListKind: "ThingList"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
			OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"b": {Type: "boolean", Default: &apiextensionsv1.JSON{Raw: []byte("true")}, XValidations: apiextensionsv1.ValidationRules{
					{Rule: "!self", Message: "m"}, {Rule: "self == false", Message: "m"},
				}},
			}},
		}}},
		Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter},
	}
	d.Status.StoredVersions = []string{"v1"}
	res := CustomResourceDefinition(time.Now, expression.Library{}, structural.Release{})
	if errs := res.CheckCreate(nil, d); len(errs) != 2 || errs[0].Error() != errs[1].Error() {
		t.Errorf("errors %v", errs)
	}
}
