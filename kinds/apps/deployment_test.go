package apps_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const deployment = `spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: c, image: 'i:1'}]}`

func TestDeploymentRules(t *testing.T) {
	kindtest.New(t, "deployments.v1.apps", deployment).Create(kindtest.Rules{
		{"replicas", "spec.replicas: 0", "spec.replicas: -1",
			"spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
		{"selector", "", "spec.selector: null",
			`spec.selector: Required value; spec.template.metadata.labels: Invalid value: {"a":"b"}: ` +
				"`selector` does not match template `labels`"},
		{"empty selector", "", "spec.selector: {}",
			"spec.selector: Invalid value: {}: empty selector is invalid for deployment"},
		{"operator", "spec.selector.matchExpressions: [{key: a, operator: Exists}]",
			"spec.selector.matchExpressions: [{key: a, operator: Has}]",
			`spec.selector.matchExpressions[0].operator: Invalid value: "Has": not a valid selector ` +
				"operator; spec.selector: Invalid value: " +
				`{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"a","operator":"Has"}]}: invalid label selector`},
		{"key of an expression", "spec.selector.matchExpressions: [{key: a, operator: Exists}]",
			`spec.selector.matchExpressions: [{key: "", operator: Exists}]`,
			`spec.selector.matchExpressions[0].key: Invalid value: "": name part must be non-empty; ` +
				`spec.selector.matchExpressions[0].key: Invalid value: "": name part must consist of ` +
				"alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'); spec.selector: Invalid value: " +
				`{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"","operator":"Exists"}]}: invalid label selector`},
		{"values of In", "spec.selector.matchExpressions: [{key: a, operator: In, values: [b]}]",
			"spec.selector.matchExpressions: [{key: a, operator: In}]",
			"spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` " +
				"is 'In' or 'NotIn'; spec.selector: Invalid value: " +
				`{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"a","operator":"In"}]}: invalid label selector`},
		{"values of Exists", "spec.selector.matchExpressions: [{key: a, operator: Exists}]",
			"spec.selector.matchExpressions: [{key: a, operator: Exists, values: [b]}]",
			"spec.selector.matchExpressions[0].values: Forbidden: may not be specified when `operator` " +
				"is 'Exists' or 'DoesNotExist'; spec.selector: Invalid value: " +
				`{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"a","operator":"Exists","values":["b"]}]` +
				"}: invalid label selector"},
		{"label of the selector", "spec.selector.matchLabels: {a: b}", `spec.selector.matchLabels: {a: "b c"}`,
			`spec.selector.matchLabels: Invalid value: "b c": a valid label must be an empty string or ` +
				"consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
				"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?'); spec.selector: Invalid value: " +
				`{"matchLabels":{"a":"b c"}}: invalid label selector`},
		{"selector of the template", "spec.template.metadata.labels: {a: b, c: d}",
			"spec.template.metadata.labels: {a: c}",
			"spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match template " +
				"`labels`"},
		{"no labels", "", "spec.template.metadata.labels: null",
			"spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`"},
		{"type of the strategy", "spec.strategy.type: Recreate", "spec.strategy.type: Other",
			`spec.strategy: Unsupported value: {"Type":"Other","RollingUpdate":null}: supported values: ` +
				`"Recreate", "RollingUpdate"`},
		{"rolling update of another strategy", "spec.strategy: {type: Recreate}",
			"spec.strategy: {type: Recreate, rollingUpdate: {}}",
			"spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"},
		{"both zero", "spec.strategy.rollingUpdate: {maxSurge: 1, maxUnavailable: 0}",
			"spec.strategy.rollingUpdate: {maxSurge: 0, maxUnavailable: 0}",
			"spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"},
		{"both zero percent", "spec.strategy.rollingUpdate: {maxSurge: 0%, maxUnavailable: 1%}",
			"spec.strategy.rollingUpdate: {maxSurge: 0%, maxUnavailable: 0%}",
			"spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0"},
		{"negative maxUnavailable", "spec.strategy.rollingUpdate.maxUnavailable: 1",
			"spec.strategy.rollingUpdate.maxUnavailable: -1",
			"spec.strategy.rollingUpdate.maxUnavailable: Invalid value: -1: must be greater than or equal to 0"},
		{"maxUnavailable over 100%", "spec.strategy.rollingUpdate.maxUnavailable: 100%",
			"spec.strategy.rollingUpdate.maxUnavailable: 101%",
			`spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%`},
		{"no percentage", "spec.strategy.rollingUpdate.maxUnavailable: 5%",
			"spec.strategy.rollingUpdate.maxUnavailable: five",
			`spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "five": a valid percent string ` +
				"must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for " +
				"validation is '[0-9]+%')"},
		{"negative maxSurge", "spec.strategy.rollingUpdate.maxSurge: 200%",
			"spec.strategy.rollingUpdate.maxSurge: -1",
			"spec.strategy.rollingUpdate.maxSurge: Invalid value: -1: must be greater than or equal to 0"},
		{"no percentage of surge", "spec.strategy.rollingUpdate.maxSurge: 5%",
			`spec.strategy.rollingUpdate.maxSurge: "5"`,
			`spec.strategy.rollingUpdate.maxSurge: Invalid value: "5": a valid percent string must be a ` +
				"numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation " +
				"is '[0-9]+%')"},
		{"minReadySeconds", "spec.minReadySeconds: 599", "spec.minReadySeconds: -1",
			"spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"},
		{"minReadySeconds and the deadline", "spec.minReadySeconds: 599", "spec.minReadySeconds: 600",
			"spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"},
		{"revisionHistoryLimit", "spec.revisionHistoryLimit: 0", "spec.revisionHistoryLimit: -1",
			"spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0"},
		{"progressDeadlineSeconds", "spec.progressDeadlineSeconds: 1", "spec.progressDeadlineSeconds: -1",
			"spec.progressDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0; " +
				"spec.progressDeadlineSeconds: Invalid value: -1: must be greater than minReadySeconds"},
		{"restartPolicy", "spec.template.spec.restartPolicy: Always", "spec.template.spec.restartPolicy: Never",
			`spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"`},
		{"activeDeadlineSeconds", "", "spec.template.spec.activeDeadlineSeconds: 5",
			"spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is " +
				"not Supported"},
		{"containers", "", "spec.template.spec.containers: []", "spec.template.spec.containers: Required value"},
		{"label of the template", "spec.template.metadata.labels.c: d", `spec.template.metadata.labels.c: "d e"`,
			`spec.template.labels: Invalid value: "d e": a valid label must be an empty string or ` +
				"consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
				"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"annotation of the template", "spec.template.metadata.annotations[a/b]: c",
			"spec.template.metadata.annotations[a/b/c]: d",
			`spec.template.annotations: Invalid value: "a/b/c": a valid label key must consist of ` +
				"alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' " +
				"(e.g. 'example.com/MyName')"},
		{"name", "metadata.name: a.b", "metadata.name: a_b",
			`metadata.name: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of lower ` +
				"case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
	})
}

func TestDeploymentUpdateRules(t *testing.T) {
	kindtest.New(t, "deployments.v1.apps", deployment).Update(kindtest.Rules{
		{"selector", "spec.replicas: 2",
			"spec.selector.matchLabels: {a: b, c: d}; spec.template.metadata.labels: {a: b, c: d}",
			`spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is immutable`},
		{"replicas", "spec.replicas: 0", "spec.replicas: -1",
			"spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
		{"progressDeadlineSeconds", "spec.progressDeadlineSeconds: 5", "spec.progressDeadlineSeconds: 0",
			"spec.progressDeadlineSeconds: Invalid value: 0: must be greater than minReadySeconds"},
		{"strategy", "spec.strategy: {type: Recreate}", "spec.strategy: {type: None}",
			`spec.strategy: Unsupported value: {"Type":"None","RollingUpdate":null}: supported values: ` +
				`"Recreate", "RollingUpdate"`},
		{"template", "spec.template.spec.containers[0].image: j", `spec.template.spec.containers[0].image: ""`,
			"spec.template.spec.containers[0].image: Required value"},
	})
}

func TestDeploymentStatusRules(t *testing.T) {
	k := kindtest.New(t, "deployments.v1.apps", deployment).With(
		"status: {replicas: 3, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 1, collisionCount: 2}")
	k.UpdateStatus(kindtest.Rules{
		{"observedGeneration", "status.observedGeneration: 1", "status.observedGeneration: -1",
			"status.observedGeneration: Invalid value: -1: must be greater than or equal to 0"},
		{"replicas", "status.replicas: 4", "status.replicas: -1",
			"status.replicas: Invalid value: -1: must be greater than or equal to 0; " +
				"status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas; " +
				"status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas; " +
				"status.availableReplicas: Invalid value: 1: cannot be greater than status.replicas"},
		{"updatedReplicas", "status.updatedReplicas: 3", "status.updatedReplicas: -1",
			"status.updatedReplicas: Invalid value: -1: must be greater than or equal to 0"},
		{"readyReplicas", "status.readyReplicas: 3", "status.readyReplicas: -1",
			"status.readyReplicas: Invalid value: -1: must be greater than or equal to 0; " +
				"status.availableReplicas: Invalid value: 1: cannot be greater than readyReplicas"},
		{"availableReplicas", "status.availableReplicas: 2", "status.availableReplicas: -1",
			"status.availableReplicas: Invalid value: -1: must be greater than or equal to 0"},
		{"unavailableReplicas", "status.unavailableReplicas: 9", "status.unavailableReplicas: -1",
			"status.unavailableReplicas: Invalid value: -1: must be greater than or equal to 0"},
		{"terminatingReplicas", "status.terminatingReplicas: 0", "status.terminatingReplicas: -1",
			"status.terminatingReplicas: Invalid value: -1: must be greater than or equal to 0"},
		{"more updated than all", "status.updatedReplicas: 3", "status.updatedReplicas: 4",
			"status.updatedReplicas: Invalid value: 4: cannot be greater than status.replicas"},
		{"more ready than all", "status.readyReplicas: 3", "status.readyReplicas: 4",
			"status.readyReplicas: Invalid value: 4: cannot be greater than status.replicas"},
		{"more available than ready", "status.availableReplicas: 2", "status.availableReplicas: 3",
			"status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas"},
		{"collisionCount", "status.collisionCount: 3", "status.collisionCount: 1",
			"status.collisionCount: Invalid value: 1: cannot be decremented"},
		{"no collisionCount", "status.collisionCount: 2", "status.collisionCount: null",
			"status.collisionCount: Invalid value: 0: cannot be decremented"},
		{"negative collisionCount", "status.collisionCount: 2", "status.collisionCount: -1",
			"status.collisionCount: Invalid value: -1: must be greater than or equal to 0; " +
				"status.collisionCount: Invalid value: -1: cannot be decremented"},
	})
}

func TestDeploymentCreated(t *testing.T) {
	kindtest.New(t, "deployments.v1.apps", deployment).Created(kindtest.Cases{
		{"defaults", "",
			"spec.replicas: 1; spec.revisionHistoryLimit: 10; spec.progressDeadlineSeconds: 600; " +
				"spec.strategy.type: RollingUpdate"},
		{"rolling update", "",
			"spec.strategy.rollingUpdate.maxSurge: 25%; spec.strategy.rollingUpdate.maxUnavailable: 25%"},
		{"recreation", "spec.strategy.type: Recreate", "spec.strategy.rollingUpdate: null"},
		{"template", "",
			"spec.template.spec.restartPolicy: Always; spec.template.spec.dnsPolicy: ClusterFirst; " +
				"spec.template.spec.schedulerName: default-scheduler"},
		{"container", "",
			"spec.template.spec.containers[0].imagePullPolicy: IfNotPresent; " +
				"spec.template.spec.containers[0].terminationMessagePath: /dev/termination-log"},
		{"latest image", "spec.template.spec.containers[0].image: i",
			"spec.template.spec.containers[0].imagePullPolicy: Always"},
		{"status", "status.replicas: 3", "status.replicas: null; metadata.generation: 1"},
	})
}

func TestDeploymentUpdated(t *testing.T) {
	kindtest.New(t, "deployments.v1.apps", deployment).With("status: {replicas: 1}").Updated(kindtest.Cases{
		{"status", "status.replicas: 5", "status.replicas: 1"},
		{"missing replicas", "spec.replicas: null", "spec.replicas: 1"},
	})
}

func TestDeploymentStatusUpdated(t *testing.T) {
	kindtest.New(t, "deployments.v1.apps", deployment).With("metadata.labels: {a: b}").StatusUpdated(kindtest.Cases{
		{"spec", "spec.replicas: 5; status.replicas: 4", "spec.replicas: 1; status.replicas: 4"},
		{"labels", "metadata.labels: {a: c}", "metadata.labels.a: b"},
		{"annotations", "metadata.annotations: {a: c}", "metadata.annotations.a: c"},
	})
}

func TestDeploymentGenerations(t *testing.T) {
	kindtest.New(t, "deployments.v1.apps", deployment).Generations(kindtest.Cases{
		{"nothing", "", "1"},
		{"spec", "spec.paused: true", "2"},
		{"annotations", "metadata.annotations: {c: d}", "2"},
		{"labels", "metadata.labels: {c: d}", "1"},
		{"status", "status.replicas: 5", "1"},
	})
}

func TestDeploymentWarnings(t *testing.T) {
	kindtest.New(t, "deployments.v1.apps", deployment).Warnings(kindtest.Cases{
		{"none", "metadata.name: a", ""},
		{"name", "metadata.name: a.b",
			"metadata.name: this is used in Pod names and hostnames, which can result in surprising " +
				"behavior; a DNS label is recommended: [must not contain dots]"},
		{"twice the same variable",
			"spec.template.spec.containers[0].env: [{name: A, value: '1'}, {name: A, value: '2'}]",
			`spec.template.spec.containers[0].env[1]: hides previous definition of "A", which may be ` +
				"dropped when using apply"},
	})
}

func TestDeploymentUpdateWarnings(t *testing.T) {
	kindtest.New(t, "deployments.v1.apps", deployment).UpdateWarnings(kindtest.Cases{
		{"none", "spec.replicas: 2", ""},
		{"port twice", "spec.template.spec.containers[0].ports: [{containerPort: 1}, {containerPort: 1}]",
			"spec.template.spec.containers[0].ports[1]: duplicate port definition with " +
				"spec.template.spec.containers[0].ports[0]"},
	})
}

func TestDeploymentColumns(t *testing.T) {
	k := kindtest.New(t, "deployments.v1.apps", deployment)
	k.Columns("Name|Ready|Up-to-date|Available|Age|(Containers)|(Images)|(Selector)", kindtest.Cases{
		{"new", "", "x|0/1|0|0|60m|c|i:1|a=b"},
		{"running", "spec.replicas: 3; status: {readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1}",
			"x|1/3|2|1|60m|c|i:1|a=b"},
		{"more containers", "spec.template.spec.containers[1]: {name: d, image: 'j:1'}",
			"x|0/1|0|0|60m|c,d|i:1,j:1|a=b"},
	})
}

// TestDeploymentCells checks how tables show selectors and containers.
func TestDeploymentCells(t *testing.T) {
	k := kindtest.New(t, "deployments.v1.apps", deployment).With(
		`spec.selector: {matchLabels: {b: "2", a: b}, matchExpressions: [{key: c, operator: NotIn, ` +
			"values: [e, d]}, {key: f, operator: DoesNotExist}]}; spec.template.metadata.labels: {a: b, b: " +
			`"2"}; spec.template.spec.containers: [{name: x, image: i}, {name: z, image: j}]`)
	k.Columns("Name|Ready|Up-to-date|Available|Age|(Containers)|(Images)|(Selector)", kindtest.Cases{
		{"requirements", "spec.replicas: 3", "x|0/3|0|0|60m|x,z|i,j|a=b,b=2,c notin (d,e),!f"},
		{"progress",
			"spec.replicas: 3; status: {replicas: 3, readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1}",
			"x|1/3|2|1|60m|x,z|i,j|a=b,b=2,c notin (d,e),!f"},
	})
}
