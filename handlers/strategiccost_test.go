package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// variables returns n environment variables, as JSON.
func variables(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"name":"v%d","value":"x"},`, i)
	}
	return "[" + strings.TrimSuffix(b.String(), ",") + "]"
}

// TestStrategicCost verifies that patches of long lists are refused before they take
// long, in each of the ways in which lists are compared, and that others are not.
func TestStrategicCost(t *testing.T) {
	container := func(env string) string { return `{"spec":{"containers":[{"name":"c","env":` + env + `}]}}` }
	names := func(n int) string { return strings.ReplaceAll(variables(n), `,"value":"x"`, "") }
	words := func(n int) string {
		return strings.NewReplacer(`{"name":`, "", `,"value":"x"}`, "").Replace(variables(n))
	}
	containers := func(n, each int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"name":"c%d","env":%s},`, i, variables(each))
		}
		return `{"spec":{"containers":[` + strings.TrimSuffix(b.String(), ",") + `]}}`
	}
	nested := `{"spec":{"containers":[` + strings.TrimSuffix(strings.Repeat(`{"name":"c","env":`+variables(10)+`},`, 1000), ",") + `]}}`
	for name, tt := range map[string]struct {
		original, patch string
		refused         bool
	}{
		"short":                {container(variables(10)), container(variables(10)), false},
		"lists apart":          {container(variables(10_000)), `{"spec":{"containers":[{"name":"c","args":["a"]}]}}`, false},
		"args":                 {`{"spec":{"containers":[{"name":"c","args":` + words(10_000) + `}]}}`, `{"spec":{"containers":[{"name":"c","args":` + words(10_000) + `}]}}`, false},
		"quite long":           {container(variables(1_500)), container(variables(1_500)), false},
		"long object":          {container(variables(10_000)), container(variables(1)), true},
		"long":                 {container(variables(10_000)), container(variables(10_000)), true},
		"long patch":           {container(variables(1)), container(variables(10_000)), true},
		"order":                {container(variables(10_000)), `{"spec":{"containers":[{"name":"c","$setElementOrder/env":` + names(10_000) + `}]}}`, true},
		"deletion of words":    {`{"metadata":{"finalizers":` + words(10_000) + `}}`, `{"metadata":{"$deleteFromPrimitiveList/finalizers":` + words(10_000) + `}}`, true},
		"words":                {`{"metadata":{"finalizers":` + words(10_000) + `}}`, `{"metadata":{"finalizers":` + words(10_000) + `}}`, true},
		"many into one":        {container(variables(1)), nested, true},
		"many containers":      {containers(100, 1000), containers(100, 1), true},
		"many small ones":      {containers(100, 50), containers(100, 50), false},
		"deletions of entries": {container(variables(10_000)), container(strings.ReplaceAll(variables(10_000), `"value":"x"`, `"$patch":"delete"`)), true},
	} {
		p, err := parseStrategicMergePatch([]byte(tt.patch))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = p.merge(t.Context(), []byte(tt.original), &corev1.Pod{})
		if apierrors.IsRequestEntityTooLargeError(err) != tt.refused || !tt.refused && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s took %s", name, took)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p, err := parseStrategicMergePatch([]byte(container(variables(1))))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.merge(ctx, []byte(container(variables(1))), &corev1.Pod{}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the request's time: %v", err)
	}
}

// FuzzStrategicCost verifies that a patch which is not refused does not take long.
func FuzzStrategicCost(f *testing.F) {
	f.Add(`{"spec":{"containers":[{"name":"a","env":[{"name":"b"}]}]}}`, `{"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"a"}]}}`)
	f.Fuzz(func(t *testing.T, original, patch string) {
		p, err := parseStrategicMergePatch([]byte(patch))
		if err != nil || !json.Valid([]byte(original)) {
			return
		}
		began := time.Now()
		_, _ = p.merge(t.Context(), []byte(original), &corev1.Pod{})
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}
