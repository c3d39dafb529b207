package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// steps records the steps of writes that a kind and admission see.
type steps struct {
	seen []string
	fail string // the step that fails
}

var errOnPurpose = errors.New("on purpose")

func (s *steps) note(step string) error {
	s.seen = append(s.seen, step)
	if s.fail == step {
		return errOnPurpose
	}
	return nil
}

func (s *steps) Mutate(context.Context, *Attributes) error { return s.note("mutate") }

func (s *steps) Validate(_ context.Context, a *Attributes) error {
	a.OnWriteEnd(func(_ context.Context, written bool) {
		_ = s.note(map[bool]string{true: "written", false: "not written"}[written])
	})
	return s.note("admit")
}

// Allocate implements Allocator.
func (s *steps) Allocate(context.Context, api.Object, api.Object, bool) (func(context.Context, error) error, error) {
	return func(_ context.Context, err error) error {
		if err != nil {
			_ = s.note("undo")
			return err
		}
		return s.note("free")
	}, s.note("allocate")
}

// Release implements Allocator.
func (s *steps) Release(context.Context, api.Object) error { return s.note("release") }

// record makes a resource of the test's own record the steps of its writes.
func (s *steps) record(res *api.Resource) {
	res.AllowCreateOnUpdate = true
	res.RefusesNew = func() error { return s.note("check creatable") }
	res.Prepare = func(*api.Write[api.Object]) { _ = s.note("prepare") }
	res.Checks = api.Checks(func(w *api.Write[api.Object]) {
		if s.note("validate") != nil {
			w.Add(field.Required(field.NewPath("data"), ""))
		}
	})
}

// TestOrderOfWrites checks the order of the steps of a creation and of an update, and which
// steps run after one that fails.
func TestOrderOfWrites(t *testing.T) {
	for _, c := range []struct {
		fail, created, updated string
	}{
		{"", "check creatable, mutate, prepare, allocate, validate, authorize, admit, free, written", "change, mutate, prepare, allocate, validate, admit, free, written"},
		{"mutate", "check creatable, mutate", "change, mutate"},
		{"allocate", "check creatable, mutate, prepare, allocate, undo", "change, mutate, prepare, allocate, undo"},
		{"validate", "check creatable, mutate, prepare, allocate, validate, undo", "change, mutate, prepare, allocate, validate, undo"},
		{"authorize", "check creatable, mutate, prepare, allocate, validate, authorize, undo", "change, mutate, prepare, allocate, validate, admit, free, written"},
		{"admit", "check creatable, mutate, prepare, allocate, validate, authorize, admit, undo, not written", "change, mutate, prepare, allocate, validate, admit, undo, not written"},
	} {
		r := newRegistry(t)
		at := r.configMap(t, "stored")
		create(t, r, at, configMap("stored", "1"))
		s := &steps{fail: c.fail}
		s.record(at.Resource)
		r.allocators = map[schema.GroupResource]Allocator{at.Resource.GroupResource(): s}
		r.o.Admission = func() Admission { return s }
		write := func(name string) string {
			s.seen = nil
			at.Name = name
			_, err := r.Update(t.Context(), at, func(_ context.Context, old api.Object) (api.Object, error) {
				if old != nil {
					_ = s.note("change")
				}
				return configMap(name, "2"), nil
			}, UpdateOptions{AuthorizeCreate: func(context.Context) error { return s.note("authorize") }})
			if (err != nil) != (c.fail != "" && slices.Contains(s.seen, c.fail)) {
				t.Errorf("%s fails: got %v", c.fail, err)
			}
			return strings.Join(s.seen, ", ")
		}
		if got := write("new"); got != c.created {
			t.Errorf("%q fails in a creation:\n got %s\nwant %s", c.fail, got, c.created)
		}
		if got := write("stored"); got != c.updated {
			t.Errorf("%q fails in an update:\n got %s\nwant %s", c.fail, got, c.updated)
		}
	}
}

// TestLargeObjectLosesManagedFields checks that an object that is too large for etcd only by its
// managedFields is stored without them. An apply gets an error, because the server would forget which fields it owns.
func TestLargeObjectLosesManagedFields(t *testing.T) {
	r := newRegistry(t)
	o := UpdateOptions{WriteOptions: WriteOptions{Manager: "test"}}
	large := configMap("large", "")
	for i := range 9999 {
		large.Data[fmt.Sprintf("a-long-key-whose-path-in-managedFields-is-about-as-long-as-the-key-itself-%d", i)] = "A"
	}
	created, err := r.Create(t.Context(), r.configMap(t, ""), large.DeepCopy(), o.WriteOptions)
	if err != nil {
		t.Fatal(err)
	}
	create(t, r, r.configMap(t, ""), configMap("small", ""))
	replacement := large.DeepCopy()
	replacement.Name = "small"
	updated, err := r.Update(t.Context(), r.configMap(t, "small"), replaceBy(replacement), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []Outcome{created, updated} {
		if n := len(out.Object.GetManagedFields()); n > 0 {
			t.Errorf("%s has %d entries of managedFields", out.Object.GetName(), n)
		}
	}
	o.IsApply = true
	applied := func(_ context.Context, old api.Object) (api.Object, error) {
		obj := old.DeepCopyObject().(api.Object)
		fields := &metav1.FieldsV1{Raw: []byte(`{"f:data":{"f:` + strings.Repeat("x", 1<<20) + `":{}}}`)}
		obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "test", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: fields}})
		return obj, nil
	}
	if _, err := r.Update(t.Context(), r.configMap(t, "large"), applied, o); !errors.Is(err, storage.ErrTooLarge) {
		t.Errorf("an apply that is too large: %v", err)
	}
}

// TestOwnerReferencesAreDeduplicated checks when a write warns of duplicate owner references: those
// that were sent before mutating admission sees them, those of a patch after it.
func TestOwnerReferencesAreDeduplicated(t *testing.T) {
	r := newRegistry(t)
	ref := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "1"}
	doubled := configMap("x", "")
	doubled.OwnerReferences = []metav1.OwnerReference{ref, ref}
	const early, late = ".metadata.ownerReferences contains duplicate entries; ", ".metadata.ownerReferences contains duplicate entries after mutating admission happens; "
	write := func(want string, do func(ctx context.Context) (Outcome, error)) {
		t.Helper()
		scope := &request.Scope{}
		out, err := do(request.With(t.Context(), scope))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(out.Object.GetOwnerReferences()); n != 1 {
			t.Errorf("%d owner references are stored", n)
		}
		if w := scope.Warnings(); len(w) != 1 || !strings.HasPrefix(w[0], want) {
			t.Errorf("got the warnings %q, want %q", w, want)
		}
	}
	at := r.configMap(t, "x")
	write(early, func(ctx context.Context) (Outcome, error) {
		return r.Create(ctx, at, doubled.DeepCopy(), WriteOptions{})
	})
	write(late, func(ctx context.Context) (Outcome, error) {
		return r.Update(ctx, at, changeBy(func(c *corev1.ConfigMap) { c.OwnerReferences = doubled.OwnerReferences }), UpdateOptions{})
	})
}
