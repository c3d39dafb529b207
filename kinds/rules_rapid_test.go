package kinds

import (
	"encoding/json"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/miniapiserver/miniapiserver/api"
)

// TestRulesOfAnything checks that validation of random objects does not panic, and that
// setting defaults twice changes nothing.
func TestRulesOfAnything(t *testing.T) {
	for _, r := range All() {
		t.Run(r.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { checkAnything(t, r) })
		})
	}
}

func checkAnything(t *rapid.T, r *api.Resource) {
	objects := [2]api.Object{}
	for i := range objects {
		obj := r.New()
		anything(t, reflect.ValueOf(obj).Elem(), 7)
		obj.SetResourceVersion("1")
		if r.Default != nil {
			r.Default(obj)
			again := obj.DeepCopyObject().(api.Object)
			r.Default(again)
			if !equality.Semantic.DeepEqual(obj, again) {
				t.Fatalf("defaults are not stable: %s", text(obj))
			}
		}
		objects[i] = obj
	}
	updated, old := objects[0], objects[1]
	if r.Prepare != nil {
		prepare(r, updated, nil)
	}
	v := &r.Versions[0]
	_ = r.CheckCreate(v, updated).ToAggregate()
	if r.Prepare != nil {
		prepare(r, updated, old)
	}
	_ = checkUpdate(r, v, updated, old).ToAggregate()
	if r.Status != nil {
		prepareStatus(r, updated, old)
		_ = checkStatus(r, v, updated, old).ToAggregate()
	}
	warningsOf(r, r.Rules(), updated, old)
	for _, s := range r.Subresources {
		if f, ok := s.(*api.Field); ok {
			prepareField(r, f.Name, updated, old)
			checkField(r, f.Name, updated, old)
		}
	}
}

func text(obj api.Object) string {
	b, err := json.Marshal(obj)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// words returns strings that are valid in some fields.
func words() []string {
	return []string{"", "a", "b", "A B", "example.com/a", "a/b/c", "/", "//", "-1", "1", "*", "*/*", "10.0.0.1", "10.0.0.0/24", "fd00::/64",
		"cpu", "memory", "storage", "hugepages-2Mi", "kubernetes", "https://a/b", "true", "device.a", "object.x > 1", "((", "0123456789-0123456789-0123456789-0123456789-0123456789-0123456789-0123456789",
		"Limited", "Exempt", "Always", "Never", "In", "Exists", "ReadWriteOncePod", "ClusterIP", "\xff", "\n"}
}

func anything(t *rapid.T, v reflect.Value, depth int) {
	switch v.Addr().Interface().(type) {
	case *resource.Quantity:
		q := rapid.SampledFrom([]string{"0", "1", "-1", "1.5", "1Gi", "999E", "18446744073709551616", "1n"}).Draw(t, "quantity")
		v.Set(reflect.ValueOf(resource.MustParse(q)))
		return
	case *metav1.Time, *metav1.MicroTime, *metav1.TypeMeta:
		return
	case *runtime.RawExtension:
		v.FieldByName("Raw").SetBytes([]byte(rapid.SampledFrom([]string{"", "{}", "[]", "null", "{"}).Draw(t, "raw")))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				anything(t, v.Field(i), depth)
			}
		}
	case reflect.Pointer:
		if depth > 0 && rapid.Bool().Draw(t, "there") {
			v.Set(reflect.New(v.Type().Elem()))
			anything(t, v.Elem(), depth-1)
		}
	case reflect.Slice:
		anyList(t, v, depth)
	case reflect.Map:
		anyMap(t, v, depth)
	case reflect.String:
		v.SetString(rapid.SampledFrom(words()).Draw(t, "word"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Int8, reflect.Int16:
		v.SetInt(rapid.SampledFrom([]int64{0, 1, -1, 2, 80, 600, 1 << 30}).Draw(t, "number"))
	}
}

func anyList(t *rapid.T, v reflect.Value, depth int) {
	n := 0
	if depth > 0 {
		n = rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "length")
	}
	if n == 0 && rapid.Bool().Draw(t, "nil") {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		if v.Index(i).Kind() != reflect.Uint8 {
			anything(t, v.Index(i), depth-1)
		}
	}
}

func anyMap(t *rapid.T, v reflect.Value, depth int) {
	if depth == 0 || v.Type().Key().Kind() != reflect.String || rapid.Bool().Draw(t, "none") {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for range rapid.IntRange(0, 2).Draw(t, "entries") {
		key := reflect.New(v.Type().Key()).Elem()
		value := reflect.New(v.Type().Elem()).Elem()
		anything(t, key, 0)
		anything(t, value, depth-1)
		v.SetMapIndex(key, value)
	}
}
