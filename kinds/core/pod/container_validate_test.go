package pod_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestContainerRules(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Create(kindtest.Rules{
		{"name", "spec.containers[0].name: a-b", "spec.containers[0].name: a_b",
			`spec.containers[0].name: Invalid value: "a_b": a lowercase RFC 1123 label must consist of ` +
				"lower case alphanumeric characters or '-', and must start and end with an alphanumeric " +
				"character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
				"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"no name", "spec.containers[0].name: d", `spec.containers[0].name: ""`,
			"spec.containers[0].name: Required value"},
		{"image", "spec.containers[0].image: a/b:c@d", `spec.containers[0].image: ""`,
			"spec.containers[0].image: Required value"},
		{"space before an image", "spec.containers[0].image: j", `spec.containers[0].image: " i"`,
			`spec.containers[0].image: Invalid value: " i": must not have leading or trailing whitespace`},
		{"imagePullPolicy", "spec.containers[0].imagePullPolicy: Never",
			"spec.containers[0].imagePullPolicy: Sometimes",
			`spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": supported values: ` +
				`"Always", "IfNotPresent", "Never"`},
		{"terminationMessagePolicy", "spec.containers[0].terminationMessagePolicy: FallbackToLogsOnError",
			"spec.containers[0].terminationMessagePolicy: Log",
			`spec.containers[0].terminationMessagePolicy: Unsupported value: "Log": supported values: ` +
				`"File", "FallbackToLogsOnError"`},
		{"containerPort", "spec.containers[0].ports: [{containerPort: 65535}]",
			"spec.containers[0].ports: [{containerPort: 65536}]",
			"spec.containers[0].ports[0].containerPort: Invalid value: 65536: must be between 1 and " +
				"65535, inclusive"},
		{"no containerPort", "spec.containers[0].ports: [{containerPort: 1}]",
			"spec.containers[0].ports: [{hostPort: 1}]", "spec.containers[0].ports[0].containerPort: Required value"},
		{"hostPort", "spec.containers[0].ports: [{containerPort: 1, hostPort: 65535}]",
			"spec.containers[0].ports: [{containerPort: 1, hostPort: 65536}]",
			"spec.containers[0].ports[0].hostPort: Invalid value: 65536: must be between 1 and 65535, inclusive"},
		{"protocol of a port", "spec.containers[0].ports: [{containerPort: 1, protocol: SCTP}]",
			"spec.containers[0].ports: [{containerPort: 1, protocol: HTTP}]",
			`spec.containers[0].ports[0].protocol: Unsupported value: "HTTP": supported values: "SCTP", ` +
				`"TCP", "UDP"`},
		{"name of a port", "spec.containers[0].ports: [{containerPort: 1, name: http}]",
			"spec.containers[0].ports: [{containerPort: 1, name: a_b}]",
			`spec.containers[0].ports[0].name: Invalid value: "a_b": must contain only alpha-numeric ` +
				"characters (a-z, 0-9), and hyphens (-)"},
		{"long name of a port", "spec.containers[0].ports: [{containerPort: 1, name: abcdefghijklmno}]",
			"spec.containers[0].ports: [{containerPort: 1, name: abcdefghijklmnop}]",
			`spec.containers[0].ports[0].name: Invalid value: "abcdefghijklmnop": must be no more than ` +
				"15 characters"},
		{"name without a letter", "spec.containers[0].ports: [{containerPort: 1, name: 1a}]",
			`spec.containers[0].ports: [{containerPort: 1, name: "11"}]`,
			`spec.containers[0].ports[0].name: Invalid value: "11": must contain at least one letter (a-z)`},
		{"name of a port twice",
			"spec.containers[0].ports: [{containerPort: 1, name: a}, {containerPort: 2, name: b}]",
			"spec.containers[0].ports: [{containerPort: 1, name: a}, {containerPort: 2, name: a}]",
			`spec.containers[0].ports[1].name: Duplicate value: "a"`},
		{"resize policy", "spec.containers[0].resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}]",
			"spec.containers[0].resizePolicy: [{resourceName: cpu, restartPolicy: Maybe}]",
			`spec.containers[0].resizePolicy: Unsupported value: "Maybe": supported values: ` +
				`"NotRequired", "RestartContainer"`},
		{"resource of a resize policy",
			"spec.containers[0].resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}]",
			"spec.containers[0].resizePolicy: [{resourceName: disk, restartPolicy: NotRequired}]",
			`spec.containers[0].resizePolicy: Unsupported value: "disk": supported values: "cpu", "memory"`},
		{"resize policy twice",
			"spec.containers[0].resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}, " +
				"{resourceName: cpu, restartPolicy: RestartContainer}]",
			"spec.containers[0].resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}, " +
				"{resourceName: cpu, restartPolicy: NotRequired}]",
			`spec.containers[0].resizePolicy[1]: Duplicate value: "cpu"`},
		{"resize policy of a pod that never restarts",
			"spec.restartPolicy: Never; spec.containers[0].resizePolicy: [{resourceName: cpu, " +
				"restartPolicy: NotRequired}]",
			"spec.restartPolicy: Never; spec.containers[0].resizePolicy: [{resourceName: cpu, " +
				"restartPolicy: RestartContainer}]",
			`spec.containers[0].resizePolicy: Invalid value: "RestartContainer": must be 'NotRequired' ` +
				"when pod `restartPolicy` is 'Never'"},
		{"postStart", "spec.containers[0].lifecycle.postStart: {exec: {command: [a]}}",
			"spec.containers[0].lifecycle.postStart: {}",
			"spec.containers[0].lifecycle.postStart: Required value: must specify a handler type"},
		{"command of postStart", "spec.containers[0].lifecycle.postStart: {exec: {command: [a]}}",
			"spec.containers[0].lifecycle.postStart: {exec: {}}",
			"spec.containers[0].lifecycle.postStart.exec.command: Required value"},
		{"two handlers", "spec.containers[0].lifecycle.preStop: {sleep: {seconds: 1}}",
			"spec.containers[0].lifecycle.preStop: {sleep: {seconds: 1}, exec: {command: [a]}}",
			"spec.containers[0].lifecycle.preStop.sleep: Forbidden: may not specify more than 1 handler type"},
		{"sleep", "spec.containers[0].lifecycle.preStop: {sleep: {seconds: 30}}",
			"spec.containers[0].lifecycle.preStop: {sleep: {seconds: 31}}",
			"spec.containers[0].lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and " +
				"less than terminationGracePeriodSeconds (30)"},
		{"negative sleep", "spec.containers[0].lifecycle.preStop: {sleep: {seconds: 0}}",
			"spec.containers[0].lifecycle.preStop: {sleep: {seconds: -1}}",
			"spec.containers[0].lifecycle.preStop.sleep: Invalid value: -1: must be non-negative and " +
				"less than terminationGracePeriodSeconds (30)"},
		{"port of an HTTP request", "spec.containers[0].lifecycle.preStop: {httpGet: {port: 80}}",
			"spec.containers[0].lifecycle.preStop: {httpGet: {port: 0}}",
			"spec.containers[0].lifecycle.preStop.httpGet.port: Invalid value: 0: must be between 1 and " +
				"65535, inclusive"},
		{"scheme of an HTTP request", "spec.containers[0].lifecycle.preStop: {httpGet: {port: 80, scheme: HTTPS}}",
			"spec.containers[0].lifecycle.preStop: {httpGet: {port: 80, scheme: FTP}}",
			`spec.containers[0].lifecycle.preStop.httpGet.scheme: Unsupported value: "FTP": supported ` +
				`values: "HTTP", "HTTPS"`},
		{"header of an HTTP request",
			"spec.containers[0].lifecycle.preStop: {httpGet: {port: 80, httpHeaders: [{name: A, value: b}]}}",
			`spec.containers[0].lifecycle.preStop: {httpGet: {port: 80, httpHeaders: [{name: "A B", value: b}]}}`,
			`spec.containers[0].lifecycle.preStop.httpGet.httpHeaders: Invalid value: "A B": a valid ` +
				"HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex " +
				"used for validation is '[-A-Za-z0-9]+')"},
		{"restartPolicy of an init container", "spec.initContainers: [{name: d, image: j, restartPolicy: Always}]",
			"spec.initContainers: [{name: d, image: j, restartPolicy: Sometimes}]",
			`spec.initContainers[0].restartPolicy: Unsupported value: "Sometimes": supported values: ` +
				`"Always", "Never", "OnFailure"`},
		{"probe of an init container",
			"spec.initContainers: [{name: d, image: j, restartPolicy: Always, readinessProbe: {exec: " +
				"{command: [a]}}}]",
			"spec.initContainers: [{name: d, image: j, readinessProbe: {exec: {command: [a]}}}]",
			"spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers " +
				"without restartPolicy=Always"},
		{"liveness of an init container",
			"spec.initContainers: [{name: d, image: j, restartPolicy: Always, livenessProbe: {exec: " +
				"{command: [a]}}}]",
			"spec.initContainers: [{name: d, image: j, livenessProbe: {exec: {command: [a]}}}]",
			"spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without " +
				"restartPolicy=Always"},
		{"startup of an init container",
			"spec.initContainers: [{name: d, image: j, restartPolicy: Always, startupProbe: {exec: " +
				"{command: [a]}}}]",
			"spec.initContainers: [{name: d, image: j, startupProbe: {exec: {command: [a]}}}]",
			"spec.initContainers[0].startupProbe: Forbidden: may not be set for init containers without " +
				"restartPolicy=Always"},
		{"lifecycle of an init container",
			"spec.initContainers: [{name: d, image: j, restartPolicy: Always, lifecycle: {preStop: " +
				"{exec: {command: [a]}}}}]",
			"spec.initContainers: [{name: d, image: j, lifecycle: {preStop: {exec: {command: [a]}}}}]",
			"spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without " +
				"restartPolicy=Always"},
		{"ephemeral containers", "spec.initContainers: [{name: d, image: j}]",
			"spec.ephemeralContainers: [{name: d, image: j}]",
			"spec.ephemeralContainers: Forbidden: cannot be set on create"},
	})
}

// TestRestartRules checks the rules by which a container restarts.
func TestRestartRules(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.containers[0]: {name: c, image: i, restartPolicy: Never, restartPolicyRules: [{action: " +
			"Restart, exitCodes: {operator: In, values: [1]}}]}")
	k.Create(kindtest.Rules{
		{"action", "spec.containers[0].restartPolicyRules[0].action: RestartAllContainers",
			"spec.containers[0].restartPolicyRules[0].action: Stop",
			`spec.containers[0].restartPolicyRules[0].action: Unsupported value: "Stop": supported ` +
				`values: "Restart", "RestartAllContainers"`},
		{"no action", "spec.containers[0].restartPolicyRules: []",
			`spec.containers[0].restartPolicyRules[0].action: ""`,
			`spec.containers[0].restartPolicyRules[0].action: Unsupported value: "": supported values: ` +
				`"Restart", "RestartAllContainers"`},
		{"exit codes", "spec.containers[0].restartPolicyRules[0].exitCodes.values: [1, 2]",
			"spec.containers[0].restartPolicyRules[0].exitCodes: null",
			"spec.containers[0].restartPolicyRules[0].exitCodes: Required value: must be specified"},
		{"operator", "spec.containers[0].restartPolicyRules[0].exitCodes.operator: NotIn",
			"spec.containers[0].restartPolicyRules[0].exitCodes.operator: Is",
			`spec.containers[0].restartPolicyRules[0].exitCodes.operator: Unsupported value: "Is": ` +
				`supported values: "In", "NotIn"`},
		{"at most 20 rules",
			"spec.containers[0].restartPolicyRules: [" +
				strings.Repeat("{action: Restart, exitCodes: {operator: In, values: [1]}},", 20) + "]",
			"spec.containers[0].restartPolicyRules: [" +
				strings.Repeat("{action: Restart, exitCodes: {operator: In, values: [1]}},", 21) + "]",
			"spec.containers[0].restartPolicyRules: Too many: 21: must have at most 20 items"},
		{"at most 255 exit codes", "spec.containers[0].restartPolicyRules[0].exitCodes.values: [2]",
			"spec.containers[0].restartPolicyRules[0].exitCodes.values: [" + strings.Repeat("1,", 256) + "]",
			"spec.containers[0].restartPolicyRules[0].exitCodes.values: Too many: 256: must have at most 255 items"},
		{"rules without a policy", "spec.containers[0].restartPolicy: OnFailure",
			"spec.containers[0].restartPolicy: null",
			"spec.containers[0].restartPolicy: Required value: must specify restartPolicy when restart " +
				"rules are used"},
		{"unknown policy", "spec.containers[0].restartPolicy: Always", "spec.containers[0].restartPolicy: Sometimes",
			`spec.containers[0].restartPolicy: Unsupported value: "Sometimes": supported values: ` +
				`"Always", "Never", "OnFailure"`},
	})
}

// TestRestartRulesOfInitContainers checks the rules of init containers.
func TestRestartRulesOfInitContainers(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.initContainers: [{name: d, image: i, restartPolicy: Never, restartPolicyRules: [{action: " +
			"Restart, exitCodes: {operator: In, values: [1]}}]}]")
	k.Create(kindtest.Rules{
		{"rules without a policy", "spec.initContainers[0].restartPolicy: OnFailure",
			"spec.initContainers[0].restartPolicy: null",
			"spec.initContainers[0].restartPolicy: Required value: must specify restartPolicy when " +
				"restart rules are used"},
		{"action", "spec.initContainers[0].restartPolicyRules: []",
			"spec.initContainers[0].restartPolicyRules[0].action: Stop",
			`spec.initContainers[0].restartPolicyRules[0].action: Unsupported value: "Stop": supported ` +
				`values: "Restart", "RestartAllContainers"`},
	})
}

// TestRestartRulesOfSidecars checks that without the gate, sidecars have no rules.
func TestRestartRulesOfSidecars(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "-RestartAllContainersOnContainerExits").With(
		"spec.initContainers: [{name: d, image: i, restartPolicy: Always}]")
	k.Create(kindtest.Rules{
		{"rules",
			"spec.initContainers[0].restartPolicy: OnFailure; spec.initContainers[0].restartPolicyRules: " +
				"[{action: Restart, exitCodes: {operator: In, values: [1]}}]",
			"spec.initContainers[0].restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [1]}}]",
			"spec.initContainers[0].restartPolicyRules: Forbidden: restartPolicyRules are not allowed " +
				"for init containers with restart policy Always"},
	})
}

// TestRestartActionsWithoutAll checks that without the gate, no rule restarts all containers.
func TestRestartActionsWithoutAll(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "-RestartAllContainersOnContainerExits").With(
		"spec.containers[0].restartPolicy: Never")
	k.Create(kindtest.Rules{
		{"action",
			"spec.containers[0].restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [1]}}]",
			"spec.containers[0].restartPolicyRules: [{action: RestartAllContainers, exitCodes: " +
				"{operator: In, values: [1]}}]",
			`spec.containers[0].restartPolicyRules[0].action: Unsupported value: "RestartAllContainers": ` +
				`supported values: "Restart"`},
	})
}

// TestEphemeralContainerMounts checks that ephemeral containers mount whole volumes.
func TestEphemeralContainerMounts(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With("spec.volumes: [{name: v, emptyDir: {}}]")
	k.UpdatePart("ephemeralcontainers", kindtest.Rules{
		{"mount", "spec.ephemeralContainers: [{name: e, image: i, volumeMounts: [{name: v, mountPath: /a}]}]",
			"spec.ephemeralContainers: [{name: e, image: i, volumeMounts: [{name: v, mountPath: /a, subPath: b}]}]",
			"spec.ephemeralContainers[0].volumeMounts[0].subPath: Forbidden: cannot be set for an " +
				"Ephemeral Container"},
		{"expression", "spec.ephemeralContainers: [{name: e, image: i}]",
			"spec.ephemeralContainers: [{name: e, image: i, volumeMounts: [{name: v, mountPath: /a, " +
				"subPathExpr: b}]}]",
			"spec.ephemeralContainers[0].volumeMounts[0].subPathExpr: Forbidden: cannot be set for an " +
				"Ephemeral Container"},
		{"resize policy", "spec.ephemeralContainers: [{name: e, image: i}]",
			"spec.ephemeralContainers: [{name: e, image: i, resizePolicy: [{resourceName: cpu, " +
				"restartPolicy: NotRequired}]}]",
			"spec.ephemeralContainers[0].resizePolicy: Forbidden: cannot be set for an Ephemeral Container"},
		{"startup probe", "spec.ephemeralContainers: [{name: e, image: i}]",
			"spec.ephemeralContainers: [{name: e, image: i, startupProbe: {exec: {command: [a]}}}]",
			"spec.ephemeralContainers[0].startupProbe: Forbidden: cannot be set for an Ephemeral Container"},
		{"readiness probe", "spec.ephemeralContainers: [{name: e, image: i}]",
			"spec.ephemeralContainers: [{name: e, image: i, readinessProbe: {exec: {command: [a]}}}]",
			"spec.ephemeralContainers[0].readinessProbe: Forbidden: cannot be set for an Ephemeral Container"},
		{"restart policy", "spec.ephemeralContainers: [{name: e, image: i}]",
			"spec.ephemeralContainers: [{name: e, image: i, restartPolicy: Always}]",
			"spec.ephemeralContainers[0].restartPolicy: Forbidden: cannot be set for an Ephemeral Container"},
	})
}
