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

// What comes out, and whether anything does, is the library's.
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

func TestRead(t *testing.T) {
	for _, text := range texts {
		checkRead(t, []byte(text))
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
	f.Fuzz(checkRead)
}
