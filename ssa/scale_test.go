package ssa

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"pgregory.net/rapid"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

var scaleEntryFields = []string{
	`{"f:spec":{"f:replicas":{}}}`, `{"f:spec":{"f:replicas":{},"f:selector":{}}}`, `{"f:spec":{"f:selector":{}}}`, `{"f:metadata":{"f:labels":{"f:a":{}}}}`,
}

func drawEntries(t *rapid.T, versions ...string) []metav1.ManagedFieldsEntry {
	var entries []metav1.ManagedFieldsEntry
	for i := range rapid.IntRange(0, 4).Draw(t, "entries") {
		at := metav1.NewTime(time.Unix(int64(i), 0))
		entries = append(entries, metav1.ManagedFieldsEntry{
			Manager:     rapid.SampledFrom([]string{"a", "b"}).Draw(t, "manager"),
			Operation:   rapid.SampledFrom([]metav1.ManagedFieldsOperationType{"Apply", "Update"}).Draw(t, "operation"),
			Subresource: rapid.SampledFrom([]string{"", "scale"}).Draw(t, "subresource"),
			APIVersion:  rapid.SampledFrom(versions).Draw(t, "version"),
			Time:        &at,
			FieldsType:  fieldsV1,
			FieldsV1:    metav1.NewFieldsV1(rapid.SampledFrom(scaleEntryFields).Draw(t, "fields")),
		})
	}
	return entries
}

// TestScale compares both directions with apimachinery's.
func TestScale(t *testing.T) {
	r := Replicas{"apps/v1": "spec.replicas", "apps/v1beta1": "spec.replicas", "apps/v0": ""}
	toLibrary := managedfields.ResourcePathMappings{}
	for v, path := range r {
		toLibrary[v] = nil
		if path != "" {
			toLibrary[v] = fieldpath.MakePathOrDie("spec", "replicas")
		}
	}
	sorted := cmp.Transformer("text", func(es []metav1.ManagedFieldsEntry) string {
		var lines []string
		for _, e := range es {
			at := "never"
			if e.Time != nil {
				at = e.Time.UTC().String()
			}
			lines = append(lines, strings.Join([]string{e.Manager, string(e.Operation), e.APIVersion, e.Subresource, at, e.FieldsV1.GetRawString()}, " "))
		}
		slices.Sort(lines) // the oracle does not sort all entries
		return strings.Join(lines, "\n")
	})
	rapid.Check(t, func(t *rapid.T) {
		parent := drawEntries(t, "apps/v1", "apps/v1", "apps/v1beta1", "apps/v0", "apps/v9")
		h := managedfields.NewScaleHandler(parent, schema.GroupVersion{Group: "apps", Version: "v1"}, toLibrary)
		want, err := h.ToSubresource()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ScaleFields(parent, r)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, sorted); diff != "" {
			t.Fatalf("scale (-oracle +ssa):\n%s", diff)
		}
		scale := append(drawEntries(t, scaleVersion), got...)
		if want, err = h.ToParent(scale); err != nil {
			t.Fatal(err)
		}
		if got, err = ParentFields(parent, scale, "apps/v1", r); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, sorted); diff != "" {
			t.Fatalf("parent (-oracle +ssa):\n%s\nparent %v\nscale %v", diff, parent, scale)
		}
	})
}
