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

// TestPodTemplatesOfWarnings checks more fields that have no effect.
func TestPodTemplatesOfWarnings(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Warnings(kindtest.Cases{
		{"negative grace period", "spec.terminationGracePeriodSeconds: -1", ""},
		{"pull secret twice", "spec.imagePullSecrets: [{name: a}, {name: b}, {name: a}]",
			`spec.imagePullSecrets[2].name: duplicate name "a"`},
		{"address without a port", "spec.containers[0].ports: [{containerPort: 1, hostIP: 10.0.0.1}]",
			"spec.containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:1 " +
				"Protocol:TCP HostIP:10.0.0.1}"},
		{"ambiguous host ports",
			"spec.containers[0].ports: [{containerPort: 1, hostPort: 1}, {containerPort: 1, hostPort: 1, " +
				"hostIP: 10.0.0.1}]",
			"spec.containers[0].ports[1]: dangerously ambiguous port definition with spec.containers[0].ports[0]"},
		{"name of a port in two containers",
			"spec.containers: [{name: c, image: i, ports: [{name: http, containerPort: 80}]}, {name: d, " +
				"image: i, ports: [{name: http, containerPort: 81}]}]",
			`spec.containers[1].ports[0]: duplicate port name "http" with spec.containers[0].ports[0], ` +
				"services and probes that select ports by name will use spec.containers[0].ports[0]"},
		{"seccomp annotation", "metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: unconfined",
			"metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; " +
				`use the "seccompProfile" field instead`},
		{"seccomp annotation of a container",
			"metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]: unconfined",
			"metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]: non-functional in " +
				`v1.27+; use the "seccompProfile" field instead`},
		{"anti-affinity without a selector",
			"spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a}]",
			"spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelecto" +
				"r: a null labelSelector results in matching no pod"},
		{"preferred affinity without a selector",
			"spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, " +
				"podAffinityTerm: {topologyKey: a}}]",
			"spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm" +
				".labelSelector: a null labelSelector results in matching no pod"},
		{"preferred nodes",
			"spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, " +
				"preference: {matchExpressions: [{key: beta.kubernetes.io/os, operator: Exists}]}}]",
			"spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.mat" +
				`chExpressions[0].key: beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead`},
		{"fraction of a byte of a request", "spec.containers[0].resources.requests: {memory: 100m}",
			`spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, ` +
				"must be an integer"},
		{"fraction of a byte of storage", "spec.containers[0].resources.requests: {ephemeral-storage: 100m}",
			`spec.containers[0].resources.requests[ephemeral-storage]: fractional byte value "100m" is ` +
				"invalid, must be an integer"},
		{"init container",
			`spec.initContainers: [{name: d, image: i, env: [{name: A, value: "1"}, {name: A, value: "2"}]}]`,
			`spec.initContainers[0].env[1]: hides previous definition of "A", which may be dropped when using apply`},
	})
}

// TestOverlappingPaths checks volumes in which a file takes the place of another.
func TestOverlappingPaths(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).With("spec.serviceAccountName: a").Warnings(kindtest.Cases{
		{"items of a ConfigMap",
			"spec.volumes: [{name: v, configMap: {name: m, items: [{key: k, path: a}, {key: l, path: a/b}]}}]",
			`volume "v" (ConfigMap "m"): overlapping paths: "a/b" with "a"`},
		{"items of a Secret",
			"spec.volumes: [{name: v, secret: {secretName: s, items: [{key: k, path: a}, {key: l, path: a}]}}]",
			`volume "v" (Secret "s"): overlapping paths: "a" with "a"`},
		{"items of the pod",
			"spec.volumes: [{name: v, downwardAPI: {items: [{path: ab, fieldRef: {fieldPath: " +
				"metadata.name}}, {path: a, fieldRef: {fieldPath: metadata.name}}]}}]", ""},
		{"token and ConfigMap",
			"spec.volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}, " +
				"{configMap: {name: m, items: [{key: k, path: t}]}}]}}]",
			`volume "v" (Projected): overlapping paths: "t" (ConfigMap "m") with "t" (ServiceAccountToken)`},
		{"no sources", "spec.volumes: [{name: v, projected: {sources: []}}]", ""},
		{"different paths",
			"spec.volumes: [{name: v, projected: {sources: [{secret: {name: a, items: [{key: k, path: " +
				"a}]}}, {secret: {name: b, items: [{key: k, path: b}]}}]}}]", ""},
	})
}

// TestPodUpdateWarnings checks that only a changed spec has warnings.
func TestPodUpdateWarnings(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.nodeSelector: {beta.kubernetes.io/os: linux}")
	k.UpdateWarnings(kindtest.Cases{
		{"labels", "metadata.labels: {a: b}", ""},
		{"image", "spec.containers[0].image: j", ""},
	})
}

// TestPodAddresses checks the warnings about the form of addresses.
func TestPodAddresses(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Warnings(kindtest.Cases{
		{"alias", "spec.hostAliases: [{ip: 10.0.0.1, hostnames: [a]}]", ""},
	})
}
