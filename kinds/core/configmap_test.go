package core_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const configMap = `data: {a: b}`

func TestConfigMapRules(t *testing.T) {
	kindtest.New(t, "configmaps.v1", configMap).Create(kindtest.Rules{
		{"key", "data[a.b_c-D]: v", "data[a b]: v",
			`data[a b]: Invalid value: "a b": a valid config key must consist of alphanumeric ` +
				"characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used " +
				"for validation is '[-._a-zA-Z0-9]+')"},
		{"long key", "data.a: v", "data[..]: v", `data[..]: Invalid value: "..": must not be '..'`},
		{"binary key", "binaryData: {c: AA==}", "binaryData[a/b]: AA==",
			`binaryData[a/b]: Invalid value: "a/b": a valid config key must consist of alphanumeric ` +
				"characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used " +
				"for validation is '[-._a-zA-Z0-9]+')"},
		{"key twice", "binaryData: {c: AA==}", "binaryData: {a: AA==}",
			`data[a]: Invalid value: "a": duplicate of key present in binaryData`},
		{"name", "metadata.name: a.b", "metadata.name: A",
			`metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower ` +
				"case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
	})
}

func TestConfigMapUpdateRules(t *testing.T) {
	kindtest.New(t, "configmaps.v1", configMap).With("immutable: true").Update(kindtest.Rules{
		{"data", "metadata.labels: {a: b}", "data.a: c",
			"data: Forbidden: field is immutable when `immutable` is set"},
		{"new key", "data.a: b", "data.c: d", "data: Forbidden: field is immutable when `immutable` is set"},
		{"binaryData", "metadata.annotations: {a: b}", "binaryData: {c: AA==}",
			"binaryData: Forbidden: field is immutable when `immutable` is set"},
		{"immutable", "immutable: true", "immutable: false",
			"immutable: Forbidden: field is immutable when `immutable` is set"},
		{"no immutable", "metadata.labels: {a: c}", "immutable: null",
			"immutable: Forbidden: field is immutable when `immutable` is set"},
	})
}

func TestMutableConfigMap(t *testing.T) {
	kindtest.New(t, "configmaps.v1", configMap).Update(kindtest.Rules{
		{"key", "immutable: true", "data[a b]: c",
			`data[a b]: Invalid value: "a b": a valid config key must consist of alphanumeric ` +
				"characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used " +
				"for validation is '[-._a-zA-Z0-9]+')"},
	})
}

func TestConfigMapColumns(t *testing.T) {
	kindtest.New(t, "configmaps.v1", configMap).Columns("Name|Data|Age", kindtest.Cases{
		{"data", "", "x|1|60m"},
		{"binary data", "binaryData: {c: AA==}", "x|2|60m"},
		{"none", "data: null", "x|0|60m"},
	})
}

func TestConfigMapGenerations(t *testing.T) {
	kindtest.New(t, "configmaps.v1", configMap).Generations(kindtest.Cases{
		{"data", "data.a: c", "0"},
	})
}

// TestConfigMapSize checks that the data has at most 1 MiB.
func TestConfigMapSize(t *testing.T) {
	kindtest.New(t, "configmaps.v1", configMap).Create(kindtest.Rules{
		{"data", "data: {a: " + strings.Repeat("b", 1048576) + "}", "data: {a: " + strings.Repeat("b", 1048577) + "}",
			"[]: Too long: may not be more than 1048576 bytes"},
		{"data of two keys", "binaryData: {c: YQ==}",
			"data: {a: " + strings.Repeat("b", 700000) + ", c: " + strings.Repeat("d", 400000) + "}",
			"[]: Too long: may not be more than 1048576 bytes"},
	})
}

// TestConfigMapKeys checks the keys of both maps.
func TestConfigMapKeys(t *testing.T) {
	kindtest.New(t, "configmaps.v1", configMap).Create(kindtest.Rules{
		{"key of binary data", "binaryData: {a.b: YQ==}", "binaryData: {a/b: YQ==}",
			`binaryData[a/b]: Invalid value: "a/b": a valid config key must consist of alphanumeric ` +
				"characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used " +
				"for validation is '[-._a-zA-Z0-9]+')"},
		{"key of both", "data: {a: b}; binaryData: {c: YQ==}", "data: {a: b}; binaryData: {a: YQ==}",
			`data[a]: Invalid value: "a": duplicate of key present in binaryData`},
		{"length of a key", "data: {" + strings.Repeat("a", 253) + ": b}", "data: {" + strings.Repeat("a", 254) + ": b}",
			"data[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]: Invalid " +
				`value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` +
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
				`aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must be no ` +
				"more than 253 characters"},
		{"dots", "data: {.a: b}", "data: {..: b}", `data[..]: Invalid value: "..": must not be '..'`},
	})
}

// TestConfigMapCells checks that tables count the keys of both maps.
func TestConfigMapCells(t *testing.T) {
	kindtest.New(t, "configmaps.v1", configMap).Columns("Name|Data|Age", kindtest.Cases{
		{"text and binary data", "data: {a: b, c: d}; binaryData: {e: AA==}", "x|3|60m"},
	})
}
