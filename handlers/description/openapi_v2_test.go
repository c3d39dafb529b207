package description

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	openapiv2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/openapi"
)

// foreign returns a document of another server for a group, with a definition.
func foreign(t *testing.T, group, definition, schema string) []byte {
	t.Helper()
	out, err := openapi.FilterPaths(fmt.Appendf(nil, `{"swagger":"2.0","info":{"title":"another","version":"v1"},"paths":{
		"/apis/%[1]s/v1/things":{"get":{"operationId":"list%[1]s","responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/%[2]s"}}}}},
		"/apis/%[1]s/v1/kinds1":{"get":{"operationId":"others%[1]s","responses":{"200":{"description":"OK"}}}}},
		"definitions":{%[2]q:%[3]s}}`, group, definition, schema), "/apis/"+group+"/v1/")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func newDocuments() *openAPIDocuments {
	return &openAPIDocuments{info: openapi.Info{Version: "1.37"}, now: time.Now}
}

// version2 returns the document of version 2, and its content.
func version2(t *testing.T, d *openAPIDocuments, c *api.Catalogue, remote [][]byte) (doc *openAPIDocument, content []byte) {
	t.Helper()
	doc, err := d.v2(c, remote)
	if err != nil {
		t.Fatal(err)
	}
	file, err := d.content(doc, "application/json")
	if err != nil {
		t.Fatal(err)
	}
	unzip, err := gzip.NewReader(file.Gzip())
	if err != nil {
		t.Fatal(err)
	}
	if content, err = io.ReadAll(unzip); err != nil {
		t.Fatal(err)
	}
	return doc, content
}

// inProtobuf returns a document in protobuf.
func inProtobuf(t *testing.T, d *openAPIDocuments, doc *openAPIDocument) []byte {
	t.Helper()
	file, err := d.content(doc, openAPIv2Protobuf)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(file.Plain())
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestOpenAPIReuse makes random changes to a catalogue and to the documents of other servers, and
// checks that documents made from cached blocks equal documents made anew: the content of
// version 2 in JSON and protobuf, which changes if and only if its hash does, and the hashes of
// version 3. It also checks for duplicate members and missing definitions.
func TestOpenAPIReuse(t *testing.T) {
	// In the order of names, definitions of some of these groups are between those of
	// published types, and one has the name of a published type.
	groups := []string{"a.example.com", "b.example.com", "autoscaling.k8s.io", "coordination.api.k8s.io"}
	r := rand.New(rand.NewPCG(5, 6))
	c, err := api.New(few()...)
	if err != nil {
		t.Fatal(err)
	}
	cached := newDocuments()
	expected := map[string]*api.Resource{}
	var remote [][]byte
	hashes := map[string]string{}
	for range 40 {
		switch n := r.IntN(8); n {
		case 0:
			remote = nil
		case 1, 2:
			remote = append(remote, foreign(t, fmt.Sprintf("other%d.example.com", len(remote)), "Thing", `{"type":"object"}`))
		case 3: // a conflict with the own document, by the group or by the kinds of a definition
			remote = append(remote, foreign(t, groups[0], "com.example.a.v1.Kind1List", `{"type":"string"}`),
				foreign(t, "other.example.com", "io.k8s.apimachinery.pkg.apis.meta.v1.Patch", `{"type":"object","description":"Patch is provided to give a concrete name and type to the Kubernetes PATCH request body.","x-kubernetes-group-version-kind":[{"group":"other","version":"v1","kind":"Patch"}]}`))
		default:
			group, kind := groups[r.IntN(len(groups))], 1+r.IntN(3)
			name := fmt.Sprint(group, kind)
			var out, in []*api.Resource
			if old := expected[name]; old != nil {
				out = append(out, old)
				delete(expected, name)
			}
			if len(out) == 0 || r.IntN(2) == 0 {
				expected[name] = customKind(t, group, kind, r.IntN(3))
				in = append(in, expected[name])
			}
			if err := c.Change(out, in); err != nil {
				t.Fatal(err)
			}
		}
		doc, content := version2(t, cached, c, remote)
		anew, contentAnew := version2(t, newDocuments(), c, remote)
		if doc.hash != anew.hash || !bytes.Equal(content, contentAnew) {
			t.Fatalf("made of parts it is\n%s\nand made of nothing\n%s", content, contentAnew)
		}
		if hash, ok := hashes[string(content)]; ok && hash != doc.hash {
			t.Error("a document has two hashes")
		}
		hashes[string(content)] = doc.hash
		if got, want := hashesOf(t, cached, c), hashesOf(t, newDocuments(), c); !maps.Equal(got, want) {
			t.Errorf("documents of version 3 have the hashes %v, and made of nothing %v", got, want)
		}
		checkVersion2(t, content, inProtobuf(t, cached, doc), expected)
	}
	seen := map[string]bool{}
	for _, hash := range hashes {
		if seen[hash] {
			t.Error("two documents have one hash")
		}
		seen[hash] = true
	}
}

// hashesOf returns the hashes of the documents of version 3.
func hashesOf(t *testing.T, d *openAPIDocuments, c *api.Catalogue) map[string]string {
	t.Helper()
	docs, err := d.v3(c)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for name, doc := range docs {
		out[name] = doc.hash
	}
	return out
}

func checkVersion2(t *testing.T, content, protobuf []byte, expected map[string]*api.Resource) {
	t.Helper()
	parsed, err := openapiv2.ParseDocument(content)
	if err != nil {
		t.Fatal(err)
	}
	var decoded openapiv2.Document
	if err := proto.Unmarshal(protobuf, &decoded); err != nil || !proto.Equal(&decoded, parsed) {
		t.Fatalf("protobuf says something else; err %v", err)
	}
	var paths, definitions []string
	for _, p := range parsed.Paths.Path {
		paths = append(paths, p.Name)
	}
	for _, d := range parsed.Definitions.AdditionalProperties {
		definitions = append(definitions, d.Name)
	}
	var wanted, kinds int
	for _, res := range expected {
		if gv := res.Versions[0].GroupVersion; !slices.Contains(paths, "/apis/"+gv.String()+"/namespaces/{namespace}/"+res.Name+"/{name}/status") ||
			!slices.Contains(definitions, openapi.CustomName(gv.WithKind(res.Kind))) {
			t.Errorf("%s is not in it", res.Storage.Prefix)
		}
		wanted++
	}
	for _, name := range definitions {
		if strings.Contains(name, ".Kind") && !strings.Contains(name, "List") {
			kinds++
		}
	}
	if kinds != wanted {
		t.Errorf("%d kinds are in it, want %d", kinds, wanted)
	}
	for _, names := range [][]string{paths, definitions} {
		slices.Sort(names)
		if len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Errorf("something is twice in %q", names)
		}
	}
	var any struct{ Definitions map[string]json.RawMessage }
	if err := json.Unmarshal(content, &any); err != nil {
		t.Fatal(err)
	}
	checkReferences(t, "version 2", bytes.ReplaceAll(content, []byte("#/definitions/"), []byte("#/components/schemas/")), any.Definitions)
}

// TestOpenAPIKeepsBlocks checks that a new kind leaves the blocks of other kinds in the cache,
// also of those of its group.
func TestOpenAPIKeepsBlocks(t *testing.T) {
	c, err := api.New(few()...)
	if err != nil {
		t.Fatal(err)
	}
	add := func(n int) {
		t.Helper()
		if err := c.Change(nil, []*api.Resource{customKind(t, "a.example.com", n, 1)}); err != nil {
			t.Fatal(err)
		}
	}
	add(1)
	d := newDocuments()
	doc, _ := version2(t, d, c, nil)
	inProtobuf(t, d, doc)
	before := d.v2Document
	add(2)
	version2(t, d, c, nil)
	for key, s := range before.shares {
		if d.v2Document.shares[key] != s || s.paths.protobuf == nil {
			t.Errorf("%v was made again", key)
		}
	}
	if len(d.v2Document.shares) != len(before.shares)+1 || d.v2Document.published != before.published || len(d.v2Document.needs) != len(before.needs) {
		t.Errorf("%d shares, and there were %d", len(d.v2Document.shares), len(before.shares))
	}
	if again, _ := version2(t, d, c, nil); again != d.v2Document.doc {
		t.Error("the document was made again")
	}
}
