package kinds

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/coordination"
	"github.com/miniapiserver/miniapiserver/kinds/core"
	"github.com/miniapiserver/miniapiserver/kinds/networking"
	"github.com/miniapiserver/miniapiserver/kinds/node"
	"github.com/miniapiserver/miniapiserver/kinds/storage"
)

// ruleTest has the wanted errors of a new object or, if old is not empty, of an update.
// Objects are JSON without metadata; other errors than those of the kind are ignored.
type ruleTest struct {
	name, old, updated, want string
}

func testRules(t *testing.T, r *api.Resource, tests []ruleTest) {
	t.Helper()
	for _, c := range tests {
		t.Run(r.Kind+"/"+c.name, func(t *testing.T) {
			updated := ruleObject(t, r, c.updated)
			var errs field.ErrorList
			if c.old == "" {
				errs = besideMetadata(r.CheckCreate(nil, updated))
			} else {
				old := ruleObject(t, r, c.old)
				prepare(r, updated, old)
				errs = besideMetadata(checkUpdate(r, nil, updated, old))
			}
			wantFaults(t, errs, c.want)
		})
	}
}

// testStatusRules is testRules for updates of the status subresource.
func testStatusRules(t *testing.T, r *api.Resource, tests []ruleTest) {
	t.Helper()
	for _, c := range tests {
		t.Run(r.Kind+"/status/"+c.name, func(t *testing.T) {
			updated, old := ruleObject(t, r, c.updated), ruleObject(t, r, c.old)
			if r.Status != nil {
				prepareStatus(r, updated, old)
			}
			wantFaults(t, besideMetadata(checkStatus(r, nil, updated, old)), c.want)
		})
	}
}

func wantFaults(t *testing.T, errs field.ErrorList, want string) {
	t.Helper()
	got := ""
	if len(errs) > 0 {
		got = errs.ToAggregate().Error()
	}
	if want == "" && got != "" || want != "" && !strings.Contains(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func ruleObject(t *testing.T, r *api.Resource, text string) api.Object {
	t.Helper()
	obj := r.New()
	if err := json.Unmarshal([]byte(text), obj); err != nil {
		t.Fatal(err)
	}
	if obj.GetName() == "" {
		obj.SetName("x")
	}
	if r.Default != nil {
		r.Default(obj)
	}
	return obj
}

func TestSmallKindRules(t *testing.T) {
	testRules(t, coordination.Lease(), []ruleTest{
		{"bounds", "", `{"spec":{"leaseDurationSeconds":0,"leaseTransitions":-1}}`,
			"[spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0, spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0]"},
	})
	testRules(t, node.RuntimeClass(), []ruleTest{
		{"handler", "", `{}`, "handler: Required value"},
		{"overhead", "", `{"handler":"a","overhead":{"podFixed":{"cpu":"-1"}}}`, `overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0`},
		{"twice", "", `{"handler":"a","scheduling":{"tolerations":[{"key":"a"},{"key":"a","effect":"NoExecute","operator":"Exists"},{"key":"a","effect":"NoExecute","operator":"Exists","tolerationSeconds":1}]}}`, "scheduling.tolerations[2]: Duplicate value"},
		{"fixed", `{"handler":"a"}`, `{"handler":"b"}`, `handler: Invalid value: "b": field is immutable`},
	})
	testRules(t, networking.ServiceCIDR(features.Default()), []ruleTest{
		{"three", "", `{"spec":{"cidrs":["10.0.0.0/24","fd00::/64","10.1.0.0/24"]}}`, `spec.cidrs: Invalid value: {"CIDRs":["10.0.0.0/24","fd00::/64","10.1.0.0/24"]}: may only hold up to 2 values`},
		{"one family", "", `{"spec":{"cidrs":["10.0.0.0/24","10.1.0.0/24"]}}`, `spec.cidrs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64`},
		{"grows", `{"spec":{"cidrs":["10.0.0.0/24"]}}`, `{"spec":{"cidrs":["10.0.0.0/24","fd00::/64"]}}`, ""},
		{"changes", `{"spec":{"cidrs":["10.0.0.0/24"]}}`, `{"spec":{"cidrs":["10.1.0.0/24"]}}`, `spec.cidrs[0]: Invalid value: "10.1.0.0/24": field is immutable`},
		{"shrinks", `{"spec":{"cidrs":["10.0.0.0/24","fd00::/64"]}}`, `{"spec":{"cidrs":["10.0.0.0/24"]}}`, `spec.cidrs: Invalid value: ["10.0.0.0/24"]: field is immutable`},
	})
	// A malformed CIDR has no family.
	testErrors(t, networking.ServiceCIDR(features.Default()), `{"spec":{"cidrs":["x","10.0.0.0/24"]}}`, "spec.cidrs[0]")
	testErrors(t, networking.ServiceCIDR(features.Default()), `{"spec":{"cidrs":["10.0.0.0/24"]}}`)
	testErrors(t, storage.CSIStorageCapacity(), `{"storageClassName":"a/b","nodeTopology":{"matchLabels":{"a":"/"}},"capacity":"-1"}`, "nodeTopology.matchLabels", "storageClassName", "capacity")
	testRules(t, networking.IPAddress(), []ruleTest{
		{"parent", "", `{"spec":{}}`, "spec.parentRef: Required value"},
		{"fixed", `{"spec":{"parentRef":{"resource":"a","name":"b"}}}`, `{"spec":{"parentRef":{"resource":"a","name":"c"}}}`,
			`spec.parentRef: Invalid value: {"Group":"","Resource":"a","Namespace":"","Name":"c"}: field is immutable`},
	})
}

func TestQuotaAndLimitRules(t *testing.T) {
	testRules(t, core.ResourceQuota(), []ruleTest{
		{"unknown", "", `{"spec":{"hard":{"bogus":"1"}}}`, `[spec.hard[bogus]: Invalid value: "bogus": must be a standard resource type or fully qualified, spec.hard[bogus]: Invalid value: "bogus": must be a standard resource for quota]`},
		{"fraction", "", `{"spec":{"hard":{"pods":"1.5"}}}`, `spec.hard[pods]: Invalid value: "1500m": must be an integer`},
		{"scope", "", `{"spec":{"hard":{"services":"1"},"scopes":["BestEffort"]}}`, `spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource`},
		{"selector", "", `{"spec":{"scopeSelector":{"matchExpressions":[{"operator":"In","scopeName":"Terminating"}]}}}`, "must be 'Exists' when scope is any of"},
		{"fixed", `{"spec":{}}`, `{"spec":{"scopes":["Terminating"]}}`, `spec.scopes: Invalid value: ["Terminating"]: field is immutable`},
	})
	testStatusRules(t, core.ResourceQuota(), []ruleTest{
		{"negative", `{}`, `{"status":{"used":{"pods":"-1"}}}`, `status.used[pods]: Invalid value: "-1": must be greater than or equal to 0`},
	})
	testRules(t, core.LimitRange(), []ruleTest{
		{"order", "", `{"spec":{"limits":[{"type":"Container","default":{"cpu":"2"},"max":{"cpu":"1"}}]}}`,
			`[spec.limits[0].defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than max value 1, spec.limits[0].default[cpu]: Invalid value: "1": default value 2 is greater than max value 1]`},
		{"ratio", "", `{"spec":{"limits":[{"type":"Pod","min":{"cpu":"1"},"max":{"cpu":"2"},"maxLimitRequestRatio":{"cpu":"3"}}]}}`,
			`spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than max/min = 2.000000`},
		{"claim", "", `{"spec":{"limits":[{"type":"PersistentVolumeClaim"}]}}`, "spec.limits[0].limits: Required value"},
		{"pod", "", `{"spec":{"limits":[{"type":"Pod","default":{"cpu":"1"}}]}}`, "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"},
	})
}

func TestNodeAndNamespaceRules(t *testing.T) {
	testRules(t, core.Node(features.Default()), []ruleTest{
		{"taint", "", `{"spec":{"taints":[{"key":"a","effect":"NoSchedule"},{"key":"a","effect":"NoSchedule"}]}}`, "taints must be unique by key and effect pair"},
		{"ranges", "", `{"spec":{"podCIDRs":["10.0.0.0/24","10.1.0.0/24"]}}`, "may specify no more than one CIDR for each IP family"},
		{"range fixed", `{"spec":{"podCIDR":"10.0.0.0/24"}}`, `{"spec":{"podCIDR":"10.1.0.0/24"}}`, `spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid`},
		{"capacity", "", `{"status":{"capacity":{"cpu":"-1"}}}`, `status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0`},
	})
	const configMap = `{"namespace":"a","name":"b","kubeletConfigKey":"c"`
	testRules(t, core.Node(features.Default()), []ruleTest{
		{"configuration of an older server", `{"spec":{"configSource":{}}}`, `{"spec":{"configSource":{}}}`, `spec.configSource: Invalid value: {"ConfigMap":null}: exactly one reference subfield must be non-nil`},
		{"its names", `{"spec":{"configSource":{}}}`, `{"spec":{"configSource":{"configMap":{"uid":"u","resourceVersion":"1","namespace":"a.b"}}}}`,
			"[spec.configSource.configMap.uid: Forbidden: uid must not be set in spec, spec.configSource.configMap.resourceVersion: Forbidden: resourceVersion must not be set in spec, " +
				`spec.configSource.configMap.namespace: Invalid value: "a.b": must not contain dots, spec.configSource.configMap.name: Required value, spec.configSource.configMap.kubeletConfigKey: Required value]`},
		{"it is valid", `{"spec":{"configSource":{}}}`, `{"spec":{"configSource":{"configMap":` + configMap + `}}}}`, ""},
		{"in the status", `{}`, `{"status":{"config":{"active":{"configMap":` + configMap + `}}}}}`,
			"[status.config.active.configMap.uid: Required value, status.config.active.configMap.resourceVersion: Required value]"},
	})
	testStatusRules(t, core.Node(features.Default()), []ruleTest{
		{"address twice", `{}`, `{"status":{"addresses":[{"type":"Hostname","address":"a"},{"type":"Hostname","address":"a"}]}}`, "status.addresses[1]: Duplicate value"},
	})
	testStatusRules(t, core.Namespace(), []ruleTest{
		{"phase", `{}`, `{"status":{"phase":"Terminating"}}`, "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"},
	})
}

// testErrors checks the fields of the errors of a new object, in their order.
func testErrors(t *testing.T, r *api.Resource, text string, want ...string) {
	t.Helper()
	var got []string
	for _, err := range besideMetadata(r.CheckCreate(nil, ruleObject(t, r, text))) {
		got = append(got, err.Field)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: errors of %q, want %q", text, got, want)
	}
}
