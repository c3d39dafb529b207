package cbor

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/cbor"
)

// TestUnmarshal checks decoded objects and errors.
func TestUnmarshal(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"\xa1\x44data\xa1\x41a\x41b", "map[a:b] map[]"},
		{"\xa1\x64data\xa1\x61a\x61b", "map[a:b] map[]"},
		{"\xa1\x4abinaryData\xa1\x41a\xd6\x42\x00\xff", "map[] map[a:[0 255]]"},
		{"\xa1\x4abinaryData\xa1\x41a\x44AP8=", "map[] map[a:[0 255]]"},
		{"\xa1\x4abinaryData\xa1\x41a\x42\x00\xff", "cbor: failed to decode base64 from byte string: illegal base64 data at input byte 0"},
		{"\xa1\x44data\xa1\x41a\xd6\x42\x00\xff", "map[a:AP8=] map[]"},
		{"\xa1\x44Data\xa1\x41a\x41b", "map[] map[], cbor: found unknown field at map element index 0"},
		{"\xa1\x44data\xa2\x41a\x41b\x41a\x41c", `cbor: found duplicate map key "a" at map element index 1`},
		{"\xa1\x44data\x01", "cbor: cannot unmarshal positive integer into Go struct field v1.ConfigMap.data of type map[string]string"},
		{"\x01", "unable to determine group/version/kind: cbor: cannot unmarshal positive integer into Go value of type v1.TypeMeta"},
		{"", "unable to determine group/version/kind: EOF"},
		{"\xf6", "map[] map[]"},
	} {
		var config corev1.ConfigMap
		faults, err := Unmarshal([]byte(c.data), &config, true)
		got := fmt.Sprint(config.Data, config.BinaryData)
		for _, fault := range faults {
			got += ", " + fault.Error()
		}
		if err != nil {
			got = err.Error()
		}
		if got = strings.Replace(got, "]map[", "] map[", 1); got != c.want {
			t.Errorf("%q: got %s, want %s", c.data, got, c.want)
		}
	}
	var config corev1.ConfigMap
	if faults, err := Unmarshal([]byte("\xa1\x44Data\xa1\x41a\x41b"), &config, false); err != nil || faults != nil {
		t.Errorf("got %v, %v", faults, err)
	}
}

// TestRawJSON checks that JSON in an object becomes CBOR in it, and JSON again.
func TestRawJSON(t *testing.T) {
	const raw = `{"a":[1,2.5,"x",null,true]}`
	in := &metav1.List{Items: []runtime.RawExtension{{Raw: []byte(raw)}}}
	data, err := Marshal(in)
	if err != nil || bytes.Contains(data, []byte("2.5")) {
		t.Fatalf("%q, %v", data, err)
	}
	var out metav1.List
	if _, err := Unmarshal(data, &out, true); err != nil || string(out.Items[0].Raw) != raw {
		t.Errorf("%s, %v", out.Items, err)
	}
}

// TestTypeOf checks which kind an object names.
func TestTypeOf(t *testing.T) {
	for data, want := range map[string]string{
		Prefix + "\xa2\x44kind\x41A\x4aapiVersion\x42v1": "A v1",
		"\xa1\x64kind\x61A": "A ",
		"\xa0":              " ",
		"\xf6":              " ",
		"\xa1\x44kind\x01":  "unable to determine group/version/kind: cbor: cannot unmarshal positive integer into Go struct field v1.TypeMeta.kind of type string",
		"\xa1\x44":          "unable to determine group/version/kind: unexpected EOF",
	} {
		meta, err := TypeOf([]byte(data))
		got := meta.Kind + " " + meta.APIVersion
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", data, got, want)
		}
	}
}

// TestAppend checks the parts of objects against the encoder, whose order of keys may differ.
func TestAppend(t *testing.T) {
	for _, n := range []int{0, 23, 24, 255, 256, 65535, 65536} {
		list := make([]any, n)
		want, err := Marshal(list)
		if got := append(AppendArrayHead(nil, n), bytes.Repeat([]byte{0xf6}, n)...); err != nil || !bytes.Equal(got, want) {
			t.Errorf("array of %d: %v", n, err)
		}
		text := strings.Repeat("x", n)
		if want, err = Marshal(text); err != nil || !bytes.Equal(AppendString(nil, text), want) {
			t.Errorf("string of %d: %v", n, err)
		}
	}
	before := AppendString(AppendString(nil, "kind"), "A")
	for _, n := range []int{0, 1, 22, 23, 24, 255} {
		members := map[string]any{}
		for i := range n {
			members[fmt.Sprint(i)] = int64(i)
		}
		encoded, err := Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		data, err := AppendMembers([]byte(Prefix), 1, before, encoded)
		if err != nil {
			t.Fatal(err)
		}
		content, err := Content(data)
		if err != nil || len(content) != n+1 || content["kind"] != "A" {
			t.Errorf("%d members: %v, %v", n, content, err)
		}
	}
	for _, data := range []string{"", "\x01", "\xb8", "\xb9\x01\x00", "\xbf\xff"} {
		if out, err := AppendMembers(nil, 1, before, []byte(data)); err == nil {
			t.Errorf("%q: got %q", data, out)
		}
	}
}

// TestFromJSON checks that integers and floats stay what they are, and the order of keys.
func TestFromJSON(t *testing.T) {
	data, err := FromJSON([]byte(`{"bb":1,"a":1.5,"c":9007199254740993}`))
	if want := "\xa3\x41a\xf9\x3e\x00\x41c\x1b\x00\x20\x00\x00\x00\x00\x00\x01\x42bb\x01"; err != nil || string(data) != want {
		t.Errorf("got %x, %v", data, err)
	}
	if data, err := FromJSON([]byte(`{`)); err == nil {
		t.Errorf("got %x", data)
	}
}

// FuzzUnmarshal checks that decoding never panics, and that it accepts what the serializer of
// apimachinery accepts.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(Prefix + "\xa3\x44kind\x49ConfigMap\x4aapiVersion\x42v1\x44data\xa1\x41a\x41b"))
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		f.Fatal(err)
	}
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, contentErr := Content(data)
		if meta, err := TypeOf(data); err == nil && contentErr == nil && meta.Kind == kind.Kind && meta.APIVersion == kind.Version {
			var config corev1.ConfigMap
			_, got := Unmarshal(data, &config, false)
			_, _, want := serializer.NewSerializer(scheme, scheme).Decode(data, &kind, nil)
			if (got == nil) != (want == nil) {
				t.Errorf("got %v, want %v", got, want)
			}
		}
	})
}
