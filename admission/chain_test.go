package admission_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/admission/admissiontest"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// TestChainIndex checks that the plugins that handle a request run in order, in both phases,
// and no others.
func TestChainIndex(t *testing.T) {
	var ran []string
	note := func(name string, err error) func(context.Context, *registry.Attributes) error {
		return func(context.Context, *registry.Attributes) error {
			ran = append(ran, name)
			return err
		}
	}
	reg := prometheus.NewRegistry()
	c, err := admission.NewChain([]admission.Plugin{
		{Name: "All", Handles: admission.HandlesFor(nil, admission.WriteVerbs()...), Mutate: note("All", nil), Validate: note("all", nil)},
		{Name: "Pods", Handles: admission.HandlesFor(admission.CoreResources("pods", "pods/resize"), api.VerbCreate, api.VerbUpdate), Mutate: note("Pods", nil)},
		{Name: "Connections", Handles: admission.HandlesFor(admission.CoreResources("pods/exec"), registry.VerbConnect), Validate: note("connections", nil)},
		{Name: "Late", Handles: admission.HandlesFor(admission.CoreResources("pods"), api.VerbCreate), Mutate: note("Late", nil), Validate: note("late", errors.New("no"))},
		{Name: "Never", Handles: admission.HandlesFor(admission.CoreResources("pods"), api.VerbCreate), Validate: note("never", nil)},
	}, reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ verb, resource, want string }{
		{"create", "pods", "[All Pods Late all late]"},
		{"update", "pods", "[All Pods all]"},
		{"update", "pods/resize", "[All Pods all]"},
		{"update", "pods/status", "[All all]"},
		{"delete", "pods", "[All all]"},
		{"create", "configmaps", "[All all]"},
		{"connect", "pods/exec", "[connections]"},
		{"connect", "pods/attach", "[]"},
	} {
		ran = []string{}
		a := admissiontest.Write(t, tt.verb, tt.resource, nil, nil)
		if err := c.Mutate(t.Context(), a); err != nil {
			t.Error(err)
		}
		err := c.Validate(t.Context(), a)
		if refused := tt.want == "[All Pods Late all late]"; (err != nil) != refused {
			t.Errorf("%s %s: %v", tt.verb, tt.resource, err)
		}
		if got := fmt.Sprint(ran); got != tt.want {
			t.Errorf("%s %s runs %s, want %s", tt.verb, tt.resource, got, tt.want)
		}
	}
	if families, err := reg.Gather(); err != nil || len(families) != 3 {
		t.Errorf("metrics: %v, %v", families, err)
	}
}

func TestForbiddenNames(t *testing.T) {
	pod := &corev1.Pod{}
	a := admissiontest.Write(t, api.VerbCreate, "pods", pod, nil)
	a.Name = ""
	if got := admission.Forbiddenf(a, "no").Error(); got != `pods "Unknown" is forbidden: no` {
		t.Error(got)
	}
	pod.GenerateName = "web-"
	if got := admission.Forbiddenf(a, "no").Error(); got != `pods "web-" is forbidden: no` {
		t.Error(got)
	}
}

// TestReinvocation checks that plugins are reinvoked once if one of them requests it.
func TestReinvocation(t *testing.T) {
	var ran []string
	asks := func(a *registry.Attributes) {
		if a.PluginState("asks") == nil {
			a.SetPluginState("asks", true)
		}
		a.RequestReinvocation()
	}
	c, err := admission.NewChain([]admission.Plugin{
		{Name: "First", Handles: admission.HandlesFor(nil, api.VerbCreate), Mutate: func(_ context.Context, a *registry.Attributes) error {
			ran = append(ran, fmt.Sprint("first ", a.IsReinvocation()))
			return nil
		}},
		{Name: "Asks", Handles: admission.HandlesFor(nil, api.VerbCreate), Mutate: func(_ context.Context, a *registry.Attributes) error {
			ran = append(ran, fmt.Sprint("asks ", a.PluginState("asks")))
			asks(a)
			return nil
		}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Mutate(t.Context(), admissiontest.Write(t, api.VerbCreate, "pods", &corev1.Pod{}, nil)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(ran, ", "); got != "first false, asks <nil>, first true, asks true" {
		t.Error(got)
	}
}

// TestIdlePlugins checks that the chain calls a plugin only while it is not idle.
func TestIdlePlugins(t *testing.T) {
	isIdle, calls := true, 0
	call := func(context.Context, *registry.Attributes) error { calls++; return nil }
	c, err := admission.NewChain([]admission.Plugin{{Name: "Hooks", Handles: admission.HandlesFor(nil, admission.WriteVerbs()...),
		Mutate: call, Validate: call, IsIdle: func() bool { return isIdle }}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := admissiontest.Write(t, api.VerbCreate, "pods", &corev1.Pod{}, nil)
	for _, want := range []int{0, 2} {
		if err := errors.Join(c.Mutate(t.Context(), a), c.Validate(t.Context(), a)); err != nil || calls != want {
			t.Errorf("idle %v: %d calls (%v), want %d", isIdle, calls, err, want)
		}
		isIdle = false
	}
}
