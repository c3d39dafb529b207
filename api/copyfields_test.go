package api

import (
	"reflect"
	"testing"
)

// TestFieldsAreCopied checks that fields of the same name and form are copied and others are
// not.
func TestFieldsAreCopied(t *testing.T) {
	type inner struct{ A, B string }
	type otherInner struct{ B, A string }
	type from struct {
		Same   map[string]inner
		Slice  []inner
		Empty  []inner
		Number int32
		Gone   string
	}
	type to struct {
		Number *int32
		Empty  []otherInner
		Slice  []otherInner
		Same   map[string]otherInner
	}
	in := from{Same: map[string]inner{"k": {"a", "b"}}, Slice: []inner{{"c", "d"}}, Empty: []inner{}, Number: 3, Gone: "x"}
	var out to
	CopyFields(&out, &in)
	want := to{Same: map[string]otherInner{"k": {"b", "a"}}, Slice: []otherInner{{"d", "c"}}, Empty: []otherInner{}}
	if !reflect.DeepEqual(out, want) {
		t.Errorf("got %+v, want %+v", out, want)
	}
}
