package custom

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestFinalizerWarnings checks the warnings about finalizers that an update adds.
func TestFinalizerWarnings(t *testing.T) {
	const advice = " to avoid accidental conflicts with other finalizer writers"
	old, obj := &metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadata{}
	old.SetFinalizers([]string{"kept"})
	obj.SetFinalizers([]string{"kept", "example.com", "example.com/path", "plain", "kubernetes", metav1.FinalizerOrphanDependents, "a/"})
	want := []string{
		`metadata.finalizers: "a/": name part must be non-empty`,
		`metadata.finalizers: "a/": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
		`metadata.finalizers: "example.com": prefer a domain-qualified finalizer name including a path (/)` + advice,
		`metadata.finalizers: "plain": prefer a domain-qualified finalizer name` + advice,
	}
	if got := finalizerWarnings(obj, old); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
