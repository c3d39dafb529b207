package openapi

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// loadTestdata reads a gzipped JSON file of testdata.
func loadTestdata(t *testing.T, name string, into any) {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(r).Decode(into); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB) *Definitions {
	t.Helper()
	defs, err := Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	return defs
}

// allDefinitions returns all published definitions.
func allDefinitions(t testing.TB, defs *Definitions) []Definition {
	t.Helper()
	var names []string
	for pkg := range defs.files {
		types, err := defs.unpack(pkg)
		if err != nil {
			t.Fatal(err)
		}
		names = slices.AppendSeq(names, maps.Keys(types))
	}
	if len(names) < 1000 {
		t.Fatalf("only %d definitions", len(names))
	}
	found, err := defs.Closure(names...)
	if err != nil {
		t.Fatal(err) // a reference to a missing definition
	}
	if len(found) != len(names) {
		t.Errorf("%d definitions refer to %d", len(names), len(found))
	}
	return found
}

func TestDefinitionsAreWellFormed(t *testing.T) {
	for _, def := range allDefinitions(t, open(t)) {
		s, err := def.Schema()
		if err != nil {
			t.Error(err)
			continue
		}
		again, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, again, def.V3) {
			t.Errorf("%s: parsed and written it is\n%s\nand not\n%s", def.Name, again, def.V3)
		}
		if !json.Valid(def.V2) || bytes.Contains(def.V2, []byte(refV3)) ||
			bytes.Contains(def.V2, []byte(`"oneOf"`)) && !strings.HasSuffix(def.Name, ".JSONSchemaProps") { // JSONSchemaProps has a field of that name
			t.Errorf("%s: not of version 2: %s", def.Name, def.V2)
		}
		v2 := schemaReferences(bytes.ReplaceAll(def.V2, []byte(refV2), []byte(refV3)))
		v3 := schemaReferences(def.V3)
		slices.Sort(v2)
		slices.Sort(v3)
		if !slices.Equal(v2, v3) {
			t.Errorf("%s: refers to %q in version 2, to %q in version 3", def.Name, v2, v3)
		}
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	difference, err := jsonpatch.CreateMergePatch(a, b)
	if err != nil {
		t.Fatal(err)
	}
	return string(difference) == "{}"
}

func TestGet(t *testing.T) {
	defs := open(t)
	for name, want := range map[string]bool{
		"io.k8s.api.core.v1.Pod":                        true,
		"io.k8s.apimachinery.pkg.api.resource.Quantity": true,
		"io.k8s.api.core.v1.Nothing":                    false,
		"io.k8s.nothing.Pod":                            false,
		"Pod":                                           false,
		"":                                              false,
		"com.example.v1.Widget":                         true,
		"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta":   true,
		"io.k8s.apimachinery.pkg.util.intstr.IntOrString":   true,
		"io.k8s.api.flowcontrol.v1beta3.FlowSchemaList":     true,
		"io.k8s.apimachinery.pkg.runtime.RawExtension":      true,
		"io.k8s.apimachinery.pkg.version.Info":              true,
		"io.k8s.apimachinery.pkg.apis.meta.v1.APIGroup":     true,
		"io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1":     true,
		"io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent":   true,
		"io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime":    true,
		"io.k8s.apimachinery.pkg.apis.testapigroup.v1.Carp": false,
	} {
		defs = defs.With(Definition{Name: "com.example.v1.Widget", V3: []byte(`{"type":"object"}`), V2: []byte(`{"type":"object"}`)})
		def, ok, err := defs.Get(name)
		if err != nil || ok != want || ok && def.Name != name {
			t.Errorf("%q: found %v (%q), err %v", name, ok, def.Name, err)
		}
	}
}

func TestClosureNamesWhatIsMissing(t *testing.T) {
	defs := open(t)
	defs = defs.With(Definition{Name: "com.example.Widget", V3: []byte(`{"$ref":"#/components/schemas/com.example.Gone"}`)})
	_, err := defs.Closure("com.example.Widget")
	if err == nil || !strings.Contains(err.Error(), `"com.example.Gone"`) {
		t.Errorf("err %v", err)
	}
}

// TestWhatSchemasSay checks an example of each special case in the schemas of Kubernetes
// types.
func TestWhatSchemasSay(t *testing.T) {
	for _, c := range []struct{ name, version, want string }{
		{"api.core.v1.Pod", "v3", `"x-kubernetes-group-version-kind":[{"group":"","kind":"Pod","version":"v1"}]`},
		{"api.core.v1.Pod", "v3", `"spec":{"allOf":[{"$ref":"#/components/schemas/io.k8s.api.core.v1.PodSpec"}],"default":{},"description":`},
		{"api.core.v1.Pod", "v2", `"spec":{"$ref":"#/definitions/io.k8s.api.core.v1.PodSpec","description":`},
		{"api.core.v1.PodSpec", "v3", `"x-kubernetes-list-map-keys":["name"],"x-kubernetes-list-type":"map","x-kubernetes-patch-merge-key":"name","x-kubernetes-patch-strategy":"merge"`},
		{"api.core.v1.ContainerPort", "v3", `"enum":["SCTP","TCP","UDP"]`},
		{"api.core.v1.ContainerPort", "v3", `"default":"TCP"`},
		{"api.core.v1.SeccompProfile", "v3", `"x-kubernetes-unions":[{"discriminator":"type"`},
		{"api.core.v1.LocalObjectReference", "v3", `"x-kubernetes-map-type":"atomic"`},
		{"apimachinery.pkg.util.intstr.IntOrString", "v3", `"format":"int-or-string","oneOf":[{"type":"integer"},{"type":"string"}]`},
		{"apimachinery.pkg.util.intstr.IntOrString", "v2", `"format":"int-or-string","type":"string"`},
		{"apimachinery.pkg.apis.meta.v1.Time", "v3", `"format":"date-time","type":"string"`},
		{"api.core.v1.Secret", "v3", `"additionalProperties":{"format":"byte","type":"string"}`},
	} {
		def, ok, err := open(t).Get("io.k8s." + c.name)
		if err != nil || !ok {
			t.Fatal(c.name, ok, err)
		}
		got := string(def.V3)
		if c.version == "v2" {
			got = string(def.V2)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s in %s lacks %s:\n%s", c.name, c.version, c.want, got)
		}
	}
}
