package kinds

import (
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core"
	"github.com/miniapiserver/miniapiserver/kinds/core/claim"
	"github.com/miniapiserver/miniapiserver/kinds/storage"
)

func TestStorageRules(t *testing.T) {
	testRules(t, storage.StorageClass(), []ruleTest{
		{"provisioner", "", `{}`, "provisioner: Required value"},
		{"topology", "", `{"provisioner":"a","allowedTopologies":[{"matchLabelExpressions":[{"key":"z","values":[]}]}]}`, "allowedTopologies[0].matchLabelExpressions[0].values: Required value"},
		{"same term", "", `{"provisioner":"a","allowedTopologies":[{"matchLabelExpressions":[{"key":"z","values":["a","b"]}]},{"matchLabelExpressions":[{"key":"z","values":["b","a"]}]}]}`, `allowedTopologies[1].matchLabelExpressions: Duplicate value: ""`},
		{"fixed", `{"provisioner":"a"}`, `{"provisioner":"a","parameters":{"a":"b"}}`, `parameters: Invalid value: {"a":"b"}: field is immutable`},
	})
	testRules(t, storage.CSIDriver(features.Default()), []ruleTest{
		{"tokens", "", `{"spec":{"tokenRequests":[{"audience":"a"},{"audience":"a"}]}}`, `spec.tokenRequests[1].audience: Duplicate value: "a"`},
		{"fixed", `{"spec":{}}`, `{"spec":{"attachRequired":false}}`, "spec.attachedRequired: Invalid value: false: field is immutable"},
	})
	testRules(t, storage.CSINode(features.Default()), []ruleTest{
		{"node", "", `{"spec":{"drivers":[{"name":"a"}]}}`, "spec.drivers[0].nodeID: Required value"},
		{"may take more", `{"spec":{"drivers":[{"name":"a","nodeID":"n"}]}}`, `{"spec":{"drivers":[{"name":"a","nodeID":"n","allocatable":{"count":1}}]}}`, ""},
		{"moved", `{"spec":{"drivers":[{"name":"a","nodeID":"n"}]}}`, `{"spec":{"drivers":[{"name":"a","nodeID":"m"}]}}`, "field is immutable"},
	})
	health := func(fields string) string {
		return `{"status":{"storageHealth":[{"name":"a","healthConditions":[{"status":"StorageDegraded","reason":"A"` + fields + `}]}]}}`
	}
	testStatusRules(t, storage.CSINode(features.Default()), []ruleTest{
		{"healthy", `{}`, health(``), ""},
		{"driver twice", `{}`, `{"status":{"storageHealth":[{"name":"a"},{"name":"a"}]}}`, `status.storageHealth[1]: Duplicate value: "a"`},
		{"no driver", `{}`, `{"status":{"storageHealth":[{}]}}`, `status.storageHealth[0].name: Required value`},
		{"status", `{}`, health(`,"status":"Fine"`), `healthConditions[0].status: Unsupported value: "Fine": supported values: "StorageDegraded", "StorageUnreachable"`},
		{"reason", `{}`, health(`,"reason":""`), `healthConditions[0].reason: Required value`},
		{"form of reason", `{}`, health(`,"reason":"a b"`), `healthConditions[0].reason: Invalid value: "a b": a condition reason must start with alphabetic character`},
		{"long reason", `{}`, health(`,"reason":"` + strings.Repeat("a", 257) + `"`), `healthConditions[0].reason: Too long: may not be more than 256 bytes`},
		{"long message", `{}`, health(`,"message":"` + strings.Repeat("a", 1025) + `"`), `healthConditions[0].message: Too long: may not be more than 1024 bytes`},
		{"mode", `{}`, health(`,"volumeMode":"Tape"`), `healthConditions[0].volumeMode: Unsupported value: "Tape": supported values: "Filesystem", "Block"`},
		{"access", `{}`, health(`,"accessMode":"Never"`), `healthConditions[0].accessMode: Unsupported value: "Never": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"`},
		{"too many", `{}`, `{"status":{"storageHealth":[{"name":"a","healthConditions":[` + strings.Repeat(`{},`, 16) + `{}]}]}}`, `healthConditions: Too many: 17: must have at most 16 items`},
	})
	testRules(t, storage.CSIStorageCapacity(), []ruleTest{
		{"negative", "", `{"storageClassName":"a","capacity":"-1"}`, `capacity: Invalid value: "-1": must be greater than or equal to 0`},
	})
	testRules(t, storage.VolumeAttributesClass(), []ruleTest{
		{"empty", "", `{"driverName":"a"}`, "parameters: Required value: must contain at least one key/value pair"},
		{"fixed", `{"driverName":"a","parameters":{"a":"b"}}`, `{"driverName":"b","parameters":{"a":"b"}}`, "driverName: Forbidden: updates to driverName are forbidden."},
	})
	testRules(t, storage.VolumeAttachment(), []ruleTest{
		{"nothing", "", `{"spec":{"attacher":"a","nodeName":"n"}}`, "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName"},
		{"fixed", `{"spec":{"attacher":"a","nodeName":"n","source":{"persistentVolumeName":"p"}}}`, `{"spec":{"attacher":"a","nodeName":"m","source":{"persistentVolumeName":"p"}}}`,
			`spec: Invalid value: {"Attacher":"a","Source":{"PersistentVolumeName":"p","InlineVolumeSpec":null},"NodeName":"m"}: field is immutable`},
	})
}

// TestLocalVolumeNeedsNodes checks that a local volume with a nodeAffinity that names no nodes lacks only these.
func TestLocalVolumeNeedsNodes(t *testing.T) {
	r := core.PersistentVolume(features.Default(), time.Now)
	pv := ruleObject(t, r, `{"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"local":{"path":"/x"},"nodeAffinity":{}}}`)
	errs := besideMetadata(r.CheckCreate(nil, pv))
	if len(errs) != 1 || errs[0].Error() != "spec.nodeAffinity.required: Required value: must specify required node constraints" {
		t.Errorf("got %v", errs)
	}
}

func TestVolumeRules(t *testing.T) {
	const good = `{"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"hostPath":{"path":"/x"}}}`
	on := func(label string) string {
		return strings.TrimSuffix(good, "}}") + `,"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"` + label + `","operator":"Exists"}]}]}}}}`
	}
	onValue := strings.Replace(on("a"), `"operator":"Exists"`, `"operator":"In","values":["Bad!"]`, 1)
	source := func(fields string) string {
		return `{"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},` + fields + `}}`
	}
	testRules(t, core.PersistentVolume(features.Default(), time.Now), []ruleTest{
		{"good", "", good, ""},
		{"nothing", "", `{"spec":{}}`, `spec.capacity: Unsupported value: null: supported values: "storage"`},
		{"two sources", "", `{"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"hostPath":{"path":"/x"},"nfs":{"server":"a","path":"/b"}}}`, "spec.nfs: Forbidden: may not specify more than 1 volume type"},
		{"handle", "", `{"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"csi":{"driver":"a"}}}`, "spec.csi.volumeHandle: Required value"},
		{"local", "", `{"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"local":{"path":"/x"}}}`, "spec.nodeAffinity: Required value: Local volume requires node affinity"},
		{"local beside another", "", source(`"hostPath":{"path":"/x"},"local":{"path":"/y"}`), "spec.local: Forbidden: may not specify more than 1 volume type"},
		{"flex beside another", "", source(`"hostPath":{"path":"/x"},"flexVolume":{"driver":"a"}`), ""},
		{"another beside flex", "", source(`"flexVolume":{"driver":"a"},"csi":{"driver":"a","volumeHandle":"b"}`), "spec.csi: Forbidden: may not specify more than 1 volume type"},
		{"stage secret", "", source(`"csi":{"driver":"a","volumeHandle":"b","nodeStageSecretRef":{}}`), ""},
		{"cinder secret", "", source(`"cinder":{"volumeID":"a","secretRef":{"name":"A b"}}`), "spec.cinder.secretRef.namespace: Required value"},
		{"iscsi names", "", source(`"iscsi":{"targetPortal":"a","iqn":"x","lun":1,"secretRef":{},"initiatorName":""}`), `spec.iscsi.iqn: Invalid value: "x": must be valid format, ` +
			`spec.iscsi.secretRef.name: Required value, spec.iscsi.initiatorname: Invalid value: "": must be valid format`},
		{"iscsi secret", "", source(`"iscsi":{"targetPortal":"a","iqn":"iqn.2015-02.example.com:test","lun":1,"chapAuthSession":true}`), "spec.iscsi.secretRef: Required value"},
		{"gluster namespace", "", source(`"glusterfs":{"endpoints":"a","path":"b","endpointsNamespace":""}`), `spec.glusterfs.endpointsNamespace: Invalid value: "": if the endpointnamespace is set, it must be a valid namespace name`},
		{"fixed", good, `{"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"hostPath":{"path":"/y"}}}`, "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n@@ -2,7 +2,7 @@"},
		// AllowInvalidLabelValueInRequiredNodeAffinity: values that are stored already are valid.
		{"node value", "", onValue, `values[0]: Invalid value: "Bad!"`},
		{"stored node value", onValue, onValue, ""},
		{"label renewed", on("beta.kubernetes.io/os"), on("kubernetes.io/os"), ""},
		{"other label", on("beta.kubernetes.io/os"), on("a"), "nodeAffinity: Invalid value: "},
	})
	const claimJSON = `{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`
	withClass := func(class, status string) string {
		return `{"spec":{"accessModes":["ReadWriteOnce"],"volumeAttributesClassName":` + class + `,"resources":{"requests":{"storage":"1Gi"}}},"status":{"phase":"Bound"` + status + `}}`
	}
	grouped := func(group string) string {
		return `{"spec":{"accessModes":["ReadWriteOnce"],"dataSource":{"apiGroup":` + group + `,"kind":"K","name":"n"},"resources":{"requests":{"storage":"1Gi"}}}}`
	}
	testRules(t, claim.PersistentVolumeClaim(features.Default()), []ruleTest{
		{"bound once", claimJSON, `{"spec":{"accessModes":["ReadWriteOnce"],"volumeName":"v","resources":{"requests":{"storage":"1Gi"}}}}`, ""},
		{"class later", claimJSON, `{"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"c","resources":{"requests":{"storage":"1Gi"}}}}`, ""},
		{"grows too early", claimJSON, `{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"2Gi"}}}}`,
			"spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n@@ -6,7 +6,7 @@\n  \"Resources\": {\n"},
		{"shrinks", `{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"2Gi"}}},"status":{"phase":"Bound","capacity":{"storage":"2Gi"}}}`,
			`{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}},"status":{"phase":"Bound","capacity":{"storage":"2Gi"}}}`,
			"spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"},
		{"class removed before it was applied", withClass(`"c"`, ``), withClass(`null`, ``), ""},
		{"class removed", withClass(`"c"`, `,"currentVolumeAttributesClassName":"c"`), withClass(`null`, `,"currentVolumeAttributesClassName":"c"`),
			"spec.volumeAttributesClassName: Forbidden: update to nil is forbidden when status.currentVolumeAttributesClassName is not nil"},
		{"class emptied", withClass(`"c"`, `,"currentVolumeAttributesClassName":"c"`), withClass(`""`, `,"currentVolumeAttributesClassName":"c"`),
			"spec.volumeAttributesClassName: Forbidden: update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil"},
		{"annotation", claimJSON, `{"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":"a"}},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`,
			`metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "a": field is immutable`},
		{"invalid group stays", grouped(`"A"`), grouped(`"A"`), ""},
		{"invalid group", "", grouped(`"A"`), `spec.dataSource.apiGroup: Invalid value: "A"`},
	})
	testStatusRules(t, claim.PersistentVolumeClaim(features.Default()), []ruleTest{
		{"capacity", claimJSON, `{"spec":{"accessModes":["ReadWriteOnce"]},"status":{"capacity":{"storage":"-1"}}}`, "status.capacity[storage]: Invalid value: -1: must be a valid resource quantity"},
		{"modes", claimJSON, `{"spec":{}}`, "Spec.accessModes: Required value"},
		{"resize", claimJSON, `{"spec":{"accessModes":["ReadWriteOnce"]},"status":{"allocatedResourceStatuses":{"storage":"Other"}}}`,
			`status.allocatedResourceStatuses: Unsupported value: "storage": supported values: "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"`},
		{"resource", claimJSON, `{"spec":{"accessModes":["ReadWriteOnce"]},"status":{"allocatedResources":{"cpu":"1"}}}`,
			`status.allocatedResources: Unsupported value: "cpu": supported values: "storage"`},
	})
}

func TestClaimSources(t *testing.T) {
	r := claim.PersistentVolumeClaim(features.Default())
	for _, c := range []struct{ name, in, want string }{
		{"a claim is both", `{"dataSource":{"kind":"PersistentVolumeClaim","name":"s"}}`, `{"resources":{},"volumeMode":"Filesystem",` +
			`"dataSource":{"apiGroup":null,"kind":"PersistentVolumeClaim","name":"s"},"dataSourceRef":{"apiGroup":null,"kind":"PersistentVolumeClaim","name":"s"}}`},
		{"others are dropped", `{"dataSource":{"kind":"Pod","name":"s"}}`, `{"resources":{},"volumeMode":"Filesystem"}`},
	} {
		obj := ruleObject(t, r, `{"metadata":{"name":"x"},"spec":`+c.in+`}`)
		prepare(r, obj, nil)
		sameJSON(t, c.name, obj, []byte(`{"metadata":{"name":"x"},"spec":`+c.want+`,"status":{"phase":"Pending"}}`))
	}
}
