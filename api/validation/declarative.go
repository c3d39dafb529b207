package validation

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Declarative validation: rules that kube-apiserver generates from markers in the published
// types. Some messages differ from those of handwritten rules: an immutable field is shown
// as null, and a duplicate is shown with all its fields.

// SetFields formats the names of set fields as messages of unions show them.
func SetFields(names []string) string { return fmt.Sprintf("{%s}", strings.Join(names, ", ")) }

// Maximum validates that a number is at most high.
func Maximum[T Integer](at *Path, value, high T) bool {
	if value > high {
		at.Add(field.Invalid(at.ToField(), value, content.MaxError(high)).WithOrigin("maximum"))
		return false
	}
	return true
}

// UniqueKeys validates that no two elements of a list have the same key.
func UniqueKeys[T any, K comparable](at *Path, list []T, key func(*T) K) {
	var seen Unique[K]
	for i := range list {
		if k := key(&list[i]); seen.Has(k) {
			at.Add(field.Duplicate(at.Index(i).ToField(), list[i]))
		} else {
			seen.Insert(k)
		}
	}
}
