package kinds

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/filler"
)

// TestEncodings checks for random objects of all kinds that a value in JSON or YAML is decoded
// to the object that the protobuf value is decoded to.
func TestEncodings(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	compared := 0
	for _, r := range All() {
		if r.Virtual != nil || r.Storage.Encoding != api.Protobuf {
			continue
		}
		for range 20 {
			obj := r.New()
			filler.Fill(random, reflect.ValueOf(obj).Elem())
			obj.SetResourceVersion("")
			obj.SetSelfLink("")
			obj.SetCreationTimestamp(metav1.Time{Time: time.Unix(random.Int64N(1e9), 0).UTC()})
			text, err := json.Marshal(obj)
			if err != nil || strings.Contains(string(text), `\ufffd`) || strings.Contains(string(text), "\x7f") {
				continue // raw fields that are no JSON, and bytes that JSON or YAML cannot hold in a string
			}
			want := throughStorage(t, r, api.Protobuf, obj)
			compared++
			for _, encoding := range []api.Encoding{api.JSON, api.YAML} {
				if got := throughStorage(t, r, encoding, obj); got != want {
					t.Fatalf("%s, encoding %d:\n got %s\nwant %s", r.Name, encoding, got, want)
				}
			}
		}
	}
	if compared < 300 {
		t.Errorf("only %d objects were compared", compared)
	}
}

// throughStorage encodes and decodes an object, and returns the result as JSON.
func throughStorage(t *testing.T, r *api.Resource, encoding api.Encoding, obj api.Object) string {
	t.Helper()
	stored := *r
	stored.Storage.Encoding = encoding
	value, err := stored.EncodeStored(obj.DeepCopyObject().(api.Object))
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := r.DecodeStored(value)
	if err != nil {
		t.Fatalf("%s: %v: %s", r.Name, err, value)
	}
	text, err := json.Marshal(decoded)
	if err != nil {
		t.Fatal(err)
	}
	return withoutEmpty(text)
}

// withoutEmpty removes null, "" and empty lists and objects, which encodings keep in different
// fields.
func withoutEmpty(text []byte) string {
	var all any
	if err := json.Unmarshal(text, &all); err != nil {
		return err.Error()
	}
	text, _ = json.Marshal(pruned(all)) // it was decoded from JSON
	return string(text)
}

func pruned(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for key, element := range x {
			if x[key] = pruned(element); x[key] == nil {
				delete(x, key)
			}
		}
		if len(x) == 0 {
			return nil
		}
	case []any:
		for i := range x {
			x[i] = pruned(x[i])
		}
		if len(x) == 0 {
			return nil
		}
	case string:
		if x == "" {
			return nil
		}
	}
	return v
}
