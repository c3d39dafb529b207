package core_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const secret = `data: {a: Yg==}`

func TestSecretRules(t *testing.T) {
	kindtest.New(t, "secrets.v1", secret).Create(kindtest.Rules{
		{"key", `data[a.b]: ""`, "data[a b]: Yg==",
			`data[a b]: Invalid value: "a b": a valid config key must consist of alphanumeric ` +
				"characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used " +
				"for validation is '[-._a-zA-Z0-9]+')"},
		{"service account",
			"type: kubernetes.io/service-account-token; metadata.annotations[kubernetes.io/service-account.name]: a",
			"type: kubernetes.io/service-account-token",
			"metadata.annotations[kubernetes.io/service-account.name]: Required value"},
		{"dockercfg", `type: kubernetes.io/dockercfg; stringData[.dockercfg]: "{}"`, "type: kubernetes.io/dockercfg",
			"data[.dockercfg]: Required value"},
		{"dockercfg in JSON", `type: kubernetes.io/dockercfg; stringData[.dockercfg]: "{}"`,
			`type: kubernetes.io/dockercfg; stringData[.dockercfg]: "["`,
			`data[.dockercfg]: Invalid value: "<secret contents redacted>": unexpected end of JSON input`},
		{"dockerconfigjson", `type: kubernetes.io/dockerconfigjson; stringData[.dockerconfigjson]: "{}"`,
			"type: kubernetes.io/dockerconfigjson", "data[.dockerconfigjson]: Required value"},
		{"dockerconfigjson in JSON", `type: kubernetes.io/dockerconfigjson; stringData[.dockerconfigjson]: "{}"`,
			"type: kubernetes.io/dockerconfigjson; stringData[.dockerconfigjson]: nope",
			`data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": invalid character 'o' ` +
				"in literal null (expecting 'u')"},
		{"basic-auth", "type: kubernetes.io/basic-auth; stringData.password: a", "type: kubernetes.io/basic-auth",
			"data[username]: Required value; data[password]: Required value"},
		{"ssh-auth", "type: kubernetes.io/ssh-auth; stringData.ssh-privatekey: a",
			`type: kubernetes.io/ssh-auth; stringData.ssh-privatekey: ""`, "data[ssh-privatekey]: Required value"},
		{"tls certificate", "type: kubernetes.io/tls; stringData: {tls.crt: a, tls.key: b}",
			"type: kubernetes.io/tls; stringData: {tls.key: b}", "data[tls.crt]: Required value"},
		{"tls key", `type: kubernetes.io/tls; stringData: {tls.crt: "", tls.key: ""}`,
			"type: kubernetes.io/tls; stringData: {tls.crt: b}", "data[tls.key]: Required value"},
	})
}

func TestSecretUpdateRules(t *testing.T) {
	kindtest.New(t, "secrets.v1", secret).Update(kindtest.Rules{
		{"type", "data.a: Yw==", "type: example.com/a", `type: Invalid value: "example.com/a": field is immutable`},
	})
}

func TestImmutableSecret(t *testing.T) {
	kindtest.New(t, "secrets.v1", secret).With("immutable: true").Update(kindtest.Rules{
		{"data", "metadata.labels: {a: b}", "data.a: Yw==",
			"data: Forbidden: field is immutable when `immutable` is set"},
		{"immutable", "immutable: true", "immutable: false",
			"immutable: Forbidden: field is immutable when `immutable` is set"},
		{"no data", "metadata.annotations: {a: b}", "data: null",
			"data: Forbidden: field is immutable when `immutable` is set"},
	})
}

func TestSecretCreated(t *testing.T) {
	kindtest.New(t, "secrets.v1", secret).Created(kindtest.Cases{
		{"type", "", "type: Opaque"},
		{"own type", "type: example.com/a", "type: example.com/a"},
		{"stringData", "stringData: {a: wins, c: text}", "data.a: d2lucw==; data.c: dGV4dA==; stringData: null"},
	})
}

func TestSecretWarnings(t *testing.T) {
	kindtest.New(t, "secrets.v1", secret).Warnings(kindtest.Cases{
		{"none", "", ""},
		{"certificate", "type: kubernetes.io/tls; stringData: {tls.crt: a, tls.key: b}",
			"tls: failed to find any PEM data in certificate input"},
	})
}

func TestSecretUpdateWarnings(t *testing.T) {
	k := kindtest.New(t, "secrets.v1", secret).With(
		"type: kubernetes.io/tls; stringData: {tls.crt: a, tls.key: b}")
	k.UpdateWarnings(kindtest.Cases{
		{"certificate", "metadata.labels: {a: b}", "tls: failed to find any PEM data in certificate input"},
	})
}

func TestSecretColumns(t *testing.T) {
	kindtest.New(t, "secrets.v1", secret).Columns("Name|Type|Data|Age", kindtest.Cases{
		{"opaque", "", "x|Opaque|1|60m"},
		{"typed", "type: example.com/a; data: null", "x|example.com/a|0|60m"},
	})
}

func TestSecretSelectableFields(t *testing.T) {
	kindtest.New(t, "secrets.v1", secret).Selectable(kindtest.Cases{
		{"opaque", "", "type=Opaque"},
		{"typed", "type: example.com/a", "type=example.com/a"},
	})
}

// TestSecretSize checks that the data has at most 1 MiB.
func TestSecretSize(t *testing.T) {
	kindtest.New(t, "secrets.v1", secret).Create(kindtest.Rules{
		{"data", "stringData: {a: " + strings.Repeat("b", 1048575) + "}",
			"stringData: {a: " + strings.Repeat("b", 1048577) + "}",
			"data: Too long: may not be more than 1048576 bytes"},
	})
}

// TestSecretTypes checks the keys that secrets of a type need.
func TestSecretTypes(t *testing.T) {
	kindtest.New(t, "secrets.v1", secret).Create(kindtest.Rules{
		{"account",
			"type: kubernetes.io/service-account-token; metadata.annotations[kubernetes.io/service-account.name]: a",
			"type: kubernetes.io/service-account-token",
			"metadata.annotations[kubernetes.io/service-account.name]: Required value"},
		{"older configuration of Docker", `type: kubernetes.io/dockercfg; stringData: {.dockercfg: "{}"}`,
			`type: kubernetes.io/dockercfg; stringData: {.dockercfg: "{"}`,
			`data[.dockercfg]: Invalid value: "<secret contents redacted>": unexpected end of JSON input`},
		{"configuration of Docker", `type: kubernetes.io/dockerconfigjson; stringData: {.dockerconfigjson: "{}"}`,
			`type: kubernetes.io/dockerconfigjson; stringData: {.dockercfg: "{}"}`,
			"data[.dockerconfigjson]: Required value"},
		{"user or password", "type: kubernetes.io/basic-auth; stringData: {password: a}",
			"type: kubernetes.io/basic-auth; stringData: {a: b}",
			"data[username]: Required value; data[password]: Required value"},
		{"SSH key", "type: kubernetes.io/ssh-auth; stringData: {ssh-privatekey: a}",
			`type: kubernetes.io/ssh-auth; stringData: {ssh-privatekey: ""}`, "data[ssh-privatekey]: Required value"},
		{"certificate and key", `type: kubernetes.io/tls; stringData: {tls.crt: "", tls.key: ""}`,
			"type: kubernetes.io/tls; stringData: {tls.crt: a}", "data[tls.key]: Required value"},
		{"other type", "type: example.com/a", "type: kubernetes.io/tls",
			"data[tls.crt]: Required value; data[tls.key]: Required value"},
	})
}

// TestSecretData checks that the text of stringData becomes data.
func TestSecretData(t *testing.T) {
	kindtest.New(t, "secrets.v1", secret).Created(kindtest.Cases{
		{"new key", "stringData: {a: b}", `data: {"a":"Yg=="}; stringData: null; type: Opaque`},
		{"own type", "type: example.com/a", "type: example.com/a"},
		{"both maps", "data: {a: YQ==}; stringData: {a: b, c: d}", `data: {"a":"Yg==","c":"ZA=="}`},
	})
}

// TestSecretUpdated checks what an update keeps.
func TestSecretUpdated(t *testing.T) {
	kindtest.New(t, "secrets.v1", secret).With("data: {a: YQ==}").Updated(kindtest.Cases{
		{"type", "type: null", "type: Opaque"},
		{"text", "stringData: {c: d}", `data: {"a":"YQ==","c":"ZA=="}; stringData: null`},
	})
}
