// Package openapi has the schemas of the published Go types, and writes OpenAPI documents,
// version 2 and version 3, of the served API.
//
// A Definition is the named schema of one type. Definitions are the definitions of the
// published types, unpacked on demand, and the definitions that a caller adds for custom kinds. A
// Resource describes one version of a served resource. A Document is the paths of one group
// version, or of one of the small documents such as /version. In version 3 of OpenAPI it is a
// document of its own; in version 2 it is a part (PartV2) of the only document.
//
// The definitions are data, created by go generate and embedded in compressed form. They use
// no memory until they are needed. This package caches nothing; its callers cache the
// documents in the form in which they serve them. The merge topology of the definitions, which
// every write needs, is a file of its own (topology.go).
//
// Reading order: definitions.go, schema.go, topology.go; resource.go, paths.go, operation.go, verbs.go,
// parameters.go; document.go, v3.go, v2.go, protobuf.go. custom.go is specific to custom
// resources, aggregated.go merges the documents of aggregated API servers.
package openapi

// Run from this directory. The types are those of the versions of k8s.io/api and
// k8s.io/apimachinery in go.mod.
//
//go:generate go run ./internal/generate
