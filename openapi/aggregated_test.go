package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// remoteDocumentText returns a document of another server with the resource things,
// definitions and parameters.
func remoteDocumentText(group, definitions, parameters string) string {
	return fmt.Sprintf(`{"swagger":"2.0","info":{"title":"others","version":"v1"},"paths":{
		"/apis/%[1]s/v1/things":{"get":{"operationId":"list%[1]s","responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/Thing"}}},"parameters":[{"$ref":"#/parameters/pretty-tJGM1-ng"}]}},
		"/apis/%[1]s/":{"get":{"operationId":"group%[1]s","responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/OnlyOfTheGroup"}}}}},
		"/version/":{"get":{"operationId":"version%[1]s","responses":{"200":{"description":"OK"}}}}},
		"definitions":{"OnlyOfTheGroup":{"type":"object"},%[2]s},"parameters":{%[3]s}}`, group, definitions, parameters)
}

type documentV2 struct {
	Info        struct{ Title string }
	Paths       map[string]json.RawMessage
	Definitions map[string]map[string]any
	Parameters  map[string]map[string]any
}

// wholeV2 assembles a document of version 2.
func wholeV2(t *testing.T, docs []Document, others ...[]byte) []byte {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var paths, definitions []BlockV2
	var models []string
	parameters := ParametersV2{}
	for _, d := range docs {
		part, err := d.V2()
		must(err)
		paths, definitions, models = append(paths, part.Paths), append(definitions, part.Definitions), append(models, part.Models...)
		maps.Copy(parameters, part.Parameters)
	}
	own := func(name string) bool {
		return slices.ContainsFunc(definitions, func(b BlockV2) bool { return slices.Contains(b.Names, name) })
	}
	published, err := open(t).PublishedV2(models, own)
	must(err)
	definitions = append(definitions, published...)
	members := func(blocks []BlockV2) rawObject {
		all := rawObject{}
		for _, b := range blocks {
			some, err := MembersV2(b.Text)
			must(err)
			if !slices.Equal(slices.Sorted(maps.Keys(some)), b.Names) {
				t.Errorf("a block has names other than %q", b.Names)
			}
			maps.Copy(all, some)
		}
		return all
	}
	if len(others) > 0 {
		has, schemas := members(paths), members(definitions)
		more, err := MergeV2(BaseV2{
			HasPath:     func(path string) (bool, error) { return has[path] != nil, nil },
			Parameters:  parameters,
			Definitions: slices.Collect(maps.Keys(schemas)),
			Definition:  func(name string) ([]byte, error) { return schemas[name], nil },
		}, others...)
		must(err)
		for i := range definitions {
			definitions[i].Text, err = ReplaceMembersV2(definitions[i].Text, more.Changed)
			must(err)
		}
		paths, definitions, parameters = append(paths, more.Paths), append(definitions, more.Definitions), more.Parameters
	}
	write := func(out *bytes.Buffer, blocks []BlockV2) {
		blocks = slices.DeleteFunc(slices.Clone(blocks), func(b BlockV2) bool { return len(b.Names) == 0 })
		for i, b := range blocks {
			if i > 0 {
				out.WriteByte(',')
			}
			out.Write(b.Text)
		}
	}
	var out bytes.Buffer
	head, err := HeadV2(Info{})
	must(err)
	tail, err := TailV2(parameters)
	must(err)
	out.Write(head)
	write(&out, paths)
	out.WriteString(MiddleV2)
	write(&out, definitions)
	out.Write(tail)
	return out.Bytes()
}

func writtenV2(t *testing.T, others ...[]byte) documentV2 {
	t.Helper()
	content := wholeV2(t, []Document{VersionDocument(schema.GroupVersion{Version: "v1"}, []Resource{pods()}), ServerDocument()}, others...)
	if _, err := ProtobufV2(content); err != nil {
		t.Fatal(err)
	}
	var doc documentV2
	if err := json.Unmarshal(content, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func mustFilterPaths(t *testing.T, text, prefix string) []byte {
	t.Helper()
	out, err := FilterPaths([]byte(text), prefix)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestForeign checks that the content of other servers is added, renamed if it differs, and
// that nothing of this server is lost.
func TestForeign(t *testing.T) {
	own := writtenV2(t)
	const meta = "io.k8s.apimachinery.pkg.apis.meta.v1.StatusCause"
	same, err := json.Marshal(own.Definitions[meta])
	if err != nil {
		t.Fatal(err)
	}
	const ref = `"Thing":{"type":"object","x-kubernetes-group-version-kind":[{"group":"%s","version":"v1","kind":"Thing"}],"properties":{"a":{"$ref":"#/definitions/` + meta + `"},"b":{"$ref":"#/definitions/io.k8s.api.core.v1.Pod"}}},`
	const pod = `"io.k8s.api.core.v1.Pod":{"type":"object","description":"another"}`
	one := mustFilterPaths(t, remoteDocumentText("one.example", fmt.Sprintf(ref, "one.example")+`"`+meta+`":`+string(same)+`,`+pod,
		`"pretty-tJGM1-ng":{"name":"pretty","in":"query","type":"integer"}`), "/apis/one.example/v1/")
	two := mustFilterPaths(t, remoteDocumentText("two.example", fmt.Sprintf(ref, "two.example")+`"`+meta+`":{"type":"string"},`+pod, ``), "/apis/two.example/v1/")
	got := writtenV2(t, one, []byte("{"), two)

	if got.Info.Title != "Kubernetes" || string(got.Paths["/version/"]) != string(own.Paths["/version/"]) {
		t.Error("the header of the document differs")
	}
	for name, def := range own.Definitions {
		if fmt.Sprint(def) != fmt.Sprint(got.Definitions[name]) {
			t.Errorf("%s differs", name)
		}
	}
	for name, p := range own.Parameters {
		if fmt.Sprint(p) != fmt.Sprint(got.Parameters[name]) {
			t.Errorf("parameter %s differs", name)
		}
	}
	added := func(is []string, was func(string) bool) string {
		return strings.Join(slices.DeleteFunc(is, was), " ")
	}
	if paths := added(slices.Sorted(maps.Keys(got.Paths)), func(n string) bool { return own.Paths[n] != nil }); paths != "/apis/one.example/v1/things /apis/two.example/v1/things" {
		t.Errorf("paths %s", paths)
	}
	if names := added(slices.Sorted(maps.Keys(got.Parameters)), func(n string) bool { return own.Parameters[n] != nil }); names != "pretty-tJGM1-ng_v2" {
		t.Errorf("parameters %s", names)
	}
	if names := added(slices.Sorted(maps.Keys(got.Definitions)), func(n string) bool { return own.Definitions[n] != nil }); names != "Thing Thing_v2 io.k8s.api.core.v1.Pod_v2 "+meta+"_v2" {
		t.Errorf("definitions %s", names)
	}
	if text := string(got.Paths["/apis/one.example/v1/things"]); !strings.Contains(text, `"#/parameters/pretty-tJGM1-ng_v2"`) || !strings.Contains(text, `"#/definitions/Thing"`) {
		t.Error(text)
	}
	if text := string(got.Paths["/apis/two.example/v1/things"]); !strings.Contains(text, `"#/definitions/Thing_v2"`) {
		t.Error(text)
	}
	if text := fmt.Sprint(got.Definitions["Thing"]); !strings.Contains(text, "Pod_v2") || strings.Contains(text, "StatusCause_v2") {
		t.Error(text)
	}
}

// TestForeignKinds checks that definitions which differ only in their kinds are merged into
// one with all kinds.
func TestForeignKinds(t *testing.T) {
	own := writtenV2(t)
	for name, wanted := range map[string]int{"io.k8s.apimachinery.pkg.apis.meta.v1.Status": 2, "io.k8s.apimachinery.pkg.apis.meta.v1.StatusDetails": 1} {
		def := maps.Clone(own.Definitions[name])
		def["x-kubernetes-group-version-kind"] = []any{map[string]any{"group": "one.example", "version": "v1", "kind": "Status"}}
		text, err := json.Marshal(def)
		if err != nil {
			t.Fatal(err)
		}
		one := mustFilterPaths(t, remoteDocumentText("one.example", `"Thing":{"properties":{"a":{"$ref":"#/definitions/`+name+`"}}},"`+name+`":`+string(text), ``), "/apis/one.example/v1/")
		got := writtenV2(t, one)
		if kinds, _ := got.Definitions[name]["x-kubernetes-group-version-kind"].([]any); len(kinds) != wanted || got.Definitions[name+"_v2"] != nil {
			t.Errorf("%s has the kinds %v", name, kinds)
		}
	}
}

// TestFilterPaths checks that FilterPaths rejects documents that are invalid or cannot be
// converted to protobuf.
func TestFilterPaths(t *testing.T) {
	for _, text := range []string{``, `[]`, `{"paths":1}`, `{"swagger":"2.0","info":{"title":"a","version":"1"},"paths":{"/apis/a/v1/b":{"get":{"responses":{"200":{}}}}}}`} {
		if out, err := FilterPaths([]byte(text), "/apis/a/v1/"); err == nil {
			t.Errorf("%q gives %s", text, out)
		}
	}
	if _, err := FilterPaths([]byte(`{"swagger":"2.0","info":{"title":"a","version":"1"}}`), "/apis/a/v1/"); err != nil {
		t.Error(err)
	}
}

func FuzzFilterPaths(f *testing.F) {
	f.Add([]byte(remoteDocumentText("a", `"Thing":{}`, ``)))
	f.Fuzz(func(t *testing.T, text []byte) {
		one, err := FilterPaths(text, "/apis/")
		if err != nil {
			return
		}
		writtenV2(t, one)
	})
}
