package kinds

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/apiserverinternal"
	"github.com/miniapiserver/miniapiserver/kinds/coordination"
	"github.com/miniapiserver/miniapiserver/kinds/resource"
	"github.com/miniapiserver/miniapiserver/kinds/storagemigration"
)

func TestLeaseCandidateRules(t *testing.T) {
	const good = `{"spec":{"leaseName":"l","binaryVersion":"1.36.0","emulationVersion":"1.35.0","strategy":"OldestEmulationVersion"}}`
	testRules(t, coordination.LeaseCandidate(), []ruleTest{
		{"good", "", good, ""},
		{"empty", "", `{}`, "[spec.leaseName: Required value, spec.binaryVersion: Required value, spec.strategy: Required value]"},
		{"versions", "", `{"spec":{"leaseName":"l","binaryVersion":"v1.36.0","emulationVersion":"1.35","strategy":"example.com/x"}}`,
			`[spec.emulationVersion: Invalid value: "1.35": must be a valid semantic version, spec.binaryVersion: Invalid value: "v1.36.0": must be a valid semantic version]`},
		{"older binary", "", `{"spec":{"leaseName":"l","binaryVersion":"1.34.0","emulationVersion":"1.35.0","strategy":"example.com/x"}}`,
			"spec.binaryVersion: Invalid value: \"1.34.0\": must be greater than or equal to `emulationVersion`"},
		{"no emulation", "", `{"spec":{"leaseName":"l","binaryVersion":"1.34.0","strategy":"OldestEmulationVersion"}}`,
			"spec.emulationVersion: Required value: must be specified when `strategy` is 'OldestEmulationVersion'"},
		{"strategy", "", `{"spec":{"leaseName":"l","binaryVersion":"1.34.0","strategy":"Youngest"}}`,
			`spec.strategy.strategy: Unsupported value: "Youngest": supported values: "OldestEmulationVersion"`},
		{"of a domain", "", `{"spec":{"leaseName":"l","binaryVersion":"1.34.0","strategy":"/x"}}`, `spec.strategy.strategy: Invalid value: "/x": prefix part must be non-empty`},
		{"fixed", good, strings.Replace(good, `"l"`, `"m"`, 1), `spec.leaseName: Invalid value: "m": field is immutable`},
	})
	for name, ok := range map[string]bool{"a": true, "A_b.c": true, "a b": false, "..": false} {
		if got := coordination.LeaseCandidate().ValidateName(name, false); (len(got) == 0) != ok {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestElectionOfLeases checks that leases have the fields for elections if the feature gate is
// enabled.
func TestElectionOfLeases(t *testing.T) {
	testRules(t, coordination.Lease(), []ruleTest{
		{"kept", `{"spec":{}}`, `{"spec":{"strategy":"Bad Strategy"}}`, `spec.strategy.strategy: Unsupported value: "Bad Strategy"`},
		{"good", "", `{"spec":{"strategy":"OldestEmulationVersion","preferredHolder":"h"}}`, ""},
		{"holder", "", `{"spec":{"preferredHolder":"h"}}`, "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"},
	})
}

func TestDeviceTaintRules(t *testing.T) {
	kind := resource.DeviceTaintRule(time.Now)
	testRules(t, kind, []ruleTest{
		{"good", "", `{"spec":{"deviceSelector":{"driver":"d.example.com","pool":"a/b","device":"d"},"taint":{"key":"example.com/k","value":"v","effect":"NoExecute"}}}`, ""},
		{"empty", "", `{}`, "[spec.taint.key: Invalid value: \"\": name part must be non-empty"},
		{"no effect", "", `{"spec":{"taint":{"key":"k"}}}`, "spec.taint.effect: Required value"},
		{"effect", "", `{"spec":{"taint":{"key":"k","effect":"Nothing"}}}`, `spec.taint.effect: Unsupported value: "Nothing": supported values: "NoExecute", "NoSchedule", "None"`},
		{"known effect", `{"spec":{"taint":{"key":"k","effect":"Nothing"}}}`, `{"spec":{"taint":{"key":"k","effect":"Nothing","value":"v"}}}`, ""},
		{"selector", "", `{"spec":{"deviceSelector":{"driver":"","pool":"","device":"D"},"taint":{"key":"k","value":"a b","effect":"None"}}}`,
			"spec.deviceSelector.driver: Required value"},
	})
	many := `{"status":{"conditions":[` + strings.TrimSuffix(strings.Repeat(`{"type":"T","status":"True","reason":"R","lastTransitionTime":"2026-05-04T12:00:00Z"},`, 9), ",") + `]}}`
	testStatusRules(t, kind, []ruleTest{{"many", `{}`, many, "status.conditions: Too many: 9: must have at most 8 items"}})
}

// TestTaintRuleTimes checks that the time of a taint is that of its effect.
func TestTaintRuleTimes(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 1, time.UTC)
	r := resource.DeviceTaintRule(func() time.Time { return now })
	at := func(obj api.Object) string {
		data, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		var o struct {
			Spec struct{ Taint struct{ TimeAdded string } }
		}
		if err := json.Unmarshal(data, &o); err != nil {
			t.Fatal(err)
		}
		return o.Spec.Taint.TimeAdded
	}
	made := ruleObject(t, r, `{"spec":{"taint":{"key":"k","effect":"None"}}}`)
	if got := at(made); got != "2026-05-04T12:00:00Z" {
		t.Errorf("a new rule has %q", got)
	}
	for name, c := range map[string]struct{ updated, want string }{
		"same effect":  {`{"spec":{"taint":{"key":"k","effect":"None","timeAdded":"2026-05-04T11:00:00Z"}}}`, "2026-05-04T11:00:00Z"},
		"other effect": {`{"spec":{"taint":{"key":"k","effect":"NoExecute","timeAdded":"2026-05-04T11:00:00Z"}}}`, "2026-05-04T12:00:00Z"},
		"another time": {`{"spec":{"taint":{"key":"k","effect":"NoExecute","timeAdded":"2026-05-04T10:00:00Z"}}}`, "2026-05-04T10:00:00Z"},
	} {
		old := ruleObject(t, r, `{"spec":{"taint":{"key":"k","effect":"None","timeAdded":"2026-05-04T11:00:00Z"}}}`)
		updated := ruleObject(t, r, c.updated)
		prepare(r, updated, old)
		if got := at(updated); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestPoolStatusRules checks the rules of a kind nearly all of whose rules are declared.
func TestPoolStatusRules(t *testing.T) {
	var kind *api.Resource
	for _, r := range All() {
		if r.Kind == "ResourcePoolStatusRequest" {
			kind = r
		}
	}
	const good = `{"spec":{"driver":"D.example.com","poolName":"a/b","limit":1000}}`
	const answer = `{"spec":{"driver":"d","limit":1},"status":{"poolCount":1,"pools":[{"driver":"d","poolName":"p","generation":1,"totalDevices":2}]}}`
	status := func(text string) string { return `{"spec":{"driver":"d","limit":1},"status":` + text + `}` }
	for _, c := range []struct{ name, old, updated, want string }{
		{"good", "", good, ""},
		{"empty", "", `{}`, "spec.driver: Required value"},
		{"bounds", "", `{"spec":{"driver":"d","limit":1001}}`, "spec.limit: Invalid value: 1001: must be less than or equal to 1000"},
		{"low", "", `{"spec":{"driver":"d","limit":0}}`, "spec.limit: Invalid value: 0: must be greater than or equal to 1"},
		{"pool", "", `{"spec":{"driver":"d","poolName":"a//B","limit":1}}`, `[spec.poolName: Invalid value: "a//B": segment 1: must not be empty, spec.poolName: Invalid value: "B": segment 2: a lowercase`},
		{"fixed", `{"spec":{"driver":"d","limit":1}}`, `{"spec":{"driver":"e","limit":1}}`, "spec: Invalid value: null: field is immutable"},
		{"status", status("null"), answer, ""},
		{"status twice", answer, strings.Replace(answer, `:2}`, `:3}`, 1), "status: Invalid value: {"},
		{"status empty", status("null"), status("{}"), "status.poolCount: Required value"},
		{"status pool", status("null"), status(`{"poolCount":-1,"pools":[{"generation":-1,"resourceSliceCount":0,"allocatedDevices":-1,"nodeName":"N"}]}`),
			"[status.poolCount: Invalid value: -1: must be greater than or equal to 0, status.pools[0].driver: Required value, status.pools[0].poolName: Required value, " +
				"status.pools[0].generation: Invalid value: -1: must be greater than or equal to 0, status.pools[0].resourceSliceCount: Invalid value: 0: must be greater than or equal to 1, " +
				"status.pools[0].allocatedDevices: Invalid value: -1: must be greater than or equal to 0, status.pools[0].nodeName: Invalid value: \"N\""},
		{"status conditions", status("null"), status(`{"poolCount":0,"conditions":[` + condition + `,` + condition + `]}`), "status.conditions[1]: Duplicate value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			updated := ruleObject(t, kind, c.updated)
			if c.old == "" {
				wantFaults(t, kind.CheckCreate(nil, updated), c.want)
				return
			}
			old := ruleObject(t, kind, c.old)
			old.SetResourceVersion("1")
			updated.SetResourceVersion("1")
			if strings.HasPrefix(c.name, "status") {
				wantFaults(t, checkStatus(kind, nil, updated, old), c.want)
			} else {
				wantFaults(t, checkUpdate(kind, nil, updated, old), c.want)
			}
		})
	}
}

const condition = `{"type":"A","status":"False","reason":"r","message":"m","lastTransitionTime":"2026-01-02T03:04:05Z"}`

func TestStorageVersionRules(t *testing.T) {
	kind := apiserverinternal.StorageVersion()
	for name, want := range map[string]string{"apps.deployments": "", "pods": "name must be in the form of <group>.<resource>", "A.b": "the group segment a lowercase RFC 1123", "a.1": "the resource segment a DNS-1035"} {
		if got := strings.Join(kind.ValidateName(name, false), ""); (want == "") != (got == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	server := func(id, version string) string {
		return `{"apiServerID":"` + id + `","encodingVersion":"` + version + `","decodableVersions":["` + version + `"]}`
	}
	status := func(text string) string { return `{"status":{"storageVersions":[` + text + `]}}` }
	testStatusRules(t, kind, []ruleTest{
		{"good", `{}`, `{"status":{"commonEncodingVersion":"v1","storageVersions":[` + server("a", "v1") + `,` + server("b", "v1") + `]}}`, ""},
		{"disagreed", `{}`, status(server("a", "apps/v1") + "," + server("b", "v2")), ""},
		{"same server", `{}`, status(server("a", "v1") + "," + server("a", "v2")), `status.storageVersions[1].apiServerID: Duplicate value: "a"`},
		{"common", `{}`, status(server("a", "v1")), "status.commonEncodingVersion: Invalid value: null: the common encoding version is v1"},
		{"not common", `{}`, `{"status":{"commonEncodingVersion":"v1"}}`, `status.commonEncodingVersion: Invalid value: "v1": should be nil if servers do not agree`},
		{"version", `{}`, status(server("a", "/V1")), "group part: must be non-empty,version part: a DNS-1035 label"},
		{"slashes", `{}`, status(server("a", "a/b/c")), "an apiVersion is a DNS-1035 label, which must consist"},
		{"served", `{}`, status(`{"apiServerID":"a","encodingVersion":"v1","decodableVersions":["v2"],"servedVersions":["v3"]}`),
			`[status.storageVersions[0].decodableVersions: Invalid value: ["v2"]: decodableVersions must include encodingVersion v1, ` +
				`status.storageVersions[0].servedVersions[0]: Invalid value: "v3": individual served version : v3 must be included in decodableVersions : [v2]`},
		{"conditions", `{}`, `{"status":{"conditions":[{"type":"A","status":"True","reason":"r","message":"m"},{"type":"A","status":"True"}]}}`,
			"[status[1].type: Invalid value: \"A\": the type of the condition is not unique, it also appears in conditions[0], status[1].reason: Required value, status[1].message: Required value]"},
	})
}

func TestMigrationRules(t *testing.T) {
	kind := storagemigration.StorageVersionMigration()
	const good = `{"spec":{"resource":{"group":"apps","resource":"deployments"}}}`
	testRules(t, kind, []ruleTest{
		{"good", "", good, ""},
		{"empty", "", `{}`, "spec.resource.resource: Required value: resource is required to be set"},
		{"names", "", `{"spec":{"resource":{"group":"A","resource":"1"}}}`, `[spec.resource.resource: Invalid value: "1": a DNS-1035 label`},
		{"fixed", good, `{"spec":{"resource":{"group":"apps","resource":"daemonsets"}}}`, `spec: Invalid value: {"Resource":{"group":"apps","resource":"daemonsets"}}: field is immutable`},
	})
	ended := func(version string, types ...string) string {
		var conditions []string
		for _, c := range types {
			conditions = append(conditions, `{"type":"`+c+`","status":"True","reason":"R","lastTransitionTime":"2026-05-04T12:00:00Z"}`)
		}
		return `{"status":{"resourceVersion":"` + version + `","conditions":[` + strings.Join(conditions, ",") + `]}}`
	}
	testStatusRules(t, kind, []ruleTest{
		{"good", `{}`, ended("5", "Running"), ""},
		{"ended", ended("5", "Running"), ended("5", "Succeeded"), ""},
		{"other version", ended("5"), ended("6"), `status.resourceVersion: Invalid value: "6": field is immutable`},
		{"no version", `{}`, ended("x"), `status.resourceVersion: Invalid value: "x": `},
		{"both", `{}`, ended("5", "Succeeded", "Failed"), "Both success and failed conditions cannot be true at the same time"},
		{"undone", ended("5", "Succeeded"), ended("5"), "Success condition cannot be set to false once it is true"},
		{"unfailed", ended("5", "Failed"), ended("5"), "Failed condition cannot be set to false once it is true"},
	})
}

func workloadGates(t *testing.T) features.Gates {
	t.Helper()
	gates, err := features.New(map[string]bool{
		"GenericWorkload": true, "TopologyAwareWorkloadScheduling": true, "DRAWorkloadResourceClaims": true, "CompositePodGroup": true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return gates
}

// checkWrite returns the errors of an object that is created, or updated if old is not empty, by the
// rules that are written by hand and by the rules that markers state.
func checkWrite(t *testing.T, r *api.Resource, old, text string) field.ErrorList {
	t.Helper()
	namespace := ""
	if r.Namespaced {
		namespace = "ns"
	}
	obj := ruleObject(t, r, text)
	obj.SetNamespace(namespace)
	if old == "" {
		prepare(r, obj, nil)
		return r.CheckCreate(&r.Versions[0], obj)
	}
	stored := ruleObject(t, r, old)
	stored.SetNamespace(namespace)
	stored.SetResourceVersion("1")
	obj.SetResourceVersion("1")
	prepare(r, obj, stored)
	return checkUpdate(r, &r.Versions[0], obj, stored)
}

// declaredKind returns a kind with the rules that markers state, for gates.
func declaredKind(t *testing.T, gates features.Gates, name string) *api.Resource {
	t.Helper()
	for _, r := range For(gates) {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no %s", name)
	return nil
}

func testDeclared(t *testing.T, r *api.Resource, tests []ruleTest) {
	t.Helper()
	for _, c := range tests {
		t.Run(r.Kind+"/"+c.name, func(t *testing.T) { wantFaults(t, checkWrite(t, r, c.old, c.updated), c.want) })
	}
}

func TestWorkloadRules(t *testing.T) {
	const good = `{"spec":{"controllerRef":{"kind":"Job","name":"j"},"podGroupTemplates":[{"name":"t","schedulingPolicy":{"gang":{"minCount":2}}}]}}`
	const basic = `"schedulingPolicy":{"basic":{}}`
	testDeclared(t, declaredKind(t, workloadGates(t), "workloads"), []ruleTest{
		{"good", "", good, ""},
		{"empty", "", `{}`, "spec: Invalid value: \"\": must specify one of: `podGroupTemplates`, `compositePodGroupTemplates`"},
		{"more pods", good, strings.Replace(good, "2", "3", 1), ""},
		{"another template", good, strings.Replace(good, `"t"`, `"u"`, 1), "[spec.podGroupTemplates[0]: Forbidden: item may not be added, spec.podGroupTemplates: Forbidden: item may not be removed]"},
		{"tree", "", `{"spec":{"compositePodGroupTemplates":[{"name":"a",` + basic + `,"podGroupTemplates":[{"name":"b",` + basic + `}]}]}}`, ""},
		{"names", "", `{"spec":{"compositePodGroupTemplates":[{"name":"a",` + basic + `,"podGroupTemplates":[{"name":"a",` + basic + `}]}]}}`,
			`spec.compositePodGroupTemplates[0].podGroupTemplates[0].name: Duplicate value: "a"`},
		{"priorities", "", `{"spec":{"podGroupTemplates":[{"name":"a",` + basic + `,"priority":1},{"name":"b",` + basic + `}]}}`,
			"spec: Invalid value: null: detected multiple priority configurations"},
		{"priorities of a tree", "", `{"spec":{"compositePodGroupTemplates":[{"name":"a",` + basic + `,"priority":1,"podGroupTemplates":[{"name":"b",` + basic + `}]}]}}`,
			"spec: Invalid value: null: all priority and priorityClassName values must be identical, detected multiple values"},
		{"no children any more", `{"spec":{"compositePodGroupTemplates":[{"name":"a",` + basic + `,"podGroupTemplates":[{"name":"b",` + basic + `}]}]}}`,
			`{"spec":{"compositePodGroupTemplates":[{"name":"a",` + basic + `}]}}`,
			`spec.compositePodGroupTemplates[0]: Invalid value: "a": must have at least one child PodGroupTemplate or CompositePodGroupTemplate`},
		{"no children", "", `{"spec":{"compositePodGroupTemplates":[{"name":"a",` + basic + `,"compositePodGroupTemplates":[{"name":"b",` + basic + `}]}]}}`,
			`spec.compositePodGroupTemplates[0].compositePodGroupTemplates[0]: Invalid value: "b": must have at least one child PodGroupTemplate or CompositePodGroupTemplate`},
		{"deep", "", `{"spec":{"compositePodGroupTemplates":[{"name":"a",` + basic + `,"compositePodGroupTemplates":[{"name":"b",` + basic +
			`,"compositePodGroupTemplates":[{"name":"c",` + basic + `,"compositePodGroupTemplates":[{"name":"d",` + basic + `}]}]}]}]}}`, "maximum template hierarchy depth is 4"},
	})
	// A template has no fields of disabled features.
	off := declaredKind(t, features.Default(), "workloads")
	obj := ruleObject(t, off, `{"spec":{"podGroupTemplates":[{"name":"t","schedulingPolicy":{"basic":{}},"resourceClaims":[{"name":"c"}],"schedulingConstraints":{},"preemptionPolicy":"Never"}],`+
		`"compositePodGroupTemplates":[{"name":"c"}]}}`)
	prepare(off, obj, nil)
	spec := obj.(*schedulingv1beta1.Workload).Spec
	if got := spec.PodGroupTemplates[0]; got.ResourceClaims != nil || got.SchedulingConstraints != nil || got.PreemptionPolicy != nil || spec.CompositePodGroupTemplates != nil {
		t.Errorf("got %+v", spec)
	}
}

func TestPodGroupRules(t *testing.T) {
	const good = `{"spec":{"workloadRef":{"workloadName":"w","templateName":"t"},"schedulingPolicy":{"basic":{}}}}`
	const claims = `{"spec":{"schedulingPolicy":{"basic":{}},"resourceClaims":[{"name":"c","resourceClaimName":"d"}]}}`
	kind := declaredKind(t, workloadGates(t), "podgroups")
	testDeclared(t, kind, []ruleTest{
		{"good", "", good, ""},
		{"reference", "", `{"spec":{"workloadRef":{"workloadName":"w"},"schedulingPolicy":{"basic":{}}}}`, "spec.workloadRef.templateName: Required value"},
		{"fixed", good, claims, "[spec.workloadRef: Invalid value: null: field is immutable, spec.resourceClaims: Invalid value: null: field is immutable]"},
		{"priority", good, strings.Replace(good, `"schedulingPolicy"`, `"priority":3,"schedulingPolicy"`, 1), "spec.priority: Invalid value: null: field is immutable"},
		{"mode", "", strings.Replace(good, `"schedulingPolicy"`, `"disruptionMode":{},"schedulingPolicy"`, 1), "spec.disruptionMode: Invalid value: \"\": must specify one of: `single`, `all`"},
	})
	testStatusRules(t, kind, []ruleTest{
		{"good", claims, strings.Replace(claims, `{"spec"`, `{"status":{"resourceClaimStatuses":[{"name":"c","resourceClaimName":"x"}]},"spec"`, 1), ""},
		{"no claim", claims, strings.Replace(claims, `{"spec"`, `{"status":{"resourceClaimStatuses":[{"name":"d","resourceClaimName":"X"}]},"spec"`, 1),
			"status.resourceClaimStatuses[0].name: Invalid value: \"d\": must match the name of an entry in `spec.resourceClaims`"},
	})
	off := declaredKind(t, features.Default(), "podgroups")
	obj := ruleObject(t, off, `{"spec":{"parentCompositePodGroupName":"p","preemptionPolicy":"Never"}}`).(*schedulingv1beta1.PodGroup)
	if prepare(off, obj, nil); obj.Spec.ParentCompositePodGroupName != nil || obj.Spec.PreemptionPolicy != nil {
		t.Errorf("got %+v", obj.Spec)
	}
}

func TestCompositePodGroupRules(t *testing.T) {
	const good = `{"spec":{"workloadRef":{"workloadName":"w","templateName":"t"},"schedulingPolicy":{"gang":{"minGroupCount":2}},"preemptionPolicy":"Never"}}`
	kind := declaredKind(t, workloadGates(t), "compositepodgroups")
	testDeclared(t, kind, []ruleTest{
		{"good", "", good, ""},
		{"empty", "", `{}`, "[spec.workloadRef: Required value, spec.schedulingPolicy: Invalid value: \"\": must specify one of: `basic`, `gang`]"},
		{"fixed", good, strings.Replace(good, `"w"`, `"v"`, 1), "spec.workloadRef: Invalid value: null: field is immutable"},
	})
	testStatusRules(t, kind, []ruleTest{
		{"condition", good, `{"status":{"conditions":[{"type":"a b"}]}}`, "status.conditions[0].type: Invalid value: \"a b\": name part must consist of"},
	})
	obj := ruleObject(t, kind, good)
	if kind.Default(obj); obj.(*schedulingv1alpha3.CompositePodGroup).Spec.DisruptionMode.Single == nil {
		t.Error("no default of disruptionMode")
	}
	if prepare(kind, obj, nil); obj.(*schedulingv1alpha3.CompositePodGroup).Spec.PreemptionPolicy != nil {
		t.Error("a preemption policy without its gate")
	}
}

// TestGatedPodFields checks that pods and pod templates have the fields of enabled features,
// and keep the fields that they had.
func TestGatedPodFields(t *testing.T) {
	const spec = `{"schedulingGroup":{"podGroupName":"g"},"volumes":[{"name":"v","projected":{"sources":[{"clusterTrustBundle":{"name":"b","path":"p"}},{"podCertificate":{"signerName":"example.com/s"}}]}}]}`
	chosen := func(enabled bool) features.Gates {
		g, err := features.New(map[string]bool{"GenericWorkload": enabled, "ClusterTrustBundle": enabled, "ClusterTrustBundleProjection": enabled, "PodCertificateRequest": enabled})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	on, off := chosen(true), chosen(false)
	fields := func(obj api.Object) (found int) {
		data, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range []string{"schedulingGroup", "clusterTrustBundle", "podCertificate"} {
			found += strings.Count(string(data), `"`+field+`":`)
		}
		return found
	}
	for name, text := range map[string]string{"pods": `{"spec":` + spec + `}`, "deployments": `{"spec":{"template":{"spec":` + spec + `}}}`} {
		for gates, want := range map[*features.Gates]int{&off: 0, &on: 3} {
			for _, r := range For(*gates) {
				if r.Name != name {
					continue
				}
				made := ruleObject(t, r, text)
				prepare(r, made, nil)
				if got := fields(made); got != want {
					t.Errorf("a new one of %s has %d such fields, want %d", name, got, want)
				}
				changed := ruleObject(t, r, text)
				prepare(r, changed, ruleObject(t, r, `{}`))
				if got := fields(changed); got != want {
					t.Errorf("a changed one of %s has %d such fields, want %d", name, got, want)
				}
				kept := ruleObject(t, r, text)
				prepare(r, kept, ruleObject(t, r, text))
				if got := fields(kept); got != 3 {
					t.Errorf("one of %s keeps %d such fields", name, got)
				}
			}
		}
	}
}
