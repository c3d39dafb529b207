package openapi

import "k8s.io/apimachinery/pkg/runtime/schema"

// Resource describes one version of a resource.
type Resource struct {
	// Name is the plural name in paths, Kind the kind of the objects.
	Name, Kind string
	Namespaced bool
	// Verbs are the verbs in discovery: "create", "deletecollection" ...
	Verbs []string
	// Model and ListModel are the names of the definitions of an object and of a list.
	Model, ListModel string
	// DeleteReturnsObject is set if the response to a DELETE is the object, not a Status.
	DeleteReturnsObject bool
	// Custom is set if a CustomResourceDefinition defines the resource. kube-apiserver
	// documents such resources in less detail.
	Custom bool
	// Definitions returns the definitions of Model and ListModel if they are not published
	// types; nil otherwise.
	Definitions  func() ([]Definition, error) `json:"-"`
	Subresources []Subresource
}

// Subresource describes a subresource.
type Subresource struct {
	// Name is the last segment of the path: "status".
	Name string
	// Kind is the kind that is read and written, Model its definition.
	Kind  schema.GroupVersionKind
	Model string
	// Verbs are a subset of create, get, patch and update.
	Verbs []string
	// Options has the query parameters of a subresource that returns text. Connects is set
	// if requests are proxied, and Path if they may have any method and a path below the
	// subresource.
	Options        any
	Connects, Path bool
}
