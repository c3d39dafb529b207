package openapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/internal/coldsort"
)

// Document is a part of the API's description: the paths of one group version, or of the
// documents by which clients discover groups and versions.
type Document struct {
	// Name is its path below /openapi/v3: "api/v1", "apis/apps/v1", "version".
	Name string
	// custom is set if all resources are custom; kube-apiserver writes another header for
	// such documents.
	custom bool
	// gv is the described group version; empty for documents of no group version.
	gv    schema.GroupVersion
	paths []pathItem
	// resources are the described resources, if any.
	resources []Resource
}

// Info is the information about the server in documents.
type Info struct {
	// Version is the release of Kubernetes that the server emulates: "1.36".
	Version string
	// NoEnums omits the values of enums from the definitions of published types.
	NoEnums bool `json:",omitempty"`
}

// VersionDocument returns the document of a group version.
func VersionDocument(gv schema.GroupVersion, resources []Resource) Document {
	root := "/apis/" + gv.String()
	if gv.Group == "" {
		root = "/api/" + gv.Version
	}
	d := Document{Name: root[1:], custom: len(resources) > 0, gv: gv, resources: resources}
	for _, r := range resources {
		d.custom = d.custom && r.Custom
		d.paths = append(d.paths, operationBuilder{r, gv, root}.paths()...)
	}
	if !d.custom {
		d.paths = append(d.paths, pathItems(root+"/", discoveryOperation("get"+groupID(gv.Group)+identifier(gv.Version, true)+"APIResources",
			"get available resources", versionTag(gv), modelMeta+"APIResourceList"))...)
	}
	coldsort.Func(d.paths, func(a, b pathItem) int { return strings.Compare(a.path, b.path) })
	return d
}

// GroupDocument returns the document of the discovery of a group.
func GroupDocument(group string) Document {
	if group == "" {
		return Document{Name: "api", paths: pathItems("/api/",
			discoveryOperation("getCoreAPIVersions", "get available API versions", "core", modelMeta+"APIVersions"))}
	}
	return Document{Name: "apis/" + group, paths: pathItems("/apis/"+group+"/",
		discoveryOperation("get"+groupID(group)+"APIGroup", "get information of a group", groupTag(group), modelMeta+"APIGroup"))}
}

// GroupsDocument returns the document of the list of groups.
func GroupsDocument() Document {
	return Document{Name: "apis", paths: pathItems("/apis/",
		discoveryOperation("getAPIVersions", "get available API versions", "apis", modelMeta+"APIGroupList"))}
}

// ServerDocument returns the document of the server's version.
func ServerDocument() Document {
	op := discoveryOperation("getCodeVersion", "get the version information for this server", "version",
		"io.k8s.apimachinery.pkg.version.Info")
	op.consumes, op.produces = []string{"application/json"}, []string{"application/json"}
	return Document{Name: "version", paths: pathItems("/version/", op)}
}

// IssuerDocument returns the document of the configuration of the issuer of service account tokens.
func IssuerDocument() Document {
	return textDocument(".well-known/openid-configuration", "application/json", operation{
		id:          "getServiceAccountIssuerOpenIDConfiguration",
		description: "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
		tag:         "WellKnown",
	})
}

// IssuerKeysDocument returns the document of the public keys of the issuer of service account tokens.
func IssuerKeysDocument() Document {
	return textDocument("openid/v1/jwks", "application/jwk-set+json", operation{
		id:          "getServiceAccountIssuerOpenIDKeyset",
		description: "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)",
		tag:         "openid",
	})
}

// textDocument returns the document of a path whose GET, op, returns content of one media type that has
// no definition.
func textDocument(path, mediaType string, op operation) Document {
	op.method, op.produces, op.responses = "get", []string{mediaType}, responses(modelText, http.StatusOK)
	return Document{Name: path, paths: pathItems("/"+path+"/", op)}
}

// WithCBOR returns the document of a server that serves CBOR, which the documents of custom resources
// do not mention.
func (d Document) WithCBOR() Document {
	d.paths = slices.Clone(d.paths)
	for i := range d.paths {
		ops := slices.Clone(d.paths[i].ops)
		for j := range ops {
			ops[j].consumes, ops[j].produces = withCBOR(ops[j].consumes), withCBOR(ops[j].produces)
		}
		d.paths[i].ops = ops
	}
	return d
}

// discoveryOperation returns a discovery operation.
func discoveryOperation(id, description, tag, model string) operation {
	return operation{
		method: "get", id: id, description: description, tag: tag,
		consumes: mediaTypes(false), produces: mediaTypes(false),
		responses: responses(model, http.StatusOK),
	}
}

// definitions returns the definitions that the resources add.
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

// models returns the names of the definitions that the operations refer to.
func (d Document) models() []string {
	seen := map[string]bool{}
	for _, p := range d.paths {
		for _, op := range p.ops {
			if op.body != nil {
				seen[op.body.model] = true
			}
			for _, a := range op.responses {
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
