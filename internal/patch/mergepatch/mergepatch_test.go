package mergepatch

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// FuzzApply compares Apply with the library that kube-apiserver uses.
func FuzzApply(f *testing.F) {
	for _, c := range [][2]string{
		{`{"a":{"b":1,"c":[1,2]},"d":"x"}`, `{"a":{"b":null,"e":{"f":null,"g":1}}}`},
		{`{"a":[1]}`, `{"a":[{"b":null},null]}`},
		{`{"a":{"b":1}}`, `{"a":[{"b":null}]}`},
		{`{"a":null}`, ` { "a" : { "b" : null , "c" : [ ] } } `},
		{`{"a\"b":1,"c":"}]\\"}`, `{"a\u0022b":2,"d":"{[\""}`},
		{`{}`, `{"a":1,"a":{"b":2}}`},
		{`{"a":{"é":1}}`, `{"a":{"\u00e9":2},"\u00e8":{"\u003c":"\u00e9","&":"<"}}`},
		{`{"":{"":{}}}`, `{"":{"":{"":null,"x":-1.5e3}}}`},
		{`{"a":1}`, `{"b":[[],[[{"c":null,"d":true}]]],"a":null}`},
		{`{"kind":"a","b":{"d":{"z":1,"a":2}}}`, `{ "b" : { "c" : "<&>" }, "a": {"y": [{"b": 1, "a": 2}], "x": 1} }`},
	} {
		f.Add(c[0], c[1])
	}
	f.Fuzz(func(t *testing.T, old, patch string) {
		var before, change map[string]any
		if json.Unmarshal([]byte(old), &before) != nil || json.Unmarshal([]byte(patch), &change) != nil || before == nil || change == nil {
			return
		}
		old = marshal(t, before) // objects of the server have no duplicate keys
		want, err := jsonpatch.MergePatch([]byte(old), []byte(patch))
		if err != nil {
			return
		}
		got := Apply([]byte(old), []byte(patch))
		if !reflect.DeepEqual(values(t, got), values(t, want)) {
			t.Errorf("%s and %s: got %s, want %s", old, patch, got, want)
		}
		if escaped := marshal(t, json.RawMessage(got)); escaped != string(want) {
			t.Errorf("%s and %s: got text %s, want %s", old, patch, escaped, want)
		}
	})
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func values(t *testing.T, data []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return v
}

// BenchmarkApply compares Apply with the library that kube-apiserver uses.
func BenchmarkApply(b *testing.B) {
	patch := []byte(`{"metadata":{"labels":{"c":"d","e":null}}}`)
	for _, size := range []int{1, 100} {
		old := []byte(`{"metadata":{"name":"p","labels":{"a":"b"}},"spec":{"containers":[` + strings.Repeat(`{"name":"c","image":"i","env":[{"name":"A","value":"1"}]},`, size) + `{}]}}`)
		b.Run(fmt.Sprintf("%d bytes/own", len(old)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Apply(old, patch)
			}
		})
		b.Run(fmt.Sprintf("%d bytes/library", len(old)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := jsonpatch.MergePatch(old, patch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
