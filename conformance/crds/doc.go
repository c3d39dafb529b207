// Package crds installs the CustomResourceDefinitions of projects that many
// clusters run, and uses them as their users do: gateway-api, cert-manager,
// prometheus-operator, istio, cluster-api, argo-cd, crossplane and flux.
//
//	cd conformance/crds && go test ./...
//
// Nothing of theirs is kept here. modules/go.mod names their Go modules, which
// the tests read from the module cache; go downloads what is not there yet and
// checks it against modules/go.sum. projects_test.go says where in a module the
// definitions and the published examples are. Where a module cannot be had, but the
// Go types of which its definitions are generated, generated/ generates them. What
// is expected of a definition is read from the definition: in discovery, in tables,
// in OpenAPI, and in what kubectl explain prints.
//
// Examples that are accepted are also broken, in one thing that the definition
// says at a time, and must be refused for that.
//
// gateway-api has tests of the rules in its definitions, as hundreds of objects to
// be accepted or refused. TestGatewayRules builds and runs them; gateway/go.mod
// pins them and what they need.
//
// It is a module of its own, so that what the tests need does not become the
// server's; where both need a module, they take the same version, for it to be
// built once. The server is built from the module around it and runs as a process,
// one for each test.
package crds
