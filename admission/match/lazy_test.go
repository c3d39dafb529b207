package match

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/miniapiserver/miniapiserver/kinds"
)

// TestLazyEqualsConverted checks, for objects of a real kube-apiserver and empty ones, that
// expressions see equal values whether or not the object was converted as a whole.
func TestLazyEqualsConverted(t *testing.T) {
	listed := map[string][]json.RawMessage{}
	f, err := os.Open("../../kinds/testdata/lists.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(&listed); err != nil {
		t.Fatal(err)
	}
	shapes, n := &Shapes{}, 0
	for _, res := range kinds.All() {
		v := &res.Versions[0]
		path := "/apis/" + v.String() + "/" + res.Name
		if v.Group == "" {
			path = "/api/" + v.Version + "/" + res.Name
		}
		for _, text := range append(listed[path], json.RawMessage("{}")) {
			obj := res.New()
			if err := json.Unmarshal(text, obj); err != nil {
				t.Fatal(err)
			}
			want, err := jsonOf(obj, v.WithKind(res.Kind))
			if err != nil {
				t.Fatal(err)
			}
			got, err := shapes.show(obj, v.WithKind(res.Kind))
			if err != nil {
				t.Fatal(err)
			}
			n += requireSame(t, res.Kind, types.DefaultTypeAdapter.NativeToValue(got), types.DefaultTypeAdapter.NativeToValue(want))
		}
	}
	if n < 5000 {
		t.Errorf("only %d values were compared", n)
	}
}

// requireSame compares two values recursively and returns the number of values.
func requireSame(t *testing.T, at string, got, want ref.Val) int {
	t.Helper()
	if got.Type() != want.Type() {
		t.Errorf("%s: %v, want %v", at, got.Type(), want.Type())
		return 1
	}
	n := 1
	switch w := want.(type) {
	case traits.Mapper:
		g := got.(traits.Mapper)
		if g.Size() != w.Size() {
			t.Errorf("%s: size %v, want %v", at, g.Size(), w.Size())
		}
		for it := w.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			v, ok := g.Find(key)
			if !ok {
				t.Errorf("%s: no %v", at, key)
				continue
			}
			n += requireSame(t, at+"."+key.Value().(string), v, w.Get(key))
		}
	case traits.Lister:
		g := got.(traits.Lister)
		if g.Size() != w.Size() {
			t.Errorf("%s: size %v, want %v", at, g.Size(), w.Size())
			return n
		}
		for i := types.Int(0); i < w.Size().(types.Int); i++ {
			n += requireSame(t, at+"[]", g.Get(i), w.Get(i))
		}
	default:
		if got.Equal(want) != types.True {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	}
	return n
}
