package kinds

import (
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/structural"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/kinds/apiextensions"
)

// formatted returns a definition with a version for each format, whose schema has a field of
// that format.
func formatted(formats ...string) *apiextensionsv1.CustomResourceDefinition {
	d := &apiextensionsv1.CustomResourceDefinition{}
	for _, format := range formats {
		d.Spec.Versions = append(d.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Schema: &apiextensionsv1.CustomResourceValidation{
			OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"f": {Type: "string", Format: format}}},
		}})
	}
	d.Spec.Versions = append(d.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{})
	return d
}

// setOf returns a definition with a list of the list type set whose items have a type.
func setOf(item string) *apiextensionsv1.CustomResourceDefinition {
	d, set := formatted("date"), "set"
	d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["l"] = apiextensionsv1.JSONSchemaProps{Type: "array", XListType: &set,
		Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: item}}}
	return d
}

// TestDefinitionErrorOrder checks the order of the errors of a definition: those of the new spec, those
// of changes, and those of the status.
func TestDefinitionErrorOrder(t *testing.T) {
	r := apiextensions.CustomResourceDefinition(time.Now, expression.Library{}, structural.Release{})
	definition := func(group string, stored ...string) *apiextensionsv1.CustomResourceDefinition {
		d := formatted("date")
		d.Name, d.ResourceVersion, d.Spec.Group = "x", "1", group
		d.Spec.Versions = d.Spec.Versions[:1]
		d.Spec.Versions[0].Name, d.Spec.Versions[0].Storage = "v1", true
		d.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "as", Singular: "a", Kind: "A", ListKind: "AList"}
		d.Spec.Scope, d.Status.StoredVersions = apiextensionsv1.ClusterScoped, stored
		return d
	}
	twice := definition("a.b", "v1")
	twice.Spec.Versions = append(twice.Spec.Versions, twice.Spec.Versions[0])
	for _, c := range []struct {
		obj  *apiextensionsv1.CustomResourceDefinition
		want string
	}{
		{definition("x", "v1", "v2", "v3", "v2"), "spec.group,spec.group,status.storedVersions[2],status.storedVersions[3]"},
		{definition("a.b", "v2"), "status.storedVersions,status.storedVersions[0]"},
		{twice, "spec.versions,spec.versions,status.storedVersions"},
	} {
		var got []string
		for _, err := range besideMetadata(checkUpdate(r, nil, c.obj, definition("a.b", "v1"))) {
			got = append(got, err.Field)
		}
		if strings.Join(got, ",") != c.want {
			t.Errorf("got %v, want %s", got, c.want)
		}
	}
}

func TestDefinitionWarnings(t *testing.T) {
	for _, c := range []struct {
		obj, old *apiextensionsv1.CustomResourceDefinition
		want     string
	}{
		{formatted("date", "ipv4"), nil, ""},
		{formatted("new", "date", "other"), nil, `unrecognized format "new",unrecognized format "other"`},
		{formatted("new", "other"), formatted("new"), `unrecognized format "other"`},
		{formatted("date", "new"), formatted("new"), ""},
		{setOf("string"), nil, ""},
		{setOf("object"), nil, `x-kubernetes-list-type: set for items of type "object" is not supported by server-side apply or CEL validation rules`},
		{setOf("array"), setOf("object"), `x-kubernetes-list-type: set for items of type "array" is not supported by server-side apply or CEL validation rules`},
		{setOf("object"), setOf("object"), ""},
	} {
		var old api.Object
		if c.old != nil {
			old = c.old
		}
		r := apiextensions.CustomResourceDefinition(time.Now, expression.Library{}, structural.Release{})
		if got := strings.Join(warningsOf(r, &r.WriteRules, c.obj, old), ","); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// definitionText returns the JSON of a definition with the versions; more are fields of the
// object before the spec.
func definitionText(versions, more string) string {
	return `{"metadata":{"name":"widgets.parity.example"` + more + `},"spec":{"group":"parity.example","scope":"Namespaced",
		"names":{"plural":"widgets","kind":"Widget"},"versions":` + versions + `}}`
}

func TestDefinitionVersionRules(t *testing.T) {
	const schema = `,"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"string"},"metadata":{"type":"object","properties":{"name":{"type":"string"}}},
		"m":{"type":"object","additionalProperties":{"type":"integer"}}}}}`
	const other = `,"schema":{"openAPIV3Schema":{"type":"object"}}`
	version := func(name, storage, more string) string {
		return `{"name":"` + name + `","served":true,"storage":` + storage + more + `}`
	}
	selected := func(paths ...string) string {
		return `,"selectableFields":[{"jsonPath":"` + strings.Join(paths, `"},{"jsonPath":"`) + `"}]`
	}
	const internal = `[{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null},` +
		`{"Name":"%","Served":true,"Storage":$,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}]`
	for _, c := range []struct{ name, versions, want string }{
		{"good", version("v1", "true", schema), ""},
		{"none", "", "spec.versions: Invalid value: []: must have exactly one version marked as storage version"},
		{"two storage versions", version("v1", "true", schema) + "," + version("v2", "true", schema), `[spec.versions: Invalid value: ` +
			strings.NewReplacer("%", "v2", "$", "true").Replace(internal) + `: must have exactly one version marked as storage version, status.storedVersions: Invalid value: ["v1"]: must have the storage version v2]`},
		{"same name", version("v1", "true", schema) + "," + version("v1", "false", schema),
			`spec.versions: Invalid value: ` + strings.NewReplacer("%", "v1", "$", "false").Replace(internal) + `: must contain unique version names`},
		{"own schemas", version("v1", "false", schema) + "," + version("v2", "false", other), `"Schema":{"OpenAPIV3Schema":{"ID":"","Schema":"","Ref":null,"Description":"","Type":"object"`},
		{"name", version("V_1", "true", schema), `[spec.versions[0].name: Invalid value: "V_1": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?'), spec.version: Invalid value: "V_1"`},
		{"no schema", version("v1", "true", ""), "spec.versions[0].schema.openAPIV3Schema: Required value"},
		{"empty schema", version("v1", "true", `,"schema":{}`), "spec.versions[0].schema.openAPIV3Schema: Required value"},
		{"warning too long", version("v1", "true", schema+`,"deprecated":true,"deprecationWarning":"`+strings.Repeat("x", 257)+`"`), "must be <= 256 characters long"},
		{"warning not printable", version("v1", "true", schema+`,"deprecated":true,"deprecationWarning":"x\u00ad"`), "non-printable character found at index 1"},
		{"label selector path", version("v1", "true", schema+`,"subresources":{"scale":{"specReplicasPath":".spec.a","statusReplicasPath":".status.a","labelSelectorPath":".x"}}`),
			`labelSelectorPath: Invalid value: ".x": should be a json path under either .spec or .status`},
		{"enum at the root", version("v1", "true", `,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","enum":[{}]}}`), "fields are allowed at the root of the schema if the status subresource is enabled"},
		{"selected", version("v1", "true", schema+selected(".a", ".m.x")), ""},
		{"selected metadata", version("v1", "true", schema+selected(".metadata")), `[spec.selectableFields[0].jsonPath: Invalid value: ".metadata": must not point to fields in metadata, spec.selectableFields[0].jsonPath: Invalid value: ".metadata": must point`},
		{"selected by brackets", version("v1", "true", schema+selected("['a']")), "is an invalid path: array notation is not allowed"},
		{"selected without a dot", version("v1", "true", schema+selected("a.b")), "is an invalid path: expected [ or . but got: a"},
		{"selected nothing", version("v1", "true", schema+selected(".")), "is an invalid path: unexpected end of JSON path"},
		{"selected unknown", version("v1", "true", schema+selected(".b")), "is an invalid path: does not refer to a valid field"},
		{"selected twice", version("v1", "true", schema+selected(".a", ".a")), `spec.selectableFields[1].jsonPath: Duplicate value: ".a"`},
		{"selected too much", version("v1", "true", schema+selected(".m.a", ".m.b", ".m.c", ".m.d", ".m.e", ".m.f", ".m.g", ".m.h", ".m.i")), "spec.selectableFields: Too many: 9: must have at most 8 items"},
		{"selected beside a shared schema", version("v1", "true", schema+selected(".a")) + "," + version("v2", "false", schema),
			"spec.versions[0].selectableFields: Invalid value: \"\": may only be set when `version.schema.openAPIV3Schema` is not included"},
		{"selected by all, schemas of each", version("v1", "true", schema+selected(".a")) + "," + version("v2", "false", other+selected(".a")),
			`spec.selectableFields: Invalid value: "": may only be set when validations.schema is included`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := apiextensions.CustomResourceDefinition(time.Now, expression.Library{}, structural.Release{})
			d := ruleObject(t, r, definitionText("["+c.versions+"]", ""))
			prepare(r, d, nil)
			wantFaults(t, besideMetadata(r.CheckCreate(nil, d)), c.want)
		})
	}
}

func TestDefinitionUpdateRules(t *testing.T) {
	const versions = `[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]`
	protected := func(annotations string) string {
		return strings.ReplaceAll(definitionText(versions, `,"annotations":{`+annotations+`}`), "parity.example", "parity.k8s.io")
	}
	webhook := func(ca string) string {
		return strings.Replace(definitionText(versions, ""), `"scope"`, `"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],
			"clientConfig":{"url":"https://x.example/","caBundle":"`+ca+`"}}},"scope"`, 1)
	}
	schema := func(properties string) string {
		return strings.Replace(definitionText(versions, ""), `{"type":"object"}`, `{"type":"object","properties":{`+properties+`}}`, 1)
	}
	preserving := func(text string) string {
		return strings.Replace(text, `"scope"`, `"preserveUnknownFields":true,"scope"`, 1)
	}
	const (
		more     = `,"b":{"type":"string"}`
		pattern  = `"a":{"type":"string","pattern":"("}`
		unpruned = `"a":{"type":"object","default":{"x":1},"properties":{"c":{"type":"string"}}}`
		set      = `"a":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"object"}}`
		keys     = `"a":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","properties":{"k":{"type":"string"}}}}`
		loose    = `"a":{"items":{"type":"string"}}`
		costly   = `"a":{"type":"array","maxItems":200000,"items":{"type":"string","maxLength":1000,"x-kubernetes-validations":[{"rule":"self.contains('a')"}]}}`
	)
	const badCA = "spec.conversion.webhookClientConfig.caBundle: Invalid value"
	for _, c := range []struct {
		name, old, updated string
		established        bool
		want               string
	}{
		{"approval stays missing", protected(""), protected(`"a":"b"`), false, ""},
		{"approval goes", protected(`"api-approved.kubernetes.io":"https://x.example/1"`), protected(""), false, "protected groups must have approval annotation"},
		{"approval becomes invalid", protected(""), protected(`"api-approved.kubernetes.io":"x"`), false, "with either a URL or a reason"},
		{"CA before established", definitionText(versions, ""), webhook("eA=="), false, ""},
		{"CA of a new webhook", definitionText(versions, ""), webhook("eA=="), true, badCA},
		{"CA where none was", webhook(""), webhook("eA=="), true, badCA},
		{"CA that was invalid", webhook("eA=="), webhook("eQ=="), true, ""},
		// Stored schemas are checked again, apart from the rules of kube-apiserver's validationOptions.
		{"pattern that was invalid", schema(pattern), schema(pattern), false, "must be a valid regular expression"},
		{"requirePrunedDefaults", schema(more[1:]), schema(unpruned), false, "must not have unknown fields"},
		{"requirePrunedDefaults, stored", schema(unpruned), schema(unpruned + more), false, ""},
		{"requireAtomicSetType", schema(more[1:]), schema(set), false, "must be atomic as item of a list with x-kubernetes-list-type=set"},
		{"requireAtomicSetType, stored", schema(set), schema(set + more), false, ""},
		{"requireMapListKeysMapSetValidation", schema(more[1:]), schema(keys), false, "must have a default or be a required property"},
		{"requireMapListKeysMapSetValidation, stored", schema(keys), schema(keys + more), false, ""},
		{"requireStructuralSchema", schema(loose), schema(loose + more), false, "properties[a].type: Required value"},
		{"requireStructuralSchema, stored", preserving(schema(loose)), preserving(schema(loose + more)), false, ""},
		{"suppressPerExpressionCost", schema(costly), schema(costly + more), false, "estimated rule cost exceeds budget"},
		{"suppressPerExpressionCost, unchanged", schema(costly), strings.Replace(schema(costly), `"metadata":{`, `"metadata":{"labels":{"a":"b"},`, 1), false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := apiextensions.CustomResourceDefinition(time.Now, expression.Library{}, structural.Release{})
			old, updated := ruleObject(t, r, c.old), ruleObject(t, r, c.updated)
			if c.established {
				old.(*apiextensionsv1.CustomResourceDefinition).Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
			}
			prepare(r, old, nil)
			prepare(r, updated, old)
			wantFaults(t, besideMetadata(checkUpdate(r, nil, updated, old)), c.want)
		})
	}
}

// TestDefinitionStatusRules checks that a status has names of valid forms.
func TestDefinitionStatusRules(t *testing.T) {
	testStatusRules(t, apiextensions.CustomResourceDefinition(time.Now, expression.Library{}, structural.Release{}), []ruleTest{
		{"accepted names", `{}`, `{"status":{"acceptedNames":{"plural":"widgets","kind":"Widget","listKind":"WidgetList","shortNames":["w"]}}}`, ""},
		{"kind", `{}`, `{"status":{"acceptedNames":{"kind":"bad kind"}}}`, `status.acceptedNames.kind: Invalid value: "bad kind": may have mixed case`},
		{"list kind", `{}`, `{"status":{"acceptedNames":{"kind":"A","listKind":"A"}}}`, `status.acceptedNames.listKind: Invalid value: "A": kind and listKind may not be the same`},
	})
}
