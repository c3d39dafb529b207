package api

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// typeRegistry names kube-apiserver's registry of Go types, which some of its messages show.
const typeRegistry = "pkg/runtime/scheme.go:111"

// ErrNotRegistered is the error about an object of a kind that the server does not have.
func ErrNotRegistered(gvk schema.GroupVersionKind) error {
	return runtime.NewNotRegisteredErrForKind(typeRegistry, gvk)
}

// ErrOtherKind is the error about an object of another Go type than that of the request. Types are named
// with their packages.
func ErrOtherKind(is, want string) error {
	return fmt.Errorf("converting (%s) to (%s): unknown conversion", is, want)
}

// InternalPackage returns the name of kube-apiserver's Go package of a resource's
// internal type.
func InternalPackage(res *Resource) string {
	group, _, _ := strings.Cut(res.Versions[0].Group, ".")
	switch group {
	case "":
		return "core"
	case "events": // whose type is the one of the core group
		return "core"
	case "internal":
		return "apiserverinternal"
	}
	return group
}
