package quickjson_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/miniapiserver/miniapiserver/internal/filler"
	"github.com/miniapiserver/miniapiserver/internal/quickjson"
	"github.com/miniapiserver/miniapiserver/kinds"
)

// types are those of all built-in kinds.
func types() []reflect.Type {
	var out []reflect.Type
	for _, res := range kinds.All() {
		for i := range res.Versions {
			out = append(out, reflect.TypeOf(res.NewOf(&res.Versions[i])).Elem())
		}
	}
	return out
}

// checkWrite compares the JSON of an object with the JSON that encoding/json writes.
func checkWrite(t *testing.T, q *quickjson.Type, obj any) []byte {
	t.Helper()
	want, wantErr := json.Marshal(obj)
	got, err := q.Append(nil, obj)
	if (err == nil) != (wantErr == nil) || wantErr == nil && string(got) != string(want) {
		t.Fatalf("%T is written as\n%s\nwant\n%s\n%v, %v", obj, got, want, err, wantErr)
	}
	return want
}

// checkRead reports whether q reads the data, and checks that it then reads the same value as
// the library.
func checkRead(t *testing.T, q *quickjson.Type, rt reflect.Type, data []byte) bool {
	t.Helper()
	got, want := reflect.New(rt), reflect.New(rt)
	if !q.Read(data, got.Interface()) {
		return false
	}
	strict, err := kjson.UnmarshalStrict(data, want.Interface())
	if err != nil || len(strict) > 0 {
		t.Fatalf("%s is read into %v; the library says %v, %v", data, rt, strict, err)
	}
	if !reflect.DeepEqual(got.Interface(), want.Interface()) {
		t.Fatalf("%s is read as\n%#v\nwant\n%#v", data, got, want)
	}
	return true
}

func TestTypes(t *testing.T) {
	var plans quickjson.Plans
	random := rand.New(rand.NewPCG(1, 2))
	read, all := 0, 0
	for _, rt := range types() {
		q := plans.Of(rt)
		checkWrite(t, q, reflect.New(rt).Interface())
		for range 30 {
			obj := reflect.New(rt)
			filler.Fill(random, obj.Elem())
			data := checkWrite(t, q, obj.Interface())
			if len(data) == 0 {
				continue // it has no JSON form
			}
			if all++; checkRead(t, q, rt, data) {
				read++
			}
			for range 10 {
				checkRead(t, q, rt, mutated(random, data))
			}
		}
	}
	if read < all*9/10 {
		t.Errorf("only %d of %d objects were read", read, all)
	}
}

const bytesOfJSON = "{}[]\",:0123456789.eE+-ntfu\\ \n\x00\xff"

// mutated is a text with a small change.
func mutated(random *rand.Rand, data []byte) []byte {
	out := append([]byte(nil), data...)
	i := random.IntN(len(out))
	switch random.IntN(4) {
	case 0:
		out[i] = bytesOfJSON[random.IntN(len(bytesOfJSON))]
	case 1:
		return append(out[:i], out[min(i+1+random.IntN(4), len(out)):]...)
	case 2: // a part once more
		j := min(i+random.IntN(40), len(out))
		return append(out[:j:j], out[i:]...)
	default:
		at := strings.LastIndexByte(string(out[:i+1]), ':') + 1
		value := []string{"null", "1", `""`, "{}", "[]", "true", "1.0", `"x"`, "[null]", `{"a":null}`, "-0", "1e2", "99999999999"}[random.IntN(13)]
		return append(append(append([]byte(nil), out[:at]...), value...), out[min(at+1+random.IntN(10), len(out)):]...)
	}
	return out
}

func FuzzTypes(f *testing.F) {
	all := types()
	var plans quickjson.Plans
	f.Add(uint16(0), []byte(`{"metadata":{"name":"a"}}`))
	random := rand.New(rand.NewPCG(3, 4))
	for i, rt := range all {
		obj := reflect.New(rt)
		filler.Fill(random, obj.Elem())
		data, err := json.Marshal(obj.Interface())
		if err != nil {
			continue
		}
		f.Add(uint16(i), data)
	}
	f.Fuzz(func(t *testing.T, kind uint16, data []byte) {
		rt := all[int(kind)%len(all)]
		q := plans.Of(rt)
		checkRead(t, q, rt, data)
		obj := reflect.New(rt).Interface()
		if kjson.UnmarshalCaseSensitivePreserveInts(data, obj) == nil {
			checkWrite(t, q, obj)
		}
	})
}

// TestWriteGarbage checks raw fields that are not JSON, which objects decoded from protobuf
// can have.
func TestWriteGarbage(t *testing.T) {
	var plans quickjson.Plans
	for _, raw := range []string{"", "{", `{"a":}`, "\xff", "{}x", `{"a":"\x01"}`, `{"a":"\\q"}`, `{"a":"\\u12"}`, `"\\u1234"`} {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{FieldsV1: &metav1.FieldsV1{Raw: []byte(raw)}}}}}
		checkWrite(t, plans.Of(reflect.TypeFor[corev1.ConfigMap]()), cm)
	}
}

// TestOddTypes checks types that no built-in kind has, but that are possible.
func TestOddTypes(t *testing.T) {
	type inMap struct {
		Made  metav1.Time `json:"made,omitzero"`
		Count int         `json:"count,omitzero"`
	}
	type odd struct {
		ByName map[string]inMap `json:"byName,omitempty"`
		Float  float64          `json:"float"`
	}
	var plans quickjson.Plans
	rt := reflect.TypeFor[odd]()
	q := plans.Of(rt)
	checkWrite(t, q, &odd{ByName: map[string]inMap{"a": {}, "b": {Made: metav1.Unix(1e9, 0), Count: 1}}})
	for _, float := range []string{"-0", "-0.0", "0", "1", "1e3", "123456789012345678", "1234567890123456789012"} {
		var is odd
		if !q.Read([]byte(`{"float":`+float+`}`), &is) {
			t.Errorf("%s is not read", float)
		}
		want := odd{}
		if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(`{"float":`+float+`}`), &want); err != nil {
			t.Fatal(err)
		}
		if math.Float64bits(is.Float) != math.Float64bits(want.Float) {
			t.Errorf("%s is read as %v, want %v", float, is.Float, want.Float)
		}
	}
}

const small = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"pod-000001","labels":{"app":"bench","shard":"s1"}},` +
	`"spec":{"nodeName":"node-1","serviceAccountName":"default","automountServiceAccountToken":false,` +
	`"containers":[{"name":"main","image":"registry.example/app:v1","args":["--port=8080","--level=info"],` +
	`"env":[{"name":"A","value":"1"},{"name":"POD","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],` +
	`"ports":[{"containerPort":8080,"name":"http"}],` +
	`"resources":{"requests":{"cpu":"100m","memory":"128Mi"},"limits":{"memory":"256Mi"}},` +
	`"readinessProbe":{"httpGet":{"path":"/ready","port":8080}},` +
	`"volumeMounts":[{"name":"config","mountPath":"/etc/config"}]}],` +
	`"volumes":[{"name":"config","configMap":{"name":"cm-000001"}}]}}`

func BenchmarkPod(b *testing.B) {
	var plans quickjson.Plans
	q := plans.Of(reflect.TypeFor[corev1.Pod]())
	obj := &corev1.Pod{}
	if !q.Read([]byte(small), obj) {
		b.Fatal("not read")
	}
	if again := (&corev1.Pod{}); json.Unmarshal([]byte(small), again) != nil || !equality.Semantic.DeepEqual(obj, again) {
		b.Fatal("read as another")
	}
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			q.Read([]byte(small), &corev1.Pod{})
		}
	})
	b.Run("read by library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = kjson.UnmarshalStrict([]byte(small), &corev1.Pod{})
		}
	})
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		var dst []byte
		for b.Loop() {
			dst, _ = q.Append(dst[:0], obj)
		}
	})
	b.Run("write by library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = json.Marshal(obj)
		}
	})
}

// TestValidTypes checks that values of a type whose JSON is not validated are written like those of
// other types: compact, and escaped for HTML.
func TestValidTypes(t *testing.T) {
	plans := quickjson.Plans{Valid: []reflect.Type{reflect.TypeFor[metav1.FieldsV1](), reflect.TypeFor[metav1.Time]()}}
	plan := plans.Of(reflect.TypeFor[metav1.ManagedFieldsEntry]())
	for _, text := range []string{"", `{"f:a":{}}`, `{"f:a": {}}`, `{"f:<a>":{}}`, `{"f:ä":{}}`} {
		now := metav1.Unix(1, 0)
		entry := &metav1.ManagedFieldsEntry{Manager: "m", Time: &now, FieldsV1: &metav1.FieldsV1{}}
		entry.FieldsV1.SetRawBytes([]byte(text))
		want, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := plan.Append(nil, entry); err != nil || string(got) != string(want) {
			t.Errorf("%q: got %s (%v), want %s", text, got, err, want)
		}
	}
}

// TestAccepts checks that the method of a type reads no text that Accepts refuses.
func TestAccepts(t *testing.T) {
	plans := quickjson.Plans{Accepts: map[reflect.Type]func([]byte) bool{
		reflect.TypeFor[metav1.Time](): func(text []byte) bool { return len(text) < 30 },
	}}
	plan := plans.Of(reflect.TypeFor[metav1.ManagedFieldsEntry]())
	for text, want := range map[string]bool{
		`{"time":"2026-01-02T03:04:05Z"}`:            true,
		`{"time":"2026-01-02T03:04:05.000000000Z"}`:  false,
		`{"manager":"a manager with a longer name"}`: true,
	} {
		if got := plan.Read([]byte(text), &metav1.ManagedFieldsEntry{}); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}
