package jsonpatch

import (
	"errors"
	"testing"
)

// TestApply: results and messages are those of the library's release 4.
func TestApply(t *testing.T) {
	const doc = `{"data":{"k":"v"},"list":[1,2],"metadata":{"name":"a"}}`
	for _, tt := range []struct{ patch, want string }{
		{`[{"op":"replace","path":"/data/k","value":"w"}]`, `{"data":{"k":"w"},"list":[1,2],"metadata":{"name":"a"}}`},
		{`[{"op":"replace","path":"/data/new","value":"w"}]`, `{"data":{"k":"v","new":"w"},"list":[1,2],"metadata":{"name":"a"}}`},
		{`[{"op":"add","path":"/list/-","value":3}]`, `{"data":{"k":"v"},"list":[1,2,3],"metadata":{"name":"a"}}`},
		{`[{"op":"add","path":"/data/null"}]`, `{"data":{"k":"v","null":null},"list":[1,2],"metadata":{"name":"a"}}`},
		{`[{"op":"remove","path":"/data/no"}]`, `error in remove for path: '/data/no': Unable to remove nonexistent key: no: missing value`},
		{`[{"op":"move","from":"/no","path":"/data/x"}]`, `error in move for path: 'no': Unable to remove nonexistent key: no: missing value`},
		{`[{"op":"add","path":"/no/x","value":1}]`, `add operation does not apply: doc is missing path: "/no/x": missing value`},
		{`[{"op":"replace","path":"/no/x","value":1}]`, `replace operation does not apply: doc is missing path: /no/x: missing value`},
		{`[{"op":"remove","path":"/list/9"}]`, `error in remove for path: '/list/9': Unable to access invalid index: 9: invalid index referenced`},
		{`[{"op":"bad","path":"/x"}]`, `Unexpected kind: bad`},
		{`[{"op":"test","path":"/data/k","value":"x"}]`, `testing value /data/k failed: test failed`},
		{`[{"op":"copy","from":"/data","path":"/a"},{"op":"copy","from":"/data","path":"/b"}]`, `Unable to complete the copy, the accumulated size increase of copy is 18, exceeding the limit 10`},
	} {
		p, err := Decode([]byte(tt.patch))
		if err != nil {
			t.Fatal(err)
		}
		out, err := p.Apply([]byte(doc), 10)
		got := string(out)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.patch, got, tt.want)
		}
	}
	p, _ := Decode([]byte(`[{"op":"test","path":"/data/k","value":"x"}]`))
	if _, err := p.Apply([]byte(doc), 10); !errors.Is(err, ErrTestFailed) {
		t.Error(err)
	}
	if _, err := Decode([]byte(`{}`)); err == nil {
		t.Error("an object is no patch")
	}
}
