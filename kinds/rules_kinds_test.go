package kinds

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core"
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
