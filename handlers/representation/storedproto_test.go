package representation

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/storage"
)

// TestDigits compares digits with strconv.
func TestDigits(t *testing.T) {
	for _, n := range []int64{0, 9, 10, 99, 100, 1e9 - 1, 1e18 - 1, 1e18, math.MaxInt64} {
		if got, want := digits(n), len(strconv.FormatInt(n, 10)); got != want {
			t.Errorf("%d: %d digits, want %d", n, got, want)
		}
	}
}

// FuzzVersionAt checks that versionAt never returns a position without the field.
func FuzzVersionAt(f *testing.F) {
	f.Add([]byte("\x0a\x01a\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00"))
	f.Add([]byte("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x32\x00"))
	f.Fuzz(func(t *testing.T, meta []byte) {
		if at := versionAt(meta); at >= 0 && string(meta[at:at+2]) != emptyVersion {
			t.Errorf("%x: nothing at %d", meta, at)
		}
	})
}

// newCollection returns a collection of the objects of a codec in memory.
func newCollection(t *testing.T, codec *Codec, decode func([]byte) (api.Object, error)) *storage.Collection {
	t.Helper()
	store, err := storage.Open(t.Context(), storage.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	c, err := store.Collection(storage.CollectionConfig{Prefix: codec.resource.Name, Encode: codec.resource.StoredEncoder(), Decode: decode})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestMessages checks that the protobuf and the metadata of items, which are made from their values, are those of the decoded
// objects, for values with and without the defaults of their kind.
func TestMessages(t *testing.T) {
	codec := newCodec(t, "pods")
	pods := newCollection(t, codec, codec.resource.DecodeStored)
	for _, hasDefaults := range []bool{true, false} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprint("pod-", hasDefaults), Namespace: "default", UID: "1", Generation: 7, Labels: map[string]string{"a": "<b>"},
			CreationTimestamp: metav1.Unix(1_700_000_000, 0), ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Update",
				FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{}}`)}}},
		}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		if hasDefaults {
			codec.resource.Default(pod)
		}
		item, err := pods.Create(t.Context(), "default/"+pod.Name, pod)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := codec.resource.DecodeStored(item.Value())
		if err != nil {
			t.Fatal(err)
		}
		decoded.SetResourceVersion(item.ResourceVersion())
		for _, as := range []string{asPartial, ""} {
			v := &View{codec: codec, Media: Media{as: as, asVersion: "v1"}}
			for range 2 { // the second time from what the first has cached
				got, err := v.proto(item)
				if err != nil {
					t.Fatal(err)
				}
				want, err := v.proto(Unstored{decoded})
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%q, defaults %t: got %q, want %q, %v", as, hasDefaults, got, want, err)
				}
			}
		}
		v := &View{codec: codec, Media: Media{as: asPartial, asVersion: "v1"}}
		for range 2 {
			got, err := v.appendPartial(nil, item)
			if err != nil {
				t.Fatal(err)
			}
			want, err := v.appendPartial(nil, Unstored{decoded})
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("metadata, defaults %t: got %s, want %s, %v", hasDefaults, got, want, err)
			}
		}
		if isCached := item.CachedEncoding(codec.protoSlot) != nil; isCached == hasDefaults {
			t.Errorf("defaults %t: protobuf cached: %t", hasDefaults, isCached)
		}
		if isCached := item.CachedEncoding(codec.metadataSlot) != nil; isCached != hasDefaults {
			t.Errorf("defaults %t: metadata cached: %t", hasDefaults, isCached)
		}
	}
}

// TestCorruptMessages checks that nothing is made from a value that cannot be decoded.
func TestCorruptMessages(t *testing.T) {
	codec := newCodec(t, "configmaps")
	refused := errors.New("refused")
	maps := newCollection(t, codec, func([]byte) (api.Object, error) { return nil, refused })
	item, err := maps.Create(t.Context(), "default/a", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	v := &View{codec: codec}
	if _, err := v.proto(item); !errors.Is(err, refused) {
		t.Errorf("protobuf: %v", err)
	}
	v.as = asPartial
	if _, err := v.proto(item); !errors.Is(err, refused) {
		t.Errorf("metadata in protobuf: %v", err)
	}
	if _, err := v.appendPartial(nil, item); !errors.Is(err, refused) {
		t.Errorf("metadata in JSON: %v", err)
	}
}
