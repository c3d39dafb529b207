package pod_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

// TestContainerDefaults checks the defaults of containers.
func TestContainerDefaults(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Created(kindtest.Cases{
		{"ports", "spec.containers[0].ports: [{containerPort: 80}]",
			`spec.containers[0].ports: [{"containerPort":80,"protocol":"TCP"}]`},
		{"ports of the host network", "spec.hostNetwork: true; spec.containers[0].ports: [{containerPort: 80}]",
			`spec.containers[0].ports: [{"containerPort":80,"hostPort":80,"protocol":"TCP"}]`},
		{"init container", "spec.initContainers: [{name: d, image: 'i:1'}]",
			"spec.initContainers[0].imagePullPolicy: IfNotPresent; " +
				"spec.initContainers[0].terminationMessagePath: /dev/termination-log"},
		{"image without a tag", "spec.containers[0].image: a/b", "spec.containers[0].imagePullPolicy: Always"},
		{"image with a digest",
			"spec.containers[0].image: a/b@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
			"spec.containers[0].imagePullPolicy: IfNotPresent"},
		{"image of a port of the registry", "spec.containers[0].image: a:5000/b",
			"spec.containers[0].imagePullPolicy: Always"},
		{"limits without requests", "spec.containers[0].resources.limits: {cpu: 1, memory: 1Gi}",
			`spec.containers[0].resources.requests: {"cpu":"1","memory":"1Gi"}`},
		{"limits and a request",
			"spec.containers[0].resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 500m}}",
			`spec.containers[0].resources.requests: {"cpu":"500m","memory":"1Gi"}`},
		{"resize policy", "spec.containers[0].resources.requests: {cpu: 1}", "spec.containers[0].resizePolicy: null"},
		{"fractions of a thousandth", "spec.containers[0].resources.requests: {cpu: 100u}",
			`spec.containers[0].resources.requests: {"cpu":"1m"}`},
	})
}

// TestPodSpecDefaults checks the defaults of the spec.
func TestPodSpecDefaults(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Created(kindtest.Cases{
		{"empty spec", "",
			"spec.restartPolicy: Always; spec.dnsPolicy: ClusterFirst; " +
				"spec.terminationGracePeriodSeconds: 30; spec.securityContext: {}; spec.schedulerName: " +
				"default-scheduler; spec.enableServiceLinks: true"},
		{"account", "spec.serviceAccountName: a", "spec.serviceAccount: a"},
		{"older account", "spec.serviceAccount: a", "spec.serviceAccountName: a"},
		{"host network of older clients", "spec.hostNetwork: true", "spec.hostNetwork: true"},
		{"toleration", "spec.tolerations: [{key: a}]", `spec.tolerations: [{"key":"a"}]`},
		{"spread constraints",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]",
			`spec.topologySpreadConstraints: [{"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"}]`},
		{"phase", "status.phase: Running", "status.phase: Pending; status.qosClass: BestEffort"},
	})
}

// TestVolumeSourceDefaults checks the defaults of volumes.
func TestVolumeSourceDefaults(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Created(kindtest.Cases{
		{"no source", "spec.volumes: [{name: v}]", `spec.volumes: [{"emptyDir":{},"name":"v"}]`},
		{"secret", "spec.volumes: [{name: v, secret: {secretName: a}}]",
			`spec.volumes[0].secret: {"defaultMode":420,"secretName":"a"}`},
		{"ConfigMap", "spec.volumes: [{name: v, configMap: {name: a}}]",
			`spec.volumes[0].configMap: {"defaultMode":420,"name":"a"}`},
		{"pod", "spec.volumes: [{name: v, downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.name}}]}}]",
			"spec.volumes[0].downwardAPI: " +
				`{"defaultMode":420,"items":[{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"},"path":"a"}]}`},
		{"token",
			"spec.serviceAccountName: a; spec.volumes: [{name: v, projected: {sources: " +
				"[{serviceAccountToken: {path: a}}]}}]",
			"spec.volumes[0].projected: " +
				`{"defaultMode":420,"sources":[{"serviceAccountToken":{"expirationSeconds":3600,"path":"a"}}]}`},
		{"iSCSI", `spec.volumes: [{name: v, iscsi: {targetPortal: a, iqn: "iqn.2015-02.example.com:test", lun: 1}}]`,
			"spec.volumes[0].iscsi.iscsiInterface: default"},
		{"RBD", "spec.volumes: [{name: v, rbd: {monitors: [a], image: b}}]",
			"spec.volumes[0].rbd: " +
				`{"image":"b","keyring":"/etc/ceph/keyring","monitors":["a"],"pool":"rbd","user":"admin"}`},
		{"Azure", `spec.volumes: [{name: v, azureDisk: {diskName: a, diskURI: "https://a/b.vhd"}}]`,
			"spec.volumes[0].azureDisk: " +
				`{"cachingMode":"ReadWrite","diskName":"a","diskURI":"https://a/b.vhd","fsType":"ext4","kind"` +
				`:"Shared","readOnly":false}`},
		{"ScaleIO",
			"spec.volumes: [{name: v, scaleIO: {gateway: a, system: b, volumeName: c, secretRef: {name: d}}}]",
			"spec.volumes[0].scaleIO: " +
				`{"fsType":"xfs","gateway":"a","secretRef":{"name":"d"},"storageMode":"ThinProvisioned","syst` +
				`em":"b","volumeName":"c"}`},
		{"host path", "spec.volumes: [{name: v, hostPath: {path: /a}}]",
			`spec.volumes[0].hostPath: {"path":"/a","type":""}`},
		{"ephemeral claim",
			"spec.volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: " +
				"[ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}]",
			"spec.volumes[0].ephemeral.volumeClaimTemplate.spec.volumeMode: Filesystem"},
		{"image", "spec.volumes: [{name: v, image: {reference: 'a:1'}}, {name: w, image: {reference: a}}]",
			`spec.volumes[0].image: {"pullPolicy":"IfNotPresent","reference":"a:1"}; ` +
				`spec.volumes[1].image: {"pullPolicy":"Always","reference":"a"}`},
	})
}
