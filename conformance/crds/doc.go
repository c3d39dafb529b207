// Package crds installs the CustomResourceDefinitions of projects that many
// clusters run, and uses them as their users do: gateway-api, cert-manager,
// prometheus-operator, istio, cluster-api, argo-cd and flux.
//
//	cd conformance/crds && go test ./...
//
// Nothing of theirs is kept here. modules/go.mod names their Go modules, which
// the tests read from the module cache; go downloads what is not there yet and
// checks it against modules/go.sum. projects_test.go says where in a module the
// definitions and the published examples are.
//
// It is a module of its own, so that what the tests need does not become the
// server's. The server is built from the module around it and runs as a process,
// one for all tests.
package crds
