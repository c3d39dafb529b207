package representation

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/cbor"
	"github.com/miniapiserver/miniapiserver/internal/filler"
	"github.com/miniapiserver/miniapiserver/internal/registrytest"
	"github.com/miniapiserver/miniapiserver/kinds"
)

// TestCBORNegotiation checks which representations in CBOR the server offers, and how it lists them.
func TestCBORNegotiation(t *testing.T) {
	const objects = "application/json, application/yaml, application/vnd.kubernetes.protobuf, application/cbor"
	const streams = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch, application/cbor-seq"
	const only = "only the following media types are accepted: "
	const available = "406: Not Acceptable\n\nAvailable representations: "
	for _, c := range []struct {
		accept string
		offer  Offer
		want   string // an error, or the content type of the stream
	}{
		{"application/cbor", OfferObject, "application/cbor-seq"},
		{"application/cbor", OfferObject.untyped(), "application/cbor-seq"},
		{"application/cbor;stream=watch", OfferWatch, "application/cbor-seq"},
		{"application/json;q=0.9,application/cbor;q=1", OfferWatch, "application/cbor-seq"},
		{"application/cbor;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", OfferObject, "application/cbor-seq"},
		{"application/cbor;q=0.1,application/json", OfferWatch, "application/json"},
		{"*/*", OfferObject, "application/json"},
		{"application/cbor;as=Table;g=meta.k8s.io;v=v1", OfferObject, only + objects},
		{"application/cbor;as=Table;g=meta.k8s.io;v=v1,application/json", OfferObject, "application/json"},
		{"application/cbor", OfferDocument, "application/cbor-seq"},
		{"application/cbor", OfferCustomResources, strings.TrimSuffix(only+objects, ", application/cbor")},
		{"application/cbor-seq", OfferObject, available + objects},
		{"application/cbor-seq", OfferWatch, only + objects},
		{"application/cbor-seq", OfferList, only + objects},
		{"text/foo", OfferWatch, available + objects + ", " + streams},
		{"text/foo", OfferWatch.untyped(), only + objects},
	} {
		r := withScope(httptest.NewRequest(http.MethodGet, "/", nil))
		r.Header.Set("Accept", c.accept)
		m, err := (&Responder{CBOR: true}).Negotiate(r, c.offer)
		got := m.streamContentType()
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.accept, got, c.want)
		}
		m, err = (&Responder{}).Negotiate(r, c.offer)
		if m.Format == FormatCBOR || err != nil && strings.Contains(err.Error(), "cbor") {
			t.Errorf("%s without the gate: got %v, %v", c.accept, m, err)
		}
	}
}

// TestCBORObjects checks for random objects of all kinds that clients get the same object in CBOR as the
// library encodes, and that the server decodes it again.
func TestCBORObjects(t *testing.T) {
	codecs := NewCodecs(registrytest.Catalogue(t), time.Now)
	codecs.CBOR = true
	random, compared := rand.New(rand.NewPCG(7, 8)), 0
	for _, res := range kinds.All() {
		for i := range res.Versions {
			c := codecs.Codec(res, &res.Versions[i])
			if c.version.ToHub != nil || res.Virtual != nil {
				continue
			}
			for range 5 {
				compared += compareCBOR(t, c, random)
			}
		}
	}
	if compared < 200 {
		t.Errorf("only %d objects were compared", compared)
	}
}

// compareCBOR returns 1 if an object was compared, and 0 if a random value of it has no encoding.
func compareCBOR(t *testing.T, c *Codec, random *rand.Rand) int {
	t.Helper()
	obj := c.newObject()
	filler.Fill(random, reflect.ValueOf(obj).Elem())
	obj.SetManagedFields(nil)
	obj.GetObjectKind().SetGroupVersionKind(c.gvk)
	raw, err := direct.Marshal(obj)
	if err != nil {
		return 0
	}
	want, err := cbor.Content(raw)
	if err != nil {
		t.Fatal(err)
	}
	v := View{codec: c, Media: Media{Format: FormatCBOR}}
	data, err := v.appendCBOR(nil, Unstored{obj})
	if err != nil || !cbor.Is(data) {
		t.Fatalf("%s: %x, %v", c.gvk, data, err)
	}
	if got, err := cbor.Content(data); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%s:\n got %v (%v)\nwant %v", c.gvk, got, err, want)
	}
	r := withScope(httptest.NewRequest(http.MethodPost, "/", nil))
	r.Header.Set("Content-Type", MediaCBOR)
	decoded, err := c.Decode(r, data, metav1.FieldValidationStrict)
	if err != nil {
		if statusCode(err) == "400" { // random text is no quantity, selector or URL of the type
			return 0
		}
		t.Fatal(err)
	}
	again := c.newObject()
	if _, err := cbor.Unmarshal(data, again, true); err != nil {
		t.Fatal(err)
	}
	if again, err = (&decoder{Codec: c, requested: c}).defaulted(again); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(decoded, again) {
		t.Fatalf("%s: got %+v, want %+v", c.gvk, decoded, again)
	}
	return 1
}

// TestCBORBodies checks the errors of bodies.
func TestCBORBodies(t *testing.T) {
	c := newCodec(t, "configmaps")
	r := withScope(httptest.NewRequest(http.MethodPost, "/", nil))
	r.Header.Set("Content-Type", MediaCBOR)
	if _, err := c.Decode(r, []byte("\xa0"), ""); statusCode(err) != "415" || strings.Contains(err.Error(), "cbor") {
		t.Errorf("without the gate: %v", err)
	}
	c.codecs.CBOR = true
	const head = "\xa3\x44kind\x49ConfigMap\x4aapiVersion\x42v1"
	const unrecognized = "the object provided is unrecognized (must be of type ConfigMap): "
	const cannotHandle = `ConfigMap in version "v1" cannot be handled as a ConfigMap: `
	for _, b := range []struct{ body, want string }{
		{"", unrecognized + "unable to determine group/version/kind: EOF (<empty>)"},
		{`{"a":1}`, unrecognized + `unable to determine group/version/kind: unexpected EOF ({"a":1})`},
		{"\xff\xff", unrecognized + `unable to determine group/version/kind: cbor: unexpected "break" code (ffff)`},
		{"\xa0\x01", unrecognized + "unable to determine group/version/kind: cbor: 1 bytes of extraneous data starting at index 1 (a001)"},
		{"\x81\x01", unrecognized + "unable to determine group/version/kind: cbor: cannot unmarshal array into Go value of type v1.TypeMeta (cannot decode CBOR array to struct without toarray option) (8101)"},
		{strings.Repeat("\x81", 600) + "\x01", unrecognized + "exceeded max depth of 512 (818181818181818181818181818181818181818181818181818181818181 ...)"},
		{strings.Repeat("\xc6", 600) + "\x01", unrecognized + "exceeded max tags of 8 (c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6 ...)"},
		{"\xa2\x44kind\x43Foo\x4aapiVersion\x42v1", `Foo in version "v1" cannot be handled as a ConfigMap: no kind "Foo" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"`},
		{head + "\x43foo\x01", cannotHandle + "strict decoding error: cbor: found unknown field at map element index 2"},
		{head + "\x44Data\xa0", cannotHandle + "strict decoding error: cbor: found unknown field at map element index 2"},
		{head + "\x44data\xa2\x41a\x41b\x41a\x41c", cannotHandle + `cbor: found duplicate map key "a" at map element index 1`},
		{head + "\x44data\x01", cannotHandle + "cbor: cannot unmarshal positive integer into Go struct field v1.ConfigMap.data of type map[string]string"},
		{head + "\x44data\xa1\x41a\xfb\x7f\xf8\x00\x00\x00\x00\x00\x00", unrecognized + "unable to determine group/version/kind: cbor: data item of cbor type primitives is not accepted by protocol: floating-point NaN (a3446b696e6449436f6e6669674d61704a61706956657273696f6e427631 ...)"},
		{head + "\x44data\xa1\x41a\x61\xff", cannotHandle + "cbor: invalid UTF-8 string"},
		{head + "\x44data\xa1\x41a\x41b", ""},
		{"\xa1\x44data\xa1\x41a\x41b", ""},
		{"\xf6", ""},
	} {
		obj, err := c.Decode(r, []byte(b.body), metav1.FieldValidationStrict)
		switch {
		case b.want == "" && err == nil:
			if config := obj.(*corev1.ConfigMap); len(b.body) > 1 && config.Data["a"] != "b" {
				t.Errorf("%q: got %v", b.body, config)
			}
		case err == nil || err.Error() != b.want || statusCode(err) != "400":
			t.Errorf("%q:\n got %v\nwant %s", b.body, err, b.want)
		}
	}
	quotas := c.codecs.Codec(mustLookup(t, c.codecs.catalogue, "resourcequotas"))
	costly := "\xa1\x44spec\xa1\x44hard\xa1\x44pods\x4d1e+2147483648"
	if _, err := quotas.Decode(r, []byte(costly), metav1.FieldValidationIgnore); statusCode(err) != "400" {
		t.Errorf("a costly quantity: %v", err)
	}
}

// mustLookup returns a resource of version v1 of the core group.
func mustLookup(t *testing.T, catalogue *api.Catalogue, name string) (*api.Resource, *api.Version) {
	t.Helper()
	res, v, ok := catalogue.Lookup(corev1.SchemeGroupVersion, name)
	if !ok {
		t.Fatalf("%s is not served", name)
	}
	return res, v
}

// TestAppliedCBOR checks apply configurations.
func TestAppliedCBOR(t *testing.T) {
	for data, want := range map[string]string{
		"":                          "error decoding patch: EOF",
		"\x81\x01":                  "error decoding patch: cbor: cannot unmarshal array into Go value of type map[string]interface {}",
		"\xa2\x41a\x01\x41a\x02":    `error decoding patch: cbor: found duplicate map key "a" at map element index 1`,
		"\xa1\x01\x02":              "error decoding patch: cbor: cannot unmarshal positive integer into Go value of type string",
		strings.Repeat("\x81", 600): "error decoding patch: exceeded max depth of 512",
	} {
		if patch, _, err := appliedCBOR([]byte(data)); statusCode(err) != "400" || err.Error() != want {
			t.Errorf("%q: got %v, %v, want %s", data, patch, err, want)
		}
	}
	patch, text, err := appliedCBOR([]byte(cbor.Prefix + "\xa2\x41a\x01\x41b\xf9\x3c\x00"))
	if err != nil || !reflect.DeepEqual(patch, map[string]any{"a": int64(1), "b": 1.0}) || string(text) != `{"a":1,"b":1}` {
		t.Errorf("got %v, %s, %v", patch, text, err)
	}
}
