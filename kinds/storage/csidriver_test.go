package storage_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const csiDriver = `metadata: {name: a.b}
spec: {}`

func TestCsiDriverRules(t *testing.T) {
	kindtest.New(t, "csidrivers.v1.storage.k8s.io", csiDriver).Create(kindtest.Rules{
		{"name", "metadata.name: a-b", "metadata.name: a_b",
			`metadata.name: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of lower ` +
				"case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"fsGroupPolicy", "spec.fsGroupPolicy: File", "spec.fsGroupPolicy: Other",
			`spec.fsGroupPolicy: Unsupported value: "Other": supported values: "File", "None", ` +
				`"ReadWriteOnceWithFSType"`},
		{"lifecycle mode", "spec.volumeLifecycleModes: [Persistent, Ephemeral]", "spec.volumeLifecycleModes: [Other]",
			`spec.volumeLifecycleModes: Unsupported value: "Other": supported values: "Persistent", "Ephemeral"`},
		{"audience twice", "spec.tokenRequests: [{audience: a}, {audience: b}]",
			"spec.tokenRequests: [{audience: a}, {audience: a}]",
			`spec.tokenRequests[1].audience: Duplicate value: "a"`},
		{"expiration of a token", "spec.tokenRequests: [{audience: a, expirationSeconds: 600}]",
			"spec.tokenRequests: [{audience: a, expirationSeconds: 599}]",
			"spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a duration " +
				"less than 10 minutes"},
		{"long expiration of a token", "spec.tokenRequests: [{audience: a, expirationSeconds: 4294967296}]",
			"spec.tokenRequests: [{audience: a, expirationSeconds: 4294967297}]",
			"spec.tokenRequests[0].expirationSeconds: Invalid value: 4294967297: may not specify a " +
				"duration larger than 2^32 seconds"},
		{"allocatable period", "spec.nodeAllocatableUpdatePeriodSeconds: 10",
			"spec.nodeAllocatableUpdatePeriodSeconds: 9",
			"spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds"},
		{"tokens in secrets", "spec: {tokenRequests: [{audience: a}], serviceAccountTokenInSecrets: true}",
			"spec.serviceAccountTokenInSecrets: true",
			"spec.serviceAccountTokenInSecrets: Invalid value: true: serviceAccountTokenInSecrets is set " +
				"but no tokenRequests are specified"},
		{"token twice", "spec.tokenRequests: [{audience: a}, {audience: b}]",
			"spec.tokenRequests: [{audience: a}, {audience: a}]",
			`spec.tokenRequests[1].audience: Duplicate value: "a"`},
		{"lifetime of a token", "spec.tokenRequests: [{audience: a, expirationSeconds: 600}]",
			"spec.tokenRequests: [{audience: a, expirationSeconds: 599}]",
			"spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a duration " +
				"less than 10 minutes"},
		{"long lifetime of a token", "spec.tokenRequests: [{audience: a, expirationSeconds: 4294967296}]",
			"spec.tokenRequests: [{audience: a, expirationSeconds: 4294967297}]",
			"spec.tokenRequests[0].expirationSeconds: Invalid value: 4294967297: may not specify a " +
				"duration larger than 2^32 seconds"},
	})
}

func TestCsiDriverUpdateRules(t *testing.T) {
	kindtest.New(t, "csidrivers.v1.storage.k8s.io", csiDriver).Update(kindtest.Rules{
		{"attachRequired", "spec.requiresRepublish: true", "spec.attachRequired: false",
			"spec.attachedRequired: Invalid value: false: field is immutable"},
		{"fsGroupPolicy", "spec.storageCapacity: true", "spec.fsGroupPolicy: Other",
			`spec.fsGroupPolicy: Unsupported value: "Other": supported values: "File", "None", ` +
				`"ReadWriteOnceWithFSType"`},
		{"lifecycle modes", "spec.podInfoOnMount: true", "spec.volumeLifecycleModes: [Ephemeral]",
			`spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable`},
	})
}

func TestCsiDriverCreated(t *testing.T) {
	kindtest.New(t, "csidrivers.v1.storage.k8s.io", csiDriver).Created(kindtest.Cases{
		{"defaults", "",
			"spec.attachRequired: true; spec.podInfoOnMount: false; spec.fsGroupPolicy: " +
				`ReadWriteOnceWithFSType; spec.volumeLifecycleModes: ["Persistent"]; spec.storageCapacity: ` +
				"false; spec.requiresRepublish: false; spec.seLinuxMount: false"},
		{"token requests", "spec.tokenRequests: [{audience: a}]",
			`spec.tokenRequests: [{"audience":"a"}]; spec.serviceAccountTokenInSecrets: null`},
		{"generation is set by updates only", "", "metadata.generation: null"},
	})
}

func TestCsiDriverGenerations(t *testing.T) {
	kindtest.New(t, "csidrivers.v1.storage.k8s.io", csiDriver).Generations(kindtest.Cases{
		{"nothing", "", "0"},
		{"requiresRepublish", "spec.requiresRepublish: true", "1"},
	})
}

func TestCsiDriverWarnings(t *testing.T) {
	kindtest.New(t, "csidrivers.v1.storage.k8s.io", csiDriver).Warnings(kindtest.Cases{
		{"none", "spec.serviceAccountTokenInSecrets: true; spec.tokenRequests: [{audience: a}]", ""},
		{"tokens", "spec.tokenRequests: [{audience: a}]",
			"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to " +
				"prevent possible logging of tokens in volume attributes"},
	})
}

func TestCsiDriverColumns(t *testing.T) {
	k := kindtest.New(t, "csidrivers.v1.storage.k8s.io", csiDriver)
	k.Columns("Name|AttachRequired|PodInfoOnMount|StorageCapacity|TokenRequests|RequiresRepublish|"+
		"Modes|Age", kindtest.Cases{
		{"plain", "", "a.b|true|false|false|<unset>|false|Persistent|60m"},
		{"tokens",
			"spec.tokenRequests: [{audience: a}, {audience: b}]; spec.attachRequired: false; " +
				"spec.storageCapacity: true", "a.b|false|false|true|a,b|false|Persistent|60m"},
		{"several modes",
			"spec.volumeLifecycleModes: [Persistent, Ephemeral]; spec.tokenRequests: [{audience: a}, {audience: b}]",
			"a.b|true|false|false|a,b|false|Persistent,Ephemeral|60m"},
	})
}

func TestCsiDriverUpdateWarnings(t *testing.T) {
	kindtest.New(t, "csidrivers.v1.storage.k8s.io", csiDriver).UpdateWarnings(kindtest.Cases{
		{"tokens in volume attributes", "spec.tokenRequests: [{audience: a}]",
			"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to " +
				"prevent possible logging of tokens in volume attributes"},
		{"tokens in secrets", "spec: {tokenRequests: [{audience: a}], serviceAccountTokenInSecrets: true}", ""},
		{"other field", "spec.requiresRepublish: true", ""},
	})
}

// TestCSIDriverOfTokensUpdate checks that an update that keeps the tokens gives no warning.
func TestCSIDriverOfTokensUpdate(t *testing.T) {
	k := kindtest.New(t, "csidrivers.v1.storage.k8s.io", csiDriver).With(
		"spec.tokenRequests: [{audience: a}]")
	k.UpdateWarnings(kindtest.Cases{
		{"same tokens", "spec.requiresRepublish: true", ""},
		{"other tokens", "spec.tokenRequests: [{audience: b}]",
			"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to " +
				"prevent possible logging of tokens in volume attributes"},
	})
}

func TestCsiDriverUpdated(t *testing.T) {
	kindtest.New(t, "csidrivers.v1.storage.k8s.io", csiDriver).Updated(kindtest.Cases{
		{"generation", "spec.requiresRepublish: true", "metadata.generation: 1; spec.requiresRepublish: true"},
		{"labels", "metadata.labels: {a: b}", `metadata.generation: null; metadata.labels: {"a":"b"}`},
		{"missing fields", "spec: {}", `spec.attachRequired: true; spec.volumeLifecycleModes: ["Persistent"]`},
	})
}

// TestCSIDriverOfLimitedVolumes checks the default of a field that a gate guards.
func TestCSIDriverOfLimitedVolumes(t *testing.T) {
	kindtest.New(t, "csidrivers.v1.storage.k8s.io", csiDriver, "VolumeLimitScaling").Created(kindtest.Cases{
		{"default", "", "spec.preventPodSchedulingIfMissing: false"},
		{"own value", "spec.preventPodSchedulingIfMissing: true", "spec.preventPodSchedulingIfMissing: true"},
	})
}

// TestCSIDriverWithoutTokenSecrets checks that no warning recommends a field that a disabled gate drops.
func TestCSIDriverWithoutTokenSecrets(t *testing.T) {
	k := kindtest.New(t, "csidrivers.v1.storage.k8s.io", csiDriver, "1.35", "-CSIServiceAccountTokenSecrets")
	k.Warnings(kindtest.Cases{
		{"tokens", "spec.tokenRequests: [{audience: a}]", ""},
	})
}

// TestCSIDriverWithoutLimits checks that the field is dropped without the gate.
func TestCSIDriverWithoutLimits(t *testing.T) {
	kindtest.New(t, "csidrivers.v1.storage.k8s.io", csiDriver, "-VolumeLimitScaling").Created(kindtest.Cases{
		{"default", "", "spec.preventPodSchedulingIfMissing: null"},
		{"own value", "spec.preventPodSchedulingIfMissing: true", "spec.preventPodSchedulingIfMissing: null"},
	})
}

// TestCSIDriverCells checks what tables show of drivers.
func TestCSIDriverCells(t *testing.T) {
	k := kindtest.New(t, "csidrivers.v1.storage.k8s.io", csiDriver)
	k.Columns("Name|AttachRequired|PodInfoOnMount|StorageCapacity|TokenRequests|RequiresRepublish|"+
		"Modes|Age", kindtest.Cases{
		{"all fields",
			"spec: {attachRequired: false, podInfoOnMount: true, storageCapacity: true, " +
				`requiresRepublish: true, tokenRequests: [{audience: x}, {audience: ""}], ` +
				"volumeLifecycleModes: [Persistent, Ephemeral]}",
			"a.b|false|true|true|x,|true|Persistent,Ephemeral|60m"},
	})
}
