package core_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const resourceQuota = `spec:
  hard: {pods: 5}`

func TestResourceQuotaRules(t *testing.T) {
	kindtest.New(t, "resourcequotas.v1", resourceQuota).Create(kindtest.Rules{
		{"resource", "spec.hard: {requests.example.com/a: 1}", "spec.hard: {disk: 1}",
			`spec.hard[disk]: Invalid value: "disk": must be a standard resource type or fully ` +
				`qualified; spec.hard[disk]: Invalid value: "disk": must be a standard resource for quota`},
		{"name of a resource", "spec.hard: {count/widgets.example.com: 1}", "spec.hard[a b]: 1",
			`spec.hard[a b]: Invalid value: "a b": name part must consist of alphanumeric characters, ` +
				"'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or " +
				"'my.name',  or '123-abc', regex used for validation is " +
				`'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'); spec.hard[a b]: Invalid value: "a b": must be ` +
				"a standard resource for quota"},
		{"negative", "spec.hard.pods: 0", "spec.hard.pods: -1",
			`spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0`},
		{"fraction", "spec.hard.cpu: 1500m", "spec.hard.pods: 1500m",
			`spec.hard[pods]: Invalid value: "1500m": must be an integer`},
		{"scope", "spec.scopes: [NotTerminating]", "spec.scopes: [Other]",
			`spec.scopes: Invalid value: ["Other"]: unsupported scope`},
		{"resource of a scope", "spec.scopes: [BestEffort]", "spec.scopes: [BestEffort]; spec.hard.cpu: 1",
			`spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource`},
		{"conflicting scopes", "spec.scopes: [Terminating, NotBestEffort]",
			"spec.scopes: [Terminating, NotTerminating]",
			`spec.scopes: Invalid value: ["Terminating","NotTerminating"]: conflicting scopes`},
		{"conflicting quality", "spec.scopes: [NotBestEffort]", "spec.scopes: [BestEffort, NotBestEffort]",
			`spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes`},
		{"selected scope",
			"spec.scopeSelector.matchExpressions: [{scopeName: PriorityClass, operator: In, values: [a]}]",
			"spec.scopeSelector.matchExpressions: [{scopeName: Other, operator: Exists}]",
			`spec.scopeSelector.matchExpressions.scopeName: Invalid value: "Other": unsupported scope`},
		{"operator of a scope", "spec.scopeSelector.matchExpressions: [{scopeName: Terminating, operator: Exists}]",
			"spec.scopeSelector.matchExpressions: [{scopeName: Terminating, operator: In, values: [a]}]",
			`spec.scopeSelector.matchExpressions.operator: Invalid value: "In": must be 'Exists' when ` +
				"scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, " +
				"ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or " +
				"ResourceQuotaScopeCrossNamespacePodAffinity"},
		{"unknown operator",
			"spec.scopeSelector.matchExpressions: [{scopeName: PriorityClass, operator: DoesNotExist}]",
			"spec.scopeSelector.matchExpressions: [{scopeName: PriorityClass, operator: Is}]",
			`spec.scopeSelector.matchExpressions.operator: Invalid value: "Is": not a valid selector operator`},
		{"values of In",
			"spec.scopeSelector.matchExpressions: [{scopeName: PriorityClass, operator: NotIn, values: [a]}]",
			"spec.scopeSelector.matchExpressions: [{scopeName: PriorityClass, operator: In}]",
			"spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when " +
				"`operator` is 'In' or 'NotIn' for scope selector"},
		{"values of Exists", "spec.scopeSelector.matchExpressions: [{scopeName: PriorityClass, operator: Exists}]",
			"spec.scopeSelector.matchExpressions: [{scopeName: PriorityClass, operator: Exists, values: [a]}]",
			`spec.scopeSelector.matchExpressions.values: Invalid value: ["a"]: must be no value when ` +
				"`operator` is 'Exist' or 'DoesNotExist' for scope selector"},
		{"resource of a selected scope",
			"spec.scopeSelector.matchExpressions: [{scopeName: PriorityClass, operator: Exists}]",
			"spec.hard.secrets: 1; spec.scopeSelector.matchExpressions: [{scopeName: PriorityClass, " +
				"operator: Exists}]",
			"spec.scopeSelector.matchExpressions: Invalid value: " +
				`{"MatchExpressions":[{"ScopeName":"PriorityClass","Operator":"Exists","Values":null}]}: ` +
				"unsupported scope applied to resource"},
		{"conflicting selected scopes",
			"spec.scopeSelector.matchExpressions: [{scopeName: Terminating, operator: Exists}]",
			"spec.scopeSelector.matchExpressions: [{scopeName: Terminating, operator: Exists}, " +
				"{scopeName: NotTerminating, operator: Exists}]",
			"spec.scopeSelector.matchExpressions: Invalid value: null: conflicting scopes"},
		{"volume attributes class", "spec.hard: {requests.storage: 1}; spec.scopes: [VolumeAttributesClass]",
			"spec.scopes: [VolumeAttributesClass]",
			`spec.scopes: Invalid value: ["VolumeAttributesClass"]: unsupported scope applied to resource`},
	})
}

func TestResourceQuotaUpdateRules(t *testing.T) {
	kindtest.New(t, "resourcequotas.v1", resourceQuota).With("spec.scopes: [Terminating]").Update(kindtest.Rules{
		{"scopes", "spec.hard.pods: 6", "spec.scopes: [NotTerminating]",
			`spec.scopes: Invalid value: ["NotTerminating"]: field is immutable`},
		{"no scopes", "spec.hard: {}", "spec.scopes: null", "spec.scopes: Invalid value: null: field is immutable"},
		{"resource", "spec.hard.cpu: 1", "spec.hard.disk: 1",
			`spec.hard[disk]: Invalid value: "disk": must be a standard resource type or fully ` +
				`qualified; spec.hard[disk]: Invalid value: "disk": must be a standard resource for quota`},
	})
}

func TestResourceQuotaStatusRules(t *testing.T) {
	kindtest.New(t, "resourcequotas.v1", resourceQuota).UpdateStatus(kindtest.Rules{
		{"hard", "status.hard: {pods: 5}", "status.hard: {disk: 5}",
			`status.hard[disk]: Invalid value: "disk": must be a standard resource type or fully ` +
				`qualified; status.hard[disk]: Invalid value: "disk": must be a standard resource for quota`},
		{"used", "status.used: {pods: 5}", "status.used: {pods: -5}",
			`status.used[pods]: Invalid value: "-5": must be greater than or equal to 0`},
	})
}

func TestResourceQuotaCreated(t *testing.T) {
	kindtest.New(t, "resourcequotas.v1", resourceQuota).Created(kindtest.Cases{
		{"status", "status.used: {pods: 1}", "status.used: null"},
	})
}

func TestResourceQuotaStatusUpdated(t *testing.T) {
	kindtest.New(t, "resourcequotas.v1", resourceQuota).StatusUpdated(kindtest.Cases{
		{"spec", "spec.hard.pods: 6; status.used: {pods: 1}", `spec.hard.pods: "5"; status.used.pods: "1"`},
	})
}

func TestResourceQuotaWarnings(t *testing.T) {
	kindtest.New(t, "resourcequotas.v1", resourceQuota).Warnings(kindtest.Cases{
		{"none", "spec.hard: {requests.cpu: 1, limits.cpu: 1}", ""},
		{"request above the limit", "spec.hard: {requests.cpu: 2, limits.cpu: 1}",
			"ResourceQuota requests.cpu (2) should be less than limits.cpu (1)"},
		{"old name", "spec.hard: {memory: 2, limits.memory: 1}",
			"ResourceQuota memory (2) should be less than limits.memory (1)"},
		{"ephemeral storage", "spec.hard: {requests.ephemeral-storage: 2, limits.ephemeral-storage: 1}",
			"ResourceQuota requests.ephemeral-storage (2) should be less than limits.ephemeral-storage (1)"},
	})
}

func TestResourceQuotaColumns(t *testing.T) {
	kindtest.New(t, "resourcequotas.v1", resourceQuota).Columns("Name|Request|Limit|Age", kindtest.Cases{
		{"new", "", "x|||60m"},
		{"used", "status: {hard: {pods: 5, limits.cpu: 2, requests.cpu: 1}, used: {pods: 3, limits.cpu: 1}}",
			"x|pods: 3/5, requests.cpu: 0/1|limits.cpu: 1/2|60m"},
	})
}

// TestQuotaScopes checks the resources that the quota of a scope limits.
func TestQuotaScopes(t *testing.T) {
	kindtest.New(t, "resourcequotas.v1", resourceQuota).Create(kindtest.Rules{
		{"pods that terminate", "spec: {hard: {pods: 1}, scopes: [Terminating]}",
			"spec: {hard: {services: 1}, scopes: [Terminating]}",
			`spec.scopes: Invalid value: ["Terminating"]: unsupported scope applied to resource`},
		{"pods without requests", "spec: {hard: {pods: 1}, scopes: [BestEffort]}",
			"spec: {hard: {requests.cpu: 1}, scopes: [BestEffort]}",
			`spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource`},
		{"contradiction", "spec: {hard: {pods: 1}, scopes: [Terminating, BestEffort]}",
			"spec: {hard: {pods: 1}, scopes: [Terminating, NotTerminating]}",
			`spec.scopes: Invalid value: ["Terminating","NotTerminating"]: conflicting scopes`},
		{"priority", "spec.scopeSelector.matchExpressions: [{scopeName: PriorityClass, operator: In, values: [a]}]",
			"spec.scopeSelector.matchExpressions: [{scopeName: PriorityClass, operator: In}]",
			"spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when " +
				"`operator` is 'In' or 'NotIn' for scope selector"},
		{"values of Exists", "spec.scopeSelector.matchExpressions: [{scopeName: PriorityClass, operator: Exists}]",
			"spec.scopeSelector.matchExpressions: [{scopeName: PriorityClass, operator: Exists, values: [a]}]",
			`spec.scopeSelector.matchExpressions.values: Invalid value: ["a"]: must be no value when ` +
				"`operator` is 'Exist' or 'DoesNotExist' for scope selector"},
		{"operator of other scopes",
			"spec.scopeSelector.matchExpressions: [{scopeName: Terminating, operator: Exists}]",
			"spec.scopeSelector.matchExpressions: [{scopeName: Terminating, operator: In}]",
			`spec.scopeSelector.matchExpressions.operator: Invalid value: "In": must be 'Exists' when ` +
				"scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, " +
				"ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or " +
				"ResourceQuotaScopeCrossNamespacePodAffinity; spec.scopeSelector.matchExpressions.values: " +
				"Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"},
		{"unknown scope", "spec: {hard: {pods: 1}, scopes: [NotBestEffort]}",
			"spec: {hard: {pods: 1}, scopes: [Other]}", `spec.scopes: Invalid value: ["Other"]: unsupported scope`},
	})
}

// TestQuotaResources checks the names and values of limits.
func TestQuotaResources(t *testing.T) {
	kindtest.New(t, "resourcequotas.v1", resourceQuota).Create(kindtest.Rules{
		{"unknown resource", "spec.hard: {requests.cpu: 1}", "spec.hard: {bogus: 1}",
			`spec.hard[bogus]: Invalid value: "bogus": must be a standard resource type or fully ` +
				`qualified; spec.hard[bogus]: Invalid value: "bogus": must be a standard resource for quota`},
		{"count of a kind", "spec.hard: {count/deployments.apps: 1}", `spec.hard: {"count/": 1}`,
			`spec.hard[count/]: Invalid value: "count/": name part must be non-empty; spec.hard[count/]: ` +
				`Invalid value: "count/": name part must consist of alphanumeric characters, '-', '_' or ` +
				"'.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  " +
				"or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"fraction", "spec.hard: {pods: 1}", "spec.hard: {pods: 1500m}",
			`spec.hard[pods]: Invalid value: "1500m": must be an integer`},
		{"negative limit", "spec.hard: {pods: 0}", `spec.hard: {pods: "-1"}`,
			`spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0`},
		{"class of storage", "spec.hard: {a.storageclass.storage.k8s.io/requests.storage: 1Gi}",
			`spec.hard: {requests.storage: "-1"}`,
			`spec.hard[requests.storage]: Invalid value: "-1": must be greater than or equal to 0`},
	})
}

// TestQuotaStatus checks the reported use.
func TestQuotaStatus(t *testing.T) {
	kindtest.New(t, "resourcequotas.v1", resourceQuota).UpdateStatus(kindtest.Rules{
		{"use", "status.used: {pods: 1}", `status.used: {pods: "-1"}`,
			`status.used[pods]: Invalid value: "-1": must be greater than or equal to 0`},
		{"fraction", "status.hard: {pods: 1}", "status.hard: {pods: 1500m}",
			`status.hard[pods]: Invalid value: "1500m": must be an integer`},
	})
}

// TestQuotaCells checks that tables show requests and limits apart, in the order of their names.
func TestQuotaCells(t *testing.T) {
	kindtest.New(t, "resourcequotas.v1", resourceQuota).Columns("Name|Request|Limit|Age", kindtest.Cases{
		{"no status", "spec.hard: {pods: 5}", "x|||60m"},
		{"requests and limits",
			"status: {hard: {requests.cpu: 4, pods: 10, limits.memory: 8Gi, limits.cpu: 8, count/x: 1}, " +
				"used: {pods: 3, limits.cpu: 1500m}}",
			"x|count/x: 0/1, pods: 3/10, requests.cpu: 0/4|limits.cpu: 1500m/8, limits.memory: 0/8Gi|60m"},
	})
}
