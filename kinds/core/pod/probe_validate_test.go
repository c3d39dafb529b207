package pod_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestProbeRules(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Create(kindtest.Rules{
		{"handler", "spec.containers[0].livenessProbe: {exec: {command: [a]}}",
			"spec.containers[0].livenessProbe: {}",
			"spec.containers[0].livenessProbe: Required value: must specify a handler type"},
		{"two handlers", "spec.containers[0].livenessProbe: {tcpSocket: {port: 1}}",
			"spec.containers[0].livenessProbe: {tcpSocket: {port: 1}, exec: {command: [a]}}",
			"spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type"},
		{"command", "spec.containers[0].livenessProbe: {exec: {command: [a]}}",
			"spec.containers[0].livenessProbe: {exec: {command: []}}",
			"spec.containers[0].livenessProbe.exec.command: Required value"},
		{"port", "spec.containers[0].livenessProbe: {tcpSocket: {port: 65535}}",
			"spec.containers[0].livenessProbe: {tcpSocket: {port: 65536}}",
			"spec.containers[0].livenessProbe.tcpSocket.port: Invalid value: 65536: must be between 1 " +
				"and 65535, inclusive"},
		{"name of a port", "spec.containers[0].livenessProbe: {tcpSocket: {port: http}}",
			"spec.containers[0].livenessProbe: {tcpSocket: {port: HTTP}}",
			`spec.containers[0].livenessProbe.tcpSocket.port: Invalid value: "HTTP": must contain only ` +
				"alpha-numeric characters (a-z, 0-9), and hyphens (-); " +
				`spec.containers[0].livenessProbe.tcpSocket.port: Invalid value: "HTTP": must contain at ` +
				"least one letter (a-z)"},
		{"port of gRPC", "spec.containers[0].livenessProbe: {grpc: {port: 1}}",
			"spec.containers[0].livenessProbe: {grpc: {port: 0}}",
			"spec.containers[0].livenessProbe.grpc.port: Invalid value: 0: must be between 1 and 65535, inclusive"},
		{"path", "spec.containers[0].livenessProbe: {httpGet: {port: 1, path: /a}}",
			"spec.containers[0].livenessProbe: {httpGet: {port: 1, scheme: http}}",
			`spec.containers[0].livenessProbe.httpGet.scheme: Unsupported value: "http": supported ` +
				`values: "HTTP", "HTTPS"`},
		{"initialDelaySeconds", "spec.containers[0].livenessProbe: {exec: {command: [a]}, initialDelaySeconds: 0}",
			"spec.containers[0].livenessProbe: {exec: {command: [a]}, initialDelaySeconds: -1}",
			"spec.containers[0].livenessProbe.initialDelaySeconds: Invalid value: -1: must be greater " +
				"than or equal to 0"},
		{"timeoutSeconds", "spec.containers[0].livenessProbe: {exec: {command: [a]}, timeoutSeconds: 1}",
			"spec.containers[0].livenessProbe: {exec: {command: [a]}, timeoutSeconds: -1}",
			"spec.containers[0].livenessProbe.timeoutSeconds: Invalid value: -1: must be greater than or equal to 0"},
		{"periodSeconds", "spec.containers[0].livenessProbe: {exec: {command: [a]}, periodSeconds: 1}",
			"spec.containers[0].livenessProbe: {exec: {command: [a]}, periodSeconds: -1}",
			"spec.containers[0].livenessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0"},
		{"failureThreshold", "spec.containers[0].livenessProbe: {exec: {command: [a]}, failureThreshold: 1}",
			"spec.containers[0].livenessProbe: {exec: {command: [a]}, failureThreshold: -1}",
			"spec.containers[0].livenessProbe.failureThreshold: Invalid value: -1: must be greater than " +
				"or equal to 0"},
		{"successThreshold", "spec.containers[0].readinessProbe: {exec: {command: [a]}, successThreshold: 2}",
			"spec.containers[0].livenessProbe: {exec: {command: [a]}, successThreshold: 2}",
			"spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1"},
		{"success of startup", "spec.containers[0].startupProbe: {exec: {command: [a]}, successThreshold: 1}",
			"spec.containers[0].startupProbe: {exec: {command: [a]}, successThreshold: 2}",
			"spec.containers[0].startupProbe.successThreshold: Invalid value: 2: must be 1"},
		{"grace period of liveness",
			"spec.containers[0].livenessProbe: {exec: {command: [a]}, terminationGracePeriodSeconds: 1}",
			"spec.containers[0].livenessProbe: {exec: {command: [a]}, terminationGracePeriodSeconds: 0}",
			"spec.containers[0].livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be " +
				"greater than 0"},
		{"grace period of readiness",
			"spec.containers[0].startupProbe: {exec: {command: [a]}, terminationGracePeriodSeconds: 1}",
			"spec.containers[0].readinessProbe: {exec: {command: [a]}, terminationGracePeriodSeconds: 1}",
			"spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 1: must not " +
				"be set for readinessProbes"},
	})
}

func TestProbeDefaults(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.containers[0].livenessProbe: {httpGet: {port: 1}}")
	k.Created(kindtest.Cases{
		{"times", "",
			"spec.containers[0].livenessProbe.timeoutSeconds: 1; " +
				"spec.containers[0].livenessProbe.periodSeconds: 10; " +
				"spec.containers[0].livenessProbe.successThreshold: 1; " +
				"spec.containers[0].livenessProbe.failureThreshold: 3"},
		{"request", "",
			"spec.containers[0].livenessProbe.httpGet.path: /; " +
				"spec.containers[0].livenessProbe.httpGet.scheme: HTTP"},
		{"service of gRPC", "spec.containers[0].livenessProbe: {grpc: {port: 1}}",
			`spec.containers[0].livenessProbe.grpc.service: ""`},
	})
}

// TestProbeActions checks what probes do.
func TestProbeActions(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.containers[0].livenessProbe: {httpGet: {port: 1}}")
	k.Create(kindtest.Rules{
		{"path", "spec.containers[0].livenessProbe.httpGet.path: /a",
			`spec.containers[0].livenessProbe.httpGet.path: null; spec.containers[0].livenessProbe.httpGet.port: ""`,
			`spec.containers[0].livenessProbe.httpGet.port: Invalid value: "": must contain only ` +
				"alpha-numeric characters (a-z, 0-9), and hyphens (-); " +
				`spec.containers[0].livenessProbe.httpGet.port: Invalid value: "": must contain at least one ` +
				"letter (a-z)"},
		{"header", "spec.containers[0].livenessProbe.httpGet.httpHeaders: [{name: X-A, value: b}]",
			`spec.containers[0].livenessProbe.httpGet.httpHeaders: [{name: "X A", value: b}]`,
			`spec.containers[0].livenessProbe.httpGet.httpHeaders: Invalid value: "X A": a valid HTTP ` +
				"header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for " +
				"validation is '[-A-Za-z0-9]+')"},
		{"exec and HTTP", "spec.containers[0].livenessProbe: {exec: {command: [a]}}",
			"spec.containers[0].livenessProbe.exec: {command: [a]}",
			"spec.containers[0].livenessProbe.httpGet: Forbidden: may not specify more than 1 handler type"},
		{"three actions", "spec.containers[0].livenessProbe: {tcpSocket: {port: 1}}",
			"spec.containers[0].livenessProbe: {exec: {command: [a]}, tcpSocket: {port: 1}, grpc: {port: 1}}",
			"spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler " +
				"type; spec.containers[0].livenessProbe.grpc: Forbidden: may not specify more than 1 handler type"},
	})
}

// TestStopSignalNames checks names of signals.
func TestStopSignalNames(t *testing.T) {
	kindtest.New(t, "pods.v1", pod, "ContainerStopSignals").With("spec.os.name: linux").Create(kindtest.Rules{
		{"real-time signal", "spec.containers[0].lifecycle.stopSignal: SIGRTMAX-14",
			"spec.containers[0].lifecycle.stopSignal: SIGRTMAX-15",
			`spec.containers[0].lifecycle.stopSignal: Unsupported value: "SIGRTMAX-15": supported ` +
				`values: "SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP", ` +
				`"SIGILL", "SIGINT", "SIGIO", "SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF", ` +
				`"SIGPWR", "SIGQUIT", "SIGRTMAX", "SIGRTMAX-1", "SIGRTMAX-10", "SIGRTMAX-11", "SIGRTMAX-12", ` +
				`"SIGRTMAX-13", "SIGRTMAX-14", "SIGRTMAX-2", "SIGRTMAX-3", "SIGRTMAX-4", "SIGRTMAX-5", ` +
				`"SIGRTMAX-6", "SIGRTMAX-7", "SIGRTMAX-8", "SIGRTMAX-9", "SIGRTMIN", "SIGRTMIN+1", ` +
				`"SIGRTMIN+10", "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13", "SIGRTMIN+14", "SIGRTMIN+15", ` +
				`"SIGRTMIN+2", "SIGRTMIN+3", "SIGRTMIN+4", "SIGRTMIN+5", "SIGRTMIN+6", "SIGRTMIN+7", ` +
				`"SIGRTMIN+8", "SIGRTMIN+9", "SIGSEGV", "SIGSTKFLT", "SIGSTOP", "SIGSYS", "SIGTERM", ` +
				`"SIGTRAP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGVTALRM", ` +
				`"SIGWINCH", "SIGXCPU", "SIGXFSZ"`},
	})
}

// TestModeOfGRPC checks whether gRPC probes use TLS.
func TestModeOfGRPC(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "GRPCContainerProbeTLS").With(
		"spec.containers[0].livenessProbe: {grpc: {port: 1}}")
	k.Create(kindtest.Rules{
		{"mode", "spec.containers[0].livenessProbe.grpc.mode: Plaintext",
			"spec.containers[0].livenessProbe.grpc.mode: x",
			`spec.containers[0].livenessProbe.grpc.mode: Unsupported value: "x": supported values: ` +
				`"Plaintext", "TLS"`},
	})
}
