package features

import (
	"slices"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// TestDefaults checks that the table of gates is complete and consistent.
func TestDefaults(t *testing.T) {
	all, g := Known(kubeversion.Default()), Default()
	if len(all) < 200 || len(g) != len(all) {
		t.Fatalf("%d gates, %d defaults", len(all), len(g))
	}
	for name, gate := range all {
		if !slices.Contains([]string{"", "alpha", "beta", "ga", "deprecated"}, gate.Stage) || gate.Stage == "alpha" && gate.Default {
			t.Errorf("%+v", gate)
		}
		for _, needed := range gate.Requires {
			if _, ok := all[needed]; !ok {
				t.Errorf("%s requires %s, which does not exist", name, needed)
			}
		}
	}
	for _, name := range Effective() {
		if _, ok := all[name]; !ok {
			t.Errorf("%s does not exist", name)
		}
	}
	if _, err := New(nil); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	if !g.Enabled("MutatingAdmissionPolicy") || g.Enabled(GenericWorkload) || g.Enabled("NoSuchGate") || Gates(nil).Enabled("WatchList") {
		t.Error("defaults")
	}
}

// TestNew checks the gates for values of --feature-gates, and the errors for invalid ones.
func TestNew(t *testing.T) {
	for _, c := range []struct {
		chosen  map[string]bool
		on, off string
		err     string
	}{
		{map[string]bool{GenericWorkload: true}, GenericWorkload, WorkloadWithJob, ""},
		{map[string]bool{"AllAlpha": true, "AllBeta": true, "PodsAPI": false}, GenericWorkload, "PodsAPI", ""},
		{map[string]bool{"AllBeta": true}, GenericWorkload, CSIVolumeHealth, ""},
		{map[string]bool{"WatchList": false}, "WatchListClient", "WatchList", ""},
		{map[string]bool{"JobManagedBy": true}, "JobManagedBy", "", ""},
		{map[string]bool{"Nope": true}, "", "", "unrecognized feature gate: Nope"},
		{map[string]bool{"JobSuccessPolicy": true}, "", "", "unrecognized feature gate: JobSuccessPolicy"},
		{map[string]bool{"JobManagedBy": false}, "", "", "cannot set feature gate JobManagedBy to false, feature is locked to true"},
		{map[string]bool{"WorkloadAwarePreemption": true}, "", "", "unrecognized feature gate: WorkloadAwarePreemption"},
		{map[string]bool{WorkloadWithJob: true}, "", "", "WorkloadWithJob is enabled, but depends on features that are disabled: [GenericWorkload]"},
		{map[string]bool{"DRADeviceTaints": false, DRADeviceTaintRules: true}, "", "", "DRADeviceTaintRules is enabled, but depends on features that are disabled: [DRADeviceTaints]"},
		{map[string]bool{"AllBeta": false}, "JobManagedBy", "WatchList", ""},
	} {
		g, err := New(c.chosen)
		switch {
		case c.err != "" && (err == nil || err.Error() != c.err):
			t.Errorf("%v: %v, want %s", c.chosen, err, c.err)
		case c.err == "" && (err != nil || c.on != "" && !g.Enabled(c.on) || c.off != "" && g.Enabled(c.off)):
			t.Errorf("%v: %v, %v", c.chosen, err, g)
		}
	}
	g, err := New(map[string]bool{GenericWorkload: true, "ContainerStopSignals": true, "WatchList": true})
	if got := g.WithoutEffect(kubeversion.Default()); err != nil || !slices.Equal(got, []string{"ContainerStopSignals"}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestReleases checks that gates have the defaults and stages of the emulated release.
func TestReleases(t *testing.T) {
	for release, want := range map[string]struct{ on, off string }{
		"1.34": {"WatchList", "MutatingAdmissionPolicy"},
		"1.35": {"WatchListClient", "MutatingAdmissionPolicy"},
		"1.36": {"MutatingAdmissionPolicy", ClusterTrustBundle},
		"1.37": {ClusterTrustBundle, GenericWorkload},
	} {
		e := kubeversion.Emulating(kubeversion.MustParse(release))
		g, err := Emulated(e, nil)
		if err != nil {
			t.Errorf("the defaults of %s: %v", release, err)
		}
		if !g.Enabled(want.on) || g.Enabled(want.off) {
			t.Errorf("%s: %s %t, %s %t", release, want.on, g.Enabled(want.on), want.off, g.Enabled(want.off))
		}
	}
	compatible, err := kubeversion.Parse("1.37", "1.37")
	if err != nil {
		t.Fatal(err)
	}
	for release, want := range map[kubeversion.Effective]bool{kubeversion.Default(): false, compatible: true} {
		if g, err := Emulated(release, nil); err != nil || g.Enabled("DRAFractionalCapacityRange") != want {
			t.Errorf("compatible with %s: a gate that needs 1.37 is %t, %v", release.MinCompatibility, g.Enabled("DRAFractionalCapacityRange"), err)
		}
	}
	_, err = Emulated(kubeversion.Emulating(kubeversion.MustParse("1.34")), map[string]bool{GenericWorkload: true})
	const want = "cannot set feature gate GenericWorkload to true, feature is PreAlpha at emulated version 1.34, min compatibility version 1.34"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
