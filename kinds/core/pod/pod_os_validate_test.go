package pod_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestOperatingSystemRules(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Create(kindtest.Rules{
		{"name", "spec.os.name: windows", "spec.os.name: plan9",
			`spec.os: Unsupported value: "plan9": supported values: "linux", "windows"`},
		{"no name", "spec.os.name: linux", `spec.os: {name: ""}`, "spec.os.name: Required value"},
		{"Windows options", "spec.os.name: windows; spec.securityContext.windowsOptions.runAsUserName: a",
			"spec.os.name: linux; spec.securityContext.windowsOptions.runAsUserName: a",
			"spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod"},
		{"Windows options of a container",
			"spec.os.name: windows; spec.containers[0].securityContext.windowsOptions.runAsUserName: a",
			"spec.os.name: linux; spec.containers[0].securityContext.windowsOptions.runAsUserName: a",
			"spec.containers[0].securityContext.windowsOptions: Forbidden: windows options cannot be set " +
				"for a linux pod"},
		{"hostPID", "spec.os.name: linux; spec.hostPID: true", "spec.os.name: windows; spec.hostPID: true",
			"spec.hostPID: Forbidden: cannot be set for a windows pod"},
		{"hostIPC", "spec.os.name: linux; spec.hostIPC: true", "spec.os.name: windows; spec.hostIPC: true",
			"spec.hostIPC: Forbidden: cannot be set for a windows pod"},
		{"hostUsers", "spec.os.name: linux; spec.hostUsers: false", "spec.os.name: windows; spec.hostUsers: false",
			"spec.hostUsers: Forbidden: cannot be set for a windows pod"},
		{"shareProcessNamespace", "spec.os.name: linux; spec.shareProcessNamespace: true",
			"spec.os.name: windows; spec.shareProcessNamespace: true",
			"spec.shareProcessNamespace: Forbidden: cannot be set for a windows pod"},
		{"SELinux", "spec.os.name: linux; spec.securityContext.seLinuxOptions: {level: a}",
			"spec.os.name: windows; spec.securityContext.seLinuxOptions: {level: a}",
			"spec.securityContext.seLinuxOptions: Forbidden: cannot be set for a windows pod"},
		{"seccomp", "spec.os.name: linux; spec.securityContext.seccompProfile.type: Unconfined",
			"spec.os.name: windows; spec.securityContext.seccompProfile.type: Unconfined",
			"spec.securityContext.seccompProfile: Forbidden: cannot be set for a windows pod"},
		{"AppArmor", "spec.os.name: linux; spec.securityContext.appArmorProfile.type: Unconfined",
			"spec.os.name: windows; spec.securityContext.appArmorProfile.type: Unconfined",
			"spec.securityContext.appArmorProfile: Forbidden: cannot be set for a windows pod"},
		{"fsGroup", "spec.os.name: linux; spec.securityContext.fsGroup: 1",
			"spec.os.name: windows; spec.securityContext.fsGroup: 1",
			"spec.securityContext.fsGroup: Forbidden: cannot be set for a windows pod"},
		{"fsGroupChangePolicy", "spec.os.name: linux; spec.securityContext.fsGroupChangePolicy: Always",
			"spec.os.name: windows; spec.securityContext.fsGroupChangePolicy: Always",
			"spec.securityContext.fsGroupChangePolicy: Forbidden: cannot be set for a windows pod"},
		{"sysctls", "spec.os.name: linux; spec.securityContext.sysctls: [{name: a, value: b}]",
			"spec.os.name: windows; spec.securityContext.sysctls: [{name: a, value: b}]",
			"spec.securityContext.sysctls: Forbidden: cannot be set for a windows pod"},
		{"runAsUser", "spec.os.name: linux; spec.securityContext.runAsUser: 1",
			"spec.os.name: windows; spec.securityContext.runAsUser: 1",
			"spec.securityContext.runAsUser: Forbidden: cannot be set for a windows pod"},
		{"runAsGroup", "spec.os.name: linux; spec.securityContext.runAsGroup: 1",
			"spec.os.name: windows; spec.securityContext.runAsGroup: 1",
			"spec.securityContext.runAsGroup: Forbidden: cannot be set for a windows pod"},
		{"supplementalGroups", "spec.os.name: linux; spec.securityContext.supplementalGroups: [1]",
			"spec.os.name: windows; spec.securityContext.supplementalGroups: [1]",
			"spec.securityContext.supplementalGroups: Forbidden: cannot be set for a windows pod"},
		{"capabilities", "spec.os.name: linux; spec.containers[0].securityContext.capabilities: {add: [A]}",
			"spec.os.name: windows; spec.containers[0].securityContext.capabilities: {add: [A]}",
			"spec.containers[0].securityContext.capabilities: Forbidden: cannot be set for a windows pod"},
		{"readOnlyRootFilesystem",
			"spec.os.name: linux; spec.containers[0].securityContext.readOnlyRootFilesystem: true",
			"spec.os.name: windows; spec.containers[0].securityContext.readOnlyRootFilesystem: true",
			"spec.containers[0].securityContext.readOnlyRootFilesystem: Forbidden: cannot be set for a windows pod"},
		{"privileged", "spec.os.name: linux; spec.containers[0].securityContext.privileged: true",
			"spec.os.name: windows; spec.containers[0].securityContext.privileged: true",
			"spec.containers[0].securityContext.privileged: Forbidden: cannot be set for a windows pod"},
		{"allowPrivilegeEscalation",
			"spec.os.name: linux; spec.containers[0].securityContext.allowPrivilegeEscalation: true",
			"spec.os.name: windows; spec.containers[0].securityContext.allowPrivilegeEscalation: true",
			"spec.containers[0].securityContext.allowPrivilegeEscalation: Forbidden: cannot be set for a " +
				"windows pod"},
		{"procMount", "spec.os.name: linux; spec.containers[0].securityContext.procMount: Default",
			"spec.os.name: windows; spec.containers[0].securityContext.procMount: Default",
			"spec.containers[0].securityContext.procMount: Forbidden: cannot be set for a windows pod"},
		{"user of a container", "spec.os.name: linux; spec.containers[0].securityContext.runAsUser: 1",
			"spec.os.name: windows; spec.containers[0].securityContext.runAsUser: 1",
			"spec.containers[0].securityContext.runAsUser: Forbidden: cannot be set for a windows pod"},
	})
}

// TestWindowsUsers checks the names of users of Windows.
func TestWindowsUsers(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).With("spec.os.name: windows").Create(kindtest.Rules{
		{"name", "spec.securityContext.windowsOptions.runAsUserName: a",
			`spec.securityContext.windowsOptions.runAsUserName: ""`,
			`spec.securityContext.windowsOptions.runAsUserName: Invalid value: "": runAsUserName cannot ` +
				"be an empty string"},
		{"domain", `spec.securityContext.windowsOptions.runAsUserName: 'AUTHORITY\a'`,
			`spec.securityContext.windowsOptions.runAsUserName: '\a'`,
			`spec.securityContext.windowsOptions.runAsUserName: Invalid value: "\\a": runAsUserName's ` +
				"Domain doesn't match the NetBios nor the DNS format"},
		{"user", `spec.securityContext.windowsOptions.runAsUserName: 'a.b\c'`,
			`spec.securityContext.windowsOptions.runAsUserName: 'a\'`,
			`spec.securityContext.windowsOptions.runAsUserName: Invalid value: "a\\": runAsUserName's ` +
				"User cannot be empty"},
		{"two backslashes", `spec.securityContext.windowsOptions.runAsUserName: 'a\b'`,
			`spec.securityContext.windowsOptions.runAsUserName: 'a\b\c'`,
			`spec.securityContext.windowsOptions.runAsUserName: Invalid value: "a\\b\\c": runAsUserName ` +
				"cannot contain more than one backslash"},
		{"control character", "spec.securityContext.windowsOptions.runAsUserName: a b",
			`spec.securityContext.windowsOptions.runAsUserName: "a\tb"`,
			`spec.securityContext.windowsOptions.runAsUserName: Invalid value: "a\tb": runAsUserName ` +
				"cannot contain control characters"},
		{"length of a domain", `spec.securityContext.windowsOptions.runAsUserName: 'abc\a'`,
			"spec.securityContext.windowsOptions.runAsUserName: '" + strings.Repeat("a", 256) + `\a'`,
			"spec.securityContext.windowsOptions.runAsUserName: Invalid value: " +
				`"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` +
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
				`aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\\a": ` +
				"runAsUserName's Domain length must be under 256 characters; " +
				"spec.securityContext.windowsOptions.runAsUserName: Invalid value: " +
				`"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` +
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
				`aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\\a": ` +
				"runAsUserName's Domain doesn't match the NetBios nor the DNS format"},
		{"length of a user", "spec.securityContext.windowsOptions.runAsUserName: " + strings.Repeat("a", 104),
			"spec.securityContext.windowsOptions.runAsUserName: " + strings.Repeat("a", 105),
			"spec.securityContext.windowsOptions.runAsUserName: Invalid value: " +
				`"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` +
				`aaaaaaaaaaaaaa": runAsUserName's User length must not be longer than 104 characters`},
		{"periods", "spec.securityContext.windowsOptions.runAsUserName: a.",
			`spec.securityContext.windowsOptions.runAsUserName: ". ."`,
			`spec.securityContext.windowsOptions.runAsUserName: Invalid value: ". .": runAsUserName's ` +
				"User cannot contain only periods or spaces"},
		{"odd character", "spec.securityContext.windowsOptions.runAsUserName: a-b",
			`spec.securityContext.windowsOptions.runAsUserName: "a|b"`,
			`spec.securityContext.windowsOptions.runAsUserName: Invalid value: "a|b": runAsUserName's ` +
				`User cannot contain the following characters: "/\:;|=,+*?<>@[]`},
		{"user of a container", "spec.containers[0].securityContext.windowsOptions.runAsUserName: a",
			`spec.containers[0].securityContext.windowsOptions.runAsUserName: "a?"`,
			`spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value: "a?": ` +
				`runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]`},
	})
}

// TestWindowsCredentials checks the credentials of group managed accounts.
func TestWindowsCredentials(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).With("spec.os.name: windows").Create(kindtest.Rules{
		{"name of the specification", "spec.securityContext.windowsOptions.gmsaCredentialSpecName: a.b",
			"spec.securityContext.windowsOptions.gmsaCredentialSpecName: A",
			`spec.securityContext.windowsOptions.gmsaCredentialSpecName: Invalid value: "A": a lowercase ` +
				"RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must " +
				"start and end with an alphanumeric character (e.g. 'example.com', regex used for validation " +
				`is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"specification", "spec.securityContext.windowsOptions.gmsaCredentialSpec: a",
			`spec.securityContext.windowsOptions.gmsaCredentialSpec: ""`,
			`spec.securityContext.windowsOptions.gmsaCredentialSpec: Invalid value: "": ` +
				"gmsaCredentialSpec cannot be an empty string"},
		{"length of the specification", "spec.securityContext.windowsOptions.gmsaCredentialSpec: a",
			"spec.securityContext.windowsOptions.gmsaCredentialSpec: " + strings.Repeat("a", 65537),
			`spec.securityContext.windowsOptions.gmsaCredentialSpec: Invalid value:...aaaaaaaaaaaaa": ` +
				"gmsaCredentialSpec size must be under 64 KiB"},
	})
}

// TestHostProcesses checks pods whose containers are processes of the node.
func TestHostProcesses(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.os.name: windows; spec.hostNetwork: true; spec.securityContext.windowsOptions.hostProcess: true")
	k.Create(kindtest.Rules{
		{"container", "spec.containers[0].securityContext.windowsOptions.hostProcess: true",
			"spec.containers[0].securityContext.windowsOptions.hostProcess: false",
			"spec.containers[0].securityContext.windowsOptions.hostProcess: Invalid value: false: pod " +
				"hostProcess value must be identical if both are specified, was true"},
		{"network", "spec.hostNetwork: true", "spec.hostNetwork: false",
			"spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any " +
				"hostProcess containers"},
		{"only some containers",
			"spec.securityContext: {}; spec.containers[0].securityContext.windowsOptions.hostProcess: true",
			"spec.securityContext: {}; spec.containers[0].securityContext.windowsOptions.hostProcess: " +
				"true; spec.containers[1]: {name: d, image: i}",
			`spec: Invalid value: "": If pod contains any hostProcess containers then all containers ` +
				"must be HostProcess containers"},
	})
}
