package coordination

import (
	"reflect"
	"strings"

	"github.com/blang/semver/v4"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1alpha2 "k8s.io/api/coordination/v1alpha2"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// LeaseCandidate describes the kind LeaseCandidate, a candidate for a lease in coordinated
// leader election.
func LeaseCandidate() *api.Resource {
	return api.NewResource(api.Kind[*coordinationv1beta1.LeaseCandidate]{
		Names: api.Names{Name: "leasecandidates", Singular: "leasecandidate", Kind: "LeaseCandidate", Namespaced: true},
		Versions: api.WithOlderVersions(api.Preview[coordinationv1beta1.LeaseCandidate](coordinationv1beta1.SchemeGroupVersion, ""),
			api.SameFields[coordinationv1beta1.LeaseCandidate, coordinationv1alpha2.LeaseCandidate](coordinationv1alpha2.SchemeGroupVersion)),
		Storage:                api.Storage{Prefix: "leasecandidates"},
		ValidateName:           func(name string, _ bool) []string { return utilvalidation.IsConfigMapKey(name) },
		AllowCreateOnUpdate:    true,
		RequireResourceVersion: true,
		Checks: api.Checks(
			api.ObjectMeta,
			api.OnCreate(api.Rules(leaseCandidateRules)),
			api.Changes(leaseCandidateChanges),
			api.Declared,
		),
		Table: api.Rows(leaseCandidateRow),
	})
}

func leaseCandidateRow(row *table.Row, c *coordinationv1beta1.LeaseCandidate) {
	row.DescribedBy(reflect.TypeFor[coordinationv1alpha2.LeaseCandidate]())
	row.Name(c.Name)
	row.Text("LeaseName", ".spec.leaseName", c.Spec.LeaseName)
	row.Text("BinaryVersion", "", c.Spec.BinaryVersion)
	row.Text("EmulationVersion", "", c.Spec.EmulationVersion)
	row.Age(c)
}

func leaseCandidateRules(at *validation.Path, c *coordinationv1beta1.LeaseCandidate) {
	spec, s := at.Child("spec"), &c.Spec
	validation.Required(spec.Child("leaseName"), s.LeaseName)
	var emulation, binary semver.Version
	if s.EmulationVersion != "" {
		emulation = semanticVersion(spec.Child("emulationVersion"), s.EmulationVersion)
	}
	if validation.Required(spec.Child("binaryVersion"), s.BinaryVersion) {
		binary = semanticVersion(spec.Child("binaryVersion"), s.BinaryVersion)
	}
	if s.BinaryVersion != "" && s.EmulationVersion != "" && binary.LT(emulation) {
		spec.Child("binaryVersion").Invalid(s.BinaryVersion, "must be greater than or equal to `emulationVersion`")
	}
	if !validation.Required(spec.Child("strategy"), s.Strategy) {
		return
	}
	if s.Strategy == coordinationv1.OldestEmulationVersion && emulation.EQ(semver.Version{}) {
		spec.Child("emulationVersion").Required("must be specified when `strategy` is 'OldestEmulationVersion'")
	}
	electionStrategyRules(spec.Child("strategy"), s.Strategy)
}

func leaseCandidateChanges(at *validation.Path, obj, old *coordinationv1beta1.LeaseCandidate) {
	leaseCandidateRules(at, obj)
	validation.Immutable(at.Child("spec").Child("leaseName"), obj.Spec.LeaseName, old.Spec.LeaseName)
}

// semanticVersion validates a version; the result is zero if it is invalid.
func semanticVersion(at *validation.Path, text string) semver.Version {
	v, err := semver.Parse(text)
	if err != nil {
		at.Invalid(text, "must be a valid semantic version")
		return semver.Version{}
	}
	return v
}

// electionStrategyRules validates a strategy: one of Kubernetes or one with a domain.
func electionStrategyRules(at *validation.Path, s coordinationv1.CoordinatedLeaseStrategy) {
	at = at.Child("strategy") // kube-apiserver's path has the field twice
	if strings.Contains(string(s), "/") {
		validation.Format(at, string(s), validation.QualifiedName)
		return
	}
	validation.OneOf(at, s, coordinationv1.OldestEmulationVersion)
}
