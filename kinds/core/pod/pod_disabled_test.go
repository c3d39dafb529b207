package pod_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

// TestDisabledImageVolume checks that volumes of images and their mounts are dropped without the gate.
func TestDisabledImageVolume(t *testing.T) {
	kindtest.New(t, "pods.v1", pod, "1.35", "-ImageVolume").Created(kindtest.Cases{
		{"volume",
			"spec.volumes: [{name: v, image: {reference: i}}, {name: w, emptyDir: {}}]; " +
				"spec.containers[0].volumeMounts: [{name: v, mountPath: /a}, {name: w, mountPath: /b}]",
			`spec.volumes: [{"emptyDir":{},"name":"w"}]; spec.containers[0].volumeMounts: ` +
				`[{"mountPath":"/b","name":"w"}]`},
		{"no such volume", "spec.volumes: [{name: w, emptyDir: {}}]", `spec.volumes: [{"emptyDir":{},"name":"w"}]`},
	})
}

// TestStoredImageVolume checks that an update does not add one.
func TestStoredImageVolume(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "1.35", "-ImageVolume").With(
		"spec.volumes: [{name: w, emptyDir: {}}]")
	k.Updated(kindtest.Cases{
		{"volume", "spec.containers[0].image: j",
			`spec.volumes: [{"emptyDir":{},"name":"w"}]; spec.containers[0].image: j`},
	})
}

// TestDisabledRestartRules checks that policies of containers are dropped without the gate, but those of
// sidecars stay.
func TestDisabledRestartRules(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "-ContainerRestartRules", "-RestartAllContainersOnContainerExits")
	k.Created(kindtest.Cases{
		{"policy", "spec.containers[0].restartPolicy: Never", "spec.containers[0].restartPolicy: null"},
		{"rules",
			"spec.containers[0].restartPolicy: Never; spec.containers[0].restartPolicyRules: [{action: " +
				"Restart, exitCodes: {operator: In, values: [1]}}]",
			"spec.containers[0].restartPolicy: null; spec.containers[0].restartPolicyRules: null"},
		{"sidecar",
			"spec.initContainers: [{name: s, image: i, restartPolicy: Always}, {name: d, image: i, " +
				"restartPolicy: Never}]",
			"spec.initContainers[0].restartPolicy: Always; spec.initContainers[1].restartPolicy: null"},
	})
}

// TestDisabledPodLevelResources checks that the resources of the pod as a whole are dropped without the gate.
func TestDisabledPodLevelResources(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "-PodLevelResources", "-PodLevelResourcesFixDefaulting", "-PodLevelResourcesFixKubeletQOSClass", "-InPlacePodLevelResourcesVerticalScaling")
	k.Created(kindtest.Cases{
		{"resources", "spec.resources: {requests: {cpu: 1}}", "spec.resources: null"},
		{"resources of containers", "spec.containers[0].resources: {requests: {cpu: 1}}",
			`spec.containers[0].resources: {"requests":{"cpu":"1"}}`},
	})
}

// TestDisabledProcMount checks that another mount of /proc becomes the default without the gate.
func TestDisabledProcMount(t *testing.T) {
	kindtest.New(t, "pods.v1", pod, "1.35", "-ProcMountType").Created(kindtest.Cases{
		{"unmasked", "spec.hostUsers: false; spec.containers[0].securityContext.procMount: Unmasked",
			"spec.containers[0].securityContext.procMount: Default"},
		{"default", "spec.containers[0].securityContext.procMount: Default",
			"spec.containers[0].securityContext.procMount: Default"},
	})
}

// TestDisabledSchedulingGroup checks that the group is dropped without the gate.
func TestDisabledSchedulingGroup(t *testing.T) {
	kindtest.New(t, "pods.v1", pod, "-GenericWorkload").Created(kindtest.Cases{
		{"group", "spec.schedulingGroup: {podGroupName: g}", "spec.schedulingGroup: null"},
	})
}

// TestSchedulingGroupFields checks that the gate keeps the group.
func TestSchedulingGroupFields(t *testing.T) {
	kindtest.New(t, "pods.v1", pod, "GenericWorkload").Created(kindtest.Cases{
		{"group", "spec.schedulingGroup: {podGroupName: g}", `spec.schedulingGroup: {"podGroupName":"g"}`},
	})
}

// TestSchedulingGroup checks the group that a pod is scheduled with.
func TestSchedulingGroup(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "GenericWorkload").With(
		"spec.schedulingGroup: {podGroupName: g}")
	k.Create(kindtest.Rules{
		{"name", "spec.schedulingGroup.podGroupName: a.b", "spec.schedulingGroup.podGroupName: A",
			`spec.schedulingGroup.podGroupName: Invalid value: "A": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"no name", "spec.schedulingGroup: null", "spec.schedulingGroup: {}",
			"spec.schedulingGroup.podGroupName: Invalid value: null: must specify one of: `podGroupName`"},
		{"empty name", "spec.schedulingGroup: null", `spec.schedulingGroup.podGroupName: ""`,
			`spec.schedulingGroup.podGroupName: Invalid value: "": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
	})
}

// TestProtocolOfProbes checks the default protocol, which needs a gate.
func TestProtocolOfProbes(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "H2CContainerProbe").With(
		"spec.containers[0].livenessProbe: {httpGet: {port: 1}}")
	k.Created(kindtest.Cases{
		{"liveness", "", "spec.containers[0].livenessProbe.httpGet.protocol: HTTP1"},
		{"hook", "spec.containers[0].lifecycle: {postStart: {httpGet: {port: 1}}, preStop: {httpGet: {port: 2}}}",
			"spec.containers[0].lifecycle.postStart.httpGet.protocol: HTTP1; " +
				"spec.containers[0].lifecycle.preStop.httpGet.protocol: HTTP1"},
		{"own protocol", "spec.containers[0].livenessProbe.httpGet.protocol: HTTP2",
			"spec.containers[0].livenessProbe.httpGet.protocol: HTTP2"},
	})
}

// TestProbesOverHTTP2 checks that HTTP/2 is used without TLS, to the pod only.
func TestProbesOverHTTP2(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "H2CContainerProbe").With(
		"spec.containers[0].livenessProbe: {httpGet: {port: 1, protocol: HTTP2}}")
	k.Create(kindtest.Rules{
		{"protocol", "spec.containers[0].livenessProbe.httpGet.protocol: HTTP1",
			"spec.containers[0].livenessProbe.httpGet.protocol: h3",
			`spec.containers[0].livenessProbe.httpGet.protocol: Unsupported value: "h3": supported ` +
				`values: "HTTP1", "HTTP2"`},
		{"TLS", "spec.containers[0].livenessProbe.httpGet.scheme: HTTP",
			"spec.containers[0].livenessProbe.httpGet.scheme: HTTPS",
			`spec.containers[0].livenessProbe.httpGet.protocol: Invalid value: "HTTP2": is only ` +
				"supported with HTTP (H2C)"},
		{"host", "spec.containers[0].livenessProbe.httpGet.path: /a",
			"spec.containers[0].livenessProbe.httpGet.host: h",
			`spec.containers[0].livenessProbe.httpGet.host: Invalid value: "h": must be empty when ` +
				"`protocol` is \"HTTP2\""},
	})
}

// TestProtocolOfProbesOff checks that there is no default without the gate.
func TestProtocolOfProbesOff(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "-H2CContainerProbe").With(
		"spec.containers[0].livenessProbe: {httpGet: {port: 1}}")
	k.Created(kindtest.Cases{
		{"liveness", "", "spec.containers[0].livenessProbe.httpGet.protocol: null"},
	})
}

// TestStopSignals checks the signal that stops a container.
func TestStopSignals(t *testing.T) {
	kindtest.New(t, "pods.v1", pod, "ContainerStopSignals").With("spec.os.name: linux").Create(kindtest.Rules{
		{"signal", "spec.containers[0].lifecycle.stopSignal: SIGRTMIN+15",
			"spec.containers[0].lifecycle.stopSignal: SIGNONE",
			`spec.containers[0].lifecycle.stopSignal: Unsupported value: "SIGNONE": supported values: ` +
				`"SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP", ` +
				`"SIGILL", "SIGINT", "SIGIO", "SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF", ` +
				`"SIGPWR", "SIGQUIT", "SIGRTMAX", "SIGRTMAX-1", "SIGRTMAX-10", "SIGRTMAX-11", "SIGRTMAX-12", ` +
				`"SIGRTMAX-13", "SIGRTMAX-14", "SIGRTMAX-2", "SIGRTMAX-3", "SIGRTMAX-4", "SIGRTMAX-5", ` +
				`"SIGRTMAX-6", "SIGRTMAX-7", "SIGRTMAX-8", "SIGRTMAX-9", "SIGRTMIN", "SIGRTMIN+1", ` +
				`"SIGRTMIN+10", "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13", "SIGRTMIN+14", "SIGRTMIN+15", ` +
				`"SIGRTMIN+2", "SIGRTMIN+3", "SIGRTMIN+4", "SIGRTMIN+5", "SIGRTMIN+6", "SIGRTMIN+7", ` +
				`"SIGRTMIN+8", "SIGRTMIN+9", "SIGSEGV", "SIGSTKFLT", "SIGSTOP", "SIGSYS", "SIGTERM", ` +
				`"SIGTRAP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGVTALRM", ` +
				`"SIGWINCH", "SIGXCPU", "SIGXFSZ"`},
		{"without a system", "spec.containers[0].lifecycle.stopSignal: SIGINT",
			"spec.os: null; spec.containers[0].lifecycle.stopSignal: SIGINT",
			"spec.containers[0].lifecycle.stopSignal: Forbidden: may not be set for containers with " +
				"empty `spec.os.name`"},
		{"Windows", "spec.os.name: windows; spec.containers[0].lifecycle.stopSignal: SIGTERM",
			"spec.os.name: windows; spec.containers[0].lifecycle.stopSignal: SIGINT",
			`spec.containers[0].lifecycle.stopSignal: Unsupported value: "SIGINT": supported values: ` +
				`"SIGKILL", "SIGTERM"`},
	})
}

// TestSchedulingKeys checks that keys of labels become requirements with the values of the pod.
func TestSchedulingKeys(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).With(`metadata.labels: {x: "1"}`).Created(kindtest.Cases{
		{"spread constraint",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: " +
				"DoNotSchedule, labelSelector: {matchLabels: {b: c}}, matchLabelKeys: [x]}]",
			"spec.topologySpreadConstraints[0].labelSelector: " +
				`{"matchExpressions":[{"key":"x","operator":"In","values":["1"]}],"matchLabels":{"b":"c"}}`},
		{"affinity",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, " +
				"labelSelector: {matchLabels: {b: c}}, matchLabelKeys: [x]}]",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: " +
				`{"matchExpressions":[{"key":"x","operator":"In","values":["1"]}],"matchLabels":{"b":"c"}}`},
		{"anti-affinity",
			"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, " +
				"podAffinityTerm: {topologyKey: a, labelSelector: {matchLabels: {b: c}}, mismatchLabelKeys: [x]}}]",
			"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinity" +
				`Term.labelSelector: {"matchExpressions":[{"key":"x","operator":"NotIn","values":["1"]}],"mat` +
				`chLabels":{"b":"c"}}`},
	})
}
