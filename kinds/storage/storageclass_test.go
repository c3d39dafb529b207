package storage_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const storageClass = `provisioner: a.b/c`

func TestStorageClassRules(t *testing.T) {
	kindtest.New(t, "storageclasses.v1.storage.k8s.io", storageClass).Create(kindtest.Rules{
		{"provisioner", "provisioner: a", `provisioner: ""`, "provisioner: Required value"},
		{"form of a provisioner", "provisioner: A.b/c", `provisioner: "a b"`,
			`provisioner: Invalid value: "a b": name part must consist of alphanumeric characters, '-', ` +
				"'_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or " +
				"'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"reclaimPolicy", "reclaimPolicy: Retain", "reclaimPolicy: Recycle",
			`reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"`},
		{"volumeBindingMode", "volumeBindingMode: WaitForFirstConsumer", "volumeBindingMode: Later",
			`volumeBindingMode: Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"`},
		{"parameter", "parameters: {a: b}", `parameters: {"": b}`,
			`parameters: Invalid value: "": field can not be empty.`},
		{"topology", "allowedTopologies: [{matchLabelExpressions: [{key: a, values: [b]}]}]",
			"allowedTopologies: [{matchLabelExpressions: [{key: a, values: []}]}]",
			"allowedTopologies[0].matchLabelExpressions[0].values: Required value"},
		{"key of a topology", "allowedTopologies: [{matchLabelExpressions: [{key: a.b/c, values: [b]}]}]",
			`allowedTopologies: [{matchLabelExpressions: [{key: "a b", values: [b]}]}]`,
			`allowedTopologies[0].matchLabelExpressions[0].key: Invalid value: "a b": name part must ` +
				"consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " +
				"validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"value of a topology twice", "allowedTopologies: [{matchLabelExpressions: [{key: a, values: [b, c]}]}]",
			"allowedTopologies: [{matchLabelExpressions: [{key: a, values: [b, b]}]}]",
			`allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "b"`},
		{"key of a topology twice",
			"allowedTopologies: [{matchLabelExpressions: [{key: a, values: [b]}, {key: c, values: [b]}]}]",
			"allowedTopologies: [{matchLabelExpressions: [{key: a, values: [b]}, {key: a, values: [c]}]}]",
			`allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: "a"`},
		{"topology twice",
			"allowedTopologies: [{matchLabelExpressions: [{key: a, values: [b]}]}, " +
				"{matchLabelExpressions: [{key: a, values: [c]}]}]",
			"allowedTopologies: [{matchLabelExpressions: [{key: a, values: [b]}]}, " +
				"{matchLabelExpressions: [{key: a, values: [b]}]}]",
			`allowedTopologies[1].matchLabelExpressions: Duplicate value: ""`},
	})
}

func TestStorageClassUpdateRules(t *testing.T) {
	k := kindtest.New(t, "storageclasses.v1.storage.k8s.io", storageClass).With(
		"parameters: {a: b}")
	k.Update(kindtest.Rules{
		{"provisioner", "allowVolumeExpansion: true", "provisioner: d",
			"provisioner: Invalid value: null: field is immutable"},
		{"parameters", "metadata.labels: {a: b}", "parameters: {a: c}",
			"parameters: Invalid value: null: field is immutable"},
		{"reclaimPolicy", "mountOptions: [a]", "reclaimPolicy: Retain",
			"reclaimPolicy: Invalid value: null: field is immutable"},
		{"volumeBindingMode", "metadata.labels: {a: b}", "volumeBindingMode: WaitForFirstConsumer",
			"volumeBindingMode: Invalid value: null: field is immutable"},
	})
}

func TestStorageClassCreated(t *testing.T) {
	kindtest.New(t, "storageclasses.v1.storage.k8s.io", storageClass).Created(kindtest.Cases{
		{"defaults", "", "reclaimPolicy: Delete; volumeBindingMode: Immediate"},
	})
}

func TestStorageClassWarnings(t *testing.T) {
	kindtest.New(t, "storageclasses.v1.storage.k8s.io", storageClass).Warnings(kindtest.Cases{
		{"none", "", ""},
		{"label",
			"allowedTopologies: [{matchLabelExpressions: [{key: failure-domain.beta.kubernetes.io/zone, " +
				"values: [a]}]}]",
			"allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.17; use " +
				`"topology.kubernetes.io/zone" instead`},
	})
}

func TestStorageClassColumns(t *testing.T) {
	k := kindtest.New(t, "storageclasses.v1.storage.k8s.io", storageClass)
	k.Columns("Name|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age", kindtest.Cases{
		{"plain", "", "x|a.b/c|Delete|Immediate|false|60m"},
		{"expandable", "allowVolumeExpansion: true; reclaimPolicy: Retain", "x|a.b/c|Retain|Immediate|true|60m"},
	})
}
