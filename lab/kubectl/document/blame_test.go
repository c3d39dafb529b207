package document

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// change returns a change. Each field is "path before after", where - stands for no value.
func change(version string, fields ...string) v1alpha1.Change {
	c := v1alpha1.Change{ObjectMeta: metav1.ObjectMeta{Name: version}, Spec: v1alpha1.ChangeSpec{Type: v1alpha1.ChangeModified, ResourceVersion: version}}
	for _, f := range fields {
		parts := strings.SplitN(f, " ", 3)
		for i := range parts {
			parts[i] = strings.TrimPrefix(parts[i], "-")
		}
		c.Spec.Fields = append(c.Spec.Fields, v1alpha1.FieldChange{Path: parts[0], Before: parts[1], After: parts[2]})
	}
	return c
}

func created(version string) v1alpha1.Change {
	c := change(version)
	c.Spec.Type = v1alpha1.ChangeCreated
	return c
}

// TestBlame checks the origin of each line of small objects.
func TestBlame(t *testing.T) {
	for name, c := range map[string]struct {
		object  string
		changes []v1alpha1.Change
		want    string
	}{
		"fields": {`{"a":2,"b":{"c":true,"d":[]}}`,
			[]v1alpha1.Change{change("3", "a 1 2"), change("2", `b.c - true`), created("1")},
			"3 a: 2|1 b:|2   c: true|1   d: []"},
		"a map that came as a whole": {`{"a":{"b":{"c":1}}}`,
			[]v1alpha1.Change{change("3", "a.b.c 2 1"), change("2", `a - {"b":{"c":2}}`), created("1")},
			"2 a:|2   b:|3     c: 1"},
		"an inserted element": {`{"l":[{"name":"new","v":1},{"name":"old","v":2}]}`,
			[]v1alpha1.Change{change("3", `l [{"name":"old","v":2}] [{"name":"new","v":1},{"name":"old","v":2}]`), change("2", "l[0].v 1 2"), created("1")},
			"1 l:|3 - name: new|3   v: 1|1 - name: old|2   v: 2"},
		"an inserted element by index": {`{"l":["b","a"]}`,
			[]v1alpha1.Change{change("2", `l[0] "a" "b"`, `l[1] - "a"`), created("1")},
			"1 l:|2 - b|1 - a"},
		"removed elements": {`{"l":["a","d"]}`,
			[]v1alpha1.Change{change("2", `l[1] "b" "d"`, `l[2] "c" -`, `l[3] "d" -`), created("1")},
			"1 l:|1 - a|1 - d"},
		"keys with dots": {`{"m":{"a.b/c":"1","d":"2"}}`,
			[]v1alpha1.Change{change("3", `m["a.b/c"] "0" "1"`), change("2", "m.d - 2"), created("1")},
			"1 m:|3   a.b/c: \"1\"|2   d: \"2\""},
		"plain keys with dots": {`{"m":{"a.b/c":"1","a":"2"}}`,
			[]v1alpha1.Change{change("3", `m.a.b/c "0" "1"`), created("1")},
			"1 m:|1   a: \"2\"|3   a.b/c: \"1\""},
		"an emptied map": {`{"m":{},"n":[]}`,
			[]v1alpha1.Change{change("3", `m.a 1 -`), change("2", "n [1] []"), created("1")},
			"3 m: {}|2 \"n\": []"},
		"a change that cannot be undone": {`{"a":1,"b":2}`,
			[]v1alpha1.Change{change("3", `a 0 1`), change("2", "x.y - 3"), created("1")},
			"3 a: 1|? b: 2"},
		"owners": {`{"metadata":{"managedFields":[
				{"manager":"old","time":"2026-01-01T00:00:00Z","fieldsV1":{"f:s":{"f:a":{},"f:l":{".":{},"k:{\"name\":\"x\"}":{".":{},"f:name":{}}}}}},
				{"manager":"new","time":"2026-01-02T00:00:00Z","fieldsV1":{"f:s":{"f:a":{},"f:v":{"v:\"q\"":{}}}}}]},
				"s":{"a":1,"b":2,"l":[{"name":"x"},{"name":"y"}],"v":["p","q"]}}`,
			[]v1alpha1.Change{change("2", "s.b 1 2")},
			"? metadata: {}|new s:|new   a: 1|2   b: 2|old   l:|old   - name: x|?   - name: \"y\"|new   v:|?   - p|new   - q"},
		"confidential values": {`{"data":{"a":"Yw==","b":"Yg=="}}`,
			[]v1alpha1.Change{change("3", "data.a (not_kept) (not_kept)"), change("2", "data.a (not_kept) (not_kept)", "data.b - (not_kept)"), created("1")},
			"1 data:|3   a: Yw==|2   b: Yg=="},
		"resourceVersion": {`{"metadata":{"resourceVersion":"3","uid":"u"}}`,
			[]v1alpha1.Change{change("3"), created("1")},
			`1 metadata:|3   resourceVersion: "3"|1   uid: u`},
	} {
		lines, err := Blame(parsed(t, c.object).(map[string]any), c.changes)
		if (err != nil) != strings.Contains(name, "cannot") {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for _, l := range lines {
			got = append(got, originName(l.Origin)+" "+l.Text)
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(got, "|"), c.want)
		}
	}
}

func originName(o Origin) string {
	switch {
	case o.Change != nil:
		return o.Change.Name
	case o.Owner != nil:
		return o.Owner.Manager
	}
	return "?"
}

// TestBlameOfHistory makes random histories of fields, and compares with the last write of each field.
func TestBlameOfHistory(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		object, last := map[string]any{}, map[string]string{}
		changes := []v1alpha1.Change{created("0")}
		for version := 1; version < 20; version++ {
			c := change(fmt.Sprint(version))
			for range 1 + r.IntN(3) {
				field := string(rune('a' + r.IntN(5)))
				before, had := object[field]
				f := v1alpha1.FieldChange{Path: "m." + field}
				if had {
					f.Before = encode(before)
				}
				if last[field] == c.Name {
					continue // a change has a path once
				}
				if had && r.IntN(4) == 0 {
					delete(object, field)
				} else {
					object[field] = int64(version)
					f.After = encode(int64(version))
				}
				last[field] = c.Name
				c.Spec.Fields = append(c.Spec.Fields, f)
			}
			changes = append([]v1alpha1.Change{c}, changes...)
		}
		lines, err := Blame(map[string]any{"m": object}, changes)
		if err != nil {
			t.Fatal(seed, err)
		}
		for _, l := range lines {
			if len(l.Path) == 2 && originName(l.Origin) != last[l.Path[1].Field] {
				t.Errorf("seed %d: %s is of %s, want %s", seed, l.Text, originName(l.Origin), last[l.Path[1].Field])
			}
		}
	}
}

// FuzzUndo checks that changes of any form neither crash nor change the object.
func FuzzUndo(f *testing.F) {
	f.Add(`{"a":[1,2]}`, "a[1]", "3", "2")
	f.Add(`{"a":[1,2]}`, "a[16777217]", "3", "")
	f.Add(`{"a":1}`, "a.b[", "", "2")
	f.Add(`{"a":1}`, `["a"].b`, "{", "2")
	f.Fuzz(func(t *testing.T, text, path, before, after string) {
		var object map[string]any
		if json.Unmarshal([]byte(text), &object) != nil || object == nil {
			return
		}
		original := encode(object)
		_, _ = Blame(object, []v1alpha1.Change{{Spec: v1alpha1.ChangeSpec{Fields: []v1alpha1.FieldChange{{Path: path, Before: before, After: after}}}}})
		if got := encode(object); got != original {
			t.Errorf("%s becomes %s", original, got)
		}
	})
}

// TestPath checks that the text of a path is read back as the path.
func TestPath(t *testing.T) {
	object := parsed(t, pod)
	lines, err := Lines(object)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		if got, err := ParsePath(object, l.Path.String()); err != nil || !reflect.DeepEqual(got, l.Path) {
			t.Errorf("%s becomes %v, %v", l.Path, got, err)
		}
	}
	for _, text := range []string{"a[", ".", "a..b"} {
		if got, err := ParsePath(nil, text); err == nil {
			t.Errorf("%q becomes %v", text, got)
		}
	}
}

// TestDiff checks the format of a difference.
func TestDiff(t *testing.T) {
	from, err := Lines(map[string]any{"a": int64(1), "b": "x"})
	if err != nil {
		t.Fatal(err)
	}
	to, err := Lines(map[string]any{"a": int64(2), "b": "x"})
	if err != nil {
		t.Fatal(err)
	}
	const want = "--- p 4\n+++ p 5\n@@ -1,2 +1,2 @@\n-a: 1\n+a: 2\n b: x\n"
	if got, err := Diff(from, to, "p 4", "p 5"); err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
