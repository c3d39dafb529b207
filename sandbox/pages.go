package sandbox

import (
	"maps"
	"net/http"
	"slices"

	"k8s.io/apiserver/pkg/server/flagz"
	"k8s.io/apiserver/pkg/server/statusz"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/compatibility"
	zpages "k8s.io/component-base/zpages/features"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

// below adds handlers to a multiplexer below a prefix.
type below struct {
	*http.ServeMux
	prefix string
	paths  *[]string
}

// Handle adds a handler, as statusz and flagz do.
func (b below) Handle(path string, h http.Handler) {
	b.ServeMux.Handle(b.prefix+path, h)
	*b.paths = append(*b.paths, path)
}

// addPages serves the real pages /statusz and /flagz of a component below a prefix of the kubelets' API, as far as the
// feature gates allow. The controllers and the scheduler have no port; further are other paths of the component.
func (k *kubelet) addPages(prefix, component string, flags flagz.Reader, further ...string) error {
	o, err := options.NewKubeControllerManagerOptions() // has the registry of the process
	if err != nil {
		return err
	}
	paths := further
	mux := below{k.mux, prefix, &paths}
	if utilfeature.DefaultFeatureGate.Enabled(zpages.ComponentFlagz) {
		flagz.Install(mux, component, flags)
	}
	if utilfeature.DefaultFeatureGate.Enabled(zpages.ComponentStatusz) {
		version := o.ComponentGlobalsRegistry.EffectiveVersionFor(compatibility.DefaultKubeComponent)
		statusz.Install(mux, component, statusz.NewRegistry(version, statusz.WithListedPaths(slices.Clone(paths))))
	}
	return nil
}

// shownFlags shows flags by name.
type shownFlags map[string]string

// GetFlagz implements flagz.Reader.
func (f shownFlags) GetFlagz() map[string]string { return maps.Clone(f) }
