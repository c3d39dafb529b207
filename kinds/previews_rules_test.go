package kinds

import (
	"encoding/json"
	"strings"
	"testing"

	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/coordination"
)

// TestElectionOfLeases checks that leases have the fields for elections if the feature gate is
// enabled.
func TestElectionOfLeases(t *testing.T) {
	testRules(t, coordination.Lease(), []ruleTest{
		{"kept", `{"spec":{}}`, `{"spec":{"strategy":"Bad Strategy"}}`, `spec.strategy.strategy: Unsupported value: "Bad Strategy"`},
		{"good", "", `{"spec":{"strategy":"OldestEmulationVersion","preferredHolder":"h"}}`, ""},
		{"holder", "", `{"spec":{"preferredHolder":"h"}}`, "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"},
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
