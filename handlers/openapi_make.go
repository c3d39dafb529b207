package handlers

import (
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/openapi"
)

// openAPIMaker makes one document or several. What it needs for that is much bigger
// than they are, so that it is let go afterwards.
type openAPIMaker struct {
	info openapi.Info
	defs *openapi.Definitions
	now  func() time.Time
	packer
}

func newOpenAPIMaker(version string, now func() time.Time) (*openAPIMaker, error) {
	defs, err := openapi.Open()
	return &openAPIMaker{info: openapi.Info{Version: version}, defs: defs, now: now}, err
}

// v3 makes a document of version 3.
func (m *openAPIMaker) v3(p openAPIPart) (*openAPIDocument, error) {
	content, err := p.describe().V3(m.info, m.defs)
	if err != nil {
		return nil, err
	}
	return m.document(content, p.resources, openapi.ProtobufV3)
}

func (m *openAPIMaker) document(content []byte, resources []*api.Resource, toProtobuf func([]byte) ([]byte, error)) (*openAPIDocument, error) {
	packed, err := m.pack(content)
	if err != nil {
		return nil, err
	}
	return &openAPIDocument{resources: resources, made: m.now(), hash: hashOf(content), json: packed, toProtobuf: toProtobuf}, nil
}

// hashOf is the name of a content.
func hashOf(content []byte) string { return fmt.Sprintf("%X", sha512.Sum512(content)) }

// packer compresses one content after the other. The zero value works.
type packer struct {
	out    bytes.Buffer
	writer *gzip.Writer
}

func (p *packer) pack(content []byte) ([]byte, error) {
	p.out.Reset()
	if p.writer == nil {
		// The fastest level: these documents repeat themselves so much that the
		// others gain little.
		w, err := gzip.NewWriterLevel(&p.out, gzip.BestSpeed)
		if err != nil {
			return nil, err
		}
		p.writer = w
	} else {
		p.writer.Reset(&p.out)
	}
	if _, err := p.writer.Write(content); err != nil {
		return nil, err
	}
	if err := p.writer.Close(); err != nil {
		return nil, err
	}
	return bytes.Clone(p.out.Bytes()), nil
}

// describeForOpenAPI tells package openapi what it has to know about resources.
func describeForOpenAPI(c *api.Catalogue, gv schema.GroupVersion, resources []*api.Resource) []openapi.Resource {
	var out []openapi.Resource
	for _, res := range resources {
		_, v, ok := c.Lookup(gv, res.Name)
		if !ok {
			continue // the catalogue has just changed; the next to ask sees it so
		}
		if model := modelOf(res, v); model != "" {
			out = append(out, describe(res, gv, model))
		}
	}
	return out
}

// modelOf is the name of the definition of a resource's objects in a version;
// empty if they have no published Go type.
func modelOf(res *api.Resource, v *api.Version) string {
	made := res.New
	if v.New != nil {
		made = v.New
	}
	if named, ok := made().(interface{ OpenAPIModelName() string }); ok {
		return named.OpenAPIModelName()
	}
	return ""
}

func describe(res *api.Resource, gv schema.GroupVersion, model string) openapi.Resource {
	out := openapi.Resource{
		Name: res.Name, Kind: res.Kind, Namespaced: res.Namespaced, Verbs: res.Verbs,
		Model: model, ListModel: model + "List", DeleteReturnsObject: res.ReturnDeletedObject,
	}
	if out.Verbs == nil {
		out.Verbs = api.AllVerbs
	}
	if res.HasStatus {
		out.Subresources = append(out.Subresources, openapi.Subresource{
			Name: "status", Kind: gv.WithKind(res.Kind), Model: model, Verbs: onStatus,
		})
	}
	for _, sub := range res.Subresources {
		s := openapi.Subresource{Name: sub.Name, Kind: gv.WithKind(res.Kind), Model: model, Verbs: sub.Verbs}
		if c := sub.Connection; c != nil {
			s.Options, s.Connects, s.Path = c.Empty, c.Kind != "", c.Style == api.Web
			if c.Kind != "" {
				s.Kind.Kind = c.Kind
			}
		}
		if sub.Kind != nil {
			v := &sub.Kind.Versions[0]
			s.Kind, s.Model = v.WithKind(sub.Kind.Kind), modelOf(sub.Kind, v)
		}
		out.Subresources = append(out.Subresources, s)
	}
	return out
}
