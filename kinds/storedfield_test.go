package kinds

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/filler"
	"github.com/miniapiserver/miniapiserver/proto"
)

// TestStoredFields compares the indexed fields in the values of random objects with those of the decoded objects. A start
// that had to decode the objects would take several times as long.
func TestStoredFields(t *testing.T) {
	compared, set := 0, 0
	for _, res := range All() {
		read := res.StoredField()
		if read == nil {
			if res.Name == "pods" {
				t.Error("indexed pods must be decoded")
			}
			continue
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range 300 {
			obj := res.New()
			filler.Fill(random, reflect.ValueOf(obj).Elem())
			value, err := res.EncodeStored(obj)
			if err != nil {
				t.Fatal(err)
			}
			decoded, err := res.DecodeStored(value)
			if err != nil {
				t.Fatal(err)
			}
			for _, field := range res.Indexed {
				got, ok := read(value, field)
				if want := res.Selectable(decoded)[field]; !ok || string(got) != want {
					t.Fatalf("%s: %s is %q, %t; want %q", res.Name, field, got, ok, want)
				}
				if compared++; len(got) > 0 {
					set++
				}
			}
		}
	}
	if compared < 300 || set < 50 {
		t.Errorf("%d fields are compared, %d of them with a value", compared, set)
	}
}

// TestUnusualStoredFields compares values that no encoder of this server writes with their decoded objects.
func TestUnusualStoredFields(t *testing.T) {
	pods := resourceNamed(t, "pods")
	read := pods.StoredField()
	message := func(node string, more ...string) string {
		raw, err := (&corev1.Pod{Spec: corev1.PodSpec{NodeName: node}}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return string(raw) + strings.Join(more, "")
	}
	for name, tt := range map[string]struct {
		message string
		read    bool
	}{
		"two specs, the last with a node":    {message("one", "\x12\x05\x52\x03two"), true},
		"two specs, the last without a node": {message("one", "\x12\x02\x1a\x00"), true},
		"two nodes in a spec":                {"\x12\x0a\x52\x03one\x52\x03two", true},
		"no spec":                            {"", true},
		"another field":                      {message("one", "\xaa\x06\x01x"), true},
		"a group":                            {message("one", "\xab\x06\xac\x06"), false},
		"a spec of another type":             {"\x10\x05", false},
		"a node of another type":             {"\x12\x02\x50\x05", false},
		"a cut field":                        {message("one", "\x12\x05\x52"), false},
		"a cut tag":                          {message("one", "\xff"), false},
		"a field without a number":           {message("one", "\x02\x00"), false},
	} {
		value := proto.AppendRaw(nil, "v1", "Pod", []byte(tt.message))
		got, ok := read(value, "spec.nodeName")
		if ok != tt.read {
			t.Errorf("%s: read without decoding: %t", name, ok)
		}
		obj, err := pods.DecodeStored(value)
		if ok && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if ok && string(got) != obj.(*corev1.Pod).Spec.NodeName {
			t.Errorf("%s: %q, want %q", name, got, obj.(*corev1.Pod).Spec.NodeName)
		}
	}
	for _, value := range []string{"", "k8s\x00", `{"kind":"Pod","apiVersion":"v1"}`,
		string(proto.AppendRaw(nil, "v2", "Pod", nil)), string(proto.AppendRaw(nil, "v1", "Pod", nil)) + "x"} {
		if _, ok := read([]byte(value), "spec.nodeName"); ok {
			t.Errorf("%q is read without decoding", value)
		}
	}
	if _, ok := read(proto.AppendRaw(nil, "v1", "Pod", nil), "spec.host"); ok {
		t.Error("a field that is not indexed is read")
	}
}

func resourceNamed(t *testing.T, name string) *api.Resource {
	t.Helper()
	for _, res := range All() {
		if res.Name == name {
			return res
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}
