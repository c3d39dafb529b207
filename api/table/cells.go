package table

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Texts of cells without a value.
const (
	CellNone    = "<none>"
	CellUnset   = "<unset>"
	CellUnknown = "<unknown>"
)

// MaxListedInCell is the maximum number of addresses, hosts or ports in a cell.
const MaxListedInCell = 3

// ValueOrZero returns the value that p points to, or the zero value if p is nil.
func ValueOrZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// Ratio returns "ready/wanted".
func Ratio(ready, wanted int32) string {
	return strconv.Itoa(int(ready)) + "/" + strconv.Itoa(int(wanted))
}

// JoinFirst joins the shown elements of a list and adds the number of the others; total is
// the length of the list.
func JoinFirst(shown []string, total int) string {
	text := strings.Join(shown, ",")
	if total > MaxListedInCell {
		text += " + " + strconv.Itoa(total-MaxListedInCell) + " more..."
	}
	return text
}

// containerCells returns the comma-separated names and images of containers.
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

// AccessModes returns the short names of access modes, without duplicates and in the order of
// kubectl.
func AccessModes(modes []corev1.PersistentVolumeAccessMode) string {
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

// StorageClassOf returns the storage class of a volume or claim: that of the beta annotation
// or, without it, that of the field.
func StorageClassOf(annotations map[string]string, class string) string {
	if old, ok := annotations[corev1.BetaStorageClassAnnotation]; ok {
		return old
	}
	return class
}

// CapacityCell returns the quantity of storage.
func CapacityCell(resources corev1.ResourceList) string {
	q := resources[corev1.ResourceStorage]
	return q.String()
}

// PhaseCell returns phase, or "Terminating" if the object is being deleted.
func PhaseCell(obj metav1.Object, phase string) string {
	if obj.GetDeletionTimestamp() != nil {
		return "Terminating"
	}
	return phase
}

// NameCell returns the name of a class, marked if an annotation makes it the default class.
func NameCell(obj metav1.Object, defaultAnnotations ...string) string {
	for _, a := range defaultAnnotations {
		if obj.GetAnnotations()[a] == "true" {
			return obj.GetName() + " (default)"
		}
	}
	return obj.GetName()
}
