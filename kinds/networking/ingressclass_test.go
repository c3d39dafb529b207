package networking_test

import (
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
