package networking_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const ingressClass = `spec: {controller: a.b/c}`

func TestIngressClassRules(t *testing.T) {
	kindtest.New(t, "ingressclasses.v1.networking.k8s.io", ingressClass).Create(kindtest.Rules{
		{"controller", "spec.controller: a.b/c/d", "spec.controller: c",
			`spec.controller: Invalid value: "c": must be a domain-prefixed path (such as "acme.io/foo")`},
		{"no controller", "spec.controller: a.b/c", `spec.controller: ""`, "spec.controller: Required value"},
		{"long controller", "spec.controller: a.b/c",
			"spec.controller: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaa" +
				"aaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaa" +
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/c",
			"spec.controller: Too long: may not be more than 250 bytes; spec.controller: Invalid value: " +
				`"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` +
				"aaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
				`aaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must be no more ` +
				"than 253 characters"},
		{"parameters", "spec.parameters: {kind: K, name: m, scope: Cluster}",
			`spec.parameters: {kind: "", name: "", scope: Cluster}`,
			"spec.parameters.kind: Required value; spec.parameters.name: Required value"},
		{"scope", "spec.parameters: {kind: K, name: m, scope: Namespace, namespace: a}",
			"spec.parameters: {kind: K, name: m, scope: Other}",
			`spec.parameters.scope: Unsupported value: "Other": supported values: "Cluster", "Namespace"`},
		{"namespace", "spec.parameters: {kind: K, name: m, scope: Namespace, namespace: a}",
			"spec.parameters: {kind: K, name: m, scope: Namespace}",
			"spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"},
		{"namespace of the cluster", "spec.parameters: {kind: K, name: m}",
			"spec.parameters: {kind: K, name: m, scope: Cluster, namespace: a}",
			"spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"},
		{"group of parameters", "spec.parameters: {apiGroup: a.b, kind: K, name: m}",
			"spec.parameters: {apiGroup: A, kind: K, name: m}",
			`spec.parameters.apiGroup: Invalid value: "A": a lowercase RFC 1123 subdomain must consist ` +
				"of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"controller", "spec.controller: a.b/c", `spec.controller: ""`, "spec.controller: Required value"},
		{"length of the controller", "spec.controller: a.b/" + strings.Repeat("c", 246),
			"spec.controller: a.b/" + strings.Repeat("c", 247),
			"spec.controller: Too long: may not be more than 250 bytes"},
	})
}

func TestIngressClassUpdateRules(t *testing.T) {
	kindtest.New(t, "ingressclasses.v1.networking.k8s.io", ingressClass).Update(kindtest.Rules{
		{"controller", "metadata.labels: {a: b}", "spec.controller: a.b/d",
			`spec.controller: Invalid value: "a.b/d": field is immutable`},
	})
}

func TestIngressClassCreated(t *testing.T) {
	kindtest.New(t, "ingressclasses.v1.networking.k8s.io", ingressClass).Created(kindtest.Cases{
		{"scope", "spec.parameters: {kind: K, name: m}", "spec.parameters.scope: Cluster; metadata.generation: 1"},
	})
}

func TestIngressClassGenerations(t *testing.T) {
	kindtest.New(t, "ingressclasses.v1.networking.k8s.io", ingressClass).Generations(kindtest.Cases{
		{"parameters", "spec.parameters: {kind: K, name: m}", "2"},
	})
}

func TestIngressClassColumns(t *testing.T) {
	k := kindtest.New(t, "ingressclasses.v1.networking.k8s.io", ingressClass)
	k.Columns("Name|Controller|Parameters|Age", kindtest.Cases{
		{"plain", "", "x|a.b/c|<none>|60m"},
		{"parameters", "spec.parameters: {apiGroup: a.b, kind: K, name: m}", "x|a.b/c|K.a.b/m|60m"},
	})
}

// TestIngressClassParameters checks the reference to the parameters of a controller.
func TestIngressClassParameters(t *testing.T) {
	k := kindtest.New(t, "ingressclasses.v1.networking.k8s.io", ingressClass).With(
		"spec.parameters: {kind: A, name: b, scope: Namespace, namespace: c}")
	k.Create(kindtest.Rules{
		{"kind", "spec.parameters.kind: B", `spec.parameters.kind: ""`, "spec.parameters.kind: Required value"},
		{"name", "spec.parameters.name: c", "spec.parameters.name: ..",
			`spec.parameters.name: Invalid value: "..": may not be '..'`},
		{"group", "spec.parameters.apiGroup: a.b", `spec.parameters.apiGroup: "a b"`,
			`spec.parameters.apiGroup: Invalid value: "a b": a lowercase RFC 1123 subdomain must consist ` +
				"of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"scope", "spec.parameters: {kind: A, name: b, scope: Cluster}",
			"spec.parameters: {kind: A, name: b, scope: World}",
			`spec.parameters.scope: Unsupported value: "World": supported values: "Cluster", "Namespace"`},
		{"namespace", "spec.parameters.namespace: d", "spec.parameters.namespace: d.e",
			`spec.parameters.namespace: Invalid value: "d.e": must not contain dots`},
		{"no namespace", "spec.parameters.namespace: d", "spec.parameters.namespace: null",
			"spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"},
		{"namespace of the cluster", "spec.parameters: {kind: A, name: b, scope: Cluster}",
			"spec.parameters.scope: Cluster",
			"spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"},
	})
}

// TestIngressClassCells checks how tables show the parameters of a class.
func TestIngressClassCells(t *testing.T) {
	k := kindtest.New(t, "ingressclasses.v1.networking.k8s.io", ingressClass)
	k.Columns("Name|Controller|Parameters|Age", kindtest.Cases{
		{"none", "metadata.labels: {a: b}", "x|a.b/c|<none>|60m"},
		{"group", "spec.parameters: {apiGroup: example.com, kind: Params, name: p}",
			"x|a.b/c|Params.example.com/p|60m"},
		{"core group", "spec.parameters: {kind: ConfigMap, name: p}", "x|a.b/c|ConfigMap/p|60m"},
	})
}
