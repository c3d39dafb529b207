package openapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Document is a part of what is served: the paths of one group version, or
// those by which clients find out about groups and versions.
type Document struct {
	// Name is its place under /openapi/v3: "api/v1", "apis/apps/v1", "version".
	Name string
	// custom: the group version is of custom resources, whose documents
	// introduce themselves otherwise.
	custom bool
	paths  []pathItem
	// resources are what it tells about, if anything.
	resources []Resource
}

// Info is what documents say about the server.
type Info struct {
	// Version of the server: "v1.36.0".
	Version string
}

// VersionDocument tells about the resources of a group version.
func VersionDocument(gv schema.GroupVersion, resources []Resource) Document {
	root := "/apis/" + gv.String()
	if gv.Group == "" {
		root = "/api/" + gv.Version
	}
	d := Document{Name: root[1:], custom: len(resources) > 0, resources: resources}
	for _, r := range resources {
		d.custom = d.custom && r.Custom
		d.paths = append(d.paths, describer{r, gv, root}.paths()...)
	}
	if !d.custom {
		d.paths = append(d.paths, item(root+"/", self("get"+groupID(gv.Group)+identifier(gv.Version, true)+"APIResources",
			"get available resources", versionTag(gv), modelMeta+"APIResourceList"))...)
	}
	slices.SortFunc(d.paths, func(a, b pathItem) int { return strings.Compare(a.path, b.path) })
	return d
}

// GroupDocument tells about a group.
func GroupDocument(group string) Document {
	if group == "" {
		return Document{Name: "api", paths: item("/api/",
			self("getCoreAPIVersions", "get available API versions", "core", modelMeta+"APIVersions"))}
	}
	return Document{Name: "apis/" + group, paths: item("/apis/"+group+"/",
		self("get"+groupID(group)+"APIGroup", "get information of a group", groupTag(group), modelMeta+"APIGroup"))}
}

// GroupsDocument tells about the list of groups.
func GroupsDocument() Document {
	return Document{Name: "apis", paths: item("/apis/",
		self("getAPIVersions", "get available API versions", "apis", modelMeta+"APIGroupList"))}
}

// ServerDocument tells about the version of the server.
func ServerDocument() Document {
	op := self("getCodeVersion", "get the version information for this server", "version", "io.k8s.apimachinery.pkg.version.Info")
	op.consumes, op.produces = []string{"application/json"}, []string{"application/json"}
	return Document{Name: "version", paths: item("/version/", op)}
}

// self is an operation by which the server tells about itself.
func self(id, description, tag, model string) operation {
	return operation{
		method: "get", id: id, description: description, tag: tag,
		consumes: mediaTypes(false), produces: mediaTypes(false),
		answers: answers(model, http.StatusOK),
	}
}

// definitions are those that resources bring with them.
func (d Document) definitions() ([]Definition, error) {
	var out []Definition
	for _, r := range d.resources {
		if r.Definitions == nil {
			continue
		}
		defs, err := r.Definitions()
		if err != nil {
			return nil, fmt.Errorf("definitions of %s: %w", r.Model, err)
		}
		out = append(out, defs...)
	}
	return out, nil
}

// models are the names of the definitions that the document speaks of.
func (d Document) models() []string {
	seen := map[string]bool{}
	for _, p := range d.paths {
		for _, op := range p.ops {
			if op.body != nil {
				seen[op.body.model] = true
			}
			for _, a := range op.answers {
				seen[a.model] = true
			}
		}
	}
	delete(seen, modelText)
	out := make([]string, 0, len(seen))
	for name := range seen {
		out = append(out, name)
	}
	return out
}
