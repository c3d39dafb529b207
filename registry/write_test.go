package registry

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
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

// record makes a resource of the test's own record the steps of its writes.
func (s *steps) record(res *api.Resource) {
	res.Update.AllowCreateOnUpdate = true
	res.Create.RefusesNew = func() error { return s.note("check creatable") }
	res.Create.PrepareForCreate = func(api.Object) { _ = s.note("prepare") }
	res.Update.PrepareForUpdate = func(_, _ api.Object) { _ = s.note("prepare") }
	res.Create.Allocate = func(_ context.Context, from api.Allocator, _, _ api.Object) error {
		a := from.(*allocation)
		a.undo = append(a.undo, func(context.Context) error { return s.note("undo") })
		a.free = append(a.free, func(context.Context) error { return s.note("free") })
		return s.note("allocate")
	}
	res.Create.Validate = func(api.Object) field.ErrorList {
		if s.note("validate") != nil {
			return field.ErrorList{field.Required(field.NewPath("data"), "")}
		}
		return nil
	}
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
		r.o.Admission = func() Admission { return s }
		write := func(name string) string {
			s.seen = nil
			at.Name = name
			_, err := r.Update(t.Context(), at, func(_ context.Context, old api.Object) (api.Object, error) {
				if old != nil {
					_ = s.note("change")
				}
				return configMap(name, "2"), nil
			}, UpdateOptions{IsReplace: true, AuthorizeCreate: func(context.Context) error { return s.note("authorize") }})
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
