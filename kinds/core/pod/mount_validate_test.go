package pod_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestMountRules(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.volumes: [{name: v, emptyDir: {}}, {name: w, persistentVolumeClaim: {claimName: a}}]")
	k.Create(kindtest.Rules{
		{"volume", "spec.containers[0].volumeMounts: [{name: v, mountPath: /a}]",
			"spec.containers[0].volumeMounts: [{name: x, mountPath: /a}]",
			`spec.containers[0].volumeMounts[0].name: Not found: "x"`},
		{"no name", "spec.containers[0].volumeMounts: [{name: v, mountPath: a}]",
			"spec.containers[0].volumeMounts: [{mountPath: /a}]",
			"spec.containers[0].volumeMounts[0].name: Required value; " +
				`spec.containers[0].volumeMounts[0].name: Not found: ""`},
		{"mountPath", "spec.containers[0].volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /b}]",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /a}]",
			`spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/a": must be unique`},
		{"no mountPath", "spec.containers[0].volumeMounts: [{name: v, mountPath: /}]",
			"spec.containers[0].volumeMounts: [{name: v}]",
			"spec.containers[0].volumeMounts[0].mountPath: Required value"},
		{"subPath", "spec.containers[0].volumeMounts: [{name: v, mountPath: /a, subPath: a/b}]",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a, subPath: ../b}]",
			`spec.containers[0].volumeMounts.subPath: Invalid value: "../b": must not contain '..'`},
		{"absolute subPath", "spec.containers[0].volumeMounts: [{name: v, mountPath: /a, subPath: a}]",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a, subPath: /b}]",
			`spec.containers[0].volumeMounts.subPath: Invalid value: "/b": must be a relative path`},
		{"subPathExpr", "spec.containers[0].volumeMounts: [{name: v, mountPath: /a, subPathExpr: $(A)}]",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a, subPathExpr: /b}]",
			`spec.containers[0].volumeMounts.subPathExpr: Invalid value: "/b": must be a relative path`},
		{"both subPaths", "spec.containers[0].volumeMounts: [{name: v, mountPath: /a, subPathExpr: b}]",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a, subPathExpr: b, subPath: b}]",
			`spec.containers[0].volumeMounts[0].subPathExpr: Invalid value: "b": subPathExpr and subPath ` +
				"are mutually exclusive"},
		{"propagation",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a, mountPropagation: HostToContainer}]",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a, mountPropagation: Both}]",
			`spec.containers[0].volumeMounts.mountPropagation: Unsupported value: "Both": supported ` +
				`values: "Bidirectional", "HostToContainer", "None"`},
		{"unknown propagation", "spec.containers[0].volumeMounts: [{name: v, mountPath: /a, mountPropagation: None}]",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a, mountPropagation: Sideways}]",
			`spec.containers[0].volumeMounts.mountPropagation: Unsupported value: "Sideways": supported ` +
				`values: "Bidirectional", "HostToContainer", "None"`},
		{"recursiveReadOnly",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a, readOnly: true, " +
				"recursiveReadOnly: Enabled}]",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a, recursiveReadOnly: Enabled}]",
			"spec.containers[0].volumeMounts.recursiveReadOnly: Forbidden: may only be specified when " +
				"readOnly is true"},
		{"unknown recursiveReadOnly",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a, recursiveReadOnly: Disabled}]",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a, readOnly: true, recursiveReadOnly: Maybe}]",
			`spec.containers[0].volumeMounts.recursiveReadOnly: Unsupported value: "Maybe": supported ` +
				`values: "Disabled", "Enabled", "IfPossible"`},
		{"propagation of recursiveReadOnly",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a, readOnly: true, " +
				"recursiveReadOnly: IfPossible, mountPropagation: None}]",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a, readOnly: true, " +
				"recursiveReadOnly: IfPossible, mountPropagation: HostToContainer}]",
			"spec.containers[0].volumeMounts.recursiveReadOnly: Forbidden: may only be specified when " +
				"mountPropagation is None or not specified"},
		{"device", "spec.containers[0].volumeDevices: [{name: w, devicePath: /a}]",
			"spec.containers[0].volumeDevices: [{name: v, devicePath: /a}]",
			`spec.containers[0].volumeDevices[0].name: Invalid value: "v": can only use volume source ` +
				"type of PersistentVolumeClaim or Ephemeral for block mode"},
		{"devicePath", "spec.containers[0].volumeDevices: [{name: w, devicePath: /a}]",
			"spec.containers[0].volumeDevices: [{name: w}]",
			"spec.containers[0].volumeDevices[0].devicePath: Required value"},
		{"parent in a devicePath", "spec.containers[0].volumeDevices: [{name: w, devicePath: /a..b}]",
			"spec.containers[0].volumeDevices: [{name: w, devicePath: /a/../b}]",
			`spec.containers[0].volumeDevices[0].devicePath: Invalid value: "/a/../b": can not contain ` +
				"backsteps ('..')"},
		{"name of a device", "spec.containers[0].volumeDevices: [{name: w, devicePath: /a}]",
			"spec.containers[0].volumeDevices: [{devicePath: /a}]",
			"spec.containers[0].volumeDevices[0].name: Required value; " +
				`spec.containers[0].volumeDevices[0].name: Not found: ""`},
		{"device and mount",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a}]; " +
				"spec.containers[0].volumeDevices: [{name: w, devicePath: /b}]",
			"spec.containers[0].volumeMounts: [{name: w, mountPath: /a}]; " +
				"spec.containers[0].volumeDevices: [{name: w, devicePath: /b}]",
			`spec.containers[0].volumeMounts[0].name: Invalid value: "w": must not already exist in ` +
				`volumeDevices; spec.containers[0].volumeDevices[0].name: Invalid value: "w": must not ` +
				"already exist in volumeMounts"},
		{"devicePath of a mount",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a}]; " +
				"spec.containers[0].volumeDevices: [{name: w, devicePath: /b}]",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a}]; " +
				"spec.containers[0].volumeDevices: [{name: w, devicePath: /a}]",
			`spec.containers[0].volumeMounts[0].mountPath: Invalid value: "/a": must not already exist ` +
				"as a path in volumeDevices; spec.containers[0].volumeDevices[0].devicePath: Invalid value: " +
				`"/a": must not already exist as a path in volumeMounts`},
		{"device twice", "spec.containers[0].volumeDevices: [{name: w, devicePath: /a}]",
			"spec.containers[0].volumeDevices: [{name: w, devicePath: /a}, {name: w, devicePath: /b}]",
			`spec.containers[0].volumeDevices[1].name: Invalid value: "w": must be unique`},
	})
}

// TestMountPropagation checks the propagation of mounts.
func TestMountPropagation(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).With("spec.volumes: [{name: v, emptyDir: {}}]").Create(kindtest.Rules{
		{"both ways",
			"spec.containers[0].securityContext.privileged: true; spec.containers[0].volumeMounts: " +
				"[{name: v, mountPath: /a, mountPropagation: Bidirectional}]",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a, mountPropagation: Bidirectional}]",
			"spec.containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional mount " +
				"propagation is available only to privileged containers"},
		{"both ways without privileges",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a, mountPropagation: None}]",
			"spec.containers[0].securityContext.privileged: false; spec.containers[0].volumeMounts: " +
				"[{name: v, mountPath: /a, mountPropagation: Bidirectional}]",
			"spec.containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional mount " +
				"propagation is available only to privileged containers"},
	})
}

// TestMountPaths checks the paths of mounts and devices.
func TestMountPaths(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.volumes: [{name: v, emptyDir: {}}, {name: w, persistentVolumeClaim: {claimName: a}}, " +
			"{name: z, persistentVolumeClaim: {claimName: b}}]")
	k.Create(kindtest.Rules{
		{"path twice", "spec.containers[0].volumeMounts: [{name: v, mountPath: /a}, {name: w, mountPath: /b}]",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a}, {name: w, mountPath: /a}]",
			`spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/a": must be unique`},
		{"path of two devices",
			"spec.containers[0].volumeDevices: [{name: w, devicePath: /a}, {name: z, devicePath: /b}]",
			"spec.containers[0].volumeDevices: [{name: w, devicePath: /a}, {name: z, devicePath: /a}]",
			`spec.containers[0].volumeDevices[1].devicePath: Invalid value: "/a": must be unique`},
		{"dots before a name", "spec.containers[0].volumeMounts: [{name: v, mountPath: /a, subPath: a..}]",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a, subPath: a/..}]",
			`spec.containers[0].volumeMounts.subPath: Invalid value: "a/..": must not contain '..'`},
		{"unknown volume of a device", "spec.containers[0].volumeDevices: [{name: w, devicePath: /a}]",
			"spec.containers[0].volumeDevices: [{name: u, devicePath: /a}]",
			`spec.containers[0].volumeDevices[0].name: Not found: "u"`},
	})
}

// TestBindMountOptions checks the options of bind mounts.
func TestBindMountOptions(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "VolumeBindMountOptions").With(
		"spec.volumes: [{name: v, emptyDir: {}}, {name: i, image: {reference: r}}]")
	k.Create(kindtest.Rules{
		{"option",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a, bindMountOptions: [noexec, nodev, nosuid]}]",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a, bindMountOptions: [sync]}]",
			`spec.containers[0].volumeMounts[0].bindMountOptions[0]: Unsupported value: "sync": ` +
				`supported values: "nodev", "noexec", "nosuid"`},
		{"option twice", "spec.containers[0].volumeMounts: [{name: v, mountPath: /a, bindMountOptions: [noexec]}]",
			"spec.containers[0].volumeMounts: [{name: v, mountPath: /a, bindMountOptions: [noexec, noexec]}]",
			`spec.containers[0].volumeMounts[0].bindMountOptions[1]: Duplicate value: "noexec"`},
		{"volume of an image", "spec.containers[0].volumeMounts: [{name: i, mountPath: /a}]",
			"spec.containers[0].volumeMounts: [{name: i, mountPath: /a, bindMountOptions: [noexec]}]",
			`spec.containers[0].volumeMounts[0].bindMountOptions: Invalid value: ["noexec"]: ` +
				"bindMountOptions may not be used with image volumes"},
	})
}
