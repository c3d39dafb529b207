package representation

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/internal/bounds"
)

const patched = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","labels":{"a":"1"}},"spec":{"containers":[{"name":"c","image":"i"},{"name":"d"}]}}`

// applied returns the result of a patch of the Pod above, or the code of its error.
func applied(kind types.PatchType, data string) string {
	p, err := PatchParser(kind)([]byte(data), "Strict")
	if err != nil {
		return statusCode(err)
	}
	var out []byte
	if p.merge != nil {
		pod := &corev1.Pod{}
		if _, err = p.merge(context.Background(), []byte(patched), pod, bounds.MaxObject); err == nil {
			out, err = json.Marshal(pod)
		}
	} else {
		out, err = p.apply(context.Background(), []byte(patched))
	}
	if err != nil {
		return statusCode(err)
	}
	return string(out)
}

// TestPatches checks the results and errors of patches.
func TestPatches(t *testing.T) {
	const jsonPatch, merge, strategic = types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType
	many := strings.Repeat(`{"op":"test","path":"/kind","value":"Pod"},`, maxPatchOperations)
	for _, c := range []struct {
		kind       types.PatchType
		patch      string
		want, lack string // parts that the result contains and lacks; or a code
	}{
		{jsonPatch, `[{"op":"add","path":"/metadata/labels/b","value":"2"}]`, `"b":"2"`, ""},
		{jsonPatch, `[{"op":"remove","path":"/spec/containers/0"}]`, `"d"`, `"c"`},
		{jsonPatch, `[{"op":"test","path":"/kind","value":"Pod"},{"op":"replace","path":"/kind","value":null}]`, `"kind":null`, ""},
		{jsonPatch, `[{"op":"replace","path":"/metadata/labels/b","value":"2"}]`, `"b":"2"`, ""},               // a missing member is added
		{jsonPatch, `[{"op":"copy","from":"/metadata/labels/b","path":"/metadata/labels/c"}]`, `"c":null`, ""}, // a missing member counts as null
		{jsonPatch, `[{"op":"replace","path":"/metadata/annotations/b","value":"2"}]`, "422", ""},
		{jsonPatch, `[{"op":"replace","path":"/spec/containers/5","value":{}}]`, "422", ""},
		{jsonPatch, `[]`, `"x"`, ""},
		{jsonPatch, `[{"op":"test","path":"/kind","value":"Node"}]`, "422", ""},
		{jsonPatch, `[{"op":"remove","path":"/nothing"}]`, "422", ""},
		{jsonPatch, `[{"op":"jump","path":"/kind"}]`, "422", ""},
		{jsonPatch, `[null]`, "422", ""},
		{jsonPatch, `[{}]`, "422", ""},
		{jsonPatch, `{}`, "400", ""},
		{jsonPatch, `[1]`, "400", ""},
		{jsonPatch, ``, "400", ""},
		{jsonPatch, `[` + many[:len(many)-1] + `]`, `"x"`, ""},
		{jsonPatch, `[` + many + many[:len(many)-1] + `]`, "413", ""},
		{jsonPatch, copyBomb(), "422", ""},
		{merge, `{"metadata":{"labels":{"a":null,"b":"2"}}}`, `"b":"2"`, `"a":`},
		{merge, `{"spec":{"containers":[]}}`, `"containers":[]`, ""},
		{merge, `{}`, `"x"`, ""},
		{merge, `null`, "400", ""},
		{merge, `[]`, "400", ""},
		{merge, `{`, "400", ""},
		{merge, strings.Repeat(`{"a":`, 20000), "400", ""},
		{strategic, `{"spec":{"containers":[{"name":"c","image":"j"}]}}`, `"j"`, `"i"`},
		{strategic, `{"spec":{"containers":[{"$patch":"delete","name":"c"}]}}`, `"d"`, `"c"`},
		{strategic, `{"spec":{"containers":"x"}}`, "422", ""},
		{strategic, `{"kind":"Secret","other":1}`, `"name":"x"`, ""},
		{strategic, `{"spec":{"$retainKeys":1}}`, "400", ""},
		{strategic, `{"spec":{"containers":[null]}}`, "500", ""},
		{strategic, `{"spec":{"containers":[{"name":["a"]}]}}`, "400", ""},
		{strategic, `{"metadata":{"$retainKeys":[{}]}}`, "400", ""},
		{strategic, `[]`, "400", ""},
		{strategic, `x`, "400", ""},
	} {
		got := applied(c.kind, c.patch)
		text := fmt.Sprintf("%.80s", c.patch)
		if _, err := strconv.Atoi(c.want); err == nil && got != c.want || !strings.Contains(got, c.want) || c.lack != "" && strings.Contains(got, c.lack) {
			t.Errorf("%s: %.300s, want %s and no %s", text, got, c.want, c.lack)
		}
	}
}

// TestLongStrategicPatch checks that long lists can be patched.
func TestLongStrategicPatch(t *testing.T) {
	const many = 10_000
	var env strings.Builder
	for i := range many {
		fmt.Fprintf(&env, `,{"name":"v%d","value":"x"}`, i)
	}
	object := `{"spec":{"containers":[{"name":"c","env":[` + env.String()[1:] + `]}]}}`
	p, err := parseStrategicMergePatch([]byte(strings.ReplaceAll(object, `"x"`, `"y"`)), "Strict")
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{}
	if _, err := p.merge(t.Context(), []byte(object), pod, bounds.MaxObject); err != nil {
		t.Fatal(err)
	}
	if got := pod.Spec.Containers[0].Env; len(got) != many || got[many-1].Value != "y" {
		t.Errorf("%d variables", len(got))
	}
}

// copyBomb returns a patch that doubles an object many times.
func copyBomb() string {
	ops := []string{`{"op":"add","path":"/metadata/labels/x","value":"` + strings.Repeat("x", 1000) + `"}`}
	for i := range 40 {
		ops = append(ops, fmt.Sprintf(`{"op":"copy","from":"/metadata","path":"/metadata/labels/%d"}`, i))
	}
	return "[" + strings.Join(ops, ",") + "]"
}

// TestMalformedJSONPatch checks the message of a JSON patch that is no array, in which
// kube-apiserver names a Go type of its own.
func TestMalformedJSONPatch(t *testing.T) {
	_, err := PatchParser(types.JSONPatchType)([]byte(`{}`), "Strict")
	const want = "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestStrictFaultsOfPatches checks which faults of patches field validation decides about.
func TestStrictFaultsOfPatches(t *testing.T) {
	for _, c := range []struct {
		kind        types.PatchType
		patch, want string
	}{
		{types.JSONPatchType, `[{"op":"add","path":"/a","value":1,"value":2}]`, `[json patch duplicate field "[0].value"]`},
		{types.JSONPatchType, `[{"op":"add","path":"/a","foo":1}]`, `[json patch unknown field "[0].foo"]`},
		{types.MergePatchType, `{"data":{"a":"1","a":"2"}}`, `[duplicate field "data.a"]`},
		{types.StrategicMergePatchType, `{"data":{"a":"1","a":"2"}}`, `[duplicate field "data.a"]`},
		{types.MergePatchType, `{"other":1}`, `[]`}, // found when the result is decoded
	} {
		p, err := PatchParser(c.kind)([]byte(c.patch), "Strict")
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(p.strict); got != c.want {
			t.Errorf("%s: %s, want %s", c.patch, got, c.want)
		}
	}
}

// TestUnreadableResults checks the messages of patches whose result is not an object of the kind. They
// show the members of changed objects in the order of their names.
func TestUnreadableResults(t *testing.T) {
	c := newCodec(t, "configmaps")
	old := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: "x", Generation: 1}, Data: map[string]string{"b": "<"}}
	for _, d := range []struct {
		kind        types.PatchType
		patch, want string
	}{
		{types.MergePatchType, `{"kind": "Secret"}`, `{\"apiVersion\":\"v1\",\"data\":{\"b\":\"\\u003c\"},\"kind\":\"Secret\",\"metadata\":{\"name\":\"x\",\"generation\":1}}": ` +
			`illegal base64 data at input byte 0`},
		{types.MergePatchType, `{"kind": "Secret", "data": null}`, `converting (v1.Secret) to (core.ConfigMap): unknown conversion`},
		{types.MergePatchType, `{"kind": "Secret", "apiVersion": null}`, `converting (core.Secret) to (core.ConfigMap): unknown conversion`},
		{types.MergePatchType, `{"kind": "Other", "apiVersion": ""}`, `no kind "Other" is registered for the internal version of group ""`},
		{types.MergePatchType, `{"kind": "Other", "metadata": {"labels": {"b": "2", "a": "1"}}}`, `\"kind\":\"Other\",\"metadata\":{\"generation\":1,\"labels\":{\"a\":\"1\",\"b\":\"2\"},\"name\":\"x\"}}": ` +
			`no kind "Other" is registered for version "v1"`},
		{types.JSONPatchType, `[{"op": "replace", "path": "/data", "value": {"b": 1, "a": "x"}}]`, `{\"apiVersion\":\"v1\",\"data\":{\"b\":1,\"a\":\"x\"},\"kind\":\"ConfigMap\",`},
	} {
		p, err := PatchParser(d.kind)([]byte(d.patch), "Strict")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.ApplyPatch(t.Context(), p, old, ""); err == nil || !strings.Contains(err.Error(), d.want) {
			t.Errorf("%s:\n got %v\nwant %s", d.patch, err, d.want)
		}
	}
}

// fuzzPatch checks that every patch of a type has a result in JSON, or an error that blames the
// client.
func fuzzPatch(f *testing.F, kind types.PatchType, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		got := applied(kind, data)
		switch {
		case got == "500" && kind != types.StrategicMergePatchType: // kube-apiserver returns 500 for those too
			t.Errorf("%q is taken for a fault of the server", data)
		case !json.Valid([]byte(got)): // a code is JSON as well
			t.Errorf("%q gave %q", data, got)
		}
	})
}

// FuzzJSONPatch is fuzzPatch for JSON patches.
func FuzzJSONPatch(f *testing.F) {
	fuzzPatch(f, types.JSONPatchType, `[{"op":"add","path":"/spec/containers/-","value":{"name":"x"}}]`, `[{"op":"move","from":"/spec","path":"/spec/a"}]`,
		`[{"op":"copy","from":"/spec/containers/-1","path":""}]`, `[null]`, `[{"op":"remove","path":""},{"op":"add","path":"/a","value":1}]`)
}

// FuzzMergePatch is fuzzPatch for merge patches.
func FuzzMergePatch(f *testing.F) {
	fuzzPatch(f, types.MergePatchType, `{"spec":{"containers":[null,{"a":null}]}}`, `{"metadata":null}`, `{"spec":1}`)
}

// FuzzStrategicPatch is fuzzPatch for strategic merge patches.
func FuzzStrategicPatch(f *testing.F) {
	fuzzPatch(f, types.StrategicMergePatchType, `{"spec":{"$setElementOrder/containers":[{"name":"d"},{"name":"c"}],"containers":[{"name":"c","$patch":"replace"}]}}`,
		`{"spec":{"$retainKeys":["a"],"$patch":"merge"}}`, `{"metadata":{"$deleteFromPrimitiveList/finalizers":[1]}}`, `{"spec":{"containers":[{"$patch":"replace"}]}}`)
}
