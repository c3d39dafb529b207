package customkinds

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/kinds"
	"github.com/miniapiserver/miniapiserver/kinds/apiextensions"
	"github.com/miniapiserver/miniapiserver/storage"
)

// conditionOfType returns a condition of a definition in one line, or "".
func conditionOfType(d *definition, t apiextensionsv1.CustomResourceDefinitionConditionType) string {
	i := slices.IndexFunc(d.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool { return c.Type == t })
	if i < 0 {
		return ""
	}
	c := d.Status.Conditions[i]
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

// TestNonStructural checks that a definition with non-structural schemas has the condition
// until they are repaired, although schemas are not in the outline.
func TestNonStructural(t *testing.T) {
	all := kinds.All()
	res := all[slices.IndexFunc(all, func(r *api.Resource) bool { return r.Name == apiextensions.CustomResourceDefinitions })]
	store, err := storage.Open(t.Context(), storage.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	c, err := store.Collection(storage.CollectionConfig{Prefix: res.Storage.Prefix, Encode: res.EncodeStored, Decode: res.DecodeStored})
	if err == nil {
		err = store.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	k := &Controller{BaseConfig: reconcile.BaseConfig{Now: time.Now}, seed: maphash.MakeSeed()}
	k.schemas = newSchemaChecks(k)
	schema := func(spec apiextensionsv1.JSONSchemaProps) *apiextensionsv1.CustomResourceValidation {
		return &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec},
		}}
	}
	object := apiextensionsv1.JSONSchemaProps{Type: "object"}
	ref, list := "#", "map"
	const noType = "spec.versions[1].schema.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified object fields"
	var conditions []definitionCondition
	for name, test := range map[string]struct {
		preserve bool
		second   *apiextensionsv1.CustomResourceValidation
		want     string
	}{
		"older":       {true, schema(apiextensionsv1.JSONSchemaProps{}), "True Violations: [spec.preserveUnknownFields: Invalid value: true: must be false, " + noType + "]"},
		"older, bare": {true, nil, "True Violations: spec.preserveUnknownFields: Invalid value: true: must be false"},
		"untyped":     {false, schema(apiextensionsv1.JSONSchemaProps{}), "True Violations: " + noType},
		"bare":        {false, nil, "True Violations: spec.versions[1].schema.openAPIV3Schema: Required value: schemas are required"},
		"reference":   {false, schema(apiextensionsv1.JSONSchemaProps{Ref: &ref}), "Unknown StructuralError: failed to check validation schema for version v2: OpenAPIV3Schema '$ref' is not supported"},
		"a type":      {false, schema(apiextensionsv1.JSONSchemaProps{Type: "text"}), "True Violations: spec.versions[1].schema.openAPIV3Schema.properties[spec].type: Unsupported value: \"text\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\""},
		"a list":      {false, schema(apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &object}, XListType: &list}), "True Violations: spec.versions[1].schema.openAPIV3Schema.properties[spec].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map"},
		"structural":  {false, schema(object), ""},
	} {
		d := &definition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", PreserveUnknownFields: test.preserve,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Schema: schema(object)}, {Name: "v2", Schema: test.second}},
		}}
		d.Name = "things"
		d.Status.Conditions = conditions // of an earlier state
		item, err := c.Create(t.Context(), name, d)
		if err != nil {
			t.Fatal(err)
		}
		obj, err := OutlineReader(res)(item)
		if err != nil {
			t.Fatal(err)
		}
		is := obj.(*definition).DeepCopy()
		spec := k.specOf(is, item)
		k.setNameConditions(is, "", "")
		if !test.preserve {
			was := conditionOfType(is, apiextensionsv1.NonStructuralSchema)
			k.schemas.setSchemaCondition(is, spec, item)
			if got := conditionOfType(is, apiextensionsv1.NonStructuralSchema); got != was {
				t.Errorf("%s: got %q before it was checked, want %q", name, got, was)
			}
			k.schemas.results["things"] = checkSchemas(item, spec)
		}
		k.schemas.setSchemaCondition(is, spec, item)
		if got := conditionOfType(is, apiextensionsv1.NonStructuralSchema); got != test.want || is.ResourceVersion == "" {
			t.Errorf("%s of revision %q: got %q, want %q", name, is.ResourceVersion, got, test.want)
		}
		if len(is.Status.Conditions) == 1 && test.want == "" {
			only := is.DeepCopy()
			only.Status.Conditions = []definitionCondition{{Type: apiextensionsv1.NonStructuralSchema, Status: apiextensionsv1.ConditionTrue}}
			if k.schemas.setSchemaCondition(only, spec, item); only.Status.Conditions != nil {
				t.Errorf("%s: conditions are %v, want null", name, only.Status.Conditions)
			}
		}
		if got := conditionOfType(is, apiextensionsv1.NamesAccepted); got != "True NoConflicts: no conflicts found" {
			t.Error(got)
		}
		conditions = is.Status.Conditions
	}
}

// TestSchemaConditionOncePerGeneration checks that a condition which a client removed stays away until the next
// generation.
func TestSchemaConditionOncePerGeneration(t *testing.T) {
	k := &Controller{BaseConfig: reconcile.BaseConfig{Now: time.Now}}
	k.schemas = newSchemaChecks(k)
	spec := specID{generation: 1}
	k.schemas.results["things"] = schemaCheckResult{spec: spec, condition: &definitionCondition{
		Type: apiextensionsv1.NonStructuralSchema, Status: apiextensionsv1.ConditionTrue, Reason: "Violations"}}
	d := &definition{}
	d.Name, d.Generation = "things", 1
	if !k.schemas.setSchemaCondition(d, spec, nil) || k.schemas.setSchemaCondition(d, spec, nil) {
		t.Error("the condition was not set once")
	}
	k.schemas.conditionWritten(d)
	d.Status.Conditions = nil
	if k.schemas.setSchemaCondition(d, spec, nil) {
		t.Error("the condition was set twice in a generation")
	}
	d.Generation = 2
	if !k.schemas.setSchemaCondition(d, spec, nil) {
		t.Error("the condition was not set in the next generation")
	}
}

// TestEstablishedTime checks that the condition Established gets the time that a client removed when the
// names are judged.
func TestEstablishedTime(t *testing.T) {
	k := &Controller{BaseConfig: reconcile.BaseConfig{Now: time.Now}}
	d := &definition{}
	d.Status.Conditions = []definitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
	k.setNameConditions(d, "", "")
	if c := conditionOf(d, apiextensionsv1.Established); c.Status != apiextensionsv1.ConditionTrue || c.LastTransitionTime.IsZero() {
		t.Errorf("got %+v", c)
	}
}

// TestAcceptNames checks that names which no other definition has are accepted, and that the
// last conflict is reported. Accepted names of the definition itself conflict with its other
// names.
func TestAcceptNames(t *testing.T) {
	type names = apiextensionsv1.CustomResourceDefinitionNames
	other := names{Plural: "foos", Singular: "foo", ShortNames: []string{"f", "g"}, Kind: "Foo", ListKind: "FooList"}
	for _, test := range []struct{ asked, given, want, conflict string }{
		{"bars bar Bar BarList", "", "bars bar Bar BarList", ""},
		{"bars foo Bar BarList", "", "bars  Bar BarList", `SingularConflict "foo" is already in use`},
		{"foo bar Bar BarList", "", " bar Bar BarList", `PluralConflict "foo" is already in use`},
		{"bars f Foo FooList", "", "bars   ", `ListKindConflict "FooList" is already in use`},
		{"bars bar Foo BarList", "", "bars bar  BarList", `KindConflict "Foo" is already in use`},
		{"bars bar FooList BarList", "", "bars bar  BarList", `KindConflict "FooList" is already in use`},
		{"bars bar Bar BarList b", "", "bars bar Bar BarList b", ""},
		{"bars bar Bar BarList b f g", "", "bars bar Bar BarList", `ShortNamesConflict ["f" is already in use, "g" is already in use]`},
		{"bars bar Bar BarList b foos", "bars bar Bar BarList b", "bars bar Bar BarList b", `ShortNamesConflict "foos" is already in use`},
		{"bars bar Bar BarList bars", "", "bars bar Bar BarList bars", ""},
		{"bars bar Bar BarList bars", "bars bar Bar BarList", "bars bar Bar BarList", `ShortNamesConflict "bars" is already in use`},
		{"bars bars Bar BarList", "bars bar Bar BarList", "bars bar Bar BarList", `SingularConflict "bars" is already in use`},
		{"bars bar Baz BarList c", "bars bar Bar BarList b", "bars bar Baz BarList c", ""},
	} {
		d := &definition{}
		d.Spec.Names, d.Status.AcceptedNames = namesIn(test.asked), namesIn(test.given)
		given := d.Status.AcceptedNames
		reason, message := acceptNames(d, func(taken func(*names) bool) bool { return taken(&other) || taken(&given) })
		conflict := ""
		if reason != "" {
			conflict = reason + " " + message
		}
		a := d.Status.AcceptedNames
		got := fmt.Sprintf("%s %s %s %s", a.Plural, a.Singular, a.Kind, a.ListKind)
		for _, n := range a.ShortNames {
			got += " " + n
		}
		if got != test.want || conflict != test.conflict {
			t.Errorf("%q of %q: got %q, %s\nwant %q, %s", test.asked, test.given, got, conflict, test.want, test.conflict)
		}
	}
}

// namesIn parses names in the order plural, singular, kind, list kind, short names.
func namesIn(text string) apiextensionsv1.CustomResourceDefinitionNames {
	words := append(strings.Fields(text), "", "", "", "")
	n := apiextensionsv1.CustomResourceDefinitionNames{Plural: words[0], Singular: words[1], Kind: words[2], ListKind: words[3]}
	for _, short := range words[4:] {
		if short != "" {
			n.ShortNames = append(n.ShortNames, short)
		}
	}
	return n
}
