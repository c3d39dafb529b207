package flowcontrol_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const flowSchema = `spec:
  matchingPrecedence: 50
  priorityLevelConfiguration: {name: p}
  rules:
  - subjects: [{kind: Group, group: {name: g}}]
    resourceRules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*']}]`

func TestFlowSchemaRules(t *testing.T) {
	kindtest.New(t, "flowschemas.v1.flowcontrol.apiserver.k8s.io", flowSchema).Create(kindtest.Rules{
		{"matchingPrecedence", "spec.matchingPrecedence: 10000", "spec.matchingPrecedence: 10001",
			"spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000"},
		{"precedence of exempt", "spec.matchingPrecedence: 2", "spec.matchingPrecedence: 1",
			"spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have " +
				"matchingPrecedence 1"},
		{"priority level", "spec.priorityLevelConfiguration.name: a", `spec.priorityLevelConfiguration.name: ""`,
			"spec.priorityLevelConfiguration.name: Required value: must reference a priority level"},
		{"name of the priority level", "spec.priorityLevelConfiguration.name: a.b",
			"spec.priorityLevelConfiguration.name: A",
			`spec.priorityLevelConfiguration.name: Invalid value: "A": a lowercase RFC 1123 subdomain ` +
				"must consist of lower case alphanumeric characters, '-' or '.', and must start and end with " +
				"an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"distinguisher", "spec.distinguisherMethod.type: ByUser", "spec.distinguisherMethod.type: Other",
			`spec.distinguisherMethod.type: Unsupported value: {"Type":"Other"}: supported values: ` +
				`"ByNamespace", "ByUser"`},
		{"subjects", "spec.rules[0].subjects[1]: {kind: User, user: {name: u}}", "spec.rules[0].subjects: []",
			"spec.rules[0].subjects: Required value: subjects must contain at least one value"},
		{"kind of a subject",
			"spec.rules[0].subjects: [{kind: ServiceAccount, serviceAccount: {namespace: a, name: b}}]",
			"spec.rules[0].subjects: [{kind: Other}]",
			`spec.rules[0].subjects[0].kind: Unsupported value: "Other": supported values: "Group", ` +
				`"ServiceAccount", "User"`},
		{"user", "spec.rules[0].subjects: [{kind: User, user: {name: u}}]", "spec.rules[0].subjects: [{kind: User}]",
			"spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'"},
		{"name of a user", `spec.rules[0].subjects: [{kind: User, user: {name: "*"}}]`,
			`spec.rules[0].subjects: [{kind: User, user: {name: ""}}]`,
			"spec.rules[0].subjects[0].user.name: Required value"},
		{"group and user", "spec.rules[0].subjects: [{kind: Group, group: {name: g}}]",
			"spec.rules[0].subjects: [{kind: Group, group: {name: g}, user: {name: u}}]",
			"spec.rules[0].subjects[0].user: Forbidden: user is forbidden when subject kind is not 'User'"},
		{"name of a group", "spec.rules[0].subjects: [{kind: Group, group: {name: g}}]",
			`spec.rules[0].subjects: [{kind: Group, group: {name: ""}}]`,
			"spec.rules[0].subjects[0].group.name: Required value"},
		{"service account",
			`spec.rules[0].subjects: [{kind: ServiceAccount, serviceAccount: {namespace: a, name: "*"}}]`,
			`spec.rules[0].subjects: [{kind: ServiceAccount, serviceAccount: {namespace: "", name: ""}}]`,
			"spec.rules[0].subjects[0].serviceAccount.name: Required value; " +
				"spec.rules[0].subjects[0].serviceAccount.namespace: Required value: must specify namespace " +
				"for service account"},
		{"name of a service account",
			"spec.rules[0].subjects: [{kind: ServiceAccount, serviceAccount: {namespace: a, name: b}}]",
			"spec.rules[0].subjects: [{kind: ServiceAccount, serviceAccount: {namespace: A, name: B}}]",
			`spec.rules[0].subjects[0].serviceAccount.name: Invalid value: "B": a lowercase RFC 1123 ` +
				"subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start " +
				"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'); ` +
				`spec.rules[0].subjects[0].serviceAccount.namespace: Invalid value: "A": a lowercase RFC ` +
				"1123 label must consist of lower case alphanumeric characters or '-', and must start and " +
				"end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for " +
				"validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"rules", "spec.rules[0].nonResourceRules: [{verbs: [get], nonResourceURLs: [/a]}]",
			"spec.rules[0].resourceRules: []",
			"spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty"},
		{"verb", "spec.rules[0].resourceRules[0].verbs: [get]", "spec.rules[0].resourceRules[0].verbs: [eat]",
			`spec.rules[0].resourceRules[0].verbs: Unsupported value: ["eat"]: supported values: ` +
				`"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"`},
		{"no verbs", "spec.rules[0].resourceRules[0].verbs: [get, list]", "spec.rules[0].resourceRules[0].verbs: []",
			"spec.rules[0].resourceRules[0].verbs: Required value: verbs must contain at least one value"},
		{"all and one verb", "spec.rules[0].resourceRules[0].verbs: ['*']",
			"spec.rules[0].resourceRules[0].verbs: ['*', get]",
			`spec.rules[0].resourceRules[0].verbs: Invalid value: ["*","get"]: if '*' is present, must ` +
				"not specify other verbs"},
		{"apiGroups", `spec.rules[0].resourceRules[0].apiGroups: [""]`,
			"spec.rules[0].resourceRules[0].apiGroups: []",
			"spec.rules[0].resourceRules[0].apiGroups: Required value: resource rules must supply at " +
				"least one api group"},
		{"all and one group", "spec.rules[0].resourceRules[0].apiGroups: ['*']",
			"spec.rules[0].resourceRules[0].apiGroups: ['*', a]",
			`spec.rules[0].resourceRules[0].apiGroups: Invalid value: ["*","a"]: if '*' is present, must ` +
				"not specify other api groups"},
		{"resources", "spec.rules[0].resourceRules[0].resources: [pods]",
			"spec.rules[0].resourceRules[0].resources: []",
			"spec.rules[0].resourceRules[0].resources: Required value: resource rules must supply at " +
				"least one resource"},
		{"all and one resource", "spec.rules[0].resourceRules[0].resources: ['*']",
			"spec.rules[0].resourceRules[0].resources: ['*', pods]",
			`spec.rules[0].resourceRules[0].resources: Invalid value: ["*","pods"]: if '*' is present, ` +
				"must not specify other resources"},
		{"namespaces", "spec.rules[0].resourceRules[0].namespaces: [a]",
			"spec.rules[0].resourceRules[0].namespaces: []",
			"spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that are not " +
				"cluster scoped must supply at least one namespace"},
		{"name of a namespace", "spec.rules[0].resourceRules[0].namespaces: [a]",
			"spec.rules[0].resourceRules[0].namespaces: [A]",
			`spec.rules[0].resourceRules[0].namespaces[0]: Invalid value: "A": each member of this list ` +
				"must be '*' or a DNS-1123 label; a lowercase RFC 1123 label must consist of lower case " +
				"alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. " +
				"'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"all and one namespace", "spec.rules[0].resourceRules[0].namespaces: ['*']",
			"spec.rules[0].resourceRules[0].namespaces: ['*', a]",
			`spec.rules[0].resourceRules[0].namespaces: Invalid value: ["*","a"]: if '*' is present, ` +
				"must not specify other namespaces"},
		{"cluster scope",
			`spec.rules[0].resourceRules[0]: {verbs: [get], apiGroups: [""], resources: [nodes], ` +
				"clusterScope: true}",
			`spec.rules[0].resourceRules[0]: {verbs: [get], apiGroups: [""], resources: [nodes]}`,
			"spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that are not " +
				"cluster scoped must supply at least one namespace"},
		{"path", "spec.rules[0].nonResourceRules: [{verbs: ['*'], nonResourceURLs: [/a/*]}]",
			"spec.rules[0].nonResourceRules: [{verbs: [get], nonResourceURLs: [a]}]",
			`spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "a": must start with slash`},
		{"empty path", "spec.rules[0].nonResourceRules: [{verbs: [get], nonResourceURLs: ['*']}]",
			`spec.rules[0].nonResourceRules: [{verbs: [get], nonResourceURLs: [""]}]`,
			`spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "": must not be empty`},
		{"no paths", "spec.rules[0].nonResourceRules: [{verbs: [get], nonResourceURLs: [/]}]",
			"spec.rules[0].nonResourceRules: [{verbs: [get], nonResourceURLs: []}]",
			"spec.rules[0].nonResourceRules[0].nonResourceURLs: Required value: nonResourceURLs must " +
				"contain at least one value"},
		{"star in a path", "spec.rules[0].nonResourceRules: [{verbs: [get], nonResourceURLs: [/a/*]}]",
			"spec.rules[0].nonResourceRules: [{verbs: [get], nonResourceURLs: [/a/*/b]}]",
			`spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "/a/*/b": wildcard can ` +
				"only do suffix matching"},
		{"spaces in a path", "spec.rules[0].nonResourceRules: [{verbs: [get], nonResourceURLs: [/a]}]",
			`spec.rules[0].nonResourceRules: [{verbs: [get], nonResourceURLs: ["/a b"]}]`,
			`spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "/a b": must not ` +
				"contain white-space"},
	})
}

func TestFlowSchemaUpdateRules(t *testing.T) {
	kindtest.New(t, "flowschemas.v1.flowcontrol.apiserver.k8s.io", flowSchema).Update(kindtest.Rules{
		{"precedence", "spec.matchingPrecedence: 5", "spec.matchingPrecedence: 10001",
			"spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000"},
	})
}

func TestFlowSchemaStatusRules(t *testing.T) {
	kindtest.New(t, "flowschemas.v1.flowcontrol.apiserver.k8s.io", flowSchema).UpdateStatus(kindtest.Rules{
		{"condition twice", `status.conditions: [{type: A, status: "True"}, {type: B, status: "True"}]`,
			`status.conditions: [{type: A, status: "True"}, {type: A, status: "True"}]`,
			`status.conditions[1].type: Duplicate value: "A"`},
		{"type of a condition", `status.conditions: [{type: A, status: "True"}]`,
			`status.conditions: [{type: "", status: "True"}]`, "status.conditions[0].type: Required value"},
	})
}

func TestFlowSchemaCreated(t *testing.T) {
	kindtest.New(t, "flowschemas.v1.flowcontrol.apiserver.k8s.io", flowSchema).Created(kindtest.Cases{
		{"precedence", "spec.matchingPrecedence: null", "spec.matchingPrecedence: 1000; metadata.generation: 1"},
		{"status", `status.conditions: [{type: A, status: "True"}]`, "status: {}"},
	})
}

func TestFlowSchemaGenerations(t *testing.T) {
	kindtest.New(t, "flowschemas.v1.flowcontrol.apiserver.k8s.io", flowSchema).Generations(kindtest.Cases{
		{"nothing", "", "1"},
		{"spec", "spec.matchingPrecedence: 5", "2"},
	})
}

func TestFlowSchemaColumns(t *testing.T) {
	k := kindtest.New(t, "flowschemas.v1.flowcontrol.apiserver.k8s.io", flowSchema)
	k.Columns("Name|PriorityLevel|MatchingPrecedence|DistinguisherMethod|Age|MissingPL", kindtest.Cases{
		{"new", "", "x|p|50|<none>|60m|?"},
		{"dangling", `spec.distinguisherMethod.type: ByUser; status.conditions: [{type: Dangling, status: "True"}]`,
			"x|p|50|ByUser|60m|True"},
	})
}
