package api

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// Deprecation describes the deprecation of a version.
type Deprecation struct {
	// Warning is the text of the Warning header.
	Warning string
	// RemovedRelease is the release of Kubernetes that removes the version, such as
	// "1.25"; empty if it is unknown.
	RemovedRelease string
}

// deprecationOf returns the deprecation of a version according to its lifecycle, or nil if it is
// not deprecated. As in kube-apiserver, clients are warned of what the program deprecates,
// whatever it emulates.
func deprecationOf(gv schema.GroupVersion, obj Object) *Deprecation {
	l := lifecycleOf(obj)
	if l.Deprecated.IsZero() || kubeversion.Binary().Before(l.Deprecated) {
		return nil
	}
	d := &Deprecation{Warning: fmt.Sprintf("%s %s is deprecated in v%s+", gv, reflect.TypeOf(obj).Elem().Name(), l.Deprecated)}
	if !l.Removed.IsZero() {
		d.RemovedRelease = l.Removed.String()
		d.Warning += fmt.Sprintf(", unavailable in v%s+", d.RemovedRelease)
	}
	if r := l.Replacement; !r.Empty() {
		d.Warning += fmt.Sprintf("; use %s %s", r.GroupVersion(), r.Kind)
	}
	return d
}
