package api

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What cells say where there is nothing to say.
const (
	cellNone    = "<none>"
	cellUnset   = "<unset>"
	cellUnknown = "<unknown>"
)

// cellMost is how many of a list of addresses, hosts or ports a cell shows.
const cellMost = 3

// orEmpty is what p points at, or nothing.
func orEmpty[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// orElse is text, or another where there is none.
func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// ratio is "ready/wanted".
func ratio(ready, wanted int32) string {
	return strconv.Itoa(int(ready)) + "/" + strconv.Itoa(int(wanted))
}

// more tells that of a list only the first were shown: total is the length of
// the list.
func more(shown []string, total int) string {
	text := strings.Join(shown, ",")
	if total > cellMost {
		text += " + " + strconv.Itoa(total-cellMost) + " more..."
	}
	return text
}

// containerCells lists names and images of containers.
func containerCells(containers []corev1.Container) (names, images string) {
	if len(containers) == 1 {
		return containers[0].Name, containers[0].Image
	}
	var n, i strings.Builder
	for at := range containers {
		if at > 0 {
			n.WriteByte(',')
			i.WriteByte(',')
		}
		n.WriteString(containers[at].Name)
		i.WriteString(containers[at].Image)
	}
	return n.String(), i.String()
}

// accessModes gives the modes of a volume their short names, each once and in
// the usual order.
func accessModes(modes []corev1.PersistentVolumeAccessMode) string {
	var short []string
	for _, m := range []struct {
		mode corev1.PersistentVolumeAccessMode
		name string
	}{
		{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"},
		{corev1.ReadWriteMany, "RWX"}, {corev1.ReadWriteOncePod, "RWOP"},
	} {
		if slices.Contains(modes, m.mode) {
			short = append(short, m.name)
		}
	}
	return strings.Join(short, ",")
}

// storageClassOf is the class that a volume or a claim names: in an annotation,
// as before there was a field, or in the field.
func storageClassOf(annotations map[string]string, class string) string {
	if old, ok := annotations[corev1.BetaStorageClassAnnotation]; ok {
		return old
	}
	return class
}

// capacityCell is how much storage there is.
func capacityCell(resources corev1.ResourceList) string {
	q := resources[corev1.ResourceStorage]
	return q.String()
}

// phaseCell is a phase, which deletion hides.
func phaseCell(obj metav1.Object, phase string) string {
	if obj.GetDeletionTimestamp() != nil {
		return "Terminating"
	}
	return phase
}

// nameCell is the name of a class, with a mark on the one that is used by
// default.
func nameCell(obj metav1.Object, defaultAnnotations ...string) string {
	for _, a := range defaultAnnotations {
		if obj.GetAnnotations()[a] == "true" {
			return obj.GetName() + " (default)"
		}
	}
	return obj.GetName()
}
