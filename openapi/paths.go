package openapi

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// pathItem is a path with its operations.
type pathItem struct {
	path string
	// params are the parameters that all operations share.
	params []parameter
	ops    []operation
}

// pathItems returns the path with the operations, or nothing if there are none.
func pathItems(path string, ops ...operation) []pathItem {
	if len(ops) == 0 {
		return nil
	}
	// The operations may share a slice, which extractShared modifies.
	for i := range ops {
		ops[i].params = slices.Clone(ops[i].params)
	}
	return []pathItem{{path: path, params: extractShared(ops), ops: ops}}
}

// operationBuilder creates the operations of one resource.
type operationBuilder struct {
	Resource
	gv schema.GroupVersion
	// root is the path of the group version, without a trailing slash.
	root string
}

// paths returns all paths of the resource.
func (d operationBuilder) paths() []pathItem {
	var out []pathItem
	object := d.namespacedPath("/" + d.Name + "/{name}")
	out = append(out, pathItems(d.namespacedPath("/"+d.Name), d.collectionOperations()...)...)
	out = append(out, pathItems(object, d.objectOperations()...)...)
	if d.Namespaced && d.hasVerb("list") {
		out = append(out, pathItems(d.root+"/"+d.Name, d.listAll())...)
	}
	for _, s := range d.Subresources {
		out = append(out, pathItems(object+"/"+s.Name, d.subresourceOperations(s)...)...)
		if s.Path {
			out = append(out, pathItems(object+"/"+s.Name+"/{path}", d.connectOperations(s, "WithPath", pathParam())...)...)
		}
	}
	if !d.hasVerb("watch") || d.Custom {
		return out
	}
	watched := strings.Replace(object, d.root, d.root+"/watch", 1)
	if d.hasVerb("list") {
		out = append(out, pathItems(strings.TrimSuffix(watched, "/{name}"), d.watchList())...)
	}
	if d.hasVerb("get") {
		out = append(out, pathItems(watched, d.watchOne())...)
	}
	if d.Namespaced && d.hasVerb("list") {
		out = append(out, pathItems(d.root+"/watch/"+d.Name, d.watchAll())...)
	}
	return out
}

func (d operationBuilder) hasVerb(verb string) bool { return slices.Contains(d.Verbs, verb) }

// namespacedPath returns path below the namespace, if the resource is namespaced.
func (d operationBuilder) namespacedPath(path string) string {
	if d.Namespaced {
		return d.root + "/namespaces/{namespace}" + path
	}
	return d.root + path
}

// operation returns an operation with the properties that all operations on the resource
// share.
func (d operationBuilder) operation(method, action, id, description string) operation {
	gvk := d.gv.WithKind(d.Kind)
	return operation{
		method: method, action: action, description: description, kind: &gvk, tag: versionTag(d.gv),
		id:       id,
		params:   []parameter{prettyParam()},
		consumes: bodyTypes(d.Custom), produces: mediaTypes(d.Custom),
	}
}

// id returns the ID of an operation on objects: readCoreV1NamespacedPodStatus.
func (d operationBuilder) id(verb, infix, suffix string) string {
	if d.Namespaced {
		infix += "Namespaced"
	}
	return d.idAcross(verb, infix, suffix)
}

// idAcross returns the ID of an operation on all namespaces.
func (d operationBuilder) idAcross(verb, infix, suffix string) string {
	return verb + groupID(d.gv.Group) + identifier(d.gv.Version, true) + identifier(infix+d.Kind+suffix, true)
}

// withScope adds parameters and the parameter of the namespace.
func (d operationBuilder) withScope(op operation, params ...parameter) operation {
	op.params = append(op.params, params...)
	if d.Namespaced {
		op.params = append(op.params, namespaceParam())
	}
	return op
}

func (d operationBuilder) withName(op operation, params ...parameter) operation {
	return d.withScope(op, append(params, nameParam(d.Kind))...)
}
