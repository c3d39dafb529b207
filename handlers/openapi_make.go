package handlers

import (
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"fmt"
	"io"
	"slices"
	"strings"
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

// v3 makes a document of version 3. One about custom kinds is written when it is
// asked for: there may be thousands, and every client asks for the hashes of all.
func (m *openAPIMaker) v3(p openAPIPart) (*openAPIDocument, error) {
	d := p.describe()
	doc := &openAPIDocument{resources: p.resources, made: m.now(), describe: p.describe, toProtobuf: openapi.ProtobufV3}
	if d.Custom() {
		digest, err := d.Digest(m.info)
		doc.hash = fmt.Sprintf("%X", digest)
		return doc, err
	}
	content, err := d.V3(m.info, m.defs)
	if err != nil {
		return nil, err
	}
	doc.hash = hashOf(content)
	doc.json, err = m.pack(content)
	return doc, err
}

// write writes what v3 put off.
func (m *openAPIMaker) write(doc *openAPIDocument) error {
	content, err := doc.describe().V3(m.info, m.defs)
	if err != nil {
		return err
	}
	doc.json, err = m.pack(content)
	return err
}

// v2 makes the document of version 2, with those of others.
func (m *openAPIMaker) v2(c *api.Catalogue, others [][]byte) (*openAPIDocument, error) {
	parts := openAPIParts(c)
	slices.SortFunc(parts, func(a, b openAPIPart) int { return strings.Compare(a.name+"/", b.name+"/") })
	hash := sha512.New()
	packed, err := m.packed(func(out io.Writer) error {
		return openapi.V2(io.MultiWriter(out, hash), m.info, func(yield func(openapi.Document) bool) {
			for _, p := range parts {
				if !yield(p.describe()) {
					return
				}
			}
		}, m.defs, others...)
	})
	if err != nil {
		return nil, err
	}
	return &openAPIDocument{
		resources: c.Resources(), others: others, made: m.now(), hash: fmt.Sprintf("%X", hash.Sum(nil)), json: packed, toProtobuf: openapi.ProtobufV2,
	}, nil
}

// hashOf is the name of a content.
func hashOf(content []byte) string { return fmt.Sprintf("%X", sha512.Sum512(content)) }

// packer compresses one content after the other. The zero value works.
type packer struct {
	out    bytes.Buffer
	writer *gzip.Writer
}

func (p *packer) pack(content []byte) ([]byte, error) {
	return p.packed(func(out io.Writer) error {
		_, err := out.Write(content)
		return err
	})
}

// packed compresses what write writes.
func (p *packer) packed(write func(io.Writer) error) ([]byte, error) {
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
	if err := write(p.writer); err != nil {
		return nil, err
	}
	if err := p.writer.Close(); err != nil {
		return nil, err
	}
	return bytes.Clone(p.out.Bytes()), nil
}

// describeForOpenAPI tells package openapi what it has to know about resources.
func describeForOpenAPI(gv schema.GroupVersion, resources []*api.Resource) []openapi.Resource {
	var out []openapi.Resource
	for _, res := range resources {
		v := res.Version(gv)
		if v.OpenAPI != nil {
			out = append(out, describeCustom(res, v))
		} else if model := modelOf(res, v); model != "" {
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

// describeCustom describes what has no Go type. kube-apiserver says that all
// operations on it are about its own kind, those on scale too.
func describeCustom(res *api.Resource, v *api.Version) openapi.Resource {
	own := v.WithKind(res.Kind)
	out := describe(res, v.GroupVersion, openapi.CustomName(own))
	out.ListModel = openapi.CustomName(v.WithKind(res.ListKind))
	out.Custom, out.Definitions, out.Verbs = true, v.OpenAPI, api.AllVerbs
	for i := range out.Subresources {
		out.Subresources[i].Kind = own
	}
	return out
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
