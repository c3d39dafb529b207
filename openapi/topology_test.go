package openapi

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/miniapiserver/miniapiserver/openapi/internal/pack"
)

// models returns the definitions of the kinds that kube-apiserver listed, by the paths of
// the lists in testdata/objects.json.gz.
func models(lists map[string]list) map[string]string {
	out := map[string]string{}
	for path, l := range lists {
		parts := strings.Split(strings.Trim(path, "/"), "/")
		group, version := "core", parts[1]
		if parts[0] == "apis" {
			group, version = strings.SplitN(parts[1], ".", 2)[0], parts[2]
		}
		if group == "apiextensions" || group == "apiregistration" || group == "etcdref" {
			continue // their types are not published, or published elsewhere
		}
		out[path] = "io.k8s.api." + group + "." + version + "." + strings.TrimSuffix(l.Kind, "List")
	}
	return out
}

// list is kube-apiserver's response for one path.
type list struct {
	Kind  string
	Items []map[string]any
}

// TestMergeTopology checks that the merge topology of every type in a served kind equals the
// one that kube-apiserver 1.37 publishes.
func TestMergeTopology(t *testing.T) {
	var want map[string]map[string]any
	loadTestdata(t, "merge-topology.json.gz", &want)
	var lists map[string]list
	loadTestdata(t, "objects.json.gz", &lists)
	var names []string
	for _, model := range models(lists) {
		names = append(names, model)
	}
	for name := range want {
		if strings.HasPrefix(name, "io.k8s.api.") {
			names = append(names, name)
		}
	}
	defs, err := open(t).Closure(names...)
	if err != nil {
		t.Fatal(err)
	}
	for _, def := range defs {
		s, err := def.Schema()
		if err != nil {
			t.Fatal(err)
		}
		got, wanted := mergeTopology(s), want[def.Name]
		if len(got) != 0 || len(wanted) != 0 {
			if !sameTree(t, got, wanted) {
				t.Errorf("%s: %v\nwant %v", def.Name, got, wanted)
			}
		}
	}
}

// mergeTopology returns the merge-related part of a schema, in the form of the testdata.
func mergeTopology(s *spec.Schema) map[string]any {
	out := map[string]any{}
	if own := extensions(s); len(own) > 0 {
		out[""] = own
	}
	for name, p := range s.Properties {
		if field := extensions(&p); len(field) > 0 {
			out[name] = field
		}
	}
	if unions, ok := s.Extensions["x-kubernetes-unions"]; ok {
		out["unions"] = unions
	}
	return out
}

func extensions(s *spec.Schema) map[string]any {
	out := map[string]any{}
	for short, long := range map[string]string{
		"listType": "list-type", "listMapKeys": "list-map-keys", "mapType": "map-type",
		"patchStrategy": "patch-strategy", "patchMergeKey": "patch-merge-key",
	} {
		if v, ok := s.Extensions["x-kubernetes-"+long]; ok {
			out[short] = v
		}
	}
	return out
}

func sameTree(t *testing.T, a, b any) bool {
	t.Helper()
	var trees [2]any
	for i, v := range []any{a, b} {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &trees[i]); err != nil {
			t.Fatal(err)
		}
	}
	return reflect.DeepEqual(trees[0], trees[1])
}

func TestParser(t *testing.T) {
	const pod = "io.k8s.api.core.v1.Pod"
	parser, err := Parser(pod, nil)
	if err != nil {
		t.Fatal(err)
	}
	parse := func(model, yaml string) *typed.TypedValue {
		t.Helper()
		v, err := parser.Type(model).FromYAML(typed.YAMLObject(yaml))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	live := parse(pod, `{spec: {containers: [{name: a, image: one, ports: [{containerPort: 1, protocol: TCP}]}, {name: b, image: two}], tolerations: [{key: one}]}}`)
	asked := parse(pod, `{spec: {containers: [{name: b, image: three}], tolerations: [{key: two}]}}`)
	merged, err := live.Merge(asked)
	if err != nil {
		t.Fatal(err)
	}
	want := parse(pod, `{spec: {containers: [{name: a, image: one, ports: [{containerPort: 1, protocol: TCP}]}, {name: b, image: three}], tolerations: [{key: two}]}}`)
	if diff, err := want.Compare(merged); err != nil || !diff.IsSame() {
		t.Errorf("merged is %v, err %v", merged.AsValue(), err)
	}
	if _, err := parser.Type(pod).FromYAML(`{spec: {containerz: []}}`); err == nil {
		t.Error("an unknown field is accepted")
	}
}

func BenchmarkParser(b *testing.B) {
	for b.Loop() {
		if _, err := Parser("io.k8s.api.core.v1.Pod", nil); err != nil {
			b.Fatal(err)
		}
	}
}

// TestTopologyOfDefinitions checks that the text has the types that the definitions in the
// archive have.
func TestTopologyOfDefinitions(t *testing.T) {
	published, err := topology()
	if err != nil {
		t.Fatal(err)
	}
	models := map[string]*spec.Schema{}
	v3 := map[string][]byte{}
	for _, def := range allDefinitions(t, open(t)) {
		s, err := def.Schema()
		if err != nil {
			t.Fatal(err)
		}
		models[def.Name], v3[def.Name] = s, def.V3
	}
	want, err := schemaconv.ToSchemaFromOpenAPI(models, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want.Types {
		w := &want.Types[i]
		if models[w.Name] == nil {
			continue // a type of values without a schema
		}
		line, ok := findType(published, w.Name)
		if !ok {
			t.Errorf("%s is missing", w.Name)
			continue
		}
		r := &typeReader{}
		got := r.typeDef(line)
		sortFields(w.Atom)
		if !reflect.DeepEqual(&got, w) {
			t.Errorf("%s is read from %s", w.Name, line)
		}
		for _, reference := range r.references {
			if _, ok := findType(published, reference); !ok {
				t.Errorf("%s refers to %s, which is missing", w.Name, reference)
			}
		}
	}
	if text, err := pack.Topology(v3); err != nil || string(text) != published {
		t.Errorf("the topology is not what the generator writes (%v); run go generate", err)
	}
}

func sortFields(a schema.Atom) {
	if a.List != nil {
		sortFields(a.List.ElementType.Inlined)
	}
	if a.Map == nil {
		return
	}
	slices.SortFunc(a.Map.Fields, func(a, b schema.StructField) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range a.Map.Fields {
		sortFields(f.Type.Inlined)
	}
	sortFields(a.Map.ElementType.Inlined)
}

// TestParserReadsReferences checks that the types of a definition are those of all definitions
// that it refers to, and the two of values without a schema.
func TestParserReadsReferences(t *testing.T) {
	defs := open(t)
	for _, name := range []string{"io.k8s.api.core.v1.Pod", "io.k8s.api.rbac.v1.ClusterRole", "io.k8s.api.core.v1.PodList", "io.k8s.apimachinery.pkg.util.intstr.IntOrString"} {
		closure, err := defs.Closure(name)
		if err != nil {
			t.Fatal(err)
		}
		parser, err := Parser(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := len(parser.Schema.Types), len(closure)+2; got != want {
			t.Errorf("%s: got %d types, want %d", name, got, want)
		}
	}
}

func TestParserOfUnknownDefinitions(t *testing.T) {
	unknown := Definition{Name: "com.example.v1.Wagon", V3: []byte(`{"type":"object","properties":{"a":{"$ref":"` + refV3 + `com.example.v1.Axle"}}}`)}
	invalid := Definition{Name: "com.example.v1.Wagon", V3: []byte(`{`)}
	for want, own := range map[string][]Definition{
		`no OpenAPI definition of "com.example.v1.Wagon"`:              nil,
		`no OpenAPI definition of "com.example.v1.Axle"`:               {unknown},
		`schema of com.example.v1.Wagon: unexpected end of JSON input`: {invalid},
	} {
		if _, err := Parser("com.example.v1.Wagon", nil, own...); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	published, err := topology()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "a", "io.k8s.api.core.v1", "io.k8s.api.core.v1.Po", "io.k8s.api.core.v1.Podd", "z.z"} {
		if line, ok := findType(published, name); ok {
			t.Errorf("%q is found: %s", name, line)
		}
	}
}
