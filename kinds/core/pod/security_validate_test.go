package pod_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestSecurityRules(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Create(kindtest.Rules{
		{"runAsUser", "spec.securityContext.runAsUser: 0", "spec.securityContext.runAsUser: -1",
			"spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive"},
		{"runAsGroup", "spec.securityContext.runAsGroup: 2147483647", "spec.securityContext.runAsGroup: 2147483648",
			"spec.securityContext.runAsGroup: Invalid value: 2147483648: must be between 0 and " +
				"2147483647, inclusive"},
		{"fsGroup", "spec.securityContext.fsGroup: 0", "spec.securityContext.fsGroup: -1",
			"spec.securityContext.fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive"},
		{"supplementalGroups", "spec.securityContext.supplementalGroups: [0]",
			"spec.securityContext.supplementalGroups: [-1]",
			"spec.securityContext.supplementalGroups[0]: Invalid value: -1: must be between 0 and " +
				"2147483647, inclusive"},
		{"supplementalGroupsPolicy", "spec.securityContext.supplementalGroupsPolicy: Strict",
			"spec.securityContext.supplementalGroupsPolicy: Other",
			`spec.securityContext.supplementalGroupsPolicy: Unsupported value: "Other": supported ` +
				`values: "Merge", "Strict"`},
		{"fsGroupChangePolicy", "spec.securityContext.fsGroupChangePolicy: OnRootMismatch",
			"spec.securityContext.fsGroupChangePolicy: Never",
			`spec.securityContext.fsGroupChangePolicy: Unsupported value: "Never": supported values: ` +
				`"Always", "OnRootMismatch"`},
		{"seLinuxChangePolicy", "spec.securityContext.seLinuxChangePolicy: Recursive",
			"spec.securityContext.seLinuxChangePolicy: Never",
			`spec.securityContext.seLinuxChangePolicy: Unsupported value: "Never": supported values: ` +
				`"MountOption", "Recursive"`},
		{"sysctl", `spec.securityContext.sysctls: [{name: net.ipv4.a-b_c/d, value: "1"}]`,
			`spec.securityContext.sysctls: [{name: "a b", value: "1"}]`,
			`spec.securityContext.sysctls[0].name: Invalid value: "a b": must have at most 253 ` +
				`characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`},
		{"no sysctl", `spec.securityContext.sysctls: [{name: a, value: "1"}]`,
			`spec.securityContext.sysctls: [{value: "1"}]`, "spec.securityContext.sysctls[0].name: Required value"},
		{"sysctl of the host", `spec.hostIPC: true; spec.securityContext.sysctls: [{name: vm.a, value: "1"}]`,
			`spec.hostIPC: true; spec.securityContext.sysctls: [{name: kernel.shmmax, value: "1"}]`,
			`spec.securityContext.sysctls[0].name: Invalid value: "kernel.shmmax": may not be specified ` +
				"when 'hostIPC' is true"},
		{"sysctl of the host network",
			`spec.hostNetwork: true; spec.securityContext.sysctls: [{name: vm.a, value: "1"}]`,
			`spec.hostNetwork: true; spec.securityContext.sysctls: [{name: net.a, value: "1"}]`,
			`spec.securityContext.sysctls[0].name: Invalid value: "net.a": may not be specified when ` +
				"'hostNetwork' is true"},
		{"share processes", "spec.shareProcessNamespace: true",
			"spec.shareProcessNamespace: true; spec.hostPID: true",
			"spec.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot " +
				"both be enabled"},
		{"seccomp", "spec.securityContext.seccompProfile: {type: Localhost, localhostProfile: a/b}",
			"spec.securityContext.seccompProfile: {type: Localhost}",
			"spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when " +
				"seccomp type is Localhost"},
		{"type of seccomp", "spec.securityContext.seccompProfile: {type: Unconfined}",
			"spec.securityContext.seccompProfile: {type: Other}",
			`spec.securityContext.seccompProfile.type: Unsupported value: "Other": supported values: ` +
				`"Localhost", "RuntimeDefault", "Unconfined"`},
		{"no type of seccomp", "spec.securityContext.seccompProfile: {type: RuntimeDefault}",
			"spec.securityContext.seccompProfile: {}",
			"spec.securityContext.seccompProfile.type: Required value: type is required when seccompProfile is set"},
		{"profile of seccomp", "spec.securityContext.seccompProfile: {type: RuntimeDefault}",
			"spec.securityContext.seccompProfile: {type: RuntimeDefault, localhostProfile: a}",
			"spec.securityContext.seccompProfile.localhostProfile: Invalid value: " +
				`{"Type":"RuntimeDefault","LocalhostProfile":"a"}: can only be set when seccomp type is Localhost`},
		{"path of seccomp", "spec.securityContext.seccompProfile: {type: Localhost, localhostProfile: a}",
			"spec.securityContext.seccompProfile: {type: Localhost, localhostProfile: ../a}",
			`spec.securityContext.seccompProfile.localhostProfile: Invalid value: "../a": must not contain '..'`},
		{"AppArmor", "spec.securityContext.appArmorProfile: {type: Localhost, localhostProfile: a}",
			"spec.securityContext.appArmorProfile: {type: Localhost}",
			"spec.securityContext.appArmorProfile.localhostProfile: Required value: must be set when " +
				"AppArmor type is Localhost"},
		{"type of AppArmor", "spec.securityContext.appArmorProfile: {type: Unconfined}",
			"spec.securityContext.appArmorProfile: {type: Other}",
			`spec.securityContext.appArmorProfile.type: Unsupported value: "Other": supported values: ` +
				`"Localhost", "RuntimeDefault", "Unconfined"`},
		{"spaces of AppArmor", "spec.securityContext.appArmorProfile: {type: Localhost, localhostProfile: a}",
			`spec.securityContext.appArmorProfile: {type: Localhost, localhostProfile: " a"}`,
			`spec.securityContext.appArmorProfile.localhostProfile: Invalid value: " a": must not be ` +
				"padded with whitespace"},
		{"profile of AppArmor", "spec.securityContext.appArmorProfile: {type: RuntimeDefault}",
			"spec.securityContext.appArmorProfile: {type: RuntimeDefault, localhostProfile: a}",
			`spec.securityContext.appArmorProfile.localhostProfile: Invalid value: "a": can only be set ` +
				"when AppArmor type is Localhost"},
		{"user of a container", "spec.containers[0].securityContext.runAsUser: 1",
			"spec.containers[0].securityContext.runAsUser: -1",
			"spec.containers[0].securityContext.runAsUser: Invalid value: -1: must be between 0 and " +
				"2147483647, inclusive"},
		{"group of a container", "spec.containers[0].securityContext.runAsGroup: 1",
			"spec.containers[0].securityContext.runAsGroup: -1",
			"spec.containers[0].securityContext.runAsGroup: Invalid value: -1: must be between 0 and " +
				"2147483647, inclusive"},
		{"privileged escalation",
			"spec.containers[0].securityContext: {privileged: true, allowPrivilegeEscalation: true}",
			"spec.containers[0].securityContext: {privileged: true, allowPrivilegeEscalation: false}",
			"spec.containers[0].securityContext: Invalid value: " +
				`{"Capabilities":null,"Privileged":true,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUse` +
				`r":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeE` +
				`scalation":false,"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}: cannot set ` +
				"`allowPrivilegeEscalation` to false and `privileged` to true"},
		{"escalation by a capability", "spec.containers[0].securityContext: {allowPrivilegeEscalation: false}",
			"spec.containers[0].securityContext: {allowPrivilegeEscalation: false, capabilities: {add: " +
				"[CAP_SYS_ADMIN]}}",
			"spec.containers[0].securityContext: Invalid value: " +
				`{"Capabilities":{"Add":["CAP_SYS_ADMIN"],"Drop":null},"Privileged":null,"SELinuxOptions":nul` +
				`l,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRoot` +
				`Filesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":null,"Ap` +
				"pArmorProfile\":null}: cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` " +
				"CAP_SYS_ADMIN"},
		{"procMount", "spec.hostUsers: false; spec.containers[0].securityContext.procMount: Unmasked",
			"spec.containers[0].securityContext.procMount: Unmasked",
			"spec.containers[0].securityContext.procMount: Invalid value: \"Unmasked\": `hostUsers` must " +
				"be false to use `Unmasked`"},
		{"type of procMount", "spec.containers[0].securityContext.procMount: Default",
			"spec.containers[0].securityContext.procMount: Other",
			`spec.containers[0].securityContext.procMount: Unsupported value: "Other": supported values: ` +
				`"Default", "Unmasked"`},
		{"seccomp of a container", "spec.containers[0].securityContext.seccompProfile: {type: RuntimeDefault}",
			"spec.containers[0].securityContext.seccompProfile: {type: Other}",
			`spec.containers[0].securityContext.seccompProfile.type: Unsupported value: "Other": ` +
				`supported values: "Localhost", "RuntimeDefault", "Unconfined"`},
		{"AppArmor of a container", "spec.containers[0].securityContext.appArmorProfile: {type: RuntimeDefault}",
			"spec.containers[0].securityContext.appArmorProfile: {type: Other}",
			`spec.containers[0].securityContext.appArmorProfile.type: Unsupported value: "Other": ` +
				`supported values: "Localhost", "RuntimeDefault", "Unconfined"`},
		{"HostProcess of the container",
			"spec.hostNetwork: true; spec.containers[0].securityContext.windowsOptions.hostProcess: true",
			"spec.containers[0].securityContext.windowsOptions.hostProcess: true",
			"spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any " +
				"hostProcess containers"},
		{"gmsaCredentialSpec", "spec.securityContext.windowsOptions: {gmsaCredentialSpecName: a}",
			`spec.securityContext.windowsOptions: {gmsaCredentialSpecName: A_b, gmsaCredentialSpec: ""}`,
			`spec.securityContext.windowsOptions.gmsaCredentialSpecName: Invalid value: "A_b": a ` +
				"lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or " +
				"'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used " +
				`for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'); ` +
				`spec.securityContext.windowsOptions.gmsaCredentialSpec: Invalid value: "": ` +
				"gmsaCredentialSpec cannot be an empty string"},
		{"runAsUserName", `spec.securityContext.windowsOptions: {runAsUserName: 'a\b'}`,
			`spec.securityContext.windowsOptions: {runAsUserName: ""}`,
			`spec.securityContext.windowsOptions.runAsUserName: Invalid value: "": runAsUserName cannot ` +
				"be an empty string"},
		{"characters of runAsUserName", "spec.securityContext.windowsOptions: {runAsUserName: a}",
			`spec.securityContext.windowsOptions: {runAsUserName: 'a\b\c'}`,
			`spec.securityContext.windowsOptions.runAsUserName: Invalid value: "a\\b\\c": runAsUserName ` +
				"cannot contain more than one backslash"},
	})
}

// TestAppArmorProfiles checks AppArmor profiles.
func TestAppArmorProfiles(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.securityContext.appArmorProfile: {type: Localhost, localhostProfile: a}")
	k.Create(kindtest.Rules{
		{"type", "spec.securityContext.appArmorProfile: {type: RuntimeDefault}",
			"spec.securityContext.appArmorProfile: {type: Other}",
			`spec.securityContext.appArmorProfile.type: Unsupported value: "Other": supported values: ` +
				`"Localhost", "RuntimeDefault", "Unconfined"`},
		{"no type", "spec.securityContext.appArmorProfile: {type: Unconfined}",
			`spec.securityContext.appArmorProfile: {type: ""}`,
			"spec.securityContext.appArmorProfile.type: Required value: type is required when " +
				"appArmorProfile is set"},
		{"profile of another type", "spec.securityContext.appArmorProfile: {type: Unconfined}",
			"spec.securityContext.appArmorProfile.type: Unconfined",
			`spec.securityContext.appArmorProfile.localhostProfile: Invalid value: "a": can only be set ` +
				"when AppArmor type is Localhost"},
		{"no profile", "spec.securityContext.appArmorProfile.localhostProfile: b",
			"spec.securityContext.appArmorProfile.localhostProfile: null",
			"spec.securityContext.appArmorProfile.localhostProfile: Required value: must be set when " +
				"AppArmor type is Localhost"},
		{"empty profile", "spec.securityContext.appArmorProfile.localhostProfile: b",
			`spec.securityContext.appArmorProfile.localhostProfile: ""`,
			"spec.securityContext.appArmorProfile.localhostProfile: Required value: must be set when " +
				"AppArmor type is Localhost"},
		{"spaces", "spec.securityContext.appArmorProfile.localhostProfile: b",
			`spec.securityContext.appArmorProfile.localhostProfile: " b"`,
			`spec.securityContext.appArmorProfile.localhostProfile: Invalid value: " b": must not be ` +
				"padded with whitespace"},
		{"length", "spec.securityContext.appArmorProfile.localhostProfile: " + strings.Repeat("a", 4095),
			"spec.securityContext.appArmorProfile.localhostProfile: " + strings.Repeat("a", 4096),
			"spec.securityContext.appArmorProfile.localhostProfile: Too long: may not be more than 4095 bytes"},
	})
}

// TestSysctls checks parameters of the kernel.
func TestSysctls(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		`spec.securityContext.sysctls: [{name: kernel.msgmax, value: "1"}]`)
	k.Create(kindtest.Rules{
		{"name", "spec.securityContext.sysctls[0].name: net/ipv4/a", `spec.securityContext.sysctls[0].name: "a b"`,
			`spec.securityContext.sysctls[0].name: Invalid value: "a b": must have at most 253 ` +
				`characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`},
		{"no name", `spec.securityContext.sysctls[0].value: "2"`, `spec.securityContext.sysctls[0].name: ""`,
			"spec.securityContext.sysctls[0].name: Required value"},
		{"name twice", `spec.securityContext.sysctls[1]: {name: kernel.msgmnb, value: "1"}`,
			`spec.securityContext.sysctls[1]: {name: kernel.msgmax, value: "2"}`,
			`spec.securityContext.sysctls[1].name: Duplicate value: "kernel.msgmax"`},
		{"namespace of the host", "spec.hostNetwork: true",
			"spec.hostNetwork: true; spec.securityContext.sysctls[0].name: net.a",
			`spec.securityContext.sysctls[0].name: Invalid value: "net.a": may not be specified when ` +
				"'hostNetwork' is true"},
		{"IPC of the host", "spec.hostIPC: false", "spec.hostIPC: true",
			`spec.securityContext.sysctls[0].name: Invalid value: "kernel.msgmax": may not be specified ` +
				"when 'hostIPC' is true"},
	})
}

// TestUserNamespaces checks pods with users of their own.
func TestUserNamespaces(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).With("spec.hostUsers: false").Create(kindtest.Rules{
		{"network of the host", "spec.hostNetwork: false", "spec.hostNetwork: true",
			"spec.hostNetwork: Forbidden: when `hostUsers` is false"},
		{"PID of the host", "spec.hostPID: false", "spec.hostPID: true",
			"spec.HostPID: Forbidden: when `hostUsers` is false"},
		{"IPC of the host", "spec.hostIPC: false", "spec.hostIPC: true",
			"spec.HostIPC: Forbidden: when `hostUsers` is false"},
		{"devices", "spec.volumes: [{name: v, emptyDir: {}}]",
			"spec.volumes: [{name: w, persistentVolumeClaim: {claimName: a}}]; " +
				"spec.containers[0].volumeDevices: [{name: w, devicePath: /a}]",
			"spec.containers[0].volumeDevices: Forbidden: when `hostUsers` is false"},
	})
}

// TestUserNamespacesOfHostNetwork checks that the gate permits the network of the host.
func TestUserNamespacesOfHostNetwork(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "UserNamespacesHostNetworkSupport").With(
		"spec.hostUsers: false")
	k.Create(kindtest.Rules{
		{"network of the host", "spec.hostNetwork: true", "spec.hostPID: true",
			"spec.HostPID: Forbidden: when `hostUsers` is false"},
	})
}

// TestSELinuxPoliciesWithoutMount checks the policies without the gate.
func TestSELinuxPoliciesWithoutMount(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "-SELinuxMount").With(
		"spec.securityContext.seLinuxChangePolicy: Recursive")
	k.Create(kindtest.Rules{
		{"policy", "spec.securityContext.seLinuxChangePolicy: null",
			"spec.securityContext.seLinuxChangePolicy: MountOption",
			`spec.securityContext.seLinuxChangePolicy: Unsupported value: "MountOption": supported ` +
				`values: "Recursive"`},
	})
}

// TestSELinuxPolicies checks how volumes get their SELinux labels.
func TestSELinuxPolicies(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.securityContext.seLinuxChangePolicy: Recursive")
	k.Create(kindtest.Rules{
		{"policy", "spec.securityContext.seLinuxChangePolicy: MountOption",
			"spec.securityContext.seLinuxChangePolicy: Other",
			`spec.securityContext.seLinuxChangePolicy: Unsupported value: "Other": supported values: ` +
				`"MountOption", "Recursive"`},
		{"empty policy", "spec.securityContext.seLinuxChangePolicy: null",
			`spec.securityContext.seLinuxChangePolicy: ""`,
			`spec.securityContext.seLinuxChangePolicy: Unsupported value: "": supported values: ` +
				`"MountOption", "Recursive"`},
		{"Windows", "spec.securityContext: null; spec.os.name: windows", "spec.os.name: windows",
			"spec.securityContext.seLinuxChangePolicy: Forbidden: cannot be set for a windows pod"},
	})
}
