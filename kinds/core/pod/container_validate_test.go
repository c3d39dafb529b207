package pod_test

import (
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
