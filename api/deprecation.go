package api

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Deprecation describes the deprecation of a version.
type Deprecation struct {
	// Warning is the text of the Warning header.
	Warning string
	// RemovedRelease is the release of Kubernetes that removes the version, such as
	// "1.25"; empty if it is unknown.
	RemovedRelease string
}

// Release of Kubernetes whose kinds the catalogue contains.
const (
	releaseMajor = 1
	releaseMinor = 36
)

// Methods by which published types describe their deprecation.
type (
	deprecatedType interface{ APILifecycleDeprecated() (major, minor int) }
	removedType    interface{ APILifecycleRemoved() (major, minor int) }
	replacedType   interface {
		APILifecycleReplacement() schema.GroupVersionKind
	}
)

// deprecationOf returns the deprecation of a version according to its published type, or nil
// if this release does not deprecate it.
func deprecationOf(gv schema.GroupVersion, obj Object) *Deprecation {
	t, ok := obj.(deprecatedType)
	if !ok {
		return nil
	}
	major, minor := t.APILifecycleDeprecated()
	if major == 0 && minor == 0 || major > releaseMajor || major == releaseMajor && minor > releaseMinor {
		return nil
	}
	d := &Deprecation{Warning: fmt.Sprintf("%s %s is deprecated in v%d.%d+", gv, reflect.TypeOf(obj).Elem().Name(), major, minor)}
	if t, ok := obj.(removedType); ok {
		if major, minor := t.APILifecycleRemoved(); major != 0 || minor != 0 {
			d.RemovedRelease = fmt.Sprintf("%d.%d", major, minor)
			d.Warning += fmt.Sprintf(", unavailable in v%s+", d.RemovedRelease)
		}
	}
	if t, ok := obj.(replacedType); ok {
		if r := t.APILifecycleReplacement(); !r.Empty() {
			d.Warning += fmt.Sprintf("; use %s %s", r.GroupVersion(), r.Kind)
		}
	}
	return d
}

// isRemoved reports whether the release of this catalogue no longer serves a
// published type.
func isRemoved(obj Object) bool {
	t, ok := obj.(removedType)
	if !ok {
		return false
	}
	major, minor := t.APILifecycleRemoved()
	return (major != 0 || minor != 0) && (major < releaseMajor || major == releaseMajor && minor <= releaseMinor)
}
