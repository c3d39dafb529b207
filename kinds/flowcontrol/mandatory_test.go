package flowcontrol_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const exemptSchema = `metadata: {name: exempt}
spec:
  matchingPrecedence: 1
  priorityLevelConfiguration: {name: exempt}
  rules:
  - subjects: [{kind: Group, group: {name: "system:masters"}}]
    resourceRules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*']}]
    nonResourceRules: [{verbs: ['*'], nonResourceURLs: ['*']}]`

func TestFlowSchemaPathAndSubjectRules(t *testing.T) {
	kindtest.New(t, "flowschemas.v1.flowcontrol.apiserver.k8s.io", exemptSchema).Create(kindtest.Rules{
		{"a path of all is a star",
			"metadata.name: other; spec.matchingPrecedence: 2; " +
				"spec.rules[0].nonResourceRules[0].nonResourceURLs: ['*']",
			"metadata.name: other; spec.matchingPrecedence: 2; " +
				"spec.rules[0].nonResourceRules[0].nonResourceURLs: ['*', /a]",
			`spec.rules[0].nonResourceRules[0].nonResourceURLs: Invalid value: ["*","/a"]: if '*' is ` +
				"present, must not specify other non-resource URLs"},
		{"a path has no double slash",
			"metadata.name: other; spec.matchingPrecedence: 2; " +
				"spec.rules[0].nonResourceRules[0].nonResourceURLs: [/a/b]",
			"metadata.name: other; spec.matchingPrecedence: 2; " +
				"spec.rules[0].nonResourceRules[0].nonResourceURLs: [/a//b]",
			`spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "/a//b": must not ` +
				"contain double slash"},
		{"a group has a name", "metadata.name: other; spec.matchingPrecedence: 2",
			"metadata.name: other; spec.matchingPrecedence: 2; spec.rules[0].subjects: [{kind: Group}]",
			"spec.rules[0].subjects[0].group: Required value: group is required when subject kind is 'Group'"},
		{"a user has no service account",
			"metadata.name: other; spec.matchingPrecedence: 2; spec.rules[0].subjects: [{kind: User, " +
				"user: {name: u}}]",
			"metadata.name: other; spec.matchingPrecedence: 2; spec.rules[0].subjects: [{kind: User, " +
				"user: {name: u}, serviceAccount: {namespace: a, name: b}}]",
			"spec.rules[0].subjects[0].serviceAccount: Forbidden: serviceAccount is forbidden when " +
				"subject kind is not 'ServiceAccount'"},
		{"a user is in no group",
			"metadata.name: other; spec.matchingPrecedence: 2; spec.rules[0].subjects: [{kind: User, " +
				"user: {name: u}}]",
			"metadata.name: other; spec.matchingPrecedence: 2; spec.rules[0].subjects: [{kind: User, " +
				"user: {name: u}, group: {name: g}}]",
			"spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'"},
		{"a service account is required",
			"metadata.name: other; spec.matchingPrecedence: 2; spec.rules[0].subjects: [{kind: " +
				"ServiceAccount, serviceAccount: {namespace: a, name: b}}]",
			"metadata.name: other; spec.matchingPrecedence: 2; spec.rules[0].subjects: [{kind: ServiceAccount}]",
			"spec.rules[0].subjects[0].serviceAccount: Required value: serviceAccount is required " +
				"when subject kind is 'ServiceAccount'"},
		{"a precedence is positive", "metadata.name: other; spec.matchingPrecedence: 2",
			"metadata.name: other; spec.matchingPrecedence: -1",
			"spec.matchingPrecedence: Invalid value: -1: must be a positive value"},
	})
}

func TestExemptNameRules(t *testing.T) {
	kindtest.New(t, "flowschemas.v1.flowcontrol.apiserver.k8s.io", exemptSchema).Create(kindtest.Rules{
		{"a schema with the name has the fixed spec", "metadata.labels: {a: b}",
			"spec.distinguisherMethod: {type: ByUser}",
			"spec: Invalid value: " +
				`{"PriorityLevelConfiguration":{"Name":"exempt"},"MatchingPrecedence":1,"DistinguisherMet` +
				`hod":{"Type":"ByUser"},"Rules":[{"Subjects":[{"Kind":"Group","User":null,"Group":{"Name"` +
				`:"system:masters"},"ServiceAccount":null}],"ResourceRules":[{"Verbs":["*"],"APIGroups":[` +
				`"*"],"Resources":["*"],"ClusterScope":true,"Namespaces":["*"]}],"NonResourceRules":[{"Ve` +
				`rbs":["*"],"NonResourceURLs":["*"]}]}]}: spec of 'exempt' must equal the fixed value`},
	})
}

func TestMandatorySchemaUpdateRules(t *testing.T) {
	kindtest.New(t, "flowschemas.v1.flowcontrol.apiserver.k8s.io", exemptSchema).Update(kindtest.Rules{
		{"the exempt schema is fixed", "metadata.labels: {a: b}", "spec.rules[0].subjects[0].group.name: g",
			"spec: Invalid value: " +
				`{"PriorityLevelConfiguration":{"Name":"exempt"},"MatchingPrecedence":1,"DistinguisherMet` +
				`hod":null,"Rules":[{"Subjects":[{"Kind":"Group","User":null,"Group":{"Name":"g"},"Servic` +
				`eAccount":null}],"ResourceRules":[{"Verbs":["*"],"APIGroups":["*"],"Resources":["*"],"Cl` +
				`usterScope":true,"Namespaces":["*"]}],"NonResourceRules":[{"Verbs":["*"],"NonResourceURL` +
				`s":["*"]}]}]}: spec of 'exempt' must equal the fixed value`},
	})
}

const catchAllSchema = `metadata: {name: catch-all}
spec:
  matchingPrecedence: 10000
  distinguisherMethod: {type: ByUser}
  priorityLevelConfiguration: {name: catch-all}
  rules:
  - subjects: [{kind: Group, group: {name: "system:unauthenticated"}}, {kind: Group, group: {name: "system:authenticated"}}]
    resourceRules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*']}]
    nonResourceRules: [{verbs: ['*'], nonResourceURLs: ['*']}]`

func TestCatchAllSchemaUpdateRules(t *testing.T) {
	kindtest.New(t, "flowschemas.v1.flowcontrol.apiserver.k8s.io", catchAllSchema).Update(kindtest.Rules{
		{"the schema for all other requests is fixed", "metadata.labels: {a: b}", "spec.matchingPrecedence: 9000",
			"spec: Invalid value: " +
				`{"PriorityLevelConfiguration":{"Name":"catch-all"},"MatchingPrecedence":9000,"Distinguis` +
				`herMethod":{"Type":"ByUser"},"Rules":[{"Subjects":[{"Kind":"Group","User":null,"Group":{` +
				`"Name":"system:unauthenticated"},"ServiceAccount":null},{"Kind":"Group","User":null,"Gro` +
				`up":{"Name":"system:authenticated"},"ServiceAccount":null}],"ResourceRules":[{"Verbs":["` +
				`*"],"APIGroups":["*"],"Resources":["*"],"ClusterScope":true,"Namespaces":["*"]}],"NonRes` +
				`ourceRules":[{"Verbs":["*"],"NonResourceURLs":["*"]}]}]}: spec of 'catch-all' must ` +
				"equal the fixed value"},
	})
}

const catchAllLevel = `metadata: {name: catch-all}
spec: {type: Limited, limited: {nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: {type: Reject}}}`

func TestCatchAllLevelUpdateRules(t *testing.T) {
	k := kindtest.New(t, "prioritylevelconfigurations.v1.flowcontrol.apiserver.k8s.io", catchAllLevel)
	k.Update(kindtest.Rules{
		{"the level for all other requests is fixed", "metadata.labels: {a: b}",
			"spec.limited.nominalConcurrencyShares: 6",
			"spec: Invalid value: " +
				`{"Type":"Limited","Limited":{"NominalConcurrencyShares":6,"LimitResponse":{"Type":"Rejec` +
				`t","Queuing":null},"LendablePercent":0,"BorrowingLimitPercent":null},"Exempt":null}: ` +
				"spec of 'catch-all' must equal the fixed value"},
	})
}

const exemptLevel = `metadata: {name: exempt}
spec: {type: Exempt, exempt: {nominalConcurrencyShares: 0, lendablePercent: 0}}`

func TestExemptLevelTypeRules(t *testing.T) {
	kindtest.New(t, "prioritylevelconfigurations.v1.flowcontrol.apiserver.k8s.io", exemptLevel).Create(kindtest.Rules{
		{"the exempt level has a type", "spec.exempt: {nominalConcurrencyShares: 7}", "spec: {}",
			"spec.type: Invalid value: \"\": must be 'Exempt' if and only if `name` is 'exempt'; spec: " +
				`Invalid value: {"Type":"","Limited":null,"Exempt":null}: spec of 'exempt' except the ` +
				"'spec.exempt' field must equal the fixed value; spec.type: Required value"},
	})
}

func TestExemptLevelUpdateRules(t *testing.T) {
	kindtest.New(t, "prioritylevelconfigurations.v1.flowcontrol.apiserver.k8s.io", exemptLevel).Update(kindtest.Rules{
		{"the exempt level may lend", "spec.exempt.lendablePercent: 50",
			"spec: {type: Limited, limited: {limitResponse: {type: Reject}}}",
			"spec.type: Invalid value: \"Limited\": must be 'Exempt' if and only if `name` is " +
				"'exempt'; spec: Invalid value: " +
				`{"Type":"Limited","Limited":{"NominalConcurrencyShares":30,"LimitResponse":{"Type":"Reje` +
				`ct","Queuing":null},"LendablePercent":0,"BorrowingLimitPercent":null},"Exempt":null}: ` +
				"spec of 'exempt' except the 'spec.exempt' field must equal the fixed value"},
	})
}

const level = `spec: {type: Limited, limited: {nominalConcurrencyShares: 5, limitResponse: {type: Reject}}}`

func TestLevelInV1beta3(t *testing.T) {
	k := kindtest.New(t, "prioritylevelconfigurations.v1.flowcontrol.apiserver.k8s.io", level)
	k.Converted("v1beta3", kindtest.Cases{
		{"shares have the same name", "", "spec.limited.nominalConcurrencyShares: 5; metadata.annotations: null"},
		{"no shares have an annotation", "spec.limited.nominalConcurrencyShares: 0",
			"spec.limited.nominalConcurrencyShares: 0; metadata.annotations: " +
				`{"flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares":"true"}`},
	})
}

func TestLevelInV1beta2(t *testing.T) {
	k := kindtest.New(t, "prioritylevelconfigurations.v1.flowcontrol.apiserver.k8s.io", level)
	k.Converted("v1beta2", kindtest.Cases{
		{"shares have another name", "", "spec.limited.assuredConcurrencyShares: 5; metadata.annotations: null"},
		{"no shares have an annotation", "metadata.annotations: {a: b}; spec.limited.nominalConcurrencyShares: 0",
			"metadata.annotations: " +
				`{"a":"b","flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares":"true"}`},
	})
}

func TestLevelInV1beta1(t *testing.T) {
	k := kindtest.New(t, "prioritylevelconfigurations.v1.flowcontrol.apiserver.k8s.io", level)
	k.Converted("v1beta1", kindtest.Cases{
		{"shares have another name", "", "spec.limited.assuredConcurrencyShares: 5"},
	})
}

const levelV1beta3 = `spec: {type: Limited, limited: {nominalConcurrencyShares: 5, limitResponse: {type: Reject}}}`

func TestLevelV1beta3InV1(t *testing.T) {
	k := kindtest.New(t, "prioritylevelconfigurations.v1beta3.flowcontrol.apiserver.k8s.io", levelV1beta3)
	k.Converted("v1", kindtest.Cases{
		{"shares have the same name", "", "spec.limited.nominalConcurrencyShares: 5"},
		{"shares that are missing have a default", "spec.limited.nominalConcurrencyShares: 0",
			"spec.limited.nominalConcurrencyShares: 30"},
		{"no shares have an annotation",
			"spec.limited.nominalConcurrencyShares: 0; metadata.annotations: " +
				`{flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares: "true"}`,
			"spec.limited.nominalConcurrencyShares: 0; metadata.annotations: null"},
	})
}

const levelV1beta2 = `spec: {type: Limited, limited: {assuredConcurrencyShares: 5, limitResponse: {type: Reject}}}`

func TestLevelV1beta2InV1(t *testing.T) {
	k := kindtest.New(t, "prioritylevelconfigurations.v1beta2.flowcontrol.apiserver.k8s.io", levelV1beta2)
	k.Converted("v1", kindtest.Cases{
		{"shares have another name", "", "spec.limited.nominalConcurrencyShares: 5"},
		{"other annotations stay",
			"spec.limited.assuredConcurrencyShares: 0; metadata.annotations: " +
				`{flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares: "true", a: b}`,
			`spec.limited.nominalConcurrencyShares: 0; metadata.annotations: {"a":"b"}`},
		{"another value of the annotation has no meaning",
			"spec.limited.assuredConcurrencyShares: 0; metadata.annotations: " +
				`{flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares: "false"}`,
			"spec.limited.nominalConcurrencyShares: 30; metadata.annotations: " +
				`{"flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares":"false"}`},
	})
}

const levelV1beta1 = `spec: {type: Limited, limited: {assuredConcurrencyShares: 5, limitResponse: {type: Reject}}}`

func TestLevelV1beta1InV1(t *testing.T) {
	k := kindtest.New(t, "prioritylevelconfigurations.v1beta1.flowcontrol.apiserver.k8s.io", levelV1beta1)
	k.Converted("v1", kindtest.Cases{
		{"shares have another name", "", "spec.limited.nominalConcurrencyShares: 5"},
	})
}
