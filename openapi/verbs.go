package openapi

import (
	"net/http"
	"strings"
)

// collectionOperations returns the operations on the collection of a namespace, or of a
// cluster-scoped resource.
func (d operationBuilder) collectionOperations() []operation {
	var out []operation
	if d.hasVerb("list") {
		op := d.operation("get", "list", d.id("list", "", ""), d.listDescription())
		op.produces, op.responses = streamTypes(d.Custom), responses(d.ListModel, http.StatusOK)
		out = append(out, d.withScope(op, listParams()...))
	}
	if d.hasVerb("create") {
		op := d.operation("post", "post", d.id("create", "", ""), "create "+withArticle(d.Kind))
		op.body = &body{d.Model, true}
		op.responses = responses(d.Model, http.StatusOK, http.StatusCreated, http.StatusAccepted)
		out = append(out, d.withScope(op, createParams()...))
	}
	if d.hasVerb("deletecollection") {
		op := d.operation("delete", "deletecollection", d.id("delete", "Collection", ""), "delete collection of "+d.Kind)
		op.responses = responses(modelStatus, http.StatusOK)
		if d.Custom {
			op = d.withScope(op, listParams()...)
		} else {
			op.body = &body{modelDeleteOptions, false}
			op = d.withScope(op, collectionParams()...)
		}
		out = append(out, op)
	}
	return out
}

func (d operationBuilder) listDescription() string {
	if d.hasVerb("watch") && !d.Custom {
		return "list or watch objects of kind " + d.Kind
	}
	return "list objects of kind " + d.Kind
}

// objectOperations returns the operations on the path of one object.
func (d operationBuilder) objectOperations() []operation {
	var out []operation
	if d.hasVerb("get") {
		op := d.operation("get", "get", d.id("read", "", ""), "read the specified "+d.Kind)
		op.responses = responses(d.Model, http.StatusOK)
		if d.Custom {
			op.params = append(op.params, getParams()...)
		}
		out = append(out, d.withName(op))
	}
	if d.hasVerb("update") {
		out = append(out, d.withName(d.put(d.id("replace", "", ""), "replace the specified "+d.Kind, d.Model)))
	}
	if d.hasVerb("patch") {
		out = append(out, d.withName(d.patch(d.id("patch", "", ""), "partially update the specified "+d.Kind, d.Model)))
	}
	if d.hasVerb("delete") {
		op := d.operation("delete", "delete", d.id("delete", "", ""), "delete "+withArticle(d.Kind))
		op.body = &body{modelDeleteOptions, false}
		op.responses = responses(modelStatus, http.StatusOK, http.StatusAccepted)
		if d.DeleteReturnsObject {
			op.responses = responses(d.Model, http.StatusOK, http.StatusAccepted)
		}
		out = append(out, d.withName(op, deleteParams()...))
	}
	return out
}

func (d operationBuilder) put(id, description, model string) operation {
	op := d.operation("put", "put", id, description)
	op.params = append(op.params, updateParams()...)
	op.body = &body{model, true}
	op.responses = responses(model, http.StatusOK, http.StatusCreated)
	return op
}

func (d operationBuilder) patch(id, description, model string) operation {
	op := d.operation("patch", "patch", id, description)
	op.params = append(op.params, patchParams()...)
	op.body, op.consumes = &body{modelPatch, true}, patchTypes(d.Custom)
	op.responses = responses(model, http.StatusOK, http.StatusCreated)
	if d.Custom {
		op.responses = responses(model, http.StatusOK)
	}
	return op
}

// subresourceOperations returns the operations on the path of a subresource.
func (d operationBuilder) subresourceOperations(s Subresource) []operation {
	if s.Connects {
		return d.connectOperations(s, "")
	}
	var out []operation
	suffix := capitalize(s.Name)
	for _, verb := range s.Verbs {
		var op operation
		switch verb {
		case "get":
			op = d.operation("get", "get", d.id("read", "", suffix), "read "+s.Name+" of the specified "+d.Kind)
			op.responses = responses(s.Model, http.StatusOK)
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
			op.responses = responses(s.Model, http.StatusOK, http.StatusCreated, http.StatusAccepted)
		default:
			continue
		}
		if o, ok := s.Options.(documentedOptions); ok {
			op.params = append(op.params, queryParams(o)...)
			op.responses = responses(modelText, http.StatusOK)
			op.produces = append([]string{"text/plain"}, op.produces...)
		}
		kind := s.Kind
		op.kind = &kind
		op.params = append(op.params, nameParam(kind.Kind))
		out = append(out, d.withScope(op))
	}
	return out
}

// connectOperations returns the operations of a subresource that proxies requests.
func (d operationBuilder) connectOperations(s Subresource, suffix string, params ...parameter) []operation {
	methods := []string{"get", "post"}
	if s.Path {
		methods = []string{"delete", "get", "head", "options", "patch", "post", "put"}
	}
	if o, ok := s.Options.(documentedOptions); ok {
		params = append(params, queryParams(o)...)
	}
	var out []operation
	for _, method := range methods {
		kind := s.Kind
		op := operation{
			method: method, action: "connect", kind: &kind, tag: versionTag(d.gv),
			id:          d.id("connect", capitalize(method), capitalize(s.Name)+suffix),
			description: "connect " + strings.ToUpper(method) + " requests to " + s.Name + " of " + d.Kind,
			consumes:    []string{"*/*"}, produces: []string{"*/*"},
			responses: responses(modelText, http.StatusOK),
		}
		op.params = append(op.params, params...)
		op.params = append(op.params, nameParam(s.Kind.Kind))
		out = append(out, d.withScope(op))
	}
	return out
}

// listAll returns the list across all namespaces.
func (d operationBuilder) listAll() operation {
	op := d.operation("get", "list", d.idAcross("list", "", "ForAllNamespaces"), d.listDescription())
	op.produces, op.responses = streamTypes(d.Custom), responses(d.ListModel, http.StatusOK)
	op.params = append(op.params, listParams()...)
	return op
}

// The paths under /watch are deprecated in favour of the watch parameter.

func (d operationBuilder) watchOne() operation {
	op := d.operation("get", "watch", d.id("watch", "", ""), "watch changes to an object of kind "+d.Kind+
		". deprecated: use the 'watch' parameter with a list operation instead, filtered to a single item with the 'fieldSelector' parameter.")
	return d.withName(withWatchParams(op))
}

func (d operationBuilder) watchList() operation {
	return d.withScope(withWatchParams(d.operation("get", "watchlist", d.id("watch", "", "List"), d.watchDescription())))
}

func (d operationBuilder) watchAll() operation {
	return withWatchParams(d.operation("get", "watchlist", d.idAcross("watch", "", "ListForAllNamespaces"), d.watchDescription()))
}

func (d operationBuilder) watchDescription() string {
	return "watch individual changes to a list of " + d.Kind + ". deprecated: use the 'watch' parameter with a list operation instead."
}

func withWatchParams(op operation) operation {
	op.params = append(op.params, listParams()...)
	op.produces, op.responses = streamTypes(false), responses(modelWatchEvent, http.StatusOK)
	return op
}
