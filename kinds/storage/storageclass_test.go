package storage_test

import (
	"strings"
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
		{"deprecated label of a topology",
			"allowedTopologies: [{matchLabelExpressions: [{key: failure-domain.beta.kubernetes.io/zone, " +
				"values: [a]}]}]",
			"allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.17; use " +
				`"topology.kubernetes.io/zone" instead`},
		{"label of today",
			"allowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [a]}]}]", ""},
	})
}

func TestStorageClassColumns(t *testing.T) {
	k := kindtest.New(t, "storageclasses.v1.storage.k8s.io", storageClass)
	k.Columns("Name|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age", kindtest.Cases{
		{"plain", "", "x|a.b/c|Delete|Immediate|false|60m"},
		{"expandable", "allowVolumeExpansion: true; reclaimPolicy: Retain", "x|a.b/c|Retain|Immediate|true|60m"},
	})
}

// TestStorageClassParameters checks the bounds of the parameters, which only the provisioner interprets.
func TestStorageClassParameters(t *testing.T) {
	kindtest.New(t, "storageclasses.v1.storage.k8s.io", storageClass).Create(kindtest.Rules{
		{"key", `parameters: {a: ""}`, `parameters: {"": a}`,
			`parameters: Invalid value: "": field can not be empty.`},
		{"size", "parameters: {a: b}", "parameters: {a: " + strings.Repeat("b", 262144) + "}",
			"parameters: Too long: may not be more than 262144 bytes"},
	})
}

// TestAllowedTopologies checks the terms by which a class limits the nodes of its volumes.
func TestAllowedTopologies(t *testing.T) {
	k := kindtest.New(t, "storageclasses.v1.storage.k8s.io", storageClass).With(
		"allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a, b]}]}]")
	k.Create(kindtest.Rules{
		{"values", "allowedTopologies[0].matchLabelExpressions[0].values: [a]",
			"allowedTopologies[0].matchLabelExpressions[0].values: []",
			"allowedTopologies[0].matchLabelExpressions[0].values: Required value"},
		{"value twice", "allowedTopologies[0].matchLabelExpressions[0].values: [a]",
			"allowedTopologies[0].matchLabelExpressions[0].values: [a, a]",
			`allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "a"`},
		{"key", "allowedTopologies[0].matchLabelExpressions[0].key: a.b/c",
			`allowedTopologies[0].matchLabelExpressions[0].key: "a b"`,
			`allowedTopologies[0].matchLabelExpressions[0].key: Invalid value: "a b": name part must ` +
				"consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " +
				"validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"key twice", "allowedTopologies[0].matchLabelExpressions[1]: {key: rack, values: [a]}",
			"allowedTopologies[0].matchLabelExpressions[1]: {key: zone, values: [c]}",
			`allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: "zone"`},
		{"empty term", "allowedTopologies: []", "allowedTopologies: [{}]",
			`allowedTopologies[0].matchLabelExpressions: Duplicate value: ""`},
		{"same term in another order", "allowedTopologies[1]: {matchLabelExpressions: [{key: zone, values: [b, c]}]}",
			"allowedTopologies[1]: {matchLabelExpressions: [{key: zone, values: [b, a]}]}",
			`allowedTopologies[1].matchLabelExpressions: Duplicate value: ""`},
	})
}

// TestStorageClassCells checks what tables show of classes.
func TestStorageClassCells(t *testing.T) {
	k := kindtest.New(t, "storageclasses.v1.storage.k8s.io", storageClass)
	k.Columns("Name|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age", kindtest.Cases{
		{"plain", "metadata.labels: {a: b}", "x|a.b/c|Delete|Immediate|false|60m"},
		{"default",
			`metadata.annotations[storageclass.kubernetes.io/is-default-class]: "true"; reclaimPolicy: ` +
				"Retain; volumeBindingMode: WaitForFirstConsumer; allowVolumeExpansion: true",
			"x (default)|a.b/c|Retain|WaitForFirstConsumer|true|60m"},
		{"not the default", `metadata.annotations[storageclass.kubernetes.io/is-default-class]: "yes"`,
			"x|a.b/c|Delete|Immediate|false|60m"},
		{"older annotation", `metadata.annotations[storageclass.beta.kubernetes.io/is-default-class]: "true"`,
			"x (default)|a.b/c|Delete|Immediate|false|60m"},
	})
}
