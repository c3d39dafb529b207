package claim_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const claim = `spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}`

func TestClaimRules(t *testing.T) {
	kindtest.New(t, "persistentvolumeclaims.v1", claim).Create(kindtest.Rules{
		{"accessModes", "spec.accessModes: [ReadOnlyMany, ReadWriteMany]", "spec.accessModes: []",
			"spec.accessModes: Required value: at least 1 access mode is required"},
		{"access mode", "spec.accessModes: [ReadWriteOncePod]", "spec.accessModes: [Other]",
			`spec.accessModes: Unsupported value: "Other": supported values: "ReadOnlyMany", ` +
				`"ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"`},
		{"mode of one pod", "spec.accessModes: [ReadWriteOncePod]",
			"spec.accessModes: [ReadWriteOncePod, ReadWriteOnce]",
			"spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"},
		{"size", "spec.resources.requests.storage: 1", "spec.resources.requests: null",
			"spec.resources[storage]: Required value"},
		{"no size", "spec.resources.requests.storage: 1", "spec.resources.requests.storage: 0",
			`spec.resources[storage]: Invalid value: "0": must be greater than zero`},
		{"negative size", "spec.resources.requests.storage: 1", "spec.resources.requests.storage: -1",
			`spec.resources[storage]: Invalid value: "-1": must be greater than zero`},
		{"label of the selector", "spec.selector.matchLabels: {a: b}", `spec.selector.matchLabels: {a: "b c"}`,
			`spec.selector.matchLabels: Invalid value: "b c": a valid label must be an empty string or ` +
				"consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
				"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"operator of the selector", "spec.selector.matchExpressions: [{key: a, operator: Exists}]",
			"spec.selector.matchExpressions: [{key: a, operator: Has}]",
			`spec.selector.matchExpressions[0].operator: Invalid value: "Has": not a valid selector operator`},
		{"storageClassName", "spec.storageClassName: a.b", "spec.storageClassName: A",
			`spec.storageClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"volumeMode", "spec.volumeMode: Block", "spec.volumeMode: Other",
			`spec.volumeMode: Unsupported value: "Other": supported values: "Block", "Filesystem"`},
		{"volumeAttributesClassName", "spec.volumeAttributesClassName: a", "spec.volumeAttributesClassName: A",
			`spec.volumeAttributesClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"name of a source", "spec.dataSource: {kind: PersistentVolumeClaim, name: a}",
			`spec.dataSource: {kind: PersistentVolumeClaim, name: ""}`,
			"spec.dataSource.name: Required value; spec.dataSourceRef.name: Required value"},
		{"group of a source", "spec.dataSourceRef: {apiGroup: a.b, kind: K, name: a}",
			"spec.dataSourceRef: {apiGroup: A, kind: K, name: a}",
			`spec.dataSource.apiGroup: Invalid value: "A": a lowercase RFC 1123 subdomain must consist ` +
				"of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'); ` +
				`spec.dataSourceRef.apiGroup: Invalid value: "A": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"kind of a source", "spec.dataSourceRef: {kind: PersistentVolumeClaim, name: a}",
			"spec.dataSourceRef: {kind: Pod, name: a}",
			`spec.dataSource: Invalid value: "Pod": must be 'PersistentVolumeClaim' when referencing the ` +
				`default apiGroup; spec.dataSourceRef: Invalid value: "Pod": must be 'PersistentVolumeClaim' ` +
				"when referencing the default apiGroup"},
		{"two sources",
			"spec.dataSource: {kind: PersistentVolumeClaim, name: a}; spec.dataSourceRef: {kind: " +
				"PersistentVolumeClaim, name: a}",
			"spec.dataSource: {kind: PersistentVolumeClaim, name: a}; spec.dataSourceRef: {kind: " +
				"PersistentVolumeClaim, name: b}", "spec: Invalid value: {}: must match dataSourceRef"},
	})
}

func TestClaimUpdateRules(t *testing.T) {
	kindtest.New(t, "persistentvolumeclaims.v1", claim).Update(kindtest.Rules{
		{"accessModes", "metadata.labels: {a: b}", "spec.accessModes: [ReadOnlyMany]",
			"spec: Forbidden: spec is immutable after creation except resources.requests and " +
				"volumeAttributesClassName for bound claims\n@@ -1,6 +1,6 @@\n {\n  \"AccessModes\": [\n-  " +
				"\"ReadWriteOnce\"\n+  \"ReadOnlyMany\"\n  ],\n  \"Selector\": null,\n  \"Resources\": {\n"},
		{"volume", "spec.volumeName: v", "spec.volumeName: v; spec.selector.matchLabels: {a: b}",
			"spec: Forbidden: spec is immutable after creation except resources.requests and " +
				"volumeAttributesClassName for bound claims\n@@ -2,7 +2,11 @@\n  \"AccessModes\": [\n   " +
				"\"ReadWriteOnce\"\n  ],\n- \"Selector\": null,\n+ \"Selector\": {\n+  \"matchLabels\": {\n+   \"a\"" +
				": \"b\"\n+  }\n+ },\n  \"Resources\": {\n   \"Limits\": null,\n   \"Requests\": {\n"},
		{"storageClassName", "spec.storageClassName: a", "spec.storageClassName: A",
			`spec.storageClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"volumeMode", "metadata.labels: {a: b}", "spec.volumeMode: Block",
			"spec: Forbidden: spec is immutable after creation except resources.requests and " +
				"volumeAttributesClassName for bound claims\n@@ -11,7 +11,7 @@\n  },\n  \"VolumeName\": \"\",\n  " +
				"\"StorageClassName\": null,\n- \"VolumeMode\": \"Filesystem\",\n+ \"VolumeMode\": \"Block\",\n  " +
				"\"DataSource\": null,\n  \"DataSourceRef\": null,\n  \"VolumeAttributesClassName\": null\n; " +
				`volumeMode: Invalid value: "Block": field is immutable`},
		{"size", "metadata.labels: {a: b}", "spec.resources.requests.storage: 2Gi",
			"spec: Forbidden: spec is immutable after creation except resources.requests and " +
				"volumeAttributesClassName for bound claims\n@@ -6,7 +6,7 @@\n  \"Resources\": {\n   \"Limits\": " +
				"null,\n   \"Requests\": {\n-   \"storage\": \"1Gi\"\n+   \"storage\": \"2Gi\"\n   }\n  },\n  \"Volum" +
				"eName\": \"\",\n"},
		{"beta annotation", "spec.storageClassName: a",
			"metadata.annotations[volume.beta.kubernetes.io/storage-class]: a",
			`metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "a": field is immutable`},
	})
}

func TestBoundClaim(t *testing.T) {
	k := kindtest.New(t, "persistentvolumeclaims.v1", claim).With(
		"spec.volumeName: v; status: {phase: Bound, capacity: {storage: 1Gi}}")
	k.Update(kindtest.Rules{
		{"size", "spec.resources.requests.storage: 2Gi", "spec.resources.requests.storage: 1Mi",
			"spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"},
		{"volume", "metadata.labels: {a: b}", "spec.volumeName: w",
			"spec: Forbidden: spec is immutable after creation except resources.requests and " +
				"volumeAttributesClassName for bound claims\n@@ -9,7 +9,7 @@\n    \"storage\": \"1Gi\"\n   }\n  },\n- " +
				"\"VolumeName\": \"v\",\n+ \"VolumeName\": \"w\",\n  \"StorageClassName\": null,\n  \"VolumeMode\": " +
				"\"Filesystem\",\n  \"DataSource\": null,\n"},
		{"attributes class", "spec.volumeAttributesClassName: a", "spec.volumeAttributesClassName: A",
			`spec.volumeAttributesClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
	})
}

func TestClassOfBoundClaim(t *testing.T) {
	k := kindtest.New(t, "persistentvolumeclaims.v1", claim).With(
		"spec.volumeName: v; spec.volumeAttributesClassName: a; status: {phase: Bound, capacity: " +
			"{storage: 1Gi}, currentVolumeAttributesClassName: a}")
	k.Update(kindtest.Rules{
		{"attributes class", "spec.volumeAttributesClassName: b", "spec.volumeAttributesClassName: null",
			"spec.volumeAttributesClassName: Forbidden: update to nil is forbidden when " +
				"status.currentVolumeAttributesClassName is not nil"},
		{"empty attributes class", "spec.volumeAttributesClassName: b", `spec.volumeAttributesClassName: ""`,
			"spec.volumeAttributesClassName: Forbidden: update to empty string is forbidden when " +
				"status.currentVolumeAttributesClassName is not nil"},
	})
}

func TestBetaClassOfClaim(t *testing.T) {
	k := kindtest.New(t, "persistentvolumeclaims.v1", claim).With(
		"metadata.annotations[volume.beta.kubernetes.io/storage-class]: a")
	k.Update(kindtest.Rules{
		{"class", "metadata.annotations: null; spec.storageClassName: a",
			"metadata.annotations[volume.beta.kubernetes.io/storage-class]: b",
			`metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "b": field is immutable`},
		{"no annotation", "spec.storageClassName: a", "metadata.annotations: null",
			`metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "": field is immutable`},
	})
}

func TestClaimStatusRules(t *testing.T) {
	kindtest.New(t, "persistentvolumeclaims.v1", claim).UpdateStatus(kindtest.Rules{
		{"capacity", "status.capacity: {storage: 1Gi}", "status.capacity: {storage: -1}",
			"status.capacity[storage]: Invalid value: -1: must be a valid resource quantity"},
		{"state of a resize", "status.allocatedResourceStatuses: {storage: ControllerResizeInProgress}",
			"status.allocatedResourceStatuses: {storage: Other}",
			`status.allocatedResourceStatuses: Unsupported value: "storage": supported values: ` +
				`"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", ` +
				`"NodeResizeInfeasible", "NodeResizePending"`},
		{"resource of a resize", "status.allocatedResourceStatuses: {example.com/a: NodeResizePending}",
			"status.allocatedResourceStatuses: {cpu: NodeResizePending}",
			`status.allocatedResourceStatuses: Unsupported value: "cpu": supported values: "storage"`},
		{"allocated resource", "status.allocatedResources: {example.com/a: 1}", "status.allocatedResources: {cpu: 1}",
			`status.allocatedResources: Unsupported value: "cpu": supported values: "storage"`},
		{"name of an allocated resource", "status.allocatedResources: {example.com/a: 1}",
			`status.allocatedResources: {"a b": 1}`,
			`status.allocatedResources: Invalid value: "a b": name part must consist of alphanumeric ` +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
	})
}

func TestClaimCreated(t *testing.T) {
	kindtest.New(t, "persistentvolumeclaims.v1", claim).Created(kindtest.Cases{
		{"defaults", "", "spec.volumeMode: Filesystem; status.phase: Pending"},
		{"source", "spec.dataSource: {kind: PersistentVolumeClaim, name: a}",
			"spec.dataSourceRef.kind: PersistentVolumeClaim; spec.dataSourceRef.name: a"},
		{"reference", "spec.dataSourceRef: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: a}",
			"spec.dataSource.kind: VolumeSnapshot; spec.dataSource.name: a"},
		{"other source", "spec.dataSource: {apiGroup: a.b, kind: K, name: a}",
			"spec.dataSource: null; spec.dataSourceRef: null"},
		{"source in another namespace", "spec.dataSourceRef: {kind: PersistentVolumeClaim, name: a, namespace: b}",
			"spec.dataSourceRef: null"},
		{"status", "status.phase: Bound", "status.phase: Pending"},
	})
}

func TestClaimStatusUpdated(t *testing.T) {
	kindtest.New(t, "persistentvolumeclaims.v1", claim).StatusUpdated(kindtest.Cases{
		{"spec", "spec.volumeName: v; status.phase: Bound", "spec.volumeName: null; status.phase: Bound"},
	})
}

func TestClaimWarnings(t *testing.T) {
	kindtest.New(t, "persistentvolumeclaims.v1", claim).Warnings(kindtest.Cases{
		{"none", "", ""},
		{"annotation", "metadata.annotations[volume.beta.kubernetes.io/storage-class]: a",
			"metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use " +
				`"storageClassName" attribute instead`},
		{"fraction of a byte", "spec.resources.requests.storage: 1500m",
			`spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer`},
		{"fraction of a limit", "spec.resources.limits: {storage: 2500m}",
			`spec.resources.limits[storage]: fractional byte value "2500m" is invalid, must be an integer`},
	})
}

func TestClaimUpdateWarnings(t *testing.T) {
	kindtest.New(t, "persistentvolumeclaims.v1", claim).UpdateWarnings(kindtest.Cases{
		{"annotation", "metadata.labels: {a: b}", ""},
	})
}

func TestClaimColumns(t *testing.T) {
	k := kindtest.New(t, "persistentvolumeclaims.v1", claim)
	k.Columns("Name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|"+
		"(VolumeMode)", kindtest.Cases{
		{"pending", "", "x|Pending|||||<unset>|60m|Filesystem"},
		{"bound",
			"spec.volumeName: v; spec.storageClassName: a; status: {phase: Bound, capacity: {storage: " +
				"1Gi}, accessModes: [ReadWriteOnce, ReadOnlyMany]}",
			"x|Bound|v|1Gi|RWO,ROX|a|<unset>|60m|Filesystem"},
		{"class",
			"spec.volumeAttributesClassName: b; metadata.annotations[volume.beta.kubernetes.io/storage-class]: c",
			"x|Pending||||c|b|60m|Filesystem"},
	})
}

func TestCrossNamespaceVolumeDataSource(t *testing.T) {
	kindtest.New(t, "persistentvolumeclaims.v1", claim, "CrossNamespaceVolumeDataSource").Create(kindtest.Rules{
		{"namespace", "spec.dataSourceRef: {kind: PersistentVolumeClaim, name: a, namespace: b}",
			"spec.dataSourceRef: {kind: PersistentVolumeClaim, name: a, namespace: B}",
			`spec.dataSourceRef.namespace: Invalid value: "B": a lowercase RFC 1123 label must consist ` +
				"of lower case alphanumeric characters or '-', and must start and end with an alphanumeric " +
				"character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
				"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"two sources", "spec.dataSourceRef: {kind: PersistentVolumeClaim, name: a, namespace: b}",
			"spec.dataSource: {kind: PersistentVolumeClaim, name: a}; spec.dataSourceRef: {kind: " +
				"PersistentVolumeClaim, name: a, namespace: b}",
			"spec: Invalid value: {}: may not be specified when dataSourceRef.namespace is specified"},
	})
}

// TestUnboundClaim checks what may change before a claim is bound.
func TestUnboundClaim(t *testing.T) {
	kindtest.New(t, "persistentvolumeclaims.v1", claim, "CrossNamespaceVolumeDataSource").Update(kindtest.Rules{
		{"volume", "spec.volumeName: v", "spec.resources.requests.storage: 2Gi",
			"spec: Forbidden: spec is immutable after creation except resources.requests and " +
				"volumeAttributesClassName for bound claims\n@@ -6,7 +6,7 @@\n  \"Resources\": {\n   \"Limits\": " +
				"null,\n   \"Requests\": {\n-   \"storage\": \"1Gi\"\n+   \"storage\": \"2Gi\"\n   }\n  },\n  \"Volum" +
				"eName\": \"\",\n"},
		{"class", "spec.storageClassName: c", "spec.accessModes: [ReadWriteMany]",
			"spec: Forbidden: spec is immutable after creation except resources.requests and " +
				"volumeAttributesClassName for bound claims\n@@ -1,6 +1,6 @@\n {\n  \"AccessModes\": [\n-  " +
				"\"ReadWriteOnce\"\n+  \"ReadWriteMany\"\n  ],\n  \"Selector\": null,\n  \"Resources\": {\n"},
		{"annotation of the class", "metadata.annotations: {a: b}",
			"metadata.annotations[volume.beta.kubernetes.io/storage-class]: a",
			`metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "a": field is immutable`},
	})
}

// TestClaimShrinks checks that a claim shrinks to no less than its capacity.
func TestClaimShrinks(t *testing.T) {
	k := kindtest.New(t, "persistentvolumeclaims.v1", claim, "CrossNamespaceVolumeDataSource").With(
		"spec.resources.requests: {storage: 2Gi}; spec.volumeName: v; status: {phase: Bound, capacity: " +
			"{storage: 1Gi}}")
	k.Update(kindtest.Rules{
		{"size", "spec.resources.requests.storage: 3Gi", "spec.resources.requests.storage: 500Mi",
			"spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"},
	})
}

// TestClaimWithAppliedClass checks that a class that was applied is replaced, but not removed.
func TestClaimWithAppliedClass(t *testing.T) {
	k := kindtest.New(t, "persistentvolumeclaims.v1", claim, "CrossNamespaceVolumeDataSource").With(
		"spec.volumeName: v; spec.volumeAttributesClassName: a; status: {phase: Bound, capacity: " +
			"{storage: 1Gi}, currentVolumeAttributesClassName: a}")
	k.Update(kindtest.Rules{
		{"other class", "spec.volumeAttributesClassName: b", "spec.volumeAttributesClassName: null",
			"spec.volumeAttributesClassName: Forbidden: update to nil is forbidden when " +
				"status.currentVolumeAttributesClassName is not nil"},
		{"empty class", "spec.volumeAttributesClassName: b", `spec.volumeAttributesClassName: ""`,
			"spec.volumeAttributesClassName: Forbidden: update to empty string is forbidden when " +
				"status.currentVolumeAttributesClassName is not nil"},
	})
}

// TestClaimWithClass checks that a class may be removed until it was applied.
func TestClaimWithClass(t *testing.T) {
	k := kindtest.New(t, "persistentvolumeclaims.v1", claim, "CrossNamespaceVolumeDataSource").With(
		"spec.volumeName: v; spec.volumeAttributesClassName: a; status: {phase: Bound, capacity: {storage: 1Gi}}")
	k.Update(kindtest.Rules{
		{"no class", "spec.volumeAttributesClassName: null", `spec.volumeAttributesClassName: "A"`,
			`spec.volumeAttributesClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
	})
}

// TestClaimSources checks the data that a volume begins with.
func TestClaimSources(t *testing.T) {
	kindtest.New(t, "persistentvolumeclaims.v1", claim, "CrossNamespaceVolumeDataSource").Create(kindtest.Rules{
		{"kind without a group", "spec.dataSource: {kind: PersistentVolumeClaim, name: a}",
			"spec.dataSourceRef: {kind: Pod, name: a}",
			`spec.dataSource: Invalid value: "Pod": must be 'PersistentVolumeClaim' when referencing the ` +
				`default apiGroup; spec.dataSourceRef: Invalid value: "Pod": must be 'PersistentVolumeClaim' ` +
				"when referencing the default apiGroup"},
		{"two sources", "spec.dataSourceRef: {apiGroup: a.b, kind: A, name: a}",
			"spec.dataSource: {kind: PersistentVolumeClaim, name: a}; spec.dataSourceRef: {apiGroup: " +
				"a.b, kind: A, name: b}", "spec: Invalid value: {}: must match dataSourceRef"},
		{"name", "spec.dataSourceRef: {apiGroup: a.b, kind: A, name: a}",
			`spec.dataSourceRef: {apiGroup: a.b, kind: A, name: ""}`,
			"spec.dataSource.name: Required value; spec.dataSourceRef.name: Required value"},
	})
}

// TestClaimSourcesCreated checks that one field of the source follows from the other.
func TestClaimSourcesCreated(t *testing.T) {
	kindtest.New(t, "persistentvolumeclaims.v1", claim, "CrossNamespaceVolumeDataSource").Created(kindtest.Cases{
		{"claim", "spec.dataSource: {kind: PersistentVolumeClaim, name: a}",
			`spec.dataSource: {"apiGroup":null,"kind":"PersistentVolumeClaim","name":"a"}; ` +
				`spec.dataSourceRef: {"apiGroup":null,"kind":"PersistentVolumeClaim","name":"a"}`},
		{"reference", "spec.dataSourceRef: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: a}",
			`spec.dataSource: {"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"a"}; ` +
				`spec.dataSourceRef: {"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"a"}`},
		{"kind that is dropped", "spec.dataSource: {kind: Pod, name: a}",
			"spec.dataSource: null; spec.dataSourceRef: null"},
		{"populator", "spec.dataSourceRef: {apiGroup: a.b, kind: A, name: a}",
			`spec.dataSource: {"apiGroup":"a.b","kind":"A","name":"a"}; spec.dataSourceRef: ` +
				`{"apiGroup":"a.b","kind":"A","name":"a"}`},
	})
}

// TestClaimHealth checks the reported health of the volume.
func TestClaimHealth(t *testing.T) {
	kindtest.New(t, "persistentvolumeclaims.v1", claim, "CSIVolumeHealth").UpdateStatus(kindtest.Rules{
		{"reason", "status.healthStatus: {healthConditions: [{status: Degraded, reason: Slow}]}",
			`status.healthStatus: {healthConditions: [{status: Degraded, reason: "9"}]}`,
			`status.healthStatus.healthConditions[0].reason: Invalid value: "9": a condition reason must ` +
				"start with alphabetic character, optionally followed by a string of alphanumeric characters " +
				"or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or " +
				"'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for " +
				"validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"},
	})
}

// TestClaimResize checks what the driver reports about a resize.
func TestClaimResize(t *testing.T) {
	kindtest.New(t, "persistentvolumeclaims.v1", claim).UpdateStatus(kindtest.Rules{
		{"resource", "status.allocatedResources: {storage: 1Gi}", "status.allocatedResources: {cpu: 1}",
			`status.allocatedResources: Unsupported value: "cpu": supported values: "storage"`},
		{"state", "status.allocatedResourceStatuses: {storage: NodeResizePending}",
			"status.allocatedResourceStatuses: {storage: Other}",
			`status.allocatedResourceStatuses: Unsupported value: "storage": supported values: ` +
				`"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", ` +
				`"NodeResizeInfeasible", "NodeResizePending"`},
		{"resource of a state", "status.allocatedResourceStatuses: {example.com/a: NodeResizePending}",
			"status.allocatedResourceStatuses: {cpu: NodeResizePending}",
			`status.allocatedResourceStatuses: Unsupported value: "cpu": supported values: "storage"`},
		{"capacity", "status.capacity: {storage: 1Gi}", `status.capacity: {storage: "-1"}`,
			"status.capacity[storage]: Invalid value: -1: must be a valid resource quantity"},
	})
}

// TestClaimStates checks what tables show of claims.
func TestClaimStates(t *testing.T) {
	k := kindtest.New(t, "persistentvolumeclaims.v1", claim)
	k.Columns("Name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|"+
		"(VolumeMode)", kindtest.Cases{
		{"bound",
			"spec.volumeName: v; spec.volumeAttributesClassName: gold; status: {phase: Bound, capacity: " +
				"{storage: 1Gi}, accessModes: [ReadWriteOnce]}", "x|Bound|v|1Gi|RWO||gold|60m|Filesystem"},
		{"class of the annotation", "metadata.annotations[volume.beta.kubernetes.io/storage-class]: old",
			"x|Pending||||old|<unset>|60m|Filesystem"},
		{"terminating", `metadata.deletionTimestamp: "2026-05-04T11:00:00Z"; status.phase: Lost`,
			"x|Terminating|||||<unset>|60m|Filesystem"},
	})
}
