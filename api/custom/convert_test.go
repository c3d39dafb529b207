package custom

import (
	"context"
	"reflect"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
)

// thingsIn defines Things with versions that each have a field named like the version;
// the last is the storage version.
func thingsIn(t *testing.T, versions ...string) *Kind {
	t.Helper()
	d := &Definition{}
	d.Spec.Group = "example.com"
	d.Status.AcceptedNames = apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Kind: "Thing", ListKind: "ThingList"}
	d.Spec.Names = d.Status.AcceptedNames
	for i, name := range versions {
		d.Spec.Versions = append(d.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: i == len(versions)-1,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &props{
				Type: "object", Properties: map[string]props{"all": {Type: "string"}, name: {Type: "string"}},
			}},
		})
	}
	k, err := Compile(d, func() (*Definition, error) { return d, nil }, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestMetadataOfWrongTypes checks that metadata which mutating admission spoiled is refused, on create
// and update.
func TestMetadataOfWrongTypes(t *testing.T) {
	res := thingsIn(t, "v1").Resource
	object := func(link any) *untyped.Object {
		return untyped.FromContent(map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "a", "uid": "u", "resourceVersion": "1", "selfLink": link}})
	}
	const want = "unrecognized type: string"
	if got := res.CheckCreate(&res.Versions[0], object([]any{})).ToAggregate(); got == nil || !strings.Contains(got.Error(), want) {
		t.Errorf("created: %v", got)
	}
	w := res.NewWrite(api.Attempt{}, object([]any{}), object(""))
	res.Check(res.Rules(), w)
	if got := w.Errors.ToAggregate(); got == nil || !strings.Contains(got.Error(), want) {
		t.Errorf("updated: %v", got)
	}
}

// TestReadByFormerDefinition checks that a request that began before a version was added can
// read objects that were stored in that version later.
func TestReadByFormerDefinition(t *testing.T) {
	for _, former := range [][]string{{"v1"}, {"v0", "v1"}} {
		res := thingsIn(t, former...).Resource
		stored := untyped.FromContent(map[string]any{"apiVersion": "example.com/v2", "kind": "Thing",
			"metadata": map[string]any{"name": "a"}, "all": "x", "v2": "y"})
		out, err := res.Storage.ConvertFromStored(context.Background(), []api.Object{stored})
		if err != nil {
			t.Errorf("%v: %v", former, err)
			continue
		}
		want := map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "a"}, "all": "x"}
		if got := contentOf(out[0]); !reflect.DeepEqual(got, want) {
			t.Errorf("%v: read as %v, want %v", former, got, want)
		}
		if contentOf(stored)["v2"] != "y" {
			t.Error("the stored object was changed")
		}
	}
	other := untyped.FromContent(map[string]any{"apiVersion": "other.example.com/v1", "kind": "Thing"})
	if _, err := thingsIn(t, "v1").Resource.Storage.ConvertFromStored(context.Background(), []api.Object{other}); err == nil {
		t.Error("an object of another group is read")
	}
}
