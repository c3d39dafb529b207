package registry

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// callRecorder records the functions that are called for an object, each once, because some
// are called again for a copy.
type callRecorder struct{ calls []string }

func (r *callRecorder) call(name string) {
	if !slices.Contains(r.calls, name) {
		r.calls = append(r.calls, name)
	}
}

// take returns the recorded calls and clears them.
func (r *callRecorder) take() []string {
	calls := r.calls
	r.calls = nil
	return calls
}

func (r *callRecorder) Mutate(context.Context, *Attributes) error {
	r.call("mutating admission")
	return nil
}

func (r *callRecorder) Validate(context.Context, *Attributes) error {
	r.call("validating admission")
	return nil
}

// Allocate implements Allocator.
func (r *callRecorder) Allocate(context.Context, api.Object, api.Object, bool) (func(context.Context, error) error, error) {
	r.call("Allocate")
	return nil, nil
}

// Release implements Allocator.
func (r *callRecorder) Release(context.Context, api.Object) error {
	r.call("Release")
	return nil
}

// kind returns a kind that has all functions, each of which records its call.
func (r *callRecorder) kind() *api.Resource {
	type object = *appsv1.Deployment
	prepare := func(*api.Write[object]) { r.call("Prepare") }
	check := func(*api.Write[object]) { r.call("Checks") }
	resource := api.NewResource(api.Kind[object]{
		Names:      api.Names{Name: "deployments", Singular: "deployment", Kind: "Deployment", Namespaced: true},
		Versions:   api.Served(appsv1.SchemeGroupVersion),
		Storage:    api.Storage{Prefix: "deployments"},
		Prepare:    prepare,
		Checks:     api.Checks(check),
		Generation: func(_, _ object) bool { r.call("Generation"); return false },
		Status:     api.NewStatus(func(_, _ object) { r.call("Prepare") }, check),
		Delete: api.Deletion{
			Protected:          func(string) error { r.call("Protected"); return nil },
			GracePeriodSeconds: func(api.Object, *int64) int64 { r.call("GracePeriodSeconds"); return 0 },
			HasFinalizers:      func(api.Object) bool { r.call("HasFinalizers"); return false },
		},
	})
	resource.RefusesNew = func() error { r.call("RefusesNew"); return nil }
	return resource
}

// TestLifeOfAnObject compares the order of calls with the table in the package comment of
// package api.
func TestLifeOfAnObject(t *testing.T) {
	var calls callRecorder
	store, err := storage.Open(t.Context(), storage.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	catalogue, err := api.New(calls.kind())
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(store, catalogue, Options{
		Admission: func() Admission { return &calls }, Access: allowAll{},
		Allocators: func(*Registry) map[schema.GroupResource]Allocator {
			return map[schema.GroupResource]Allocator{appsv1.Resource("deployments"): &calls}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx := request.With(t.Context(), &request.Scope{User: &request.User{Name: "tester"}})
	object, status := r.at(t, appsv1.SchemeGroupVersion, "deployments", "a"), r.at(t, appsv1.SchemeGroupVersion, "deployments", "a")
	status.Status = true
	steps := []struct {
		column string
		write  func() error
	}{
		{"create", func() error {
			_, err := r.Create(ctx, object, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, WriteOptions{})
			return err
		}},
		{"update", func() error {
			_, err := r.Update(ctx, object, changeBy(func(d *appsv1.Deployment) { d.Spec.Paused = true }), UpdateOptions{})
			return err
		}},
		{"status", func() error {
			_, err := r.Update(ctx, status, changeBy(func(d *appsv1.Deployment) { d.Status.Replicas = 1 }), UpdateOptions{})
			return err
		}},
		{"delete", func() error {
			_, err := r.Delete(ctx, object, DeleteOptions{})
			return err
		}},
	}
	table := lifeTable(t)
	for _, step := range steps {
		if err := step.write(); err != nil {
			t.Fatalf("%s: %v", step.column, err)
		}
		want := slices.DeleteFunc(table[step.column], func(name string) bool {
			return name == "stored" || name == "MarkTerminating" // a kind with a grace period has no MarkTerminating
		})
		if got := calls.take(); !slices.Equal(got, want) {
			t.Errorf("%s:\n got  %v\n want %v", step.column, got, want)
		}
	}
}

// allowAll allows everything that a kind's access checks ask.
type allowAll struct{ api.Access }

// lifeTable parses the table: the names in each column, from top to bottom. An indented
// cell continues the cell above it.
func lifeTable(t *testing.T) map[string][]string {
	t.Helper()
	source, err := os.ReadFile("../api/resource.go")
	if err != nil {
		t.Fatal(err)
	}
	columns := []string{"create", "update", "status", "delete"}
	const width = 20
	table := map[string][]string{}
	_, rest, found := strings.Cut(string(source), "//\tcreate ")
	body, _, ended := strings.Cut(rest, "\n//\n")
	if !found || !ended {
		t.Fatal("no table in the package comment of api")
	}
	for _, line := range strings.Split(body, "\n")[1:] {
		line = strings.TrimPrefix(line, "//\t")
		for i, column := range columns {
			cell := line[min(i*width, len(line)):min((i+1)*width, len(line))]
			switch names := table[column]; {
			case strings.TrimSpace(cell) == "":
			case strings.HasPrefix(cell, " "):
				names[len(names)-1] += " " + strings.TrimSpace(cell)
			default:
				table[column] = append(names, strings.TrimSpace(cell))
			}
		}
	}
	return table
}
