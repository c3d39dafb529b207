package coordination_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const candidate = `spec: {leaseName: l, binaryVersion: 1.36.0, emulationVersion: 1.35.0, strategy: OldestEmulationVersion}`

func TestCandidateRules(t *testing.T) {
	k := kindtest.New(t, "leasecandidates.v1beta1.coordination.k8s.io", candidate, "CoordinatedLeaderElection")
	k.Create(kindtest.Rules{
		{"a name is a key of a map", "metadata.name: A_b.c", "metadata.name: a b",
			`metadata.name: Invalid value: "a b": a valid config key must consist of alphanumeric ` +
				"characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex " +
				"used for validation is '[-._a-zA-Z0-9]+')"},
		{"a lease is required", "spec.leaseName: m", `spec.leaseName: ""`, "spec.leaseName: Required value"},
		{"a binary has a version", "spec.binaryVersion: 1.35.0", `spec.binaryVersion: ""`,
			"spec.binaryVersion: Required value"},
		{"the version of a binary is semantic", "spec.binaryVersion: 1.36.1-rc.1", "spec.binaryVersion: v1.36.0",
			`spec.binaryVersion: Invalid value: "v1.36.0": must be a valid semantic version; ` +
				`spec.binaryVersion: Invalid value: "v1.36.0": must be greater than or equal to ` +
				"`emulationVersion`"},
		{"an emulated version is semantic", "spec.emulationVersion: 1.36.0", `spec.emulationVersion: "1.35"`,
			`spec.emulationVersion: Invalid value: "1.35": must be a valid semantic version; ` +
				"spec.emulationVersion: Required value: must be specified when `strategy` is " +
				"'OldestEmulationVersion'"},
		{"a binary is not older than what it emulates", "spec.emulationVersion: 1.36.0",
			"spec.emulationVersion: 1.37.0",
			"spec.binaryVersion: Invalid value: \"1.36.0\": must be greater than or equal to `emulationVersion`"},
		{"a strategy is required", "spec.strategy: a.b/c", `spec.strategy: ""`, "spec.strategy: Required value"},
		{"strategies are known", "spec.strategy: OldestEmulationVersion", "spec.strategy: Youngest",
			`spec.strategy.strategy: Unsupported value: "Youngest": supported values: "OldestEmulationVersion"`},
		{"a strategy of another domain is a qualified name", "spec.strategy: a.b/c", "spec.strategy: /c",
			`spec.strategy.strategy: Invalid value: "/c": prefix part must be non-empty`},
		{"the oldest emulated version needs one", `spec.strategy: a.b/c; spec.emulationVersion: ""`,
			`spec.emulationVersion: ""`,
			"spec.emulationVersion: Required value: must be specified when `strategy` is " +
				"'OldestEmulationVersion'"},
	})
}

func TestCandidateUpdateRules(t *testing.T) {
	k := kindtest.New(t, "leasecandidates.v1beta1.coordination.k8s.io", candidate, "CoordinatedLeaderElection")
	k.Update(kindtest.Rules{
		{"the lease is immutable", "spec.binaryVersion: 1.37.0", "spec.leaseName: m",
			`spec.leaseName: Invalid value: "m": field is immutable`},
		{"a changed version is semantic", "spec.binaryVersion: 1.37.0", "spec.binaryVersion: v1",
			`spec.binaryVersion: Invalid value: "v1": must be a valid semantic version; ` +
				"spec.binaryVersion: Invalid value: \"v1\": must be greater than or equal to `emulationVersion`"},
	})
}

func TestCandidateColumns(t *testing.T) {
	k := kindtest.New(t, "leasecandidates.v1beta1.coordination.k8s.io", candidate, "CoordinatedLeaderElection")
	k.Columns("Name|LeaseName|BinaryVersion|EmulationVersion|Age", kindtest.Cases{
		{"a candidate", "", "x|l|1.36.0|1.35.0|60m"},
	})
}
