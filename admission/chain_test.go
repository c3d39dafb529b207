package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/builtin"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// attributesFor returns the attributes of a write to a core resource.
func attributesFor(t testing.TB, verb, resource string, obj, old api.Object) *registry.Attributes {
	t.Helper()
	name, sub, _ := strings.Cut(resource, "/")
	for _, r := range builtin.Kinds() {
		if r.Name == name && r.Versions[0].Group == "" {
			return &registry.Attributes{Verb: verb, Resource: r, Version: &r.Versions[0], Subresource: sub,
				Namespace: "ns", Name: "x", Object: obj, Old: old, User: &request.User{Name: "somebody"}, Scope: &request.Scope{}}
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

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
	m, err := newMetrics(reg)
	if err != nil {
		t.Fatal(err)
	}
	c := newChain([]Plugin{
		{Name: "All", Handles: handle(nil, writeVerbs()...), Mutate: note("All", nil), Validate: note("all", nil)},
		{Name: "Pods", Handles: handle(coreResources("pods", "pods/resize"), api.VerbCreate, api.VerbUpdate), Mutate: note("Pods", nil)},
		{Name: "Connections", Handles: handle(coreResources("pods/exec"), registry.VerbConnect), Validate: note("connections", nil)},
		{Name: "Late", Handles: handle(coreResources("pods"), api.VerbCreate), Mutate: note("Late", nil), Validate: note("late", errors.New("no"))},
		{Name: "Never", Handles: handle(coreResources("pods"), api.VerbCreate), Validate: note("never", nil)},
	}, m)
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
		a := attributesFor(t, tt.verb, tt.resource, nil, nil)
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

func TestCheckNames(t *testing.T) {
	for _, tt := range []struct {
		enable, disable []string
		want            string
	}{
		{nil, nil, ""},
		{[]string{"AlwaysDeny"}, []string{"Priority"}, ""},
		{[]string{"Nonsense"}, nil, `enable-admission-plugins plugin "Nonsense" is unknown`},
		{nil, []string{"Nonsense"}, `disable-admission-plugins plugin "Nonsense" is unknown`},
		{[]string{"Priority", "AlwaysDeny"}, []string{"AlwaysDeny", "Priority"}, `[AlwaysDeny Priority] in enable-admission-plugins and disable-admission-plugins overlapped`},
	} {
		got := ""
		if err := CheckNames(tt.enable, tt.disable); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%v %v: %q, want %q", tt.enable, tt.disable, got, tt.want)
		}
	}
}

func TestForbiddenNames(t *testing.T) {
	pod := &corev1.Pod{}
	a := attributesFor(t, api.VerbCreate, "pods", pod, nil)
	a.Name = ""
	if got := forbiddenf(a, "no").Error(); got != `pods "Unknown" is forbidden: no` {
		t.Error(got)
	}
	pod.GenerateName = "web-"
	if got := forbiddenf(a, "no").Error(); got != `pods "web-" is forbidden: no` {
		t.Error(got)
	}
}

// TestReinvocation checks that plugins are reinvoked once if one of them requests it.
func TestReinvocation(t *testing.T) {
	m, err := newMetrics(nil)
	if err != nil {
		t.Fatal(err)
	}
	var ran []string
	asks := func(a *registry.Attributes) {
		if a.PluginState("asks") == nil {
			a.SetPluginState("asks", true)
		}
		a.RequestReinvocation()
	}
	c := newChain([]Plugin{
		{Name: "First", Handles: handle(nil, api.VerbCreate), Mutate: func(_ context.Context, a *registry.Attributes) error {
			ran = append(ran, fmt.Sprint("first ", a.IsReinvocation()))
			return nil
		}},
		{Name: "Asks", Handles: handle(nil, api.VerbCreate), Mutate: func(_ context.Context, a *registry.Attributes) error {
			ran = append(ran, fmt.Sprint("asks ", a.PluginState("asks")))
			asks(a)
			return nil
		}},
	}, m)
	if err := c.Mutate(t.Context(), attributesFor(t, api.VerbCreate, "pods", &corev1.Pod{}, nil)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(ran, ", "); got != "first false, asks <nil>, first true, asks true" {
		t.Error(got)
	}
}
