package declarative

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/internal/filler"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// TestOracle compares the rules with the functions that k8s.io/api has for two packages: random
// objects and random updates have the same errors in the same order.
func TestOracle(t *testing.T) {
	compare(t, resourcev1.Validate_DeviceClassSpec)
	compare(t, resourcev1.Validate_DeviceTaintRuleSpec)
	compare(t, resourcev1.Validate_ResourceClaimSpec)
	compare(t, resourcev1.Validate_ResourceClaimStatus)
	compare(t, resourcev1.Validate_ResourceClaimTemplateSpec)
	compare(t, resourcev1.Validate_ResourceSliceSpec)
	compare(t, resourcev1.Validate_AllocatedDeviceStatus)
	compare(t, resourcev1.Validate_AllocationResult)
	compare(t, resourcev1.Validate_CounterSet)
	compare(t, resourcev1.Validate_Device)
	compare(t, resourcev1.Validate_DeviceRequest)
	compare(t, resourcev1.Validate_DeviceToleration)
	compare(t, resourcev1.Validate_NodeAllocatableMapping)
	compare(t, schedulingv1alpha3.Validate_CompositePodGroup)
	compare(t, schedulingv1alpha3.Validate_CompositePodGroupTemplate)
	compare(t, schedulingv1alpha3.Validate_PodGroup)
	compare(t, schedulingv1alpha3.Validate_PodGroupSpec)
	compare(t, schedulingv1alpha3.Validate_Workload)
	compare(t, schedulingv1alpha3.Validate_WorkloadSpec)
}

type oracle[T any] func(ctx context.Context, op operation.Operation, path *field.Path, obj, old *T) field.ErrorList

func compare[T any](t *testing.T, validate oracle[T]) {
	t.Helper()
	typ := reflect.TypeFor[*T]()
	t.Run(typ.Elem().Name(), func(t *testing.T) {
		found, programs := 0, map[string]*Program{}
		for seed := range uint64(2000) {
			random := rand.New(rand.NewPCG(seed, 1))
			options := map[string]bool{}
			for _, name := range strings.Fields("CompositePodGroup DRAPartitionableDevicesType PodGroupPreemptionPolicy TopologyAwareWorkloadScheduling") {
				options[name] = random.IntN(2) == 0
			}
			program := programs[fmt.Sprint(options)]
			if program == nil {
				program = compile(t, typ, Config{Release: kubeversion.MustParse("1.37"), Enabled: func(gate string) bool { return gate == betaGate || options[gate] }})
				programs[fmt.Sprint(options)] = program
			}
			op, old, obj := operation.Operation{Type: operation.Create, Options: options}, (*T)(nil), new(T)
			fill(random, reflect.ValueOf(obj).Elem(), 0)
			var stored any
			if random.IntN(2) == 0 {
				op.Type, old, obj = operation.Update, obj, new(T)
				fill(random, reflect.ValueOf(obj).Elem(), 0)
				mix(random, reflect.ValueOf(obj).Elem(), reflect.ValueOf(old).Elem())
				stored = old
			}
			var want field.ErrorList
			for _, err := range validate(context.Background(), op, field.NewPath("x"), obj, old) {
				if !err.IsAlpha() {
					want = append(want, err)
				}
			}
			got := program.Validate(obj, stored)
			found += len(want)
			w, g := describe(want, "x"), describe(got, "")
			for i := range max(len(w), len(g)) {
				if i >= len(w) || i >= len(g) || w[i] != g[i] {
					t.Fatalf("seed %d, update %t, options %v: error %d:\ngot %.300s\nwant %.300s", seed, op.Type == operation.Update, options, i, g[min(i, len(g)):], w[min(i, len(w)):])
				}
			}
		}
		if found < 100 {
			t.Errorf("only %d errors in all objects", found)
		}
	})
}

// compile returns the program of a type.
func compile(t *testing.T, typ reflect.Type, c Config) *Program {
	t.Helper()
	program, err := New(c).Program(typ)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// describe lists errors, without the root of their paths.
func describe(errs field.ErrorList, root string) (lines []string) {
	for _, err := range errs {
		err.Field = strings.TrimPrefix(strings.TrimPrefix(err.Field, root), ".")
		if err.Field == "<nil>" {
			err.Field = ""
		}
		lines = append(lines, err.Error()+" origin "+err.Origin)
	}
	return lines
}

// words are strings that are right for some rule and wrong for another.
var words = []string{
	"", "a", "b", "a b", "A.b", "a.b", "x/y", "a.example/x", "kubernetes.io/x", "-", strings.Repeat("a", 300), "d7f9a2f0-3b1c-4c1e-9a43-6c1f2b8d9e10",
	"ExactCount", "All", "Exists", "NoExecute", "FromClass", "PreemptNever",
}

// fill sets most fields of a value.
func fill(random *rand.Rand, v reflect.Value, depth int) {
	if random.IntN(4) == 0 || depth > 5 && random.IntN(2) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(words[random.IntN(len(words))])
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt([]int64{0, 1, -1, 5, 2_000_000_000}[random.IntN(5)])
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(random, v.Elem(), depth)
	case reflect.Slice:
		n := []int{0, 1, 2, 3, 3, 40}[random.IntN(6)]
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range min(n, 4) {
			fill(random, v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range random.IntN(2) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(random, key, depth+1)
			fill(random, value, depth+1)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		if !strings.HasPrefix(v.Type().PkgPath(), "k8s.io/api/") {
			filler.Fill(random, v)
			return
		}
		for i := range v.NumField() {
			fill(random, v.Field(i), depth+1)
		}
	}
}

// mix replaces most values in v by those of old.
func mix(random *rand.Rand, v, old reflect.Value) {
	switch {
	case v.Kind() == reflect.Struct && v.NumField() > 0 && strings.HasPrefix(v.Type().PkgPath(), "k8s.io/api/"):
		for i := range v.NumField() {
			mix(random, v.Field(i), old.Field(i))
		}
	case v.Kind() == reflect.Slice && min(v.Len(), old.Len()) > 0 && random.IntN(2) == 0:
		for i := range min(v.Len(), old.Len()) {
			mix(random, v.Index(i), old.Index(i))
		}
	case v.Kind() == reflect.Pointer && !v.IsNil() && !old.IsNil():
		mix(random, v.Elem(), old.Elem())
	case random.IntN(3) > 0 && v.CanSet():
		v.Set(old)
	}
}
