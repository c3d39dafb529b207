package storage_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const volumeAttributesClass = `driverName: a.b
parameters: {c: d}`

func TestVolumeAttributesClassRules(t *testing.T) {
	kindtest.New(t, "volumeattributesclasses.v1.storage.k8s.io", volumeAttributesClass).Create(kindtest.Rules{
		{"driverName", "driverName: A", `driverName: ""`, "driverName: Required value"},
		{"parameters", "parameters: {a: b}", "parameters: {}",
			"parameters: Required value: must contain at least one key/value pair"},
		{"key of a parameter", "parameters: {a: b}", `parameters: {"": b}`,
			`parameters: Invalid value: "": field can not be empty.`},
		{"key of a parameter", `parameters: {a: ""}`, `parameters: {"": a}`,
			`parameters: Invalid value: "": field can not be empty.`},
		{"size of the parameters", "parameters: {a: b}", "parameters: {a: " + strings.Repeat("b", 262144) + "}",
			"parameters: Too long: may not be more than 262144 bytes"},
		{"no parameters", "parameters: {a: b}", "parameters: {}",
			"parameters: Required value: must contain at least one key/value pair"},
	})
}

func TestVolumeAttributesClassUpdateRules(t *testing.T) {
	kindtest.New(t, "volumeattributesclasses.v1.storage.k8s.io", volumeAttributesClass).Update(kindtest.Rules{
		{"driverName", "metadata.labels: {a: b}", "driverName: c",
			"driverName: Forbidden: updates to driverName are forbidden."},
		{"parameters", "metadata.labels: {a: b}", "parameters: {c: e}",
			"parameters: Forbidden: updates to parameters are forbidden."},
		{"parameters", "metadata.labels: {a: b}", "parameters: {c: e}",
			"parameters: Forbidden: updates to parameters are forbidden."},
		{"driver", "metadata.annotations: {a: b}", "driverName: c",
			"driverName: Forbidden: updates to driverName are forbidden."},
	})
}

func TestVolumeAttributesClassColumns(t *testing.T) {
	k := kindtest.New(t, "volumeattributesclasses.v1.storage.k8s.io", volumeAttributesClass)
	k.Columns("Name|DriverName|Age", kindtest.Cases{
		{"plain", "", "x|a.b|60m"},
	})
}
