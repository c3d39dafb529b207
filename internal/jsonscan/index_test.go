package jsonscan

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// decoded returns the decoded form of a value, built from its parts.
func decoded(v Value) any {
	switch {
	case v.IsObject():
		out := map[string]any{}
		for p := v.Parts(); p.Next(); {
			out[Unquote(p.Key())] = decoded(p.Value())
		}
		return out
	case v.IsArray():
		out := []any{}
		for p := v.Parts(); p.Next(); {
			out = append(out, decoded(p.Value()))
		}
		return out
	}
	var out any
	if json.Unmarshal(v.Bytes(), &out) != nil {
		return "not a value: " + string(v.Bytes())
	}
	return out
}

// FuzzParts checks that jsonscan and the decoder find the same parts of a text.
func FuzzParts(f *testing.F) {
	f.Add([]byte(` {"a" : [ 1 , -2.5e3,"\"]",{}] , "\u0062":{"c":[[],[[null]],true]},"a":false} `))
	f.Add([]byte(`[[[]],"a"]`))
	f.Add([]byte("\"\xff\""))
	f.Fuzz(func(t *testing.T, data []byte) {
		var want any
		wrong := json.Unmarshal(data, &want)
		v, err := Parse(data)
		if (err == nil) != json.Valid(data) {
			t.Fatalf("%q: %v", data, err)
		}
		if err != nil || wrong != nil { // a number may be too large
			return
		}
		if got := decoded(v); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, want %v", data, got, want)
		}
		if !bytes.Equal(v.Bytes(), bytes.TrimSpace(data)) {
			t.Errorf("%q: %q", data, v.Bytes())
		}
	})
}

// TestInvalid checks that Parse refuses invalid texts.
func TestInvalid(t *testing.T) {
	for _, text := range []string{"", "{", `{"a"}`, "[1,]", strings.Repeat("[", 20000)} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%.20q is accepted as JSON", text)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	text := []byte(`{"items":[` + strings.Repeat(`{"metadata":{"name":"pod-000001","labels":{"app":"bench","shard":"s1"}},"spec":{"containers":[{"name":"main","ports":[{"containerPort":8080}]}]}},`, 100) + `{}]}`)
	b.Run("index", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			ParseValid(text)
		}
	})
	quoted := []byte(`"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}"`)
	b.Run("unquote", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Unquote(quoted)
		}
	})
}
