// Package gated removes the fields of disabled feature gates from written objects, as
// kube-apiserver does: a field is removed unless the stored object has a field of the same feature.
//
// Which fields a gate guards is data. marked.txt has the markers +featureGate in the Go types of
// k8s.io/api; make generate writes it. exceptions.txt has the differences between the markers and
// what kube-apiserver removes, each with its reason.
//
// The tables are compiled for a Go type, with the gates of one server, to a tree of the fields that
// can have to be removed (Program). An object without such fields costs one walk over that tree.
//
// Read table.go first, then program.go and walk.go.
package gated

//go:generate go run ./internal/generate
