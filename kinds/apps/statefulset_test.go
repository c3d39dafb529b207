package apps_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const statefulSet = `spec:
  serviceName: s
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: c, image: 'i:1'}]}
  volumeClaimTemplates:
  - metadata: {name: d}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`

func TestStatefulSetRules(t *testing.T) {
	kindtest.New(t, "statefulsets.v1.apps", statefulSet).Create(kindtest.Rules{
		{"name", "metadata.name: a-b", "metadata.name: a.b",
			`metadata.name: Invalid value: "a.b": must not contain dots`},
		{"podManagementPolicy", "spec.podManagementPolicy: Parallel", "spec.podManagementPolicy: Serial",
			`spec.podManagementPolicy: Invalid value: "Serial": must be 'OrderedReady' or 'Parallel'`},
		{"update strategy", "spec.updateStrategy.type: OnDelete", "spec.updateStrategy.type: Other",
			`spec.updateStrategy: Invalid value: {"Type":"Other","RollingUpdate":null}: must be ` +
				"'RollingUpdate' or 'OnDelete'"},
		{"strategy of a disabled feature", "spec.updateStrategy.type: OnDelete", "spec.updateStrategy.type: Recreate",
			`spec.updateStrategy: Invalid value: {"Type":"Recreate","RollingUpdate":null}: must be ` +
				"'RollingUpdate' or 'OnDelete'"},
		{"rolling update of another strategy", "spec.updateStrategy: {type: OnDelete}",
			"spec.updateStrategy: {type: OnDelete, rollingUpdate: {partition: 1}}",
			`spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,"MaxUnavailable":null}: ` +
				"only allowed for updateStrategy 'RollingUpdate'"},
		{"partition", "spec.updateStrategy.rollingUpdate.partition: 1",
			"spec.updateStrategy.rollingUpdate.partition: -1",
			"spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0"},
		{"maxUnavailable", "spec.updateStrategy.rollingUpdate.maxUnavailable: 1",
			"spec.updateStrategy.rollingUpdate.maxUnavailable: 0",
			"spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: 0: cannot be 0"},
		{"maxUnavailable of 0%", "spec.updateStrategy.rollingUpdate.maxUnavailable: 1%",
			"spec.updateStrategy.rollingUpdate.maxUnavailable: 0%",
			`spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "0%": cannot be 0`},
		{"maxUnavailable over 100%", "spec.updateStrategy.rollingUpdate.maxUnavailable: 100%",
			"spec.updateStrategy.rollingUpdate.maxUnavailable: 101%",
			`spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%`},
		{"negative maxUnavailable", "spec.updateStrategy.rollingUpdate.maxUnavailable: 2",
			"spec.updateStrategy.rollingUpdate.maxUnavailable: -2",
			"spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: -2: must be greater than " +
				"or equal to 0"},
		{"whenDeleted", "spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Delete",
			"spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Keep",
			`spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "Keep": supported ` +
				`values: "Retain", "Delete"`},
		{"whenScaled", "spec.persistentVolumeClaimRetentionPolicy.whenScaled: Delete",
			"spec.persistentVolumeClaimRetentionPolicy.whenScaled: Keep",
			`spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Keep": supported ` +
				`values: "Retain", "Delete"`},
		{"access modes of a claim", "spec.volumeClaimTemplates[0].spec.accessModes: [ReadOnlyMany]",
			"spec.volumeClaimTemplates[0].spec.accessModes: []",
			"spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required"},
		{"size of a claim", "spec.volumeClaimTemplates[0].spec.resources.requests.storage: 1",
			"spec.volumeClaimTemplates[0].spec.resources.requests: null",
			"spec.volumeClaimTemplates[0].spec.resources[storage]: Required value"},
		{"replicas", "spec.replicas: 0", "spec.replicas: -1",
			"spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
		{"minReadySeconds", "spec.minReadySeconds: 9", "spec.minReadySeconds: -1",
			"spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"},
		{"ordinals", "spec.ordinals.start: 0", "spec.ordinals.start: -1",
			"spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0"},
		{"serviceName", `spec.serviceName: ""`, "spec.serviceName: S",
			`spec.serviceName: Invalid value: "S": a lowercase RFC 1123 label must consist of lower case ` +
				"alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. " +
				"'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"selector", "", "spec.selector: null",
			`spec.selector: Required value; spec.template.metadata.labels: Invalid value: {"a":"b"}: ` +
				"`selector` does not match template `labels`"},
		{"empty selector", "", "spec.selector: {}",
			"spec.selector: Invalid value: {}: empty selector is invalid for statefulset"},
		{"selector of the template", "spec.template.metadata.labels: {a: b, c: d}",
			"spec.template.metadata.labels: {a: c}",
			"spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match template " +
				"`labels`"},
		{"restartPolicy", "spec.template.spec.restartPolicy: Always", "spec.template.spec.restartPolicy: Never",
			`spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"`},
		{"activeDeadlineSeconds", "", "spec.template.spec.activeDeadlineSeconds: 5",
			"spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in StatefulSet " +
				"is not Supported"},
		{"mount of a claim", "spec.template.spec.containers[0].volumeMounts: [{name: d, mountPath: /d}]",
			"spec.template.spec.containers[0].volumeMounts: [{name: e, mountPath: /d}]",
			`spec.template.spec.containers[0].volumeMounts[0].name: Not found: "e"`},
	})
}

func TestStatefulSetUpdateRules(t *testing.T) {
	kindtest.New(t, "statefulsets.v1.apps", statefulSet).Update(kindtest.Rules{
		{"selector", "spec.replicas: 2",
			"spec.selector.matchLabels: {a: b, c: d}; spec.template.metadata.labels: {a: b, c: d}",
			`spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is immutable`},
		{"serviceName", "spec.minReadySeconds: 1", "spec.serviceName: t",
			`spec.serviceName: Invalid value: "t": field is immutable`},
		{"podManagementPolicy", "spec.ordinals.start: 1", "spec.podManagementPolicy: Parallel",
			`spec.podManagementPolicy: Invalid value: "Parallel": field is immutable`},
		{"claims", "spec.template.metadata.labels.c: d", "spec.volumeClaimTemplates[0].metadata.labels: {c: d}",
			"spec.volumeClaimTemplates: Invalid value: " +
				`[{"name":"d","labels":{"c":"d"},"Spec":{"AccessModes":["ReadWriteOnce"],"Selector":null,"Res` +
				`ources":{"Limits":null,"Requests":{"storage":"1Gi"}},"VolumeName":"","StorageClassName":null` +
				`,"VolumeMode":"Filesystem","DataSource":null,"DataSourceRef":null,"VolumeAttributesClassName` +
				`":null},"Status":{"Phase":"Pending","AccessModes":null,"Capacity":null,"Conditions":null,"Al` +
				`locatedResources":null,"AllocatedResourceStatuses":null,"CurrentVolumeAttributesClassName":n` +
				`ull,"ModifyVolumeStatus":null,"HealthStatus":null}}]: field is immutable`},
		{"strategy", "spec.updateStrategy: {type: OnDelete}", "spec.updateStrategy: {type: Recreate}",
			`spec.updateStrategy: Invalid value: {"Type":"Recreate","RollingUpdate":null}: must be ` +
				"'RollingUpdate' or 'OnDelete'"},
		{"revisionHistoryLimit", "spec.revisionHistoryLimit: -1", "spec.replicas: -1",
			"spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
	})
}

func TestStatefulSetStatusRules(t *testing.T) {
	k := kindtest.New(t, "statefulsets.v1.apps", statefulSet).With(
		"status: {replicas: 3, currentReplicas: 2, updatedReplicas: 2, readyReplicas: 2, " +
			"availableReplicas: 1, collisionCount: 2}")
	k.UpdateStatus(kindtest.Rules{
		{"replicas", "status.replicas: 4", "status.replicas: -1",
			"status.replicas: Invalid value: -1: must be greater than or equal to 0; " +
				"status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas; " +
				"status.currentReplicas: Invalid value: 2: cannot be greater than status.replicas; " +
				"status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas; " +
				"status.availableReplicas: Invalid value: 1: cannot be greater than status.replicas"},
		{"readyReplicas", "status.readyReplicas: 3", "status.readyReplicas: -1",
			"status.readyReplicas: Invalid value: -1: must be greater than or equal to 0; " +
				"status.availableReplicas: Invalid value: 1: cannot be greater than status.readyReplicas"},
		{"currentReplicas", "status.currentReplicas: 3", "status.currentReplicas: -1",
			"status.currentReplicas: Invalid value: -1: must be greater than or equal to 0"},
		{"updatedReplicas", "status.updatedReplicas: 3", "status.updatedReplicas: -1",
			"status.updatedReplicas: Invalid value: -1: must be greater than or equal to 0"},
		{"availableReplicas", "status.availableReplicas: 2", "status.availableReplicas: -1",
			"status.availableReplicas: Invalid value: -1: must be greater than or equal to 0"},
		{"observedGeneration", "status.observedGeneration: 1", "status.observedGeneration: -1",
			"status.observedGeneration: Invalid value: -1: must be greater than or equal to 0"},
		{"negative collisionCount", "status.collisionCount: 2", "status.collisionCount: -1",
			"status.collisionCount: Invalid value: -1: must be greater than or equal to 0; " +
				"status.collisionCount: Invalid value: -1: cannot be decremented"},
		{"collisionCount", "status.collisionCount: 3", "status.collisionCount: 1",
			"status.collisionCount: Invalid value: 1: cannot be decremented"},
		{"more ready than all", "status.readyReplicas: 3", "status.readyReplicas: 4",
			"status.readyReplicas: Invalid value: 4: cannot be greater than status.replicas"},
		{"more current than all", "status.currentReplicas: 3", "status.currentReplicas: 4",
			"status.currentReplicas: Invalid value: 4: cannot be greater than status.replicas"},
		{"more updated than all", "status.updatedReplicas: 3", "status.updatedReplicas: 4",
			"status.updatedReplicas: Invalid value: 4: cannot be greater than status.replicas"},
		{"more available than ready", "status.availableReplicas: 2", "status.availableReplicas: 3",
			"status.availableReplicas: Invalid value: 3: cannot be greater than status.readyReplicas"},
	})
}

func TestStatefulSetCreated(t *testing.T) {
	kindtest.New(t, "statefulsets.v1.apps", statefulSet).Created(kindtest.Cases{
		{"defaults", "",
			"spec.replicas: 1; spec.revisionHistoryLimit: 10; spec.podManagementPolicy: OrderedReady; " +
				"spec.updateStrategy.type: RollingUpdate"},
		{"retention", "spec.persistentVolumeClaimRetentionPolicy.whenScaled: Delete",
			"spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Retain; " +
				"spec.persistentVolumeClaimRetentionPolicy.whenScaled: Delete"},
		{"rolling update", "",
			"spec.updateStrategy.rollingUpdate.partition: 0; spec.updateStrategy.rollingUpdate.maxUnavailable: 1"},
		{"on deletion", "spec.updateStrategy.type: OnDelete", "spec.updateStrategy.rollingUpdate: null"},
		{"claims", "",
			"spec.volumeClaimTemplates[0].kind: PersistentVolumeClaim; " +
				"spec.volumeClaimTemplates[0].spec.volumeMode: Filesystem; " +
				"spec.volumeClaimTemplates[0].status.phase: Pending"},
		{"status", "status.replicas: 3", "status.replicas: 0; metadata.generation: 1"},
	})
}

func TestStatefulSetStatusUpdated(t *testing.T) {
	kindtest.New(t, "statefulsets.v1.apps", statefulSet).StatusUpdated(kindtest.Cases{
		{"spec", "spec.replicas: 5; status.replicas: 4", "spec.replicas: 1; status.replicas: 4"},
	})
}

func TestStatefulSetGenerations(t *testing.T) {
	kindtest.New(t, "statefulsets.v1.apps", statefulSet).Generations(kindtest.Cases{
		{"nothing", "", "1"},
		{"spec", "spec.replicas: 2", "2"},
		{"labels", "metadata.labels: {c: d}", "1"},
	})
}

func TestStatefulSetWarnings(t *testing.T) {
	kindtest.New(t, "statefulsets.v1.apps", statefulSet).Warnings(kindtest.Cases{
		{"none", "", ""},
		{"history", "spec.revisionHistoryLimit: -1",
			"spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 " +
				"is recommended"},
		{"fraction of a byte", "spec.volumeClaimTemplates[0].spec.resources.requests.storage: 1500m",
			`spec.volumeClaimTemplates[0].resources.requests[storage]: fractional byte value "1500m" is ` +
				"invalid, must be an integer"},
	})
}

func TestStatefulSetUpdateWarnings(t *testing.T) {
	kindtest.New(t, "statefulsets.v1.apps", statefulSet).UpdateWarnings(kindtest.Cases{
		{"history", "spec.revisionHistoryLimit: -1",
			"spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 " +
				"is recommended"},
	})
}

func TestStatefulSetColumns(t *testing.T) {
	k := kindtest.New(t, "statefulsets.v1.apps", statefulSet)
	k.Columns("Name|Ready|Age|(Containers)|(Images)", kindtest.Cases{
		{"new", "", "x|0/1|60m|c|i:1"},
		{"running", "spec.replicas: 3; status: {replicas: 2, readyReplicas: 1}", "x|1/3|60m|c|i:1"},
	})
}

func TestStatefulSetRecreateStrategy(t *testing.T) {
	kindtest.New(t, "statefulsets.v1.apps", statefulSet, "StatefulSetRecreateStrategy").Create(kindtest.Rules{
		{"recreation", "spec.updateStrategy.type: Recreate", "spec.updateStrategy.type: Other",
			`spec.updateStrategy: Invalid value: {"Type":"Other","RollingUpdate":null}: must be ` +
				"'RollingUpdate', 'OnDelete', or 'Recreate'"},
		{"rolling update", "spec.updateStrategy: {type: Recreate}",
			"spec.updateStrategy: {type: Recreate, rollingUpdate: {partition: 1}}",
			`spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,"MaxUnavailable":null}: ` +
				"only allowed for updateStrategy 'RollingUpdate'"},
	})
}

// TestStatefulSetCells checks what tables show of stateful sets.
func TestStatefulSetCells(t *testing.T) {
	k := kindtest.New(t, "statefulsets.v1.apps", statefulSet, "StatefulSetRecreateStrategy")
	k.Columns("Name|Ready|Age|(Containers)|(Images)", kindtest.Cases{
		{"ready", "spec.replicas: 2; status: {replicas: 2, readyReplicas: 1}", "x|1/2|60m|c|i:1"},
	})
}

// TestRecreatedStatefulSet checks that the strategy of a disabled feature stays valid.
func TestRecreatedStatefulSet(t *testing.T) {
	k := kindtest.New(t, "statefulsets.v1.apps", statefulSet, "StatefulSetRecreateStrategy").With(
		"spec.updateStrategy: {type: Recreate}")
	k.Update(kindtest.Rules{
		{"strategy", "spec.replicas: 2", "spec.updateStrategy: {type: Other}",
			`spec.updateStrategy: Invalid value: {"Type":"Other","RollingUpdate":null}: must be ` +
				"'RollingUpdate', 'OnDelete', or 'Recreate'"},
	})
}

// TestStatefulSetRecreateStrategy2 checks that the gate permits the strategy.
func TestStatefulSetRecreateStrategy2(t *testing.T) {
	kindtest.New(t, "statefulsets.v1.apps", statefulSet, "StatefulSetRecreateStrategy").Update(kindtest.Rules{
		{"strategy", "spec.updateStrategy: {type: Recreate}", "spec.updateStrategy: {type: Other}",
			`spec.updateStrategy: Invalid value: {"Type":"Other","RollingUpdate":null}: must be ` +
				"'RollingUpdate', 'OnDelete', or 'Recreate'"},
	})
}
