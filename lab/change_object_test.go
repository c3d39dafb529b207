package lab

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// TestListedTextIsBounded checks that a list of changes with much text does not show the fields of all of them.
func TestListedTextIsBounded(t *testing.T) {
	s := serveChanges(t)
	r := s.changes.reader(request.With(t.Context(), &request.Scope{User: &request.User{Name: "u"}}))
	const path = "/api/v1/namespaces/ns/configmaps"
	s.write("m", "POST", path, `{"metadata":{"name":"c"},"data":{"k":"v"}}`, 201)
	written, err := s.changes.written(t.Context(), registry.ListOptions{}, 1)
	if err != nil || len(written) != 1 {
		t.Fatal(written, err)
	}
	if c := r.change(&written[0]); len(c.Spec.Fields) < 2 || r.left >= maxListedText {
		t.Errorf("with room: %+v", c.Spec.Fields)
	}
	r.left = 0
	if c := r.change(&written[0]); len(c.Spec.Fields) != 1 || !strings.Contains(c.Spec.Fields[0].Path, "not listed") {
		t.Errorf("without room: %+v", c.Spec.Fields)
	}
}

// TestWriterOf checks which entry of managedFields is that of the writer.
func TestWriterOf(t *testing.T) {
	entry := func(manager string, second int, fields string) metav1.ManagedFieldsEntry {
		at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC))
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: "Update", Time: &at, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	object := func(entries ...metav1.ManagedFieldsEntry) api.Object {
		obj := untyped.New(v1alpha1.GroupVersion.WithKind("Any"))
		obj.SetManagedFields(entries)
		return obj
	}
	const all, some = `{"f:a":{},"f:b":{}}`, `{"f:a":{}}`
	timeless := metav1.ManagedFieldsEntry{Manager: "timeless", Operation: "Update"}
	for _, c := range []struct {
		name          string
		before, after api.Object
		want          string
	}{
		{"deletion", object(entry("a", 1, all)), nil, ""},
		{"no entries", nil, object(), ""},
		{"creation", nil, object(entry("a", 1, all)), "a"},
		{"a new manager that takes a field", object(entry("a", 1, all)), object(entry("a", 1, some), entry("b", 1, some)), "b"},
		{"in another order", object(entry("b", 1, all)), object(entry("a", 1, some), entry("b", 1, some)), "a"},
		{"a later time", object(entry("a", 1, all), entry("b", 2, all)), object(entry("a", 3, all), entry("b", 2, all)), "a"},
		{"a field from another in the same second", object(entry("a", 1, all), entry("b", 1, some)),
			object(entry("a", 1, some), entry("b", 1, all)), "b"},
		{"nothing changed", object(entry("a", 1, all), entry("b", 2, all)), object(entry("a", 1, all), entry("b", 2, all)), "b"},
		{"without a time", object(timeless), object(timeless, entry("a", 1, all)), "a"},
		{"only without a time", nil, object(timeless), "timeless"},
	} {
		got := ""
		if e := writerOf(c.before, c.after); e != nil {
			got = e.Manager
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	s := serveChanges(t)
	rv := s.write("m", "POST", "/api/v1/namespaces/ns/configmaps", `{"metadata":{"name":"c"},"data":{"a":"b"}}`, 201)
	s.index.ref, s.index.rev, s.index.manager = ObjectRef{"", "configmaps", "ns", "c"}, number(t, rv), "of the request"
	if c := s.get("u", rv); c.Spec.Manager != "of the request" {
		t.Errorf("the request says another manager: %+v", c.Spec)
	}
}
