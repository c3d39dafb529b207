package openapi

import (
	"net/http"
	"strings"
)

// collectionOperations are those on the path of the objects of a namespace, or
// of all objects of a resource that has no namespaces.
func (d describer) collectionOperations() []operation {
	var out []operation
	if d.has("list") {
		op := d.operation("get", "list", d.id("list", "", ""), d.listDescription())
		op.produces, op.answers = streamTypes(d.Custom), answers(d.ListModel, http.StatusOK)
		out = append(out, d.scoped(op, listParams()...))
	}
	if d.has("create") {
		op := d.operation("post", "post", d.id("create", "", ""), "create "+withArticle(d.Kind))
		op.body = &body{d.Model, true}
		op.answers = answers(d.Model, http.StatusOK, http.StatusCreated, http.StatusAccepted)
		out = append(out, d.scoped(op, createParams()...))
	}
	if d.has("deletecollection") {
		op := d.operation("delete", "deletecollection", d.id("delete", "Collection", ""), "delete collection of "+d.Kind)
		op.answers = answers(modelStatus, http.StatusOK)
		if d.Custom {
			op = d.scoped(op, listParams()...)
		} else {
			op.body = &body{modelDeleteOptions, false}
			op = d.scoped(op, collectionParams()...)
		}
		out = append(out, op)
	}
	return out
}

func (d describer) listDescription() string {
	if d.has("watch") && !d.Custom {
		return "list or watch objects of kind " + d.Kind
	}
	return "list objects of kind " + d.Kind
}

// objectOperations are those on the path of one object.
func (d describer) objectOperations() []operation {
	var out []operation
	if d.has("get") {
		op := d.operation("get", "get", d.id("read", "", ""), "read the specified "+d.Kind)
		op.answers = answers(d.Model, http.StatusOK)
		if d.Custom {
			op.params = append(op.params, getParams()...)
		}
		out = append(out, d.named(op))
	}
	if d.has("update") {
		out = append(out, d.named(d.put(d.id("replace", "", ""), "replace the specified "+d.Kind, d.Model)))
	}
	if d.has("patch") {
		out = append(out, d.named(d.patch(d.id("patch", "", ""), "partially update the specified "+d.Kind, d.Model)))
	}
	if d.has("delete") {
		op := d.operation("delete", "delete", d.id("delete", "", ""), "delete "+withArticle(d.Kind))
		op.body = &body{modelDeleteOptions, false}
		op.answers = answers(modelStatus, http.StatusOK, http.StatusAccepted)
		if d.DeleteReturnsObject {
			op.answers = answers(d.Model, http.StatusOK, http.StatusAccepted)
		}
		out = append(out, d.named(op, deleteParams()...))
	}
	return out
}

func (d describer) put(id, description, model string) operation {
	op := d.operation("put", "put", id, description)
	op.params = append(op.params, updateParams()...)
	op.body = &body{model, true}
	op.answers = answers(model, http.StatusOK, http.StatusCreated)
	return op
}

func (d describer) patch(id, description, model string) operation {
	op := d.operation("patch", "patch", id, description)
	op.params = append(op.params, patchParams()...)
	op.body, op.consumes = &body{modelPatch, true}, patchTypes(d.Custom)
	op.answers = answers(model, http.StatusOK, http.StatusCreated)
	if d.Custom {
		op.answers = answers(model, http.StatusOK)
	}
	return op
}

// subresourceOperations are those on a path below an object.
func (d describer) subresourceOperations(s Subresource) []operation {
	if s.Connects {
		return d.connectOperations(s, "")
	}
	var out []operation
	suffix := title(s.Name)
	for _, verb := range s.Verbs {
		var op operation
		switch verb {
		case "get":
			op = d.operation("get", "get", d.id("read", "", suffix), "read "+s.Name+" of the specified "+d.Kind)
			op.answers = answers(s.Model, http.StatusOK)
			if d.Custom {
				op.params = append(op.params, getParams()...)
			}
		case "update":
			op = d.put(d.id("replace", "", suffix), "replace "+s.Name+" of the specified "+d.Kind, s.Model)
		case "patch":
			op = d.patch(d.id("patch", "", suffix), "partially update "+s.Name+" of the specified "+d.Kind, s.Model)
		case "create":
			op = d.operation("post", "post", d.id("create", "", suffix), "create "+s.Name+" of "+withArticle(d.Kind))
			op.params = append(op.params, createParams()...)
			op.body = &body{s.Model, true}
			op.answers = answers(s.Model, http.StatusOK, http.StatusCreated, http.StatusAccepted)
		default:
			continue
		}
		if o, ok := s.Options.(documented); ok {
			op.params = append(op.params, query(o)...)
			op.answers = answers(modelText, http.StatusOK)
			op.produces = append([]string{"text/plain"}, op.produces...)
		}
		kind := s.Kind
		op.kind = &kind
		out = append(out, d.named(op))
	}
	return out
}

// connectOperations are those of a subresource that leads on to somewhere else.
func (d describer) connectOperations(s Subresource, suffix string, params ...parameter) []operation {
	methods := []string{"get", "post"}
	if s.Path {
		methods = []string{"delete", "get", "head", "options", "patch", "post", "put"}
	}
	if o, ok := s.Options.(documented); ok {
		params = append(params, query(o)...)
	}
	var out []operation
	for _, method := range methods {
		kind := s.Kind
		op := operation{
			method: method, action: "connect", kind: &kind, tag: versionTag(d.gv),
			id:          d.id("connect", title(method), title(s.Name)+suffix),
			description: "connect " + strings.ToUpper(method) + " requests to " + s.Name + " of " + d.Kind,
			consumes:    []string{"*/*"}, produces: []string{"*/*"},
			answers: answers(modelText, http.StatusOK),
		}
		op.params = append(op.params, params...)
		op.params = append(op.params, nameParam(s.Kind.Kind))
		out = append(out, d.scoped(op))
	}
	return out
}

// listAll looks at all namespaces.
func (d describer) listAll() operation {
	op := d.operation("get", "list", d.idAcross("list", "", "ForAllNamespaces"), d.listDescription())
	op.produces, op.answers = streamTypes(d.Custom), answers(d.ListModel, http.StatusOK)
	op.params = append(op.params, listParams()...)
	return op
}

// The paths under /watch, which are older than the watch parameter.

func (d describer) watchOne() operation {
	op := d.operation("get", "watch", d.id("watch", "", ""), "watch changes to an object of kind "+d.Kind+
		". deprecated: use the 'watch' parameter with a list operation instead, filtered to a single item with the 'fieldSelector' parameter.")
	return d.named(watching(op))
}

func (d describer) watchList() operation {
	return d.scoped(watching(d.operation("get", "watchlist", d.id("watch", "", "List"), d.watchDescription())))
}

func (d describer) watchAll() operation {
	return watching(d.operation("get", "watchlist", d.idAcross("watch", "", "ListForAllNamespaces"), d.watchDescription()))
}

func (d describer) watchDescription() string {
	return "watch individual changes to a list of " + d.Kind + ". deprecated: use the 'watch' parameter with a list operation instead."
}

func watching(op operation) operation {
	op.params = append(op.params, listParams()...)
	op.produces, op.answers = streamTypes(false), answers(modelWatchEvent, http.StatusOK)
	return op
}
