package jsonpatch

import (
	"errors"
	"testing"
)

// TestApply checks results and messages against those of json-patch 4.13.
func TestApply(t *testing.T) {
	const doc = `{"data":{"k":"v"},"list":[1,2],"metadata":{"name":"a"}}`
	for _, tt := range []struct{ patch, want string }{
		{`[{"op":"replace","path":"/data/k","value":"w"}]`, `{"data":{"k":"w"},"list":[1,2],"metadata":{"name":"a"}}`},
		{`[{"op":"replace","path":"/data/new","value":"w"}]`, `{"data":{"k":"v","new":"w"},"list":[1,2],"metadata":{"name":"a"}}`},
		{`[{"op":"replace","path":"/data/0","value":"w"}]`, `{"data":{"0":"w","k":"v"},"list":[1,2],"metadata":{"name":"a"}}`},
		{`[{"op":"copy","from":"/data/no","path":"/data/x"}]`, `{"data":{"k":"v","x":null},"list":[1,2],"metadata":{"name":"a"}}`},
		{`[{"op":"copy","from":"/list/9","path":"/data/x"}]`, `error in copy for from: '/list/9': Unable to access invalid index: 9: invalid index referenced`},
		{`[{"op":"test","path":"/data/no","value":null},{"op":"remove","path":"/list"},{"op":"remove","path":"/data"}]`, `{"metadata":{"name":"a"}}`},
		{`[{"op":"test","path":"/data/no","value":1}]`, `testing value /data/no failed: test failed`},
		{`[{"op":"test","path":"","value":{"list":[1, 2],"metadata":{"name":"a"},"data":{"k":"v"}}},{"op":"remove","path":"x/data"}]`, `{"list":[1,2],"metadata":{"name":"a"}}`},
		{`[{"op":"replace","path":"","value":{"a":1}}]`, `{"a":1}`},
		{`[{"op":"replace","path":"","value":1}]`, `replace operation value must be object or array: %!w(<nil>)`},
		{`[{"op":"replace","path":""}]`, `replace operation value must be object or array: %!w(<nil>)`},
		{`[{"op":"replace","path":"/list/-1","value":3},{"op":"remove","path":"/list/0"}]`, `{"data":{"k":"v"},"list":[3],"metadata":{"name":"a"}}`},
		{`[{"op":"replace","path":"/list/2","value":3}]`, `replace operation does not apply: doc is missing key: /list/2: missing value`},
		{`[{"op":"replace","path":"/list/-","value":3}]`, `replace operation does not apply: doc is missing key: /list/-: missing value`},
		{`[{"op":"add","path":"/list/2","value":3},{"op":"add","path":"/list/-4","value":0}]`, `{"data":{"k":"v"},"list":[0,1,2,3],"metadata":{"name":"a"}}`},
		{`[{"op":"add","path":"/list/x","value":3}]`, `error in add for path: '/list/x': value was not a proper array index: 'x': strconv.Atoi: parsing "x": invalid syntax`},
		{`[{"op":"move","from":"/list","path":"/data/a~1b~0"}]`, `{"data":{"a/b~":[1,2],"k":"v"},"metadata":{"name":"a"}}`},
		{`[{"op":"add","path":"/metadata/name/x","value":1}]`, `add operation does not apply: doc is missing path: "/metadata/name/x": missing value`},
		{`[{"op":"add","value":1}]`, `add operation failed to decode path: missing value`},
		{`[null]`, `Unexpected kind: unknown`},
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
		out, err := p.Apply(t.Context(), []byte(doc), 10)
		got := string(out)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.patch, got, tt.want)
		}
	}
	p, _ := Decode([]byte(`[{"op":"test","path":"/data/k","value":"x"}]`))
	if _, err := p.Apply(t.Context(), []byte(doc), 10); !errors.Is(err, ErrTestFailed) {
		t.Error(err)
	}
	if _, err := Decode([]byte(`{}`)); err == nil {
		t.Error("an object is accepted as a patch")
	}
}
