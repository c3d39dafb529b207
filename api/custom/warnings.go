package custom

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/miniapiserver/miniapiserver/api"
)

// finalizerWarnings returns a warning for each added finalizer without a domain. Built-in
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
		if strings.Contains(f, "/") || f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents {
			continue
		}
		out = append(out, fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers", f))
	}
	return out
}
