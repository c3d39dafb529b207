// Package features holds the feature gates of a server: which of them exist, which
// are on unless somebody says otherwise, and which were chosen.
//
// Few gates change what this server does; Effective lists those. The other ones are
// about other components, or about behavior that this server always or never has.
// They are accepted, so that a configuration for kube-apiserver works unchanged.
package features

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Gates that change what this server does.
const (
	ClusterTrustBundle              = "ClusterTrustBundle"
	ClusterTrustBundleProjection    = "ClusterTrustBundleProjection"
	CoordinatedLeaderElection       = "CoordinatedLeaderElection"
	DRADeviceTaintRules             = "DRADeviceTaintRules"
	DRAResourcePoolStatus           = "DRAResourcePoolStatus"
	DRAWorkloadResourceClaims       = "DRAWorkloadResourceClaims"
	GenericWorkload                 = "GenericWorkload"
	NodeDeclaredFeatures            = "NodeDeclaredFeatures"
	PodCertificateRequest           = "PodCertificateRequest"
	StorageVersionAPI               = "StorageVersionAPI"
	StorageVersionMigrator          = "StorageVersionMigrator"
	TopologyAwareWorkloadScheduling = "TopologyAwareWorkloadScheduling"
	WorkloadAwarePreemption         = "WorkloadAwarePreemption"
	WorkloadWithJob                 = "WorkloadWithJob"
)

// Effective returns the names of the gates that change what this server does.
func Effective() []string {
	return []string{
		ClusterTrustBundle, ClusterTrustBundleProjection, CoordinatedLeaderElection, DRADeviceTaintRules, DRAResourcePoolStatus,
		DRAWorkloadResourceClaims, GenericWorkload, NodeDeclaredFeatures, PodCertificateRequest, StorageVersionAPI, StorageVersionMigrator,
		TopologyAwareWorkloadScheduling, WorkloadAwarePreemption, WorkloadWithJob,
	}
}

// Names that stand for many gates.
const (
	allAlpha = "AllAlpha"
	allBeta  = "AllBeta"
)

//go:embed gates.txt
var gatesText string

// Gate is one feature gate.
type Gate struct {
	Name string
	// Stage is alpha, beta, ga or deprecated.
	Stage string
	// Default is whether the gate is on if nobody says otherwise; Locked gates
	// cannot be changed.
	Default, Locked bool
	// Needs are gates that must be on where this one is.
	Requires []string
}

// Known returns all gates, by name.
func Known() map[string]Gate { return readGates(gatesText) }

func readGates(text string) map[string]Gate {
	gates := map[string]Gate{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 3 || strings.HasPrefix(line, "#") {
			continue
		}
		g := Gate{Name: words[0], Stage: words[1], Default: words[2] == "on"}
		for _, w := range words[3:] {
			if needs, ok := strings.CutPrefix(w, "needs="); ok {
				g.Requires = strings.Split(needs, ",")
			}
			g.Locked = g.Locked || w == "locked"
		}
		gates[g.Name] = g
	}
	return gates
}

// Gates are the gates of one server: which are on. The nil map has all off.
type Gates map[string]bool

// Default returns the gates as they are if nobody says otherwise.
func Default() Gates {
	g := Gates{}
	for name, gate := range Known() {
		g[name] = gate.Default
	}
	return g
}

// Enabled reports whether a gate is on.
func (g Gates) Enabled(name string) bool { return g[name] }

// New returns gates that were chosen as --feature-gates does it: AllAlpha and
// AllBeta change the gates of a stage that are not named themselves.
func New(chosen map[string]bool) (Gates, error) {
	all, g := Known(), Default()
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		on := chosen[name]
		gate, ok := all[name]
		switch {
		case name == allAlpha || name == allBeta:
			g[name] = on
			for other, gate := range all {
				if _, named := chosen[other]; !named && allOf(gate.Stage) == name {
					g[other] = on
				}
			}
		case !ok:
			return nil, fmt.Errorf("unrecognized feature gate: %s", name)
		case gate.Locked && on != gate.Default:
			return nil, fmt.Errorf("cannot set feature gate %s to %t, feature is locked to %t", name, on, gate.Default)
		default:
			g[name] = on
		}
	}
	return g, g.checkNeeds(all)
}

// allOf returns the name that stands for the gates of a stage.
func allOf(stage string) string {
	switch stage {
	case "alpha":
		return allAlpha
	case "beta":
		return allBeta
	}
	return ""
}

// checkNeeds fails where a gate is on without one that it needs.
func (g Gates) checkNeeds(all map[string]Gate) error {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !g.Enabled(name) {
			continue
		}
		missing := slices.DeleteFunc(all[name].Requires, g.Enabled)
		if len(missing) > 0 {
			return fmt.Errorf("%s is enabled, but depends on features that are disabled: [%s]", name, strings.Join(missing, " "))
		}
	}
	return nil
}

// WithoutEffect returns the names of gates that differ from their default and
// change nothing here.
func (g Gates) WithoutEffect() []string {
	var names []string
	for name, gate := range Known() {
		if g[name] != gate.Default && name != allAlpha && name != allBeta && !slices.Contains(Effective(), name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
