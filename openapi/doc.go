// Package openapi knows the schemas of the published Go types, and writes
// OpenAPI documents, version 2 and version 3, about what is served with them.
//
// The nouns: a Definition is the schema of one type, by name; Definitions are
// those of the published types, unpacked as they are asked for, and those that a
// caller adds for custom kinds; a Resource is what a document has to know about
// one row of the catalogue; a Document is the paths of one group version, or of
// one of the small documents beside them, and can be written down in either
// version of OpenAPI. In version 3 it stands for itself; in version 2 it is a part
// (PartV2) of the one document there is.
//
// The definitions are data, made by go generate and embedded compressed. They
// cost nothing until somebody asks, and nothing is kept here afterwards: whoever
// serves documents keeps what it wrote, in the form in which it serves it.
//
// Reading order: definitions.go, schema.go; resource.go, paths.go, operation.go,
// verbs.go, parameters.go; document.go, v3.go, v2.go, protobuf.go. What is
// particular to custom resources is in custom.go.
package openapi

// Run from this directory: it takes the types from the versions of k8s.io/api
// and k8s.io/apimachinery that go.mod names.
//
//go:generate go run ./internal/generate
