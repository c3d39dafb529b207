package structural

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

const embeddedSchema = `{"type":"object","properties":{"t":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true},
	"l":{"type":"array","items":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object"}}}}}}`

func TestEmbedded(t *testing.T) {
	for _, tt := range []struct{ name, in, refused, want string }{
		{"in order", `{"t":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"b"}},"more":1}}`, "", ""},
		{"no metadata", `{"t":{"apiVersion":"v1","kind":"Pod"}}`, "", ""},
		{"nothing", `{"t":{}}`, "", "t.apiVersion: Required value\nt.kind: Required value"},
		{"empty", `{"t":{"apiVersion":"","kind":""}}`, "", "t.apiVersion: Invalid value: \"\": must not be empty\nt.kind: Invalid value: \"\": must not be empty"},
		{"version of three parts", `{"t":{"apiVersion":"a/b/c","kind":"Pod"}}`, "", `t.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c`},
		{"kind of signs", `{"l":[{"apiVersion":"v1","kind":"a b"}]}`, "", `l[0].kind: Invalid value: "a b": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`},
		{"name of two parts", `{"t":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a/b"}}}`, "", `t.metadata.name: Invalid value: "a/b": may not contain '/'`},
		{"kind of the wrong type", `{"t":{"apiVersion":"v1","kind":1}}`, `t.kind: Invalid value: 1: must be a string`, ""},
		{"labels of the wrong type", `{"l":[{"apiVersion":"v1","kind":"Pod","metadata":{"labels":"x"}}]}`, `l[0].metadata: Invalid value: {"labels":"x"}: json: cannot unmarshal string into Go struct field ObjectMeta.labels of type map[string]string`, ""},
	} {
		s := schemaOf(t, embeddedSchema)
		object := objectOf(t, tt.in)
		refused := ""
		if _, err := s.Coerce(object); err != nil {
			refused = err.Error()
		}
		if refused != tt.refused {
			t.Errorf("%s: refused with %q, want %q", tt.name, refused, tt.refused)
		}
		if refused != "" {
			continue
		}
		data, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if got := validateText(t, s, string(data), ""); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestCoerceEmbedded(t *testing.T) {
	s := schemaOf(t, embeddedSchema)
	object := objectOf(t, `{"t":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","odd":1,"creationTimestamp":null},"odd":1},"l":[{"apiVersion":"v1","kind":"Pod","odd":1,"metadata":{"odd":2}}]}`)
	unknown, err := s.Coerce(object)
	if want := []string{"l[0].odd", "l[0].metadata.odd", "t.metadata.odd"}; err != nil || !reflect.DeepEqual(unknown, want) {
		t.Errorf("unknown are %q, want %q (%v)", unknown, want, err)
	}
	want := objectOf(t, `{"t":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"odd":1},"l":[{"apiVersion":"v1","kind":"Pod","metadata":{}}]}`)
	if !reflect.DeepEqual(object, want) {
		t.Errorf("got %v, want %v", object, want)
	}
	// Stored objects are repaired instead of refused.
	object = objectOf(t, `{"t":{"apiVersion":1,"kind":"Pod","metadata":{"name":"p","labels":"x"}}}`)
	s.Prune(object)
	if want := objectOf(t, `{"t":{"kind":"Pod","metadata":{"name":"p"}}}`); !reflect.DeepEqual(object, want) {
		t.Errorf("got %v, want %v", object, want)
	}
}

func TestNulls(t *testing.T) {
	s := schemaOf(t, `{"type":"object","properties":{"a":{"type":"string"},"n":{"type":"string","nullable":true},"d":{"type":"string","default":"x"},
		"m":{"type":"object","additionalProperties":{"type":"string"}},"v":{"type":"object","additionalProperties":{"type":"string","default":"y"}},
		"l":{"type":"array","items":{"type":"string","default":"z"}},"p":{"type":"array","items":{"type":"string"}}}}`)
	const nulls = `{"a":null,"n":null,"d":null,"m":{"k":null},"v":{"k":null},"l":[null],"p":[null]}`
	object := objectOf(t, nulls)
	setDefaultsOf(t, s, object)
	if want := objectOf(t, `{"a":null,"n":null,"d":"x","m":{"k":null},"v":{"k":"y"},"l":["z"],"p":[null]}`); !reflect.DeepEqual(object, want) {
		t.Errorf("Default: got %v, want %v", object, want)
	}
	for name, prune := range map[string]func(map[string]any){
		"Prune":  s.Prune,
		"Coerce": func(object map[string]any) { _, _ = s.Coerce(object) },
	} {
		object := objectOf(t, nulls)
		prune(object)
		if want := objectOf(t, `{"n":null,"d":null,"m":{},"v":{"k":null},"l":[null],"p":[null]}`); !reflect.DeepEqual(object, want) {
			t.Errorf("%s: got %v, want %v", name, object, want)
		}
	}
}

// TestMetadataInDefaults checks that defaults don't add fields to the metadata of an embedded
// resource that pruning removes.
func TestMetadataInDefaults(t *testing.T) {
	resource := func(properties string) string {
		return `{"type":"object","properties":{"r":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true` + properties + `}}}`
	}
	for _, test := range []struct{ name, schema, object, want string }{
		{"fields of metadata", resource(`,"properties":{"metadata":{"type":"object","properties":{"name":{"type":"string","default":"n"},"unknown":{"type":"string","default":"x"}}}}`),
			`{"r":{"metadata":{}}}`, `{"r":{"metadata":{"name":"n"}}}`},
		{"metadata", resource(`,"properties":{"metadata":{"type":"object","default":{"name":"n","unknown":"x"}}}`),
			`{"r":{}}`, `{"r":{"metadata":{"name":"n"}}}`},
		{"items in metadata", resource(`,"properties":{"metadata":{"type":"object","properties":{"ownerReferences":{"type":"array","items":{"type":"object","properties":{
			"name":{"type":"string","default":"n"},"unknown":{"type":"string","default":"x"}}}}}}}`),
			`{"r":{"metadata":{"ownerReferences":[{}]}}}`, `{"r":{"metadata":{"ownerReferences":[{"name":"n"}]}}}`},
		{"resource", resource(`,"default":{"kind":"K","metadata":{"name":"n","unknown":"x"},"spec":{"a":1}}`),
			`{}`, `{"r":{"kind":"K","metadata":{"name":"n"},"spec":{"a":1}}}`},
		{"around a resource", `{"type":"object","properties":{"o":{"type":"object","default":{"r":{"metadata":{"unknown":"x"}}},"properties":{
			"r":{"type":"object","x-kubernetes-embedded-resource":true}}}}}`, `{}`, `{"o":{"r":{"metadata":{}}}}`},
	} {
		s, object := schemaOf(t, test.schema), objectOf(t, test.object)
		setDefaultsOf(t, s, object)
		if want := objectOf(t, test.want); !reflect.DeepEqual(object, want) {
			t.Errorf("%s: got %v, want %v", test.name, object, want)
		}
	}
}

func TestLists(t *testing.T) {
	const schema = `{"type":"object","properties":{"s":{"type":"array","x-kubernetes-list-type":"set","items":{}},
		"m":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a","b"],"items":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"string"}}}}}}`
	for _, tt := range []struct{ name, value, old, want string }{
		{"different", `{"s":["a","b",1,1.5,[1],[2]],"m":[{"a":"x","b":1},{"a":"x","b":2}]}`, "", ""},
		{"twice", `{"s":["a","b","a","a"]}`, "", `s[2]: Duplicate value: "a"`},
		{"lists twice", `{"s":[[1],[1]]}`, "", `s[1]: Duplicate value: [1]`},
		{"keys twice", `{"m":[{"a":"x","b":1,"c":"1"},{"a":"x","b":1}]}`, "", `m[1]: Duplicate value: {"a":"x","b":1}`},
		{"no keys twice", `{"m":[{"c":"1"},{"c":"2"}]}`, "", `m[1]: Duplicate value: {}`},
		{"as it was", `{"s":["a","a","c"]}`, `{"s":["a","a"]}`, ""},
		{"now", `{"s":["a","a"]}`, `{"s":["a"]}`, `s[1]: Duplicate value: "a"`},
	} {
		if got := validateText(t, schemaOf(t, schema), tt.value, tt.old); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestKnownDiffs(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"type":"string","maxLength":2},"o":{"type":"object","required":["x"],"properties":{"x":{"type":"string"},"y":{"type":"string","enum":["1"]}}},
		"m":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","properties":{"k":{"type":"string"},"v":{"type":"integer","minimum":5}}}},
		"l":{"type":"array","items":{"type":"string","maxLength":1}},"status":{"type":"object","properties":{"s":{"type":"string","pattern":"^a"},"t":{"type":"string"}}}}}`
	for _, tt := range []struct{ name, value, old, want string }{
		{"new", `{"a":"long"}`, "", `a: Too long: may not be more than 2 bytes`},
		{"unchanged", `{"a":"long","l":["x"]}`, `{"a":"long"}`, ""},
		{"changed", `{"a":"longer"}`, `{"a":"long"}`, `a: Too long: may not be more than 2 bytes`},
		{"what is missing in what changed", `{"o":{"y":"1"}}`, `{"o":{}}`, `o.x: Required value`},
		{"beside what changed", `{"o":{"x":"n","y":"2"}}`, `{"o":{"x":"o","y":"2"}}`, ""},
		{"an item that moved", `{"m":[{"k":"b"},{"k":"a","v":1}]}`, `{"m":[{"k":"a","v":1},{"k":"b"}]}`, ""},
		{"an item that is new", `{"m":[{"k":"a","v":1},{"k":"c","v":1}]}`, `{"m":[{"k":"a","v":1},{"k":"b"}]}`, `m[1].v: Invalid value: 1: m[1].v in body should be greater than or equal to 5`},
		{"a list that is whole", `{"l":["xx","y"]}`, `{"l":["xx"]}`, `l[0]: Too long: may not be more than 1 byte`},
	} {
		if got := validateText(t, schemaOf(t, schema), tt.value, tt.old); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
	s := schemaOf(t, schema)
	write := Write{StatusOnly: true, Object: objectOf(t, `{"a":"long","status":{"s":"b","t":"1"}}`), Old: objectOf(t, `{"a":"long","status":{"s":"b"}}`)}
	if errs := s.Validate(t.Context(), write); len(errs) > 0 {
		t.Errorf("status that is as it was: %v", errs)
	}
	write.Old = objectOf(t, `{"a":"long"}`)
	if errs := s.Validate(t.Context(), write); len(errs) != 1 || errs[0].Field != "status.s" {
		t.Errorf("status that is new: %v", errs)
	}
}

// TestCompared checks that each update reports once the time of comparing, which is zero if
// nothing was compared.
func TestCompared(t *testing.T) {
	s := schemaOf(t, `{"type":"object","properties":{"a":{"type":"string","maxLength":2}}}`)
	for _, test := range []struct {
		value, old string
		told       int
		compared   bool
	}{
		{`{"a":"long"}`, "", 0, false},
		{`{"a":"x"}`, `{"a":"y"}`, 1, false},
		{`{"a":"long"}`, `{"a":"long"}`, 1, true},
	} {
		told, spent := 0, time.Duration(0)
		w := Write{Object: objectOf(t, test.value), ObserveComparison: func(d time.Duration) { told, spent = told+1, d }}
		if test.old != "" {
			w.Old = objectOf(t, test.old)
		}
		s.Validate(t.Context(), w)
		if told != test.told || !test.compared && spent != 0 || spent < 0 {
			t.Errorf("%s after %s: told %d times, of %v", test.value, test.old, told, spent)
		}
	}
	cost := &comparisonTimer{}
	end := cost.begin()
	cost.begin()() // a nested comparison is not counted twice
	if !cost.busy {
		t.Error("the clock was stopped inside")
	}
	end()
	if cost.busy {
		t.Error("the clock runs on")
	}
}

func TestPathBelow(t *testing.T) {
	n := schemaOf(t, `{"type":"object","properties":{"a":{"type":"object","properties":{"b.c":{"type":"string"},"d'e":{"type":"string"}}},
		"m":{"type":"object","additionalProperties":{"type":"object","properties":{"x":{"type":"string"}}}},"l":{"type":"array","items":{"type":"string"}}}}`).shape()
	for in, want := range map[string]string{
		`.a`:                `a`,
		`.a['b.c']`:         `a.b.c`,
		`.a['d\'e']`:        `a.d'e`,
		`.m.k.x`:            `m[k].x`,
		`.m['a.b'].x`:       `m[a.b].x`,
		`['m']['k']`:        `m[k]`,
		`a`:                 `expected [ or . but got: a`,
		`.`:                 `unexpected end of JSON path`,
		`.nope`:             `does not refer to a valid field`,
		`.l[0]`:             `expected single quoted string but got 0`,
		`.l['0']`:           `does not refer to a valid field`,
		`.a['b.c'`:          `unexpected end of JSON path`,
		`.a['b.c'x`:         `expected ] but got x`,
		`.a['\q']`:          `invalid string literal: invalid escape char \q`,
		`.a[`:               `unexpected end of JSON path`,
		`.m.k.x.y`:          `does not refer to a valid field`,
		`.a..b`:             `does not refer to a valid field`,
		`.a['b.c']trailing`: `expected [ or . but got: trailing`,
		`.m['k'].x['more']`: `does not refer to a valid field`,
		`.a['unterminated]`: `expected single quoted string but got 'unterminated]`,
	} {
		path, err := pathBelow(in, n)
		got := path.String()
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}
