package pod_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestVolumeRules(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Create(kindtest.Rules{
		{"name", "spec.volumes: [{name: a, emptyDir: {}}]", "spec.volumes: [{name: A, emptyDir: {}}]",
			`spec.volumes[0].name: Invalid value: "A": a lowercase RFC 1123 label must consist of lower ` +
				"case alphanumeric characters or '-', and must start and end with an alphanumeric character " +
				"(e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"no name", "spec.volumes: [{name: a, emptyDir: {}}]", "spec.volumes: [{emptyDir: {}}]",
			"spec.volumes[0].name: Required value"},
		{"name twice", "spec.volumes: [{name: a, emptyDir: {}}, {name: b, emptyDir: {}}]",
			"spec.volumes: [{name: a, emptyDir: {}}, {name: a, emptyDir: {}}]",
			`spec.volumes[1].name: Duplicate value: "a"`},
		{"two sources", "spec.volumes: [{name: a, emptyDir: {}}]",
			"spec.volumes: [{name: a, emptyDir: {}, hostPath: {path: /a}}]",
			"spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"},
		{"size of an emptyDir", "spec.volumes: [{name: a, emptyDir: {sizeLimit: 1Gi}}]",
			"spec.volumes: [{name: a, emptyDir: {sizeLimit: -1}}]",
			"spec.volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"},
		{"hostPath", "spec.volumes: [{name: a, hostPath: {path: /a}}]",
			`spec.volumes: [{name: a, hostPath: {path: ""}}]`, "spec.volumes[0].hostPath.path: Required value"},
		{"parent in a hostPath", "spec.volumes: [{name: a, hostPath: {path: /a..b}}]",
			"spec.volumes: [{name: a, hostPath: {path: /a/../b}}]",
			`spec.volumes[0].hostPath.path: Invalid value: "/a/../b": must not contain '..'`},
		{"type of a hostPath", "spec.volumes: [{name: a, hostPath: {path: /a, type: Socket}}]",
			"spec.volumes: [{name: a, hostPath: {path: /a, type: Pipe}}]",
			`spec.volumes[0].hostPath.type: Unsupported value: "Pipe": supported values: "", ` +
				`"BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"`},
		{"gitRepo", "spec.volumes: [{name: a, gitRepo: {repository: b}}]",
			`spec.volumes: [{name: a, gitRepo: {repository: ""}}]`,
			"spec.volumes[0].gitRepo.repository: Required value"},
		{"directory of a gitRepo", "spec.volumes: [{name: a, gitRepo: {repository: b, directory: c}}]",
			"spec.volumes: [{name: a, gitRepo: {repository: b, directory: /c}}]",
			`spec.volumes[0].gitRepo.directory: Invalid value: "/c": must be a relative path`},
		{"gcePersistentDisk", "spec.volumes: [{name: a, gcePersistentDisk: {pdName: b, partition: 255}}]",
			`spec.volumes: [{name: a, gcePersistentDisk: {pdName: "", partition: 256}}]`,
			"spec.volumes[0].persistentDisk.pdName: Required value; " +
				"spec.volumes[0].persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive"},
		{"awsElasticBlockStore", "spec.volumes: [{name: a, awsElasticBlockStore: {volumeID: b, partition: 0}}]",
			`spec.volumes: [{name: a, awsElasticBlockStore: {volumeID: "", partition: -1}}]`,
			"spec.volumes[0].awsElasticBlockStore.volumeID: Required value; " +
				"spec.volumes[0].awsElasticBlockStore.partition: Invalid value: -1: must be between 1 and " +
				"255, inclusive"},
		{"secret", "spec.volumes: [{name: a, secret: {secretName: b}}]", "spec.volumes: [{name: a, secret: {}}]",
			"spec.volumes[0].secret.secretName: Required value"},
		{"mode of a secret", "spec.volumes: [{name: a, secret: {secretName: b, defaultMode: 511}}]",
			"spec.volumes: [{name: a, secret: {secretName: b, defaultMode: 512}}]",
			"spec.volumes[0].secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 " +
				"(octal), both inclusive"},
		{"items of a secret", "spec.volumes: [{name: a, secret: {secretName: b, items: [{key: k, path: p}]}}]",
			`spec.volumes: [{name: a, secret: {secretName: b, items: [{key: "", path: ""}]}}]`,
			"spec.volumes[0].secret.items[0].key: Required value; spec.volumes[0].secret.items[0].path: " +
				"Required value"},
		{"path of an item", "spec.volumes: [{name: a, secret: {secretName: b, items: [{key: k, path: p/q}]}}]",
			"spec.volumes: [{name: a, secret: {secretName: b, items: [{key: k, path: ../q}]}}]",
			`spec.volumes[0].secret.items[0].path: Invalid value: "../q": must not contain '..'`},
		{"mode of an item", "spec.volumes: [{name: a, secret: {secretName: b, items: [{key: k, path: p, mode: 0}]}}]",
			"spec.volumes: [{name: a, secret: {secretName: b, items: [{key: k, path: p, mode: -1}]}}]",
			"spec.volumes[0].secret.items[0].mode: Invalid value: -1: must be a number between 0 and " +
				"0777 (octal), both inclusive"},
		{"configMap", "spec.volumes: [{name: a, configMap: {name: b}}]", "spec.volumes: [{name: a, configMap: {}}]",
			"spec.volumes[0].configMap.name: Required value"},
		{"mode of a configMap", "spec.volumes: [{name: a, configMap: {name: b, defaultMode: 0}}]",
			"spec.volumes: [{name: a, configMap: {name: b, defaultMode: 777}}]",
			"spec.volumes[0].configMap.defaultMode: Invalid value: 777: must be a number between 0 and " +
				"0777 (octal), both inclusive"},
		{"nfs", "spec.volumes: [{name: a, nfs: {server: b, path: /c}}]",
			`spec.volumes: [{name: a, nfs: {server: "", path: c}}]`,
			`spec.volumes[0].nfs.server: Required value; spec.volumes[0].nfs.path: Invalid value: "c": ` +
				"must be an absolute path"},
		{"iscsi",
			`spec.volumes: [{name: a, iscsi: {targetPortal: "10.0.0.1:3260", iqn: ` +
				`"iqn.2015-02.example.com:test", lun: 255}}]`,
			`spec.volumes: [{name: a, iscsi: {targetPortal: "", iqn: "", lun: 256}}]`,
			"spec.volumes[0].iscsi.targetPortal: Required value; spec.volumes[0].iscsi.iqn: Required " +
				"value; spec.volumes[0].iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive"},
		{"form of an iqn", "spec.volumes: [{name: a, iscsi: {targetPortal: b, iqn: eui.0123456789ABCDEF, lun: 0}}]",
			"spec.volumes: [{name: a, iscsi: {targetPortal: b, iqn: " +
				`"iqn.2015-02.example.com:redis-volume:x y", lun: 0}}]`,
			`spec.volumes[0].iscsi.iqn: Invalid value: "iqn.2015-02.example.com:redis-volume:x y": must ` +
				"be valid format"},
		{"secret of iscsi",
			"spec.volumes: [{name: a, iscsi: {targetPortal: b, iqn: eui.0123456789ABCDEF, lun: 0, " +
				"chapAuthSession: true, secretRef: {name: s}}}]",
			"spec.volumes: [{name: a, iscsi: {targetPortal: b, iqn: eui.0123456789ABCDEF, lun: 0, " +
				"chapAuthSession: true}}]", "spec.volumes[0].iscsi.secretRef: Required value"},
		{"glusterfs", "spec.volumes: [{name: a, glusterfs: {endpoints: b, path: c}}]",
			`spec.volumes: [{name: a, glusterfs: {endpoints: "", path: ""}}]`,
			"spec.volumes[0].glusterfs.endpoints: Required value; spec.volumes[0].glusterfs.path: Required value"},
		{"rbd", "spec.volumes: [{name: a, rbd: {monitors: [b], image: c}}]",
			`spec.volumes: [{name: a, rbd: {monitors: [], image: ""}}]`,
			"spec.volumes[0].rbd.monitors: Required value; spec.volumes[0].rbd.image: Required value"},
		{"cinder", "spec.volumes: [{name: a, cinder: {volumeID: b}}]",
			`spec.volumes: [{name: a, cinder: {volumeID: ""}}]`, "spec.volumes[0].cinder.volumeID: Required value"},
		{"cephfs", "spec.volumes: [{name: a, cephfs: {monitors: [b]}}]",
			"spec.volumes: [{name: a, cephfs: {monitors: []}}]", "spec.volumes[0].cephfs.monitors: Required value"},
		{"flocker", "spec.volumes: [{name: a, flocker: {datasetName: b}}]", "spec.volumes: [{name: a, flocker: {}}]",
			"spec.volumes[0].flocker: Required value: one of datasetName and datasetUUID is required"},
		{"both of flocker", "spec.volumes: [{name: a, flocker: {datasetUUID: b}}]",
			"spec.volumes: [{name: a, flocker: {datasetUUID: b, datasetName: c}}]",
			`spec.volumes[0].flocker: Invalid value: "resource": datasetName and datasetUUID can not be ` +
				"specified simultaneously"},
		{"fc", "spec.volumes: [{name: a, fc: {targetWWNs: [b], lun: 1}}]", "spec.volumes: [{name: a, fc: {}}]",
			"spec.volumes[0].fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both"},
		{"lun of fc", "spec.volumes: [{name: a, fc: {wwids: [b]}}]",
			"spec.volumes: [{name: a, fc: {targetWWNs: [b]}}]",
			"spec.volumes[0].fc.lun: Required value: lun is required if targetWWNs is specified"},
		{"azureFile", "spec.volumes: [{name: a, azureFile: {secretName: b, shareName: c}}]",
			`spec.volumes: [{name: a, azureFile: {secretName: "", shareName: ""}}]`,
			"spec.volumes[0].azureFile.secretName: Required value; spec.volumes[0].azureFile.shareName: " +
				"Required value"},
		{"flexVolume", "spec.volumes: [{name: a, flexVolume: {driver: b/c}}]",
			`spec.volumes: [{name: a, flexVolume: {driver: ""}}]`,
			"spec.volumes[0].flexVolume.driver: Required value"},
		{"options of a flexVolume", "spec.volumes: [{name: a, flexVolume: {driver: b/c, options: {d: e}}}]",
			"spec.volumes: [{name: a, flexVolume: {driver: b/c, options: {kubernetes.io/d: e}}}]",
			`spec.volumes[0].flexVolume.options[kubernetes.io/d]: Invalid value: "kubernetes.io/d": ` +
				"kubernetes.io and k8s.io namespaces are reserved"},
		{"vsphereVolume", "spec.volumes: [{name: a, vsphereVolume: {volumePath: b}}]",
			`spec.volumes: [{name: a, vsphereVolume: {volumePath: ""}}]`,
			"spec.volumes[0].vsphereVolume.volumePath: Required value"},
		{"quobyte", `spec.volumes: [{name: a, quobyte: {registry: "b:1", volume: c}}]`,
			`spec.volumes: [{name: a, quobyte: {registry: "", volume: ""}}]`,
			"spec.volumes[0].quobyte.registry: Required value: must be a host:port pair or multiple " +
				"pairs separated by commas; spec.volumes[0].quobyte.volume: Required value"},
		{"registry of quobyte", `spec.volumes: [{name: a, quobyte: {registry: "b:1,c:2", volume: d}}]`,
			`spec.volumes: [{name: a, quobyte: {registry: "b", volume: d}}]`,
			`spec.volumes[0].quobyte.registry: Invalid value: "b": must be a host:port pair or multiple ` +
				"pairs separated by commas"},
		{"azureDisk", `spec.volumes: [{name: a, azureDisk: {diskName: b, diskURI: "https://blob/c"}}]`,
			`spec.volumes: [{name: a, azureDisk: {diskName: "", diskURI: ""}}]`,
			"spec.volumes[0].azureDisk.diskName: Required value; spec.volumes[0].azureDisk.diskURI: " +
				`Required value; spec.volumes[0].azureDisk.diskURI: Unsupported value: "": supported values: ` +
				`"https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"`},
		{"caching of an azureDisk",
			`spec.volumes: [{name: a, azureDisk: {diskName: b, diskURI: "/subscriptions/c", kind: ` +
				"Managed, cachingMode: None}}]",
			`spec.volumes: [{name: a, azureDisk: {diskName: b, diskURI: "https://blob/c", cachingMode: Some}}]`,
			`spec.volumes[0].azureDisk.cachingMode: Unsupported value: "Some": supported values: "None", ` +
				`"ReadOnly", "ReadWrite"`},
		{"URI of an azureDisk",
			`spec.volumes: [{name: a, azureDisk: {diskName: b, diskURI: "/subscriptions/c", kind: Managed}}]`,
			`spec.volumes: [{name: a, azureDisk: {diskName: b, diskURI: "https://blob/c", kind: Managed}}]`,
			`spec.volumes[0].azureDisk.diskURI: Unsupported value: "https://blob/c": supported values: ` +
				`"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"`},
		{"photonPersistentDisk", "spec.volumes: [{name: a, photonPersistentDisk: {pdID: b}}]",
			`spec.volumes: [{name: a, photonPersistentDisk: {pdID: ""}}]`,
			"spec.volumes[0].photonPersistentDisk.pdID: Required value"},
		{"portworxVolume", "spec.volumes: [{name: a, portworxVolume: {volumeID: b}}]",
			`spec.volumes: [{name: a, portworxVolume: {volumeID: ""}}]`,
			"spec.volumes[0].portworxVolume.volumeID: Required value"},
		{"scaleIO",
			"spec.volumes: [{name: a, scaleIO: {gateway: b, system: c, volumeName: d, secretRef: {name: s}}}]",
			`spec.volumes: [{name: a, scaleIO: {gateway: "", system: "", volumeName: "", secretRef: null}}]`,
			"spec.volumes[0].scaleIO.gateway: Required value; spec.volumes[0].scaleIO.system: Required " +
				"value; spec.volumes[0].scaleIO.volumeName: Required value"},
		{"storageos", "spec.volumes: [{name: a, storageos: {volumeName: b, volumeNamespace: c}}]",
			"spec.volumes: [{name: a, storageos: {volumeName: B, volumeNamespace: C}}]",
			`spec.volumes[0].storageos.volumeName: Invalid value: "B": a lowercase RFC 1123 label must ` +
				"consist of lower case alphanumeric characters or '-', and must start and end with an " +
				"alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
				"'[a-z0-9]([-a-z0-9]*[a-z0-9])?'); spec.volumes[0].storageos.volumeNamespace: Invalid value: " +
				`"C": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', ` +
				"and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex " +
				"used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"csi", "spec.volumes: [{name: a, csi: {driver: b.c}}]", `spec.volumes: [{name: a, csi: {driver: ""}}]`,
			"spec.volumes[0].csi.driver: Required value"},
		{"driver of csi", "spec.volumes: [{name: a, csi: {driver: B}}]",
			"spec.volumes: [{name: a, csi: {driver: b_c}}]",
			`spec.volumes[0].csi.driver: Invalid value: "b_c": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"secret of csi", "spec.volumes: [{name: a, csi: {driver: b, nodePublishSecretRef: {name: s}}}]",
			"spec.volumes: [{name: a, csi: {driver: b, nodePublishSecretRef: {}}}]",
			"spec.volumes[0].csi.nodePublishSecretRef.name: Required value"},
		{"persistentVolumeClaim", "spec.volumes: [{name: a, persistentVolumeClaim: {claimName: b}}]",
			`spec.volumes: [{name: a, persistentVolumeClaim: {claimName: ""}}]`,
			"spec.volumes[0].persistentVolumeClaim.claimName: Required value"},
		{"image", "spec.volumes: [{name: a, image: {reference: b, pullPolicy: Always}}]",
			"spec.volumes: [{name: a, image: {pullPolicy: Maybe}}]",
			"spec.volumes[0].image.reference: Required value; spec.volumes[0].image.pullPolicy: " +
				`Unsupported value: "Maybe": supported values: "Always", "IfNotPresent", "Never"`},
		{"ephemeral",
			"spec.volumes: [{name: a, ephemeral: {volumeClaimTemplate: {spec: {accessModes: " +
				"[ReadWriteOnce], resources: {requests: {storage: 1}}}}}}]",
			"spec.volumes: [{name: a, ephemeral: {}}]",
			"spec.volumes[0].ephemeral.volumeClaimTemplate: Required value"},
		{"claim of ephemeral",
			"spec.volumes: [{name: a, ephemeral: {volumeClaimTemplate: {spec: {accessModes: " +
				"[ReadOnlyMany], resources: {requests: {storage: 1}}}}}}]",
			"spec.volumes: [{name: a, ephemeral: {volumeClaimTemplate: {spec: {}}}}]",
			"spec.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 " +
				"access mode is required; " +
				"spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value"},
		{"name of an ephemeral claim",
			"spec.volumes: [{name: a, ephemeral: {volumeClaimTemplate: {metadata: {labels: {a: b}}, " +
				"spec: {accessModes: [ReadOnlyMany], resources: {requests: {storage: 1}}}}}}]",
			"spec.volumes: [{name: a, ephemeral: {volumeClaimTemplate: {metadata: {name: b}, spec: " +
				"{accessModes: [ReadOnlyMany], resources: {requests: {storage: 1}}}}}}]",
			"spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set"},
	})
}

func TestVolumeDefaults(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Created(kindtest.Cases{
		{"no source", "spec.volumes: [{name: a}]", "spec.volumes[0].emptyDir: {}"},
		{"secret", "spec.volumes: [{name: a, secret: {secretName: b}}]", "spec.volumes[0].secret.defaultMode: 420"},
		{"configMap", "spec.volumes: [{name: a, configMap: {name: b}}]",
			"spec.volumes[0].configMap.defaultMode: 420"},
		{"hostPath", "spec.volumes: [{name: a, hostPath: {path: /a}}]", `spec.volumes[0].hostPath.type: ""`},
		{"iscsi", "spec.volumes: [{name: a, iscsi: {targetPortal: b, iqn: eui.0123456789ABCDEF, lun: 0}}]",
			"spec.volumes[0].iscsi.iscsiInterface: default"},
		{"rbd", "spec.volumes: [{name: a, rbd: {monitors: [b], image: c}}]",
			"spec.volumes[0].rbd.pool: rbd; spec.volumes[0].rbd.user: admin; " +
				"spec.volumes[0].rbd.keyring: /etc/ceph/keyring"},
		{"scaleIO",
			"spec.volumes: [{name: a, scaleIO: {gateway: b, system: c, volumeName: d, secretRef: {name: s}}}]",
			"spec.volumes[0].scaleIO.storageMode: ThinProvisioned; spec.volumes[0].scaleIO.fsType: xfs"},
		{"azureDisk", `spec.volumes: [{name: a, azureDisk: {diskName: b, diskURI: "https://blob/c"}}]`,
			"spec.volumes[0].azureDisk.cachingMode: ReadWrite; spec.volumes[0].azureDisk.kind: Shared; " +
				"spec.volumes[0].azureDisk.fsType: ext4; spec.volumes[0].azureDisk.readOnly: false"},
		{"image", `spec.volumes: [{name: a, image: {reference: "b:1"}}]`,
			"spec.volumes[0].image.pullPolicy: IfNotPresent"},
		{"claim",
			"spec.volumes: [{name: a, ephemeral: {volumeClaimTemplate: {spec: {accessModes: " +
				"[ReadWriteOnce], resources: {requests: {storage: 1}}}}}}]",
			"spec.volumes[0].ephemeral.volumeClaimTemplate.spec.volumeMode: Filesystem"},
	})
}

// TestVolumeSourceRules checks more fields of the sources of volumes.
func TestVolumeSourceRules(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Create(kindtest.Rules{
		{"iSCSI initiator",
			`spec.volumes: [{name: v, iscsi: {targetPortal: a, iqn: "iqn.2015-02.example.com:test", lun: ` +
				`1, initiatorName: "iqn.2015-02.example.com:init"}}]`,
			`spec.volumes: [{name: v, iscsi: {targetPortal: a, iqn: "iqn.2015-02.example.com:test", lun: ` +
				"1, initiatorName: x}}]",
			`spec.volumes[0].iscsi.initiatorname: Invalid value: "x": must be valid format starting with ` +
				"iqn, eui, or naa"},
		{"long iSCSI name",
			`spec.volumes: [{name: v, iscsi: {targetPortal: a, iqn: "eui.0123456789abcdef", lun: 255}}]`,
			"spec.volumes: [{name: v, iscsi: {targetPortal: " + strings.Repeat("a", 65) +
				`, iqn: "eui.0123456789abcdef", lun: 1, initiatorName: "iqn.2015-02.example.com:init"}}]`,
			`spec.volumes[0].name: Invalid value: "v": Total length of <volume ` +
				"name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified."},
		{"iSCSI names of other kinds",
			"spec.volumes: [{name: v, iscsi: {targetPortal: a, iqn: " +
				`"naa.62004567BA64678D0123456789ABCDEF", lun: 0}}]`,
			`spec.volumes: [{name: v, iscsi: {targetPortal: a, iqn: "naa.x", lun: 256}}]`,
			`spec.volumes[0].iscsi.iqn: Invalid value: "naa.x": must be valid format; ` +
				"spec.volumes[0].iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive"},
		{"dataset of Flocker", "spec.volumes: [{name: v, flocker: {datasetName: a}}]",
			"spec.volumes: [{name: v, flocker: {datasetName: a/b}}]",
			`spec.volumes[0].flocker.datasetName: Invalid value: "a/b": must not contain '/'`},
		{"tenant of Quobyte", `spec.volumes: [{name: v, quobyte: {registry: "a:1", volume: b, tenant: c}}]`,
			`spec.volumes: [{name: v, quobyte: {registry: "a:1", volume: b, tenant: ` + strings.Repeat("c", 65) +
				"}}]",
			"spec.volumes[0].quobyte.tenant: Required value: must be a UUID and may not exceed a length " +
				"of 64 characters"},
		{"targets of Fibre Channel", "spec.volumes: [{name: v, fc: {targetWWNs: [a], lun: 1}}]",
			"spec.volumes: [{name: v, fc: {targetWWNs: [a], wwids: [b], lun: 1}}]",
			`spec.volumes[0].fc.targetWWNs: Invalid value: ["a"]: targetWWNs and wwids can not be ` +
				"specified simultaneously"},
		{"secret of RBD", "spec.volumes: [{name: v, cephfs: {monitors: [a], secretRef: {name: b}}}]",
			"spec.volumes: [{name: v, cinder: {volumeID: a, secretRef: {}}}]",
			"spec.volumes[0].cinder.secretRef.name: Required value"},
		{"two sources", "spec.volumes: [{name: v, emptyDir: {}}]",
			"spec.volumes: [{name: v, emptyDir: {}, hostPath: {path: /a}}]",
			"spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"},
		{"mode of a volume", "spec.volumes: [{name: v, emptyDir: {sizeLimit: 1Gi}}]",
			`spec.volumes: [{name: v, emptyDir: {sizeLimit: "-1"}}]`,
			"spec.volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"},
		{"reference of an image", "spec.volumes: [{name: v, image: {reference: a/b, pullPolicy: Always}}]",
			`spec.volumes: [{name: v, image: {reference: ""}}]`, "spec.volumes[0].image.reference: Required value"},
		{"pull policy of an image", "spec.volumes: [{name: v, image: {reference: a, pullPolicy: Never}}]",
			"spec.volumes: [{name: v, image: {reference: a, pullPolicy: Sometimes}}]",
			`spec.volumes[0].image.pullPolicy: Unsupported value: "Sometimes": supported values: ` +
				`"Always", "IfNotPresent", "Never"`},
	})
}

// TestModeOfEmptyDir checks the permissions of an empty directory.
func TestModeOfEmptyDir(t *testing.T) {
	kindtest.New(t, "pods.v1", pod, "EmptyDirVolumeMode").Create(kindtest.Rules{
		{"mode", "spec.volumes: [{name: v, emptyDir: {mode: 1023}}]",
			"spec.volumes: [{name: v, emptyDir: {mode: 1024}}]",
			"spec.volumes[0].emptyDir.mode: Invalid value: 1024: must be a number between 0 and 01777 " +
				"(octal), both inclusive"},
	})
}

// TestUsersOfFiles checks the users that own the files of volumes.
func TestUsersOfFiles(t *testing.T) {
	kindtest.New(t, "pods.v1", pod, "AtomicWriteVolumeUserFields").Create(kindtest.Rules{
		{"secret", "spec.volumes: [{name: v, secret: {secretName: s, defaultUser: 0}}]",
			"spec.volumes: [{name: v, secret: {secretName: s, defaultUser: -1}}]",
			"spec.volumes[0].secret.defaultUser: Invalid value: -1: must be between 0 and 2147483647, inclusive"},
		{"item of a ConfigMap",
			"spec.volumes: [{name: v, configMap: {name: s, items: [{key: k, path: p, user: 1}]}}]",
			"spec.volumes: [{name: v, configMap: {name: s, items: [{key: k, path: p, user: -1}]}}]",
			"spec.volumes[0].configMap.items[0].user: Invalid value: -1: must be between 0 and " +
				"2147483647, inclusive"},
		{"token",
			"spec.serviceAccountName: a; spec.volumes: [{name: v, projected: {defaultUser: 1, sources: " +
				"[{serviceAccountToken: {path: p, user: 1}}]}}]",
			"spec.serviceAccountName: a; spec.volumes: [{name: v, projected: {defaultUser: -1, sources: " +
				"[{serviceAccountToken: {path: p, user: -1}}]}}]",
			"spec.volumes[0].projected.defaultUser: Invalid value: -1: must be between 0 and 2147483647, " +
				"inclusive; spec.volumes[0].projected.sources[0].serviceAccountToken.user: Invalid value: " +
				"-1: must be between 0 and 2147483647, inclusive"},
	})
}
