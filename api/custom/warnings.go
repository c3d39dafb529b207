package custom

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapiserver/miniapiserver/api"
)

// finalizerWarnings returns warnings about added finalizers that are no qualified names. Built-in
// kinds refuse these; custom kinds permitted them before there was a rule.
func finalizerWarnings(obj, old api.Object) []string {
	added := slices.Clone(obj.GetFinalizers())
	if old != nil {
		existing := sets.New(old.GetFinalizers()...)
		added = slices.DeleteFunc(added, existing.Has)
	}
	slices.Sort(added)
	var out []string
	for _, f := range slices.Compact(added) {
		warn := func(text string) { out = append(out, fmt.Sprintf("metadata.finalizers: %q: %s", f, text)) }
		for _, fault := range validation.IsQualifiedName(f) {
			warn(fault)
		}
		switch {
		case strings.Contains(f, "/"), api.IsStandardFinalizer(f):
		case strings.Contains(f, "."):
			warn("prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers")
		default:
			warn("prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers")
		}
	}
	return out
}
