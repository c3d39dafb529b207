package core_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const persistentVolume = `spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  nfs: {server: a, path: /b}`

func TestPersistentVolumeRules(t *testing.T) {
	kindtest.New(t, "persistentvolumes.v1", persistentVolume).Create(kindtest.Rules{
		{"accessModes", "spec.accessModes: [ReadOnlyMany]", "spec.accessModes: []",
			"spec.accessModes: Required value"},
		{"access mode", "spec.accessModes: [ReadWriteOncePod]", "spec.accessModes: [Other]",
			`spec.accessModes: Unsupported value: "Other": supported values: "ReadOnlyMany", ` +
				`"ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"`},
		{"capacity", "spec.capacity: {storage: 1}", "spec.capacity: null",
			`spec.capacity: Required value; spec.capacity: Unsupported value: null: supported values: "storage"`},
		{"other capacity", "spec.capacity: {storage: 1}", "spec.capacity: {cpu: 1}",
			`spec.capacity: Unsupported value: {"cpu":"1"}: supported values: "storage"`},
		{"no size", "spec.capacity.storage: 1", "spec.capacity.storage: 0",
			`spec.capacity[storage]: Invalid value: "0": must be greater than zero`},
		{"reclaim policy", "spec.persistentVolumeReclaimPolicy: Delete", "spec.persistentVolumeReclaimPolicy: Other",
			`spec.persistentVolumeReclaimPolicy: Unsupported value: "Other": supported values: "Delete", ` +
				`"Recycle", "Retain"`},
		{"node affinity", "spec.nodeAffinity.required.nodeSelectorTerms: [{}]", "spec.nodeAffinity: {}",
			"spec.nodeAffinity.required: Required value: must specify required node constraints"},
		{"terms", "spec.nodeAffinity.required.nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]",
			"spec.nodeAffinity.required.nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Has}]}]",
			"spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid " +
				`value: "Has": not a valid selector operator`},
		{"source", "spec.nfs: null; spec.hostPath: {path: /a}", "spec.nfs: null",
			"spec: Required value: must specify a volume type"},
		{"two sources", "spec.nfs.readOnly: true", "spec.hostPath: {path: /a}",
			"spec.nfs: Forbidden: may not specify more than 1 volume type"},
		{"storageClassName", "spec.storageClassName: a", "spec.storageClassName: A",
			`spec.storageClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"volumeMode", "spec.volumeMode: Block", "spec.volumeMode: Other",
			`spec.volumeMode: Unsupported value: "Other": supported values: "Block", "Filesystem"`},
		{"attributes class",
			"spec.nfs: null; spec.csi: {driver: a, volumeHandle: b}; spec.volumeAttributesClassName: c",
			"spec.volumeAttributesClassName: c",
			"spec.csi: Required value: has to be specified when using volumeAttributesClassName"},
		{"empty attributes class", "spec.nfs: null; spec.csi: {driver: a, volumeHandle: b}",
			`spec.nfs: null; spec.csi: {driver: a, volumeHandle: b}; spec.volumeAttributesClassName: ""`,
			"spec.volumeAttributesClassName: Required value: an empty string is disallowed"},
		{"recycled root", "spec.nfs: null; spec.hostPath: {path: /a}; spec.persistentVolumeReclaimPolicy: Recycle",
			"spec.nfs: null; spec.hostPath: {path: /}; spec.persistentVolumeReclaimPolicy: Recycle",
			"spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"},
		{"mount options", "metadata.annotations[volume.beta.kubernetes.io/mount-options]: a",
			"metadata.annotations[volume.beta.kubernetes.io/mount-options]: a; spec.nfs: null; " +
				"spec.hostPath: {path: /a}",
			"metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: may not specify " +
				"mount options for this volume type"},
	})
}

func TestPersistentVolumeSources(t *testing.T) {
	kindtest.New(t, "persistentvolumes.v1", persistentVolume).With("spec.nfs: null").Create(kindtest.Rules{
		{"nfs", "spec.nfs: {server: a, path: /b}", `spec.nfs: {server: "", path: b}`,
			`spec.nfs.server: Required value; spec.nfs.path: Invalid value: "b": must be an absolute path`},
		{"hostPath", "spec.hostPath: {path: /a}", `spec.hostPath: {path: ""}`, "spec.hostPath.path: Required value"},
		{"gcePersistentDisk", "spec.gcePersistentDisk: {pdName: a}",
			`spec.gcePersistentDisk: {pdName: "", partition: 256}`,
			"spec.persistentDisk.pdName: Required value; spec.persistentDisk.partition: Invalid value: " +
				"256: must be between 1 and 255, inclusive"},
		{"awsElasticBlockStore", "spec.awsElasticBlockStore: {volumeID: a}",
			`spec.awsElasticBlockStore: {volumeID: ""}`, "spec.awsElasticBlockStore.volumeID: Required value"},
		{"glusterfs", "spec.glusterfs: {endpoints: a, path: b}", `spec.glusterfs: {endpoints: "", path: ""}`,
			"spec.glusterfs.endpoints: Required value; spec.glusterfs.path: Required value"},
		{"namespace of glusterfs", "spec.glusterfs: {endpoints: a, path: b, endpointsNamespace: c}",
			"spec.glusterfs: {endpoints: a, path: b, endpointsNamespace: C}",
			`spec.glusterfs.endpointsNamespace: Invalid value: "C": a lowercase RFC 1123 label must ` +
				"consist of lower case alphanumeric characters or '-', and must start and end with an " +
				"alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
				"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"empty namespace of glusterfs", "spec.glusterfs: {endpoints: a, path: b}",
			`spec.glusterfs: {endpoints: a, path: b, endpointsNamespace: ""}`,
			`spec.glusterfs.endpointsNamespace: Invalid value: "": if the endpointnamespace is set, it ` +
				"must be a valid namespace name"},
		{"flocker", "spec.flocker: {datasetName: a}", "spec.flocker: {}",
			"spec.flocker: Required value: one of datasetName and datasetUUID is required"},
		{"rbd", "spec.rbd: {monitors: [a], image: b}", `spec.rbd: {monitors: [], image: ""}`,
			"spec.rbd.monitors: Required value; spec.rbd.image: Required value"},
		{"quobyte", `spec.quobyte: {registry: "a:1", volume: b}`, `spec.quobyte: {registry: a, volume: ""}`,
			`spec.quobyte.registry: Invalid value: "a": must be a host:port pair or multiple pairs ` +
				"separated by commas; spec.quobyte.volume: Required value"},
		{"cephfs", "spec.cephfs: {monitors: [a]}", "spec.cephfs: {monitors: []}",
			"spec.cephfs.monitors: Required value"},
		{"iscsi", "spec.iscsi: {targetPortal: a, iqn: eui.0123456789ABCDEF, lun: 0}",
			`spec.iscsi: {targetPortal: "", iqn: a, lun: 0}`,
			`spec.iscsi.targetPortal: Required value; spec.iscsi.iqn: Invalid value: "a": must be valid format`},
		{"secret of iscsi",
			"spec.iscsi: {targetPortal: a, iqn: eui.0123456789ABCDEF, lun: 0, chapAuthDiscovery: true, " +
				"secretRef: {name: a}}",
			"spec.iscsi: {targetPortal: a, iqn: eui.0123456789ABCDEF, lun: 0, chapAuthDiscovery: true}",
			"spec.iscsi.secretRef: Required value"},
		{"name of the secret of iscsi",
			"spec.iscsi: {targetPortal: a, iqn: eui.0123456789ABCDEF, lun: 0, secretRef: {name: a}}",
			"spec.iscsi: {targetPortal: a, iqn: eui.0123456789ABCDEF, lun: 0, secretRef: {}}",
			"spec.iscsi.secretRef.name: Required value"},
		{"initiator of iscsi",
			"spec.iscsi: {targetPortal: a, iqn: eui.0123456789ABCDEF, lun: 0, initiatorName: eui.0123456789ABCDEF}",
			"spec.iscsi: {targetPortal: a, iqn: eui.0123456789ABCDEF, lun: 0, initiatorName: b}",
			`spec.iscsi.initiatorname: Invalid value: "b": must be valid format`},
		{"cinder", "spec.cinder: {volumeID: a}", `spec.cinder: {volumeID: "", secretRef: {}}`,
			"spec.cinder.volumeID: Required value; spec.cinder.secretRef.name: Required value; " +
				"spec.cinder.secretRef.namespace: Required value"},
		{"fc", "spec.fc: {targetWWNs: [a], lun: 1}", "spec.fc: {targetWWNs: [a]}",
			"spec.fc.lun: Required value: lun is required if targetWWNs is specified"},
		{"flexVolume", "spec.flexVolume: {driver: a}", `spec.flexVolume: {driver: ""}`,
			"spec.flexVolume.driver: Required value"},
		{"azureFile", "spec.azureFile: {secretName: a, shareName: b}",
			`spec.azureFile: {secretName: "", shareName: "", secretNamespace: ""}`,
			"spec.azureFile.secretName: Required value; spec.azureFile.shareName: Required value; " +
				"spec.azureFile.secretNamespace: Required value"},
		{"vsphereVolume", "spec.vsphereVolume: {volumePath: a}", `spec.vsphereVolume: {volumePath: ""}`,
			"spec.vsphereVolume.volumePath: Required value"},
		{"photonPersistentDisk", "spec.photonPersistentDisk: {pdID: a}", `spec.photonPersistentDisk: {pdID: ""}`,
			"spec.photonPersistentDisk.pdID: Required value"},
		{"portworxVolume", "spec.portworxVolume: {volumeID: a}", `spec.portworxVolume: {volumeID: ""}`,
			"spec.portworxVolume.volumeID: Required value"},
		{"azureDisk", `spec.azureDisk: {diskName: a, diskURI: "https://blob/b"}`,
			`spec.azureDisk: {diskName: "", diskURI: b}`,
			`spec.azureDisk.diskName: Required value; spec.azureDisk.diskURI: Unsupported value: "b": ` +
				`supported values: "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"`},
		{"scaleIO", "spec.scaleIO: {gateway: a, system: b, volumeName: c, secretRef: {}}",
			`spec.scaleIO: {gateway: "", system: "", volumeName: "", secretRef: {}}`,
			"spec.scaleIO.gateway: Required value; spec.scaleIO.system: Required value; " +
				"spec.scaleIO.volumeName: Required value"},
		{"local", "spec.local: {path: /a}; spec.nodeAffinity.required.nodeSelectorTerms: [{}]",
			"spec.local: {path: /a}", "spec.nodeAffinity: Required value: Local volume requires node affinity"},
		{"path of local", "spec.local: {path: /a}; spec.nodeAffinity.required.nodeSelectorTerms: [{}]",
			"spec.local: {path: /a/../b}; spec.nodeAffinity.required.nodeSelectorTerms: [{}]",
			`spec.local.path: Invalid value: "/a/../b": must not contain '..'`},
		{"storageos", "spec.storageos: {volumeName: a}",
			"spec.storageos: {volumeName: A, volumeNamespace: B, secretRef: {}}",
			`spec.storageos.volumeName: Invalid value: "A": a lowercase RFC 1123 label must consist of ` +
				"lower case alphanumeric characters or '-', and must start and end with an alphanumeric " +
				"character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?'); spec.storageos.volumeNamespace: Invalid value: "B": a ` +
				"lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and " +
				"must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex " +
				"used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?'); spec.storageos.secretRef.name: " +
				"Required value; spec.storageos.secretRef.namespace: Required value"},
		{"csi", "spec.csi: {driver: a.b, volumeHandle: c}", `spec.csi: {driver: "", volumeHandle: ""}`,
			"spec.csi.driver: Required value; spec.csi.volumeHandle: Required value"},
		{"driver of csi", "spec.csi: {driver: a.b, volumeHandle: c}", "spec.csi: {driver: a_b, volumeHandle: c}",
			`spec.csi.driver: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of lower ` +
				"case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"publish secret of csi",
			"spec.csi: {driver: a, volumeHandle: b, controllerPublishSecretRef: {name: a, namespace: b}}",
			"spec.csi: {driver: a, volumeHandle: b, controllerPublishSecretRef: {}}",
			"spec.csi.controllerPublishSecretRef.name: Required value; " +
				"spec.csi.controllerPublishSecretRef.namespace: Required value"},
		{"expand secret of csi",
			"spec.csi: {driver: a, volumeHandle: b, controllerExpandSecretRef: {name: a, namespace: b}}",
			"spec.csi: {driver: a, volumeHandle: b, controllerExpandSecretRef: {name: A, namespace: B}}",
			`spec.csi.controllerExpandSecretRef.name: Invalid value: "A": a lowercase RFC 1123 subdomain ` +
				"must consist of lower case alphanumeric characters, '-' or '.', and must start and end with " +
				"an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'); ` +
				`spec.csi.controllerExpandSecretRef.namespace: Invalid value: "B": a lowercase RFC 1123 ` +
				"label must consist of lower case alphanumeric characters or '-', and must start and end " +
				"with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
				"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"node secret of csi",
			"spec.csi: {driver: a, volumeHandle: b, nodePublishSecretRef: {name: a, namespace: b}}",
			"spec.csi: {driver: a, volumeHandle: b, nodePublishSecretRef: {name: a}}",
			"spec.csi.nodePublishSecretRef.namespace: Required value"},
		{"node expand secret of csi",
			"spec.csi: {driver: a, volumeHandle: b, nodeExpandSecretRef: {name: a, namespace: b}}",
			"spec.csi: {driver: a, volumeHandle: b, nodeExpandSecretRef: {namespace: b}}",
			"spec.csi.nodeExpandSecretRef.name: Required value"},
	})
}

func TestPersistentVolumeUpdateRules(t *testing.T) {
	kindtest.New(t, "persistentvolumes.v1", persistentVolume).Update(kindtest.Rules{
		{"source", "spec.claimRef: {name: a, namespace: b}", "spec.nfs.path: /c",
			"spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after " +
				"creation\n@@ -5,7 +5,7 @@\n  \"Glusterfs\": null,\n  \"NFS\": {\n   \"Server\": \"a\",\n-  \"Path\": " +
				"\"/b\",\n+  \"Path\": \"/c\",\n   \"ReadOnly\": false\n  },\n  \"RBD\": null,\n"},
		{"volumeMode", "spec.mountOptions: [a]", "spec.volumeMode: Block",
			`volumeMode: Invalid value: "Block": field is immutable`},
		{"capacity", "spec.capacity.storage: 2Gi", "spec.capacity.storage: 0",
			`spec.capacity[storage]: Invalid value: "0": must be greater than zero`},
		{"reclaim policy", "spec.persistentVolumeReclaimPolicy: Delete", "spec.persistentVolumeReclaimPolicy: Other",
			`spec.persistentVolumeReclaimPolicy: Unsupported value: "Other": supported values: "Delete", ` +
				`"Recycle", "Retain"`},
		{"name", "metadata.labels: {a: b}", `metadata.labels: {a: "b c"}`,
			`metadata.labels: Invalid value: "b c": a valid label must be an empty string or consist of ` +
				"alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
				"'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
	})
}

func TestPlacedVolume(t *testing.T) {
	k := kindtest.New(t, "persistentvolumes.v1", persistentVolume).With(
		"spec.nodeAffinity.required.nodeSelectorTerms: [{matchExpressions: [{key: " +
			"failure-domain.beta.kubernetes.io/zone, operator: In, values: [a]}]}]")
	k.Update(kindtest.Rules{
		{"newer label",
			"spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: topology.kubernetes.io/zone",
			"spec.nodeAffinity.required.nodeSelectorTerms: []",
			"spec.nodeAffinity.required.nodeSelectorTerms: Required value: must have at least one node " +
				`selector term; nodeAffinity: Invalid value: {"Required":{"NodeSelectorTerms":[]}}: field is ` +
				"immutable, except for updating from beta label to GA"},
	})
}

func TestVolumeOfDriver(t *testing.T) {
	k := kindtest.New(t, "persistentvolumes.v1", persistentVolume).With(
		"spec.nfs: null; spec.csi: {driver: a, volumeHandle: b}; spec.volumeAttributesClassName: c")
	k.Update(kindtest.Rules{
		{"expand secret", "spec.csi.controllerExpandSecretRef: {name: a, namespace: b}",
			"spec.csi.controllerPublishSecretRef: {name: a, namespace: b}",
			"spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after " +
				"creation\n@@ -26,7 +26,10 @@\n   \"ReadOnly\": false,\n   \"FSType\": \"\",\n   \"VolumeAttributes\": " +
				"null,\n-  \"ControllerPublishSecretRef\": null,\n+  \"ControllerPublishSecretRef\": {\n+   \"Name\": " +
				"\"a\",\n+   \"Namespace\": \"b\"\n+  },\n   \"NodeStageSecretRef\": null,\n   \"NodePublishSecretRe" +
				"f\": null,\n   \"ControllerExpandSecretRef\": null,\n"},
		{"attributes class", "spec.volumeAttributesClassName: d", "spec.volumeAttributesClassName: null",
			"spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden"},
	})
}

func TestPersistentVolumeCreated(t *testing.T) {
	kindtest.New(t, "persistentvolumes.v1", persistentVolume).Created(kindtest.Cases{
		{"defaults", "",
			"spec.persistentVolumeReclaimPolicy: Retain; spec.volumeMode: Filesystem; status.phase: Pending"},
		{"status", "status.phase: Bound; status.reason: a", "status.phase: Pending; status.reason: null"},
		{"azureDisk", `spec.nfs: null; spec.azureDisk: {diskName: a, diskURI: "https://blob/b"}`,
			"spec.azureDisk.cachingMode: ReadWrite; spec.azureDisk.kind: Shared; spec.azureDisk.fsType: ext4"},
		{"rbd", "spec.nfs: null; spec.rbd: {monitors: [a], image: b}",
			"spec.rbd.pool: rbd; spec.rbd.user: admin; spec.rbd.keyring: /etc/ceph/keyring"},
		{"scaleIO", "spec.nfs: null; spec.scaleIO: {gateway: a, system: b, volumeName: c, secretRef: {}}",
			"spec.scaleIO.storageMode: ThinProvisioned; spec.scaleIO.fsType: xfs"},
		{"iscsi", "spec.nfs: null; spec.iscsi: {targetPortal: a, iqn: eui.0123456789ABCDEF, lun: 0}",
			"spec.iscsi.iscsiInterface: default"},
		{"hostPath", "spec.nfs: null; spec.hostPath: {path: /a}", `spec.hostPath.type: ""`},
	})
}

func TestPersistentVolumeStatusUpdated(t *testing.T) {
	kindtest.New(t, "persistentvolumes.v1", persistentVolume).StatusUpdated(kindtest.Cases{
		{"spec", "spec.capacity.storage: 2Gi; status.phase: Available",
			"spec.capacity.storage: 1Gi; status.phase: Available"},
	})
}

func TestPersistentVolumeWarnings(t *testing.T) {
	kindtest.New(t, "persistentvolumes.v1", persistentVolume).Warnings(kindtest.Cases{
		{"none", "", ""},
		{"annotation", "metadata.annotations[volume.beta.kubernetes.io/storage-class]: a",
			"metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use " +
				`"storageClassName" attribute instead`},
		{"mount options", "metadata.annotations[volume.beta.kubernetes.io/mount-options]: a",
			"metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use " +
				`"mountOptions" attribute instead`},
		{"recycle", "spec.persistentVolumeReclaimPolicy: Recycle",
			"spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the " +
				"recommended approach is to use dynamic provisioning."},
		{"node label",
			"spec.nodeAffinity.required.nodeSelectorTerms: [{matchExpressions: [{key: " +
				"beta.kubernetes.io/os, operator: Exists}]}]",
			"spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: " +
				`beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead`},
		{"cephfs", "spec.nfs: null; spec.cephfs: {monitors: [a]}",
			"spec.cephfs: deprecated in v1.28, non-functional in v1.31+"},
		{"photonPersistentDisk", "spec.nfs: null; spec.photonPersistentDisk: {pdID: a}",
			"spec.photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+"},
		{"scaleIO", "spec.nfs: null; spec.scaleIO: {gateway: a, system: b, volumeName: c, secretRef: {}}",
			"spec.scaleIO: deprecated in v1.16, non-functional in v1.22+"},
		{"storageos", "spec.nfs: null; spec.storageos: {volumeName: a}",
			"spec.storageOS: deprecated in v1.22, non-functional in v1.25+"},
		{"glusterfs", "spec.nfs: null; spec.glusterfs: {endpoints: a, path: b}",
			"spec.glusterfs: deprecated in v1.25, non-functional in v1.26+"},
		{"rbd", "spec.nfs: null; spec.rbd: {monitors: [a], image: b}",
			"spec.rbd: deprecated in v1.28, non-functional in v1.31+"},
	})
}

func TestPersistentVolumeUpdateWarnings(t *testing.T) {
	k := kindtest.New(t, "persistentvolumes.v1", persistentVolume).With(
		"spec.persistentVolumeReclaimPolicy: Recycle")
	k.UpdateWarnings(kindtest.Cases{
		{"recycle", "metadata.labels: {a: b}",
			"spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the " +
				"recommended approach is to use dynamic provisioning."},
	})
}

func TestPersistentVolumeColumns(t *testing.T) {
	k := kindtest.New(t, "persistentvolumes.v1", persistentVolume)
	k.Columns("Name|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|"+
		"VolumeAttributesClass|Reason|Age|(VolumeMode)", kindtest.Cases{
		{"new", "", "x|1Gi|RWO|Retain|Pending|||<unset>||60m|Filesystem"},
		{"bound",
			"spec.claimRef: {namespace: ns, name: c}; spec.storageClassName: a; spec.accessModes: " +
				"[ReadWriteOnce, ReadOnlyMany, ReadWriteMany]; status: {phase: Released, reason: R}",
			"x|1Gi|RWO,ROX,RWX|Retain|Released|ns/c|a|<unset>|R|60m|Filesystem"},
	})
}

func TestPersistentVolumeSelectableFields(t *testing.T) {
	kindtest.New(t, "persistentvolumes.v1", persistentVolume).Selectable(kindtest.Cases{
		{"none", "", "spec.claimRef="},
		{"bound", "spec.claimRef: {namespace: ns, name: c}", "spec.claimRef=ns/c"},
	})
}

// TestPlacedVolumeLabels checks that labels of nodes may be replaced by those of today.
func TestPlacedVolumeLabels(t *testing.T) {
	k := kindtest.New(t, "persistentvolumes.v1", persistentVolume).With(
		"spec.nodeAffinity.required.nodeSelectorTerms: [{matchExpressions: [{key: beta.kubernetes.io/os, " +
			"operator: Exists}, {key: failure-domain.beta.kubernetes.io/region, operator: Exists}, {key: " +
			"beta.kubernetes.io/instance-type, operator: Exists}]}]")
	k.Update(kindtest.Rules{
		{"system", "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: kubernetes.io/os",
			"spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: kubernetes.io/arch",
			"nodeAffinity: Invalid value: " +
				`{"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"kubernetes.io/arch","Operator` +
				`":"Exists","Values":null},{"Key":"failure-domain.beta.kubernetes.io/region","Operator":"Exis` +
				`ts","Values":null},{"Key":"beta.kubernetes.io/instance-type","Operator":"Exists","Values":nu` +
				`ll}],"MatchFields":null}]}}: field is immutable, except for updating from beta label to GA`},
		{"region",
			"spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[1].key: topology.kubernetes.io/region",
			"spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[1].key: topology.kubernetes.io/zone",
			"nodeAffinity: Invalid value: " +
				`{"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"beta.kubernetes.io/os","Opera` +
				`tor":"Exists","Values":null},{"Key":"topology.kubernetes.io/zone","Operator":"Exists","Value` +
				`s":null},{"Key":"beta.kubernetes.io/instance-type","Operator":"Exists","Values":null}],"Matc` +
				`hFields":null}]}}: field is immutable, except for updating from beta label to GA`},
		{"type of the machine",
			"spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[2].key: " +
				"node.kubernetes.io/instance-type",
			"spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[2].key: a",
			"nodeAffinity: Invalid value: " +
				`{"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"beta.kubernetes.io/os","Opera` +
				`tor":"Exists","Values":null},{"Key":"failure-domain.beta.kubernetes.io/region","Operator":"E` +
				`xists","Values":null},{"Key":"a","Operator":"Exists","Values":null}],"MatchFields":null}]}}:` +
				" field is immutable, except for updating from beta label to GA"},
		{"no nodes", "metadata.labels: {a: b}", "spec.nodeAffinity: null",
			"nodeAffinity: Invalid value: null: field is immutable, except for updating from beta label to GA"},
	})
}

// TestMovedVolume checks that the gate permits other nodes.
func TestMovedVolume(t *testing.T) {
	k := kindtest.New(t, "persistentvolumes.v1", persistentVolume, "MutablePVNodeAffinity").With(
		"spec.nodeAffinity.required.nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]")
	k.Update(kindtest.Rules{
		{"nodes", "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: b",
			`spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: "a b"`,
			`spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: Invalid value: "a ` +
				`b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and ` +
				"end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used " +
				"for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
	})
}

// TestVolumePhases checks that the phase of a volume stays with its status.
func TestVolumePhases(t *testing.T) {
	k := kindtest.New(t, "persistentvolumes.v1", persistentVolume).With(
		"status.phase: Pending")
	k.StatusUpdated(kindtest.Cases{
		{"message", "status.message: a", "status.phase: Pending; status.message: a"},
		{"other phase", `status.phase: Available; status.lastPhaseTransitionTime: "2026-05-04T11:00:00Z"`,
			"status.phase: Available"},
	})
}

// TestVolumeStates checks what tables show of volumes.
func TestVolumeStates(t *testing.T) {
	k := kindtest.New(t, "persistentvolumes.v1", persistentVolume).With(
		"spec.accessModes: [ReadWriteMany, ReadWriteOnce, ReadOnlyMany]")
	k.Columns("Name|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|"+
		"VolumeAttributesClass|Reason|Age|(VolumeMode)", kindtest.Cases{
		{"modes in their order", "spec.volumeMode: Block; status: {phase: Bound, reason: Because}",
			"x|1Gi|RWO,ROX,RWX|Retain|Bound|||<unset>|Because|60m|Block"},
		{"class of the annotation",
			"metadata.annotations[volume.beta.kubernetes.io/storage-class]: old; spec.storageClassName: new",
			"x|1Gi|RWO,ROX,RWX|Retain|Pending||old|<unset>||60m|Filesystem"},
		{"terminating", `metadata.deletionTimestamp: "2026-05-04T11:00:00Z"; status.phase: Released`,
			"x|1Gi|RWO,ROX,RWX|Retain|Terminating|||<unset>||60m|Filesystem"},
	})
}

// TestOneVolumeSource checks that a volume has one source.
func TestOneVolumeSource(t *testing.T) {
	k := kindtest.New(t, "persistentvolumes.v1", persistentVolume).With(
		"spec.nfs: null; spec.hostPath: {path: /a}")
	k.Create(kindtest.Rules{
		{"two sources", "spec.hostPath.path: /b", "spec.csi: {driver: a, volumeHandle: b}",
			"spec.csi: Forbidden: may not specify more than 1 volume type"},
		{"local beside another",
			"spec.hostPath: null; spec.local: {path: /b}; spec.nodeAffinity.required.nodeSelectorTerms: [{}]",
			"spec.local: {path: /b}", "spec.local: Forbidden: may not specify more than 1 volume type"},
		{"another beside flexVolume", "spec.flexVolume: {driver: a}",
			"spec.hostPath: null; spec.flexVolume: {driver: a}; spec.csi: {driver: a, volumeHandle: b}",
			"spec.csi: Forbidden: may not specify more than 1 volume type"},
		{"local without nodes", "spec.hostPath.path: /b",
			"spec.hostPath: null; spec.local: {path: /b}; spec.nodeAffinity: {}",
			"spec.nodeAffinity.required: Required value: must specify required node constraints"},
		{"secret of cinder", "spec.hostPath: null; spec.cinder: {volumeID: a, secretRef: {name: a, namespace: b}}",
			"spec.hostPath: null; spec.cinder: {volumeID: a, secretRef: {name: a}}",
			"spec.cinder.secretRef.namespace: Required value"},
		{"stage secret of csi", "spec.hostPath: null; spec.csi: {driver: a, volumeHandle: b, nodeStageSecretRef: {}}",
			`spec.hostPath: null; spec.csi: {driver: a, volumeHandle: ""}`, "spec.csi.volumeHandle: Required value"},
	})
}

// TestVolumeWithInvalidNodes checks that values that an older server stored stay valid.
func TestVolumeWithInvalidNodes(t *testing.T) {
	k := kindtest.New(t, "persistentvolumes.v1", persistentVolume).With(
		"spec.nodeAffinity.required.nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, " +
			`values: ["Bad!"]}]}]`)
	k.Update(kindtest.Rules{
		{"labels", "metadata.labels: {a: b}",
			`spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].values: ["Worse!"]`,
			"nodeAffinity: Invalid value: " +
				`{"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"a","Operator":"In","Values":[` +
				`"Worse!"]}],"MatchFields":null}]}}: field is immutable, except for updating from beta label to GA`},
	})
}
