package api

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// Lifecycle has the releases of Kubernetes in which a version of a kind was introduced, is
// deprecated and is removed. A zero release is unknown: introduced always, or never deprecated or
// removed.
type Lifecycle struct {
	Introduced, Deprecated, Removed kubeversion.Minor
	// Replacement is the version and kind to use instead.
	Replacement schema.GroupVersionKind
}

// Methods by which published types describe their lifecycle.
type (
	introducedType interface{ APILifecycleIntroduced() (major, minor int) }
	deprecatedType interface{ APILifecycleDeprecated() (major, minor int) }
	removedType    interface{ APILifecycleRemoved() (major, minor int) }
	replacedType   interface {
		APILifecycleReplacement() schema.GroupVersionKind
	}
)

// lifecycleOf returns the lifecycle that the published type of obj declares.
func lifecycleOf(obj Object) Lifecycle {
	var l Lifecycle
	if t, ok := obj.(introducedType); ok {
		l.Introduced = minor(t.APILifecycleIntroduced())
	}
	if t, ok := obj.(deprecatedType); ok {
		l.Deprecated = minor(t.APILifecycleDeprecated())
	}
	if t, ok := obj.(removedType); ok {
		l.Removed = minor(t.APILifecycleRemoved())
	}
	if t, ok := obj.(replacedType); ok {
		l.Replacement = t.APILifecycleReplacement()
	}
	return l
}

func minor(major, minor int) kubeversion.Minor { return kubeversion.Minor{Major: major, Minor: minor} }

// IntroducedIn reports whether a release has the version, if no release has removed it.
func (l Lifecycle) IntroducedIn(release kubeversion.Minor) bool { return !release.Before(l.Introduced) }

// RemovedIn reports whether a release no longer has the version.
func (l Lifecycle) RemovedIn(release kubeversion.Minor) bool {
	return !l.Removed.IsZero() && !release.Before(l.Removed)
}

// describeLifecycles sets the lifecycles of versions that have none, from their Go types.
func (r *Resource) describeLifecycles() {
	for i := range r.Versions {
		if v := &r.Versions[i]; v.Lifecycle == (Lifecycle{}) {
			v.Lifecycle = lifecycleOf(r.NewOf(v))
		}
	}
}
