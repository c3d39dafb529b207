package description

import (
	"bytes"
	"crypto/sha512"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/compressed"
	"github.com/miniapiserver/miniapiserver/openapi"
)

// openAPIMaker makes documents. It has all schemas in memory, which are much larger than the
// documents, and so it is made anew for each change of the catalogue.
type openAPIMaker struct {
	info openapi.Info
	defs *openapi.Definitions
	now  func() time.Time
	compressed.Compressor
}

func newOpenAPIMaker(info openapi.Info, reductions openapi.Reductions, now func() time.Time) (*openAPIMaker, error) {
	defs, err := openapi.Open(reductions)
	if err == nil && info.NoEnums {
		defs = defs.WithoutEnums()
	}
	return &openAPIMaker{info: info, defs: defs, now: now}, err
}

// v3 makes a document of version 3, and reuses the digests of the previous one. The content of a
// document of custom kinds is made when it is requested: there may be thousands of these
// documents, and every client reads the hashes of all.
func (m *openAPIMaker) v3(p openAPIPart, previous *openAPIDocument) (*openAPIDocument, error) {
	doc := &openAPIDocument{resources: p.resources, modified: m.now()}
	doc.toProtobuf = func() (*compressed.File, error) { return protobufOfV3(doc.json) }
	if p.custom {
		info := m.info
		doc.toJSON = func() (*compressed.File, error) { return makeCustomV3(p, info) }
		return doc, m.setHash(doc, p, previous)
	}
	content, err := p.describe(p.resources).V3(m.info, m.defs)
	if err != nil {
		return nil, err
	}
	doc.hash = hashOf(content)
	doc.json, err = m.file(content)
	return doc, err
}

// setHash sets the hash of a document of custom kinds from their digests, whose order does not
// matter.
func (m *openAPIMaker) setHash(doc *openAPIDocument, p openAPIPart, previous *openAPIDocument) error {
	doc.digests = make(map[*api.Resource]openapi.Digest, len(p.resources))
	for _, r := range p.resources {
		var digest openapi.Digest
		known := false
		if previous != nil {
			digest, known = previous.digests[r]
		}
		if !known {
			var err error
			if digest, err = p.describe([]*api.Resource{r}).Digest(m.info); err != nil {
				return err
			}
		}
		doc.digests[r] = digest
	}
	sorted := slices.SortedFunc(maps.Values(doc.digests), func(a, b openapi.Digest) int { return bytes.Compare(a[:], b[:]) })
	var all []byte
	for _, digest := range sorted {
		all = append(all, digest[:]...)
	}
	doc.hash = hashOf(all)
	return nil
}

// makeCustomV3 makes the content of a document of custom kinds.
func makeCustomV3(p openAPIPart, info openapi.Info) (*compressed.File, error) {
	m, err := newOpenAPIMaker(info, nil, nil) // custom kinds lose nothing
	if err != nil {
		return nil, err
	}
	content, err := p.describe(p.resources).V3(info, m.defs)
	if err != nil {
		return nil, err
	}
	return m.file(content)
}

// protobufOfV3 converts a document of version 3 to protobuf.
func protobufOfV3(document *compressed.File) (*compressed.File, error) {
	content, err := io.ReadAll(document.Plain())
	if err != nil {
		return nil, err
	}
	if content, err = openapi.ProtobufV3(content); err != nil {
		return nil, err
	}
	return (&openAPIMaker{}).file(content)
}

// file compresses texts into one file.
func (m *openAPIMaker) file(texts ...[]byte) (*compressed.File, error) {
	out := make([]*compressed.Text, len(texts))
	for i, text := range texts {
		var err error
		if out[i], err = m.Compress(text); err != nil {
			return nil, err
		}
	}
	return compressed.Join(out...), nil
}

// hashOf returns the hash of a document.
func hashOf(content []byte) string { return fmt.Sprintf("%X", sha512.Sum512(content)) }

// describeForOpenAPI returns the descriptions of resources for package openapi.
func describeForOpenAPI(gv schema.GroupVersion, resources []*api.Resource) []openapi.Resource {
	var out []openapi.Resource
	for _, res := range resources {
		v := res.Version(gv)
		if v.OpenAPI != nil {
			out = append(out, describeCustom(res, v))
		} else if model := modelOf(res, v); model != "" {
			out = append(out, describe(res, v, model))
		}
	}
	return out
}

// onlyCustom reports whether there are resources and all are custom kinds.
func onlyCustom(gv schema.GroupVersion, resources []*api.Resource) bool {
	return len(resources) > 0 && !slices.ContainsFunc(resources, func(r *api.Resource) bool { return r.Version(gv).OpenAPI == nil })
}

// modelOf returns the name of the schema of a resource's objects in a version; empty if they
// have no published Go type.
func modelOf(res *api.Resource, v *api.Version) string {
	newObject := res.New
	if v.New != nil {
		newObject = v.New
	}
	if named, ok := newObject().(interface{ OpenAPIModelName() string }); ok {
		return named.OpenAPIModelName()
	}
	return ""
}

// describeCustom describes a custom kind, or one without a published Go type. All operations
// have its own kind, also those on scale, as in kube-apiserver.
func describeCustom(res *api.Resource, v *api.Version) openapi.Resource {
	own := v.WithKind(res.Kind)
	out := describe(res, v, openapi.CustomName(own))
	out.ListModel = openapi.CustomName(v.WithKind(res.KindOfList()))
	out.Custom, out.Definitions, out.Verbs = true, v.OpenAPI, api.AllVerbs
	for i := range out.Subresources {
		out.Subresources[i].Kind = own
	}
	return out
}

// describe describes a resource whose schema has the given name.
func describe(res *api.Resource, v *api.Version, model string) openapi.Resource {
	out := openapi.Resource{
		Name: res.Name, Kind: res.Kind, Namespaced: res.Namespaced, Verbs: res.Verbs,
		Model: model, ListModel: model + "List", DeleteReturnsObject: res.Delete.ReturnDeletedObject || v.ReturnDeletedObject,
	}
	if res.Status != nil {
		out.Subresources = append(out.Subresources, openapi.Subresource{
			Name: "status", Kind: v.WithKind(res.Kind), Model: model, Verbs: statusVerbs(),
		})
	}
	for _, subresource := range res.Subresources {
		name, verbs := subresource.Path()
		s := openapi.Subresource{Name: name, Kind: v.WithKind(res.Kind), Model: model, Verbs: verbs}
		if c, ok := subresource.(*api.Connection); ok {
			s.Options, s.Connects, s.Path = c.Empty, c.Kind != "", c.Style == api.StyleProxy
			if c.Kind != "" {
				s.Kind.Kind = c.Kind
			}
		}
		if kind := api.BodyKind(subresource); kind != nil {
			v := &kind.Versions[0]
			s.Kind, s.Model = v.WithKind(kind.Kind), modelOf(kind, v)
		}
		out.Subresources = append(out.Subresources, s)
	}
	return out
}
