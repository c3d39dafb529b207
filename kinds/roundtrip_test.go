package kinds

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/filler"
)

// TestAsStored checks for random objects of all kinds that AsStored returns the object that
// DecodeStored returns for the encoded object.
func TestAsStored(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, r := range All() {
		if r.Virtual != nil {
			continue
		}
		asStored := r.AsStored()
		if asStored == nil {
			if r.Storage.Encoding == api.Protobuf {
				t.Logf("%s: never", r.Name)
			}
			continue
		}
		for range 200 {
			obj := r.New()
			filler.Fill(random, reflect.ValueOf(obj).Elem())
			obj.SetResourceVersion("")
			obj.SetSelfLink("")
			obj.SetCreationTimestamp(metav1.Time{Time: time.Unix(random.Int64N(1e9), random.Int64N(1e9)).UTC()})
			value, err := r.EncodeStored(obj)
			if err != nil {
				t.Fatal(err)
			}
			want, err := r.DecodeStored(value)
			if err != nil {
				t.Fatal(err)
			}
			if !asStored(obj) {
				t.Fatalf("%s: unknown result", r.Name)
			}
			// Quantities may have different representations of the same value.
			respell(reflect.ValueOf(obj).Elem())
			respell(reflect.ValueOf(want).Elem())
			if !reflect.DeepEqual(obj, want) {
				a, _ := json.Marshal(obj)
				b, _ := json.Marshal(want)
				t.Fatalf("%s:\n got %s\nwant %s\n got %#v\nwant %#v", r.Name, a, b, obj, want)
			}
		}
	}
}

// respell makes the representation of all quantities in v canonical.
func respell(v reflect.Value) {
	if q, ok := v.Addr().Interface().(*resource.Quantity); ok {
		*q = resource.MustParse(q.String())
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			respell(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				respell(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			respell(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			respell(value)
			v.SetMapIndex(key, value)
		}
	}
}

// TestAsStoredWritesOnlyDifferences checks with the race detector that AsStored does not
// write to equal fields, which other goroutines may read.
func TestAsStoredWritesOnlyDifferences(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for _, r := range All() {
		asStored := r.AsStored
		if r.Virtual != nil || asStored() == nil {
			continue
		}
		obj := r.New()
		filler.Fill(random, reflect.ValueOf(obj).Elem())
		if !asStored()(obj) {
			t.Fatalf("%s: unknown result", r.Name)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = json.Marshal(obj)
		}()
		asStored()(obj)
		<-done
	}
}

func BenchmarkAsStored(b *testing.B) {
	r, value := benchmarkValue(b)
	obj, err := r.DecodeStored(value)
	if err != nil {
		b.Fatal(err)
	}
	asStored := r.AsStored()
	b.ReportAllocs()
	for b.Loop() {
		asStored(obj)
	}
}
