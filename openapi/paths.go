package openapi

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// pathItem is a path with its operations.
type pathItem struct {
	path string
	// params are those of every operation.
	params []parameter
	ops    []operation
}

// item makes a path of operations, unless there are none.
func item(path string, ops ...operation) []pathItem {
	if len(ops) == 0 {
		return nil
	}
	// What two operations share they may not share in memory.
	for i := range ops {
		ops[i].params = slices.Clone(ops[i].params)
	}
	return []pathItem{{path: path, params: lift(ops), ops: ops}}
}

// describer makes the operations of one resource.
type describer struct {
	Resource
	gv schema.GroupVersion
	// root is the path of the group version, without a slash at its end.
	root string
}

// paths are all paths of the resource.
func (d describer) paths() []pathItem {
	var out []pathItem
	object := d.within("/" + d.Name + "/{name}")
	out = append(out, item(d.within("/"+d.Name), d.collectionOperations()...)...)
	out = append(out, item(object, d.objectOperations()...)...)
	if d.Namespaced && d.has("list") {
		out = append(out, item(d.root+"/"+d.Name, d.listAll())...)
	}
	for _, s := range d.Subresources {
		out = append(out, item(object+"/"+s.Name, d.subresourceOperations(s)...)...)
		if s.Path {
			out = append(out, item(object+"/"+s.Name+"/{path}", d.connectOperations(s, "WithPath", pathParam())...)...)
		}
	}
	if !d.has("watch") || d.Custom {
		return out
	}
	watched := strings.Replace(object, d.root, d.root+"/watch", 1)
	if d.has("list") {
		out = append(out, item(strings.TrimSuffix(watched, "/{name}"), d.watchList())...)
	}
	if d.has("get") {
		out = append(out, item(watched, d.watchOne())...)
	}
	if d.Namespaced && d.has("list") {
		out = append(out, item(d.root+"/watch/"+d.Name, d.watchAll())...)
	}
	return out
}

func (d describer) has(verb string) bool { return slices.Contains(d.Verbs, verb) }

// within puts the namespace of namespaced resources before a path.
func (d describer) within(path string) string {
	if d.Namespaced {
		return d.root + "/namespaces/{namespace}" + path
	}
	return d.root + path
}

// operation is what all operations on the resource have in common.
func (d describer) operation(method, action, id, description string) operation {
	gvk := d.gv.WithKind(d.Kind)
	return operation{
		method: method, action: action, description: description, kind: &gvk, tag: versionTag(d.gv),
		id:       id,
		params:   []parameter{prettyParam()},
		consumes: bodyTypes(d.Custom), produces: mediaTypes(d.Custom),
	}
}

// id is that of an operation on objects: readCoreV1NamespacedPodStatus.
func (d describer) id(verb, infix, suffix string) string {
	if d.Namespaced {
		infix += "Namespaced"
	}
	return d.idAcross(verb, infix, suffix)
}

// idAcross is that of an operation which looks at all namespaces.
func (d describer) idAcross(verb, infix, suffix string) string {
	return verb + groupID(d.gv.Group) + identifier(d.gv.Version, true) + identifier(infix+d.Kind+suffix, true)
}

// scoped adds the parameters of the path.
func (d describer) scoped(op operation, params ...parameter) operation {
	op.params = append(op.params, params...)
	if d.Namespaced {
		op.params = append(op.params, namespaceParam())
	}
	return op
}

func (d describer) named(op operation, params ...parameter) operation {
	return d.scoped(op, append(params, nameParam(d.Kind))...)
}
