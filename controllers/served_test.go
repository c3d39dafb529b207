package controllers

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
	"github.com/miniapiserver/miniapiserver/internal/registrytest"
	"github.com/miniapiserver/miniapiserver/kinds"
)

// TestControllersOfServedKinds checks that a controller runs only if its kind is served; the
// feature gate alone is not enough.
func TestControllersOfServedKinds(t *testing.T) {
	gates, err := features.New(map[string]bool{features.GenericWorkload: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		gates  features.Gates
		config map[string]string
		runs   bool
	}{
		{features.Default(), nil, false},
		{features.Default(), map[string]string{"api/all": "true"}, false},
		{gates, nil, false},
		{gates, map[string]string{"scheduling.k8s.io/v1beta1": "true"}, true},
	} {
		resources, err := api.Enable(kinds.For(c.gates), api.VersionOptions{Config: c.config, Gates: c.gates, Release: kubeversion.Emulating(kubeversion.Binary())})
		if err != nil {
			t.Fatal(err)
		}
		catalogue := registrytest.Catalogue(t, resources...)
		if runs := newPodGroupProtection(Config{BaseConfig: reconcile.BaseConfig{Catalogue: catalogue}.Complete()}) != nil; runs != c.runs {
			t.Errorf("GenericWorkload %t, runtime config %v: runs %t", c.gates.Enabled(features.GenericWorkload), c.config, runs)
		}
	}
}
