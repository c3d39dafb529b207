// Package crds installs the CustomResourceDefinitions of widely used projects and tests typical
// uses: gateway-api, cert-manager, prometheus-operator, istio, cluster-api, argo-cd, crossplane and
// flux.
//
//	cd conformance/crds && go test ./...
//
// This repository contains none of their files. modules/go.mod names their Go modules, which the
// tests read from the module cache; go downloads missing ones and verifies them by modules/go.sum.
// projects_test.go locates the definitions and published examples in a module. For a project whose
// module does not contain the definitions, generated/ generates them from its Go types. The
// expected discovery, tables, OpenAPI and output of kubectl explain are derived from the
// definitions.
//
// The tests also change accepted examples to violate one rule of the definition at a time, and
// expect a rejection for that reason.
//
// TestManifests writes the objects of built-in kinds in the manifests of these and other projects.
// The exceptions in testdata/manifests are patches, templates and other objects that kube-apiserver
// refuses as well.
//
// gateway-api has its own tests of the rules in its definitions: hundreds of objects to be accepted
// or rejected. TestGatewayRules builds and runs them; gateway/go.mod pins them and their
// dependencies.
//
// The package is a separate module, so that its dependencies do not become the server's. Modules
// that both require have the same version, so that they are built once. Each test builds the server
// from the surrounding module and runs it as a process.
package crds
