package strategicpatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	library "k8s.io/apimachinery/pkg/util/strategicpatch"
)

// variables returns n environment variables, as JSON.
func variables(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"name":"v%d","value":"x"},`, i)
	}
	return "[" + strings.TrimSuffix(b.String(), ",") + "]"
}

func container(env string) string {
	return `{"spec":{"containers":[{"name":"c","env":` + env + `}]}}`
}

// processorTime returns the time that this process has run, which does not depend on the load of
// the machine.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// TestCost checks that patches of long lists are fast, in each way in which elements are
// looked up. The library takes at least half a minute for most cases.
func TestCost(t *testing.T) {
	const many = 30_000
	long := variables(many)
	names := strings.ReplaceAll(long, `,"value":"x"`, "")
	words := strings.NewReplacer(`{"name":`, "", `,"value":"x"}`, "").Replace(long)
	repeated := strings.TrimSuffix(strings.Repeat(`"a",`, many), ",")
	nested := `{"spec":{"containers":[` + strings.TrimSuffix(strings.Repeat(`{"name":"c","env":[{"name":"a"}]},`, many), ",") + `]}}`
	for name, tt := range map[string]struct {
		original, patch string
		err             error
	}{
		"elements":       {container(long), container(long), nil},
		"new elements":   {container("[]"), container(long), nil},
		"order":          {container(long), `{"spec":{"containers":[{"name":"c","$setElementOrder/env":` + names + `}]}}`, nil},
		"order of a new": {`{"spec":{"containers":[{"name":"c"}]}}`, `{"spec":{"containers":[{"name":"c","$setElementOrder/env":[],"env":` + long + `}]}}`, nil},
		"deletions":      {container(long), container(strings.ReplaceAll(long, `"value":"x"`, `"$patch":"delete"`)), nil},
		"duplicates":     {container("[" + strings.TrimSuffix(strings.Repeat(`{"name":"a"},`, many), ",") + "]"), container(`[{"name":"a","$patch":"delete"}]`), nil},
		"words":          {`{"metadata":{"finalizers":` + words + `}}`, `{"metadata":{"finalizers":` + words + `}}`, nil},
		"equal words":    {`{"metadata":{"finalizers":[` + repeated + `]}}`, `{"metadata":{"finalizers":[` + repeated + `]}}`, nil},
		"deleted words":  {`{"metadata":{"finalizers":` + words + `}}`, `{"metadata":{"$deleteFromPrimitiveList/finalizers":` + words + `}}`, nil},
		"many into one":  {container(long), nested, ErrTooMuchWork},
	} {
		original, patch := decode(t, tt.original), decode(t, tt.patch)
		began := processorTime(t)
		if _, err := Apply(t.Context(), original, patch, &corev1.Pod{}); !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, want %v", name, err, tt.err)
		}
		if took := processorTime(t) - began; took > 10*time.Second {
			t.Errorf("%s took %s of a processor", name, took)
		}
	}
}

// TestEnds checks that a patch ends with its context.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Apply(ctx, decode(t, container(variables(1))), decode(t, container(variables(1))), &corev1.Pod{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a canceled context: %v", err)
	}
}

func BenchmarkApply(b *testing.B) {
	for _, n := range []int{1, 1000, 10_000} {
		original, patch := container(variables(n)), container(strings.ReplaceAll(variables(n), `"x"`, `"y"`))
		if n == 1 {
			original = `{"metadata":{"name":"p","labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i","env":` + variables(10) +
				`},{"name":"d","image":"i"}],"volumes":[{"name":"v","emptyDir":{}}]}}`
			patch = `{"metadata":{"labels":{"c":"d"}},"spec":{"containers":[{"name":"c","image":"j"}]}}`
		}
		for name, apply := range map[string]func(o, p map[string]any) (map[string]any, error){
			"own": func(o, p map[string]any) (map[string]any, error) { return Apply(b.Context(), o, p, &corev1.Pod{}) },
			"library": func(o, p map[string]any) (map[string]any, error) {
				return library.StrategicMergeMapPatch(o, p, &corev1.Pod{})
			},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					o, p := decode(b, original), decode(b, patch)
					b.StartTimer()
					if _, err := apply(o, p); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
