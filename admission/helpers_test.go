package admission

import (
	"slices"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/builtin"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newObjects returns Objects of a catalogue with the given objects stored.
func newObjects(t testing.TB, stored ...api.Object) *Objects {
	t.Helper()
	return newObjectsOf(t, builtin.Kinds(), stored...)
}

// newPreviewObjects returns Objects of a server that serves all versions.
func newPreviewObjects(t testing.TB, stored ...api.Object) *Objects {
	t.Helper()
	all := gates(t, "AllAlpha", "AllBeta")
	resources, err := api.Enable(builtin.KindsFor(all), map[string]string{"api/all": "true"}, all)
	if err != nil {
		t.Fatal(err)
	}
	return newObjectsOf(t, resources, stored...)
}

func newObjectsOf(t testing.TB, resources []*api.Resource, stored ...api.Object) *Objects {
	t.Helper()
	store, err := storage.Open(t.Context(), storage.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	catalogue, err := api.New(resources...)
	if err != nil {
		t.Fatal(err)
	}
	reg, err := registry.New(store, catalogue, registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, obj := range stored {
		i := slices.IndexFunc(catalogue.Resources(), func(r *api.Resource) bool {
			return r.New != nil && r.Virtual == nil && sameType(r.New(), obj)
		})
		if i < 0 {
			t.Fatalf("%T is of no resource", obj)
		}
		res := catalogue.Resources()[i]
		if res.Default != nil {
			res.Default(obj)
		}
		at := registry.Target{Resource: res, Version: &res.Versions[0], Namespace: obj.GetNamespace()}
		if _, err := reg.Create(t.Context(), at, obj, registry.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return NewObjects(catalogue, reg)
}

// newPlugin creates a plugin by name.
func newPlugin(t testing.TB, name string, c Config) Plugin {
	t.Helper()
	all := registrations()
	i := slices.IndexFunc(all, func(e registration) bool { return e.name == name })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	p, err := all[i].build(&c, c.Files[name])
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run runs both phases of a plugin on a write.
func (p Plugin) run(t testing.TB, a *registry.Attributes) string {
	t.Helper()
	if p.Mutate != nil {
		if err := p.Mutate(t.Context(), a); err != nil {
			return err.Error()
		}
	}
	if p.Validate != nil {
		if err := p.Validate(t.Context(), a); err != nil {
			return err.Error()
		}
	}
	return ""
}

func namespace(annotations ...string) *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", Annotations: map[string]string{}}}
	for i := 0; i < len(annotations); i += 2 {
		ns.Annotations[annotations[i]] = annotations[i+1]
	}
	return ns
}

func pod(change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "image"}}}}
	if change != nil {
		change(p)
	}
	return p
}
