package api

import (
	"strings"

	"github.com/blang/semver/v4"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
)

func leaseCandidateRules(at *place, c *coordinationv1beta1.LeaseCandidate) {
	spec, s := at.of("spec"), &c.Spec
	required(spec.of("leaseName"), s.LeaseName)
	var emulation, binary semver.Version
	if s.EmulationVersion != "" {
		emulation = semanticVersion(spec.of("emulationVersion"), s.EmulationVersion)
	}
	if required(spec.of("binaryVersion"), s.BinaryVersion) {
		binary = semanticVersion(spec.of("binaryVersion"), s.BinaryVersion)
	}
	if s.BinaryVersion != "" && s.EmulationVersion != "" && binary.LT(emulation) {
		spec.of("binaryVersion").invalid(s.BinaryVersion, "must be greater than or equal to `emulationVersion`")
	}
	if !required(spec.of("strategy"), s.Strategy) {
		return
	}
	if s.Strategy == coordinationv1.OldestEmulationVersion && emulation.EQ(semver.Version{}) {
		spec.of("emulationVersion").required("must be specified when `strategy` is 'OldestEmulationVersion'")
	}
	electionStrategyRules(spec.of("strategy"), s.Strategy)
}

func leaseCandidateChanges(at *place, is, was *coordinationv1beta1.LeaseCandidate) {
	leaseCandidateRules(at, is)
	fixed(at.of("spec").of("leaseName"), is.Spec.LeaseName, was.Spec.LeaseName)
}

// semanticVersion returns the zero version where the text is none.
func semanticVersion(at *place, text string) semver.Version {
	v, err := semver.Parse(text)
	if err != nil {
		at.invalid(text, "must be a valid semantic version")
		return semver.Version{}
	}
	return v
}

// electionStrategyRules: a strategy of Kubernetes is a plain word, and one of
// somebody else has a domain.
func electionStrategyRules(at *place, s coordinationv1.CoordinatedLeaseStrategy) {
	at = at.of("strategy") // twice, as kube-apiserver says it
	if strings.Contains(string(s), "/") {
		format(at, string(s), qualifiedName)
		return
	}
	oneOf(at, s, coordinationv1.OldestEmulationVersion)
}
