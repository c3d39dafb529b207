// Package since has the fields and the enum values of the API that are newer than the oldest
// Kubernetes release that a server can emulate. A server that emulates a release faithfully
// (--faithful-emulation) treats what the release did not have as that release would: fields in
// requests are unknown, values of enums are not supported, and OpenAPI does not describe either.
// kube-apiserver itself leaves fields without a feature gate in place.
//
// The data (since.txt) come from a comparison of the sources of the API's modules; make generate
// runs it. Fields of a new kind or of a new type are not in it, since nothing of an older release
// leads to them. Kinds and versions have their lifecycles in package api.
//
// Read release.go first, then walks.go, which changes objects.
package since

//go:generate go run ./internal/generate
