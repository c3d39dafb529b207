package api

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// typeRegistry names kube-apiserver's registry of Go types, which some of its messages show.
const typeRegistry = `in scheme "pkg/runtime/scheme.go:111"`

// ErrNotRegistered is the error about an object of a kind that the server does not have.
func ErrNotRegistered(gvk schema.GroupVersionKind) error {
	return fmt.Errorf("no kind %q is registered for version %q %s", gvk.Kind, gvk.GroupVersion(), typeRegistry)
}

// ErrOtherKind is the error about an object of another kind than that of the request to a resource,
// which is named kind.
func ErrOtherKind(gvk schema.GroupVersionKind, res *Resource, kind string) error {
	return fmt.Errorf("converting (%s.%s) to (%s.%s): unknown conversion", gvk.Version, gvk.Kind, InternalPackage(res), kind)
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
