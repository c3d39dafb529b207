package lab

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab/kubectl/document"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// TestUndo writes random states of an object with lists within lists, and checks that each Change, undone, gives the state before it:
// elements come, go, change and move.
func TestUndo(t *testing.T) {
	w := startLab(t)
	w.do("POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"things.undo.example"},"spec":{"group":"undo.example",
		"names":{"plural":"things","kind":"Thing"},"scope":"Cluster","versions":[{"name":"v1","served":true,"storage":true,"schema":{
		"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`)
	const path = "/apis/undo.example/v1/things"
	eventually.True(t, "the kind", func() bool { return w.call(call{do: "GET " + path}).code == http.StatusOK })
	r := rand.New(rand.NewPCG(1, 2))
	states := map[string]map[string]any{}
	last := ""
	for i := range 120 {
		body := map[string]any{"apiVersion": "undo.example/v1", "kind": "Thing", "metadata": map[string]any{"name": "x"},
			"spec": map[string]any{"rows": randomElements(r, 2), "words": shuffled(r, "red", "green", "blue", "a word that is much longer than the others")}}
		do := "POST " + path
		if i > 0 {
			do = "PUT " + path + "/x"
			body["metadata"].(map[string]any)["resourceVersion"] = last
		}
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		obj := w.do(do, string(data)).object(t)
		last = obj.GetResourceVersion()
		states[last] = map[string]any{"spec": obj.Object["spec"]}
	}
	var list struct{ Items []v1alpha1.Change }
	eventually.True(t, "the changes", func() bool {
		list.Items = nil
		if err := json.Unmarshal(w.do("GET "+changes+"?fieldSelector=object%3Dthings.undo.example/x", "").body, &list); err != nil {
			t.Fatal(err)
		}
		return len(list.Items) > 0 && list.Items[len(list.Items)-1].Spec.ResourceVersion == last
	})
	checked := 0
	for _, c := range list.Items {
		after, before := states[c.Spec.ResourceVersion], states[c.Spec.Previous]
		if after == nil || before == nil {
			continue
		}
		var fields []v1alpha1.FieldChange
		for _, f := range c.Spec.Fields {
			if len(f.Path) > 4 && f.Path[:4] == "spec" {
				fields = append(fields, f)
			}
		}
		got, err := document.Undo(after, fields)
		if err != nil || asJSON(t, got) != asJSON(t, before) {
			t.Fatalf("%v\nof %v\nbecomes %v\nwant    %v\nby %+v", err, after, got, before, fields)
		}
		checked++
	}
	if checked < 100 {
		t.Errorf("checked %d changes", checked)
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// randomElements returns some of a few named elements, in any order, with lists of such elements in them.
func randomElements(r *rand.Rand, depth int) []any {
	out := []any{}
	for _, i := range r.Perm(5)[:1+r.IntN(4)] {
		e := map[string]any{"name": fmt.Sprint("n", i), "value": r.Int64N(3)}
		if r.IntN(3) == 0 {
			e["extra"] = "x"
		}
		if depth > 1 {
			e["cells"] = randomElements(r, depth-1)
		}
		out = append(out, e)
	}
	return out
}

func shuffled(r *rand.Rand, words ...any) []any {
	r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	return words[:1+r.IntN(len(words))]
}
