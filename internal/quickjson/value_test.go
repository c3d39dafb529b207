package quickjson

import (
	"encoding/json"
	"reflect"
	"testing"

	kjson "sigs.k8s.io/json"
)

var texts = []string{
	`{}`, `{"a":1}`, ` { "a" : [ ] , "b" : { } } `, `{"a":[1,-2,0,-0,1.5,1e3,1.0,12345678901234567890,9223372036854775807,-9223372036854775808]}`,
	`{"a":"x","a":"y"}`, `{"a":{"b":1,"b":2}}`, `{"a":"\n\t\r\"\\\/"}`, `{"a":"é\u00e9\ud83d\ude00<&>"}`, `{"a\"b":true,"c":false,"d":null}`,
	`{"a":01}`, `{"a":-}`, `{"a":1.}`, `{"a":.5}`, `{"a":+1}`, `{"a":1-2}`, `{"a":tru}`, `{"a":nul`, `{"a"`, `{"a":`, `{"a":"`, `{"a":"\`, `{"a":1,}`, `{"a":[1,]}`,
	`{"a":[1 2]}`, `{,}`, `[]`, `"a"`, ``, ` `, `null`, `{"a":1} {}`, `{"a":1}x`, "{\"a\":\"\xff\"}", "{\"\xff\":1}", "{\"a\":\"\x01\"}", "{\"a\":\"\u2028\x7f\"}",
	`{"a":[[],[[]],{"b":[{"c":[]}]}]}`, `{"":""}`, `{"a":1e400}`, `{"a":"` + "\\u0000" + `"}`,
}

// checkRead checks that ReadStrict returns the values and errors of the library.
func checkRead(t *testing.T, data []byte) {
	t.Helper()
	var want map[string]any
	strict, err := kjson.UnmarshalStrict(data, &want)
	got, gotStrict, gotErr := ReadStrict(data)
	if (err == nil) != (gotErr == nil) || len(strict) != len(gotStrict) || err == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%q is %#v, %v, %v; want %#v, %v, %v", data, got, gotStrict, gotErr, want, strict, err)
	}
	if err != nil {
		return
	}
	text, err := Append(nil, got)
	if err != nil {
		t.Fatal(err)
	}
	if wanted, err := json.Marshal(want); err != nil || string(text) != string(wanted) {
		t.Fatalf("%q is written as %s, want %s (%v)", data, text, wanted, err)
	}
}

// checkAside checks that the content and the value that ReadAside separated are together the
// content that ReadPlain returns.
func checkAside(t *testing.T, data []byte) {
	t.Helper()
	content, aside, ok := ReadAside(data, "a", "b")
	if !ok {
		return
	}
	want, plain := ReadPlain(data)
	value, ok := ReadPlain([]byte(`{"b":` + string(aside) + `}`))
	inside, isObject := content["a"].(map[string]any)
	switch {
	case aside == nil: // nothing was separated
	case !isObject || inside["b"] != nil:
		t.Fatalf("%q is %v beside %s", data, content, aside)
	case !ok && plain || ok && !plain:
		t.Fatalf("%q and what is aside of it are not both in order", data)
	case !plain:
		return
	default:
		inside["b"] = value["b"]
	}
	if !reflect.DeepEqual(content, want) {
		t.Fatalf("%q is %v with what is aside, want %v", data, content, want)
	}
}

func TestReadAside(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":{"b":[1, 2],"c":3},"b":4}`: "[1, 2]", `{"a":{"a":{"b":1}}}`: "", `{"a":[{"b":1}]}`: "", `{"b":{"a":1}}`: "", `{"a":1}`: "",
		`{"c":{"a":{"b":1}},"a":{"b":{}}}`: "{}", `{"a":{"b":1,"b":2}}`: "not in order", `{"a":{"b":1},"a":{}}`: "not in order",
	} {
		_, aside, ok := ReadAside([]byte(text), "a", "b")
		if want == "not in order" && ok || want != "not in order" && (!ok || string(aside) != want) {
			t.Errorf("%s has %q aside, %t", text, aside, ok)
		}
	}
}

// checkCanonical checks that canonical JSON equals its encoding.
func checkCanonical(t *testing.T, data []byte) {
	t.Helper()
	if !Canonical(data) {
		return
	}
	fields, ok := ReadPlain(data)
	if text, err := Append(nil, fields); !ok || err != nil || string(text) != string(data) {
		t.Fatalf("%s is written as %s, %v, %t", data, text, err, ok)
	}
}

func TestCanonical(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true, `{"f:a":{},"f:b":{".":{},"k:{\"a\":\"<\u0026\"}":{}}}`: false, `{".":{},"f:a":{},"f:b":{"k:{\"a\":1}":{}}}`: true,
		`{"b":{},"a":{}}`: false, `{"a":{},"a":{}}`: false, `{"a":{} }`: false, `{"a":1}`: false, `{"a":null}`: false, `[]`: false, ``: false, `{"a":{}}x`: false,
		`{"\u0061":{}}`: false, `{"\u003c":{}}`: true, `{"a!":{},"a\"":{}}`: true,
	} {
		if Canonical([]byte(text)) != want {
			t.Errorf("%s is canonical: %t", text, !want)
		}
		checkCanonical(t, []byte(text))
	}
}

func TestRead(t *testing.T) {
	for _, text := range texts {
		checkRead(t, []byte(text))
		checkAside(t, []byte(text))
	}
	deep := `{"a":` + nested(maxDepth+2) + `}`
	checkRead(t, []byte(deep))
}

func nested(depth int) string {
	if depth == 0 {
		return "1"
	}
	return `[{"a":` + nested(depth-1) + `}]`
}

func FuzzRead(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"a":{"b":{".":{},"f:a":{}}}}`))
	f.Add([]byte(`{".":{},"f:a":{"k:{\"a\":1}":{}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		checkRead(t, data)
		checkAside(t, data)
		checkCanonical(t, data)
	})
}
