package proto

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
)

// knownEnvelope is a truncated RangeAllocation as kube-apiserver stored it.
const knownEnvelope = "6b3873000a150a027631120f52616e6765416c6c6f636174696f6e1203010203" + "1a002200"

func TestDecode(t *testing.T) {
	value, err := hex.DecodeString(knownEnvelope)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Decode(value)
	if err != nil {
		t.Fatal(err)
	}
	if e.APIVersion != "v1" || e.Kind != "RangeAllocation" || !bytes.Equal(e.Raw, []byte{1, 2, 3}) {
		t.Errorf("got %+v", e)
	}
	if got := AppendRaw(nil, e.APIVersion, e.Kind, e.Raw); !bytes.Equal(got, value) {
		t.Errorf("written again: %x, want %x", got, value)
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct {
		data string
		want error
	}{
		{"", ErrPrefix},
		{"{\"a\":1}", ErrPrefix},
		{"k8s", ErrPrefix},
		{"k8s\x00", ErrEmpty},
	} {
		if _, err := Decode([]byte(c.data)); !errors.Is(err, c.want) {
			t.Errorf("%q: got %v, want %v", c.data, err, c.want)
		}
	}
	for _, data := range []string{"k8s\x00\x0a", "k8s\x00\x0a\x05a", "k8s\x00\x0a\x02\x0a\x05", "k8s\x00\xff"} {
		if _, err := Decode([]byte(data)); err == nil {
			t.Errorf("%q: no error", data)
		}
	}
}

// TestAppendLikeUnknown checks that Append and the reference type write equal bytes.
func TestAppendLikeUnknown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		version := rapid.StringN(0, 300, -1).Draw(t, "version")
		kind := rapid.StringN(0, 300, -1).Draw(t, "kind")
		cm := &corev1.ConfigMap{Data: map[string]string{"k": rapid.StringN(0, 400, -1).Draw(t, "data")}}
		raw, err := cm.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: version, Kind: kind}, Raw: raw}
		body, err := unknown.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		want := append([]byte(Prefix), body...)
		got, err := Append([]byte("before"), version, kind, cm)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, append([]byte("before"), want...)) {
			t.Fatalf("got %x, want %x", got, want)
		}
		if got := AppendRaw(nil, version, kind, raw); !bytes.Equal(got, want) {
			t.Fatalf("raw: got %x, want %x", got, want)
		}
	})
}

func TestAppendList(t *testing.T) {
	list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "x"}}
	var items [][]byte
	for _, name := range []string{"a", "b", "c"} {
		cm := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		raw, err := cm.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, raw)
		list.Items = append(list.Items, cm)
	}
	want, err := Append(nil, "v1", "ConfigMapList", list)
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, raw := range items {
		size += ItemSize(len(raw))
	}
	got, err := AppendListHead(nil, "v1", "ConfigMapList", &list.ListMeta, size)
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range items {
		got = AppendItem(got, raw)
	}
	got = AppendTail(got)
	if !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func FuzzDecode(f *testing.F) {
	value, _ := hex.DecodeString(knownEnvelope)
	f.Add(value)
	f.Add([]byte("k8s\x00\x0a\x05a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := Decode(data)
		if err != nil {
			return
		}
		again, err := Decode(AppendRaw(nil, e.APIVersion, e.Kind, e.Raw))
		if err != nil || again.Kind != e.Kind || again.APIVersion != e.APIVersion || !bytes.Equal(again.Raw, e.Raw) {
			t.Errorf("not the same after writing: %v", err)
		}
	})
}

// BenchmarkAppend compares Append with the marshalling of runtime.Unknown, which
// kube-apiserver uses, in one buffer like it.
func BenchmarkAppend(b *testing.B) {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "b"}, Data: map[string]string{"k": strings.Repeat("x", 1000)}}
	b.Run("own", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Append(nil, "v1", "ConfigMap", cm); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}
			size := uint64(cm.Size())
			data := make([]byte, uint64(len(Prefix))+uint64(unknown.Size())+size+16)
			n := copy(data, Prefix)
			written, err := unknown.NestedMarshalTo(data[n:], cm, size)
			if err != nil {
				b.Fatal(err)
			}
			_ = data[:n+written]
		}
	})
}
