package pod_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestPodWarnings(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Warnings(kindtest.Cases{
		{"none", "", ""},
		{"name", "metadata.name: a.b",
			"metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; " +
				"a DNS label is recommended: [must not contain dots]"},
		{"node label", "spec.nodeSelector: {beta.kubernetes.io/os: linux}",
			`spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`},
		{"affinity",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				" [{matchExpressions: [{key: beta.kubernetes.io/arch, operator: Exists}]}]",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[" +
				"0].matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use " +
				`"kubernetes.io/arch" instead`},
		{"zone",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: " +
				"failure-domain.beta.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}]",
			"spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is " +
				`deprecated since v1.17; use "topology.kubernetes.io/zone" instead`},
		{"variable twice", "spec.containers[0].env: [{name: A, value: '1'}, {name: A, value: '2'}]",
			`spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply`},
		{"port twice", "spec.containers[0].ports: [{containerPort: 1}, {containerPort: 1}]",
			"spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]"},
		{"port and host port", "spec.containers[0].ports: [{containerPort: 1, hostPort: 1}, {containerPort: 1}]",
			"spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]"},
		{"fraction of a byte", "spec.containers[0].resources.limits: {memory: 1500m}",
			`spec.containers[0].resources.limits[memory]: fractional byte value "1500m" is invalid, must ` +
				`be an integer; spec.containers[0].resources.requests[memory]: fractional byte value "1500m" ` +
				"is invalid, must be an integer"},
		{"pull secret", `spec.imagePullSecrets: [{name: a}, {name: ""}]`,
			`spec.imagePullSecrets[1].name: invalid empty name ""`},
		{"host alias", "spec.hostAliases: [{ip: 10.0.0.1, hostnames: [a]}, {ip: 10.0.0.1, hostnames: [b]}]",
			`spec.hostAliases[1].ip: duplicate ip "10.0.0.1"`},
		{"gitRepo", "spec.volumes: [{name: v, gitRepo: {repository: a}}]",
			"spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"},
		{"flexVolume", "spec.volumes: [{name: v, flexVolume: {driver: a/b}}]", ""},
		{"cephfs", "spec.volumes: [{name: v, cephfs: {monitors: [a]}}]",
			"spec.volumes[0].cephfs: deprecated in v1.28, non-functional in v1.31+"},
		{"glusterfs", "spec.volumes: [{name: v, glusterfs: {endpoints: a, path: b}}]",
			"spec.volumes[0].glusterfs: deprecated in v1.25, non-functional in v1.26+"},
		{"photon", "spec.volumes: [{name: v, photonPersistentDisk: {pdID: a}}]",
			"spec.volumes[0].photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+"},
		{"rbd", "spec.volumes: [{name: v, rbd: {monitors: [a], image: b}}]",
			"spec.volumes[0].rbd: deprecated in v1.28, non-functional in v1.31+"},
		{"scaleIO",
			"spec.volumes: [{name: v, scaleIO: {gateway: a, system: b, volumeName: c, secretRef: {name: d}}}]",
			"spec.volumes[0].scaleIO: deprecated in v1.16, non-functional in v1.22+"},
		{"storageos", "spec.volumes: [{name: v, storageos: {volumeName: a}}]",
			"spec.volumes[0].storageOS: deprecated in v1.22, non-functional in v1.25+"},
		{"mount of an emptyDir", "spec.volumes: [{name: v, emptyDir: {sizeLimit: 1500m}}]", ""},
		{"overlapping paths",
			"spec.volumes: [{name: v, projected: {sources: [{configMap: {name: a, items: [{key: k, path: " +
				"p}]}}, {secret: {name: b, items: [{key: k, path: p/q}]}}]}}]",
			`volume "v" (Projected): overlapping paths: "p/q" (Secret "b") with "p" (ConfigMap "a")`},
		{"grace period", "spec.terminationGracePeriodSeconds: -1", ""},
		{"overlapping selectors",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]",
			"spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod"},
		{"affinity without a selector",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a}]",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: " +
				"a null labelSelector results in matching no pod"},
		{"seccomp annotation",
			"metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: unconfined; " +
				"spec.securityContext.seccompProfile.type: Unconfined", ""},
		{"AppArmor annotation", "metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: unconfined",
			"metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated since " +
				`v1.30; use the "appArmorProfile" field instead`},
		{"address", `spec.hostAliases: [{ip: "fd00::0:1", hostnames: [a]}]`,
			`spec.hostAliases[0].ip: IPv6 address "fd00::0:1" should be in RFC 5952 canonical format ("fd00::1")`},
		{"nameserver", `spec.dnsConfig: {nameservers: ["fd00::0:1"]}`,
			`spec.dnsConfig.nameservers[0]: IPv6 address "fd00::0:1" should be in RFC 5952 canonical ` +
				`format ("fd00::1")`},
		{"searches", `spec.dnsConfig: {searches: ["."]}`, ""},
	})
}
