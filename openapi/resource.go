package openapi

import "k8s.io/apimachinery/pkg/runtime/schema"

// Resource is what a document tells about a resource in one version.
type Resource struct {
	// Name is the plural name in paths; Kind that of the objects.
	Name, Kind string
	Namespaced bool
	// Verbs are those of discovery: "create", "deletecollection" ...
	Verbs []string
	// Model and ListModel name the definitions of an object and of a list.
	Model, ListModel string
	// DeleteReturnsObject: the answer to a DELETE is the object, not a Status.
	DeleteReturnsObject bool
	// Custom: a resource of a CustomResourceDefinition, which kube-apiserver
	// documents more tersely.
	Custom bool
	// Definitions gives those of Model and ListModel where they are not among the
	// published types.
	Definitions  func() ([]Definition, error) `json:"-"`
	Subresources []Subresource
}

// Subresource is a path below an object of a resource.
type Subresource struct {
	// Name is the last part of the path: "status".
	Name string
	// Kind is what is read and written there, Model its definition.
	Kind  schema.GroupVersionKind
	Model string
	// Verbs are of create, get, patch and update.
	Verbs []string
	// Options are the parameters of a subresource that gives text. Connects: it
	// leads on to somewhere else; Path: with any method and any path below it.
	Options        any
	Connects, Path bool
}
