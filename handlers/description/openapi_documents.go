package description

import (
	"bytes"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/compressed"
	"github.com/miniapiserver/miniapiserver/openapi"
)

// openAPIDocuments caches the OpenAPI documents of a catalogue, compressed. A document is made
// when it is first requested. A change of a group version leaves the documents of other group
// versions in the cache, and their parts of the document of version 2.
type openAPIDocuments struct {
	info openapi.Info
	// now is the clock, for the times of modification.
	now func() time.Time
	// cbor is true if the documents mention CBOR.
	cbor bool
	// issuer is true if the server serves the documents of the issuer of tokens.
	issuer bool
	// regenerations counts the documents of custom kinds.
	regenerations *regenerations

	mu sync.Mutex
	// byName are the documents of version 3, and v2Document is that of version 2.
	byName     map[string]*openAPIDocument
	v2Document *openAPIV2
}

// openAPIDocument is a document.
type openAPIDocument struct {
	resources []*api.Resource // described by the document
	// digests are the parts of the hash of custom kinds.
	digests  map[*api.Resource]openapi.Digest
	modified time.Time
	hash     string
	// json and protobuf are made by toJSON and toProtobuf when they are first requested, if
	// they are nil.
	json, protobuf     *compressed.File
	toJSON, toProtobuf func() (*compressed.File, error)
}

// openAPIPart describes a document of version 3, which is also a part of the document of
// version 2.
type openAPIPart struct {
	name      string
	resources []*api.Resource
	// custom is set if all resources are custom kinds, so that the documents of the single
	// kinds together have all content of the part.
	custom   bool
	describe func([]*api.Resource) openapi.Document
}

// openAPIParts returns the parts of a catalogue.
func openAPIParts(c *api.Catalogue) []openAPIPart {
	out := []openAPIPart{
		{name: "version", describe: func([]*api.Resource) openapi.Document { return openapi.ServerDocument() }},
		{name: "apis", describe: func([]*api.Resource) openapi.Document { return openapi.GroupsDocument() }},
	}
	for _, g := range c.Groups() {
		prefix := "apis/" + g.Name
		if g.Name == "" {
			prefix = "api"
		}
		published := false
		for _, gv := range g.Versions {
			resources := c.In(gv)
			published = published || slices.ContainsFunc(resources, func(r *api.Resource) bool { return !r.IsCustom() })
			out = append(out, openAPIPart{
				name: prefix + "/" + gv.Version, resources: resources, custom: onlyCustom(gv, resources),
				describe: func(resources []*api.Resource) openapi.Document {
					return openapi.VersionDocument(gv, describeForOpenAPI(gv, resources))
				},
			})
		}
		if published { // kube-apiserver has no such document for custom groups
			out = append(out, openAPIPart{name: prefix, describe: func([]*api.Resource) openapi.Document { return openapi.GroupDocument(g.Name) }})
		}
	}
	return out
}

// parts returns the parts of a catalogue, as this server serves them.
func (d *openAPIDocuments) parts(c *api.Catalogue) []openAPIPart {
	all := openAPIParts(c)
	if d.issuer {
		for _, document := range []openapi.Document{openapi.IssuerDocument(), openapi.IssuerKeysDocument()} {
			all = append(all, openAPIPart{name: document.Name, describe: func([]*api.Resource) openapi.Document { return document }})
		}
	}
	if !d.cbor {
		return all
	}
	for i := range all {
		describe := all[i].describe
		all[i].describe = func(resources []*api.Resource) openapi.Document { return describe(resources).WithCBOR() }
	}
	return all
}

// v3 returns all current documents of version 3 by name.
func (d *openAPIDocuments) v3(c *api.Catalogue) (map[string]*openAPIDocument, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.parts(c)
	current := make(map[string]*openAPIDocument, len(all))
	var m *openAPIMaker
	for _, p := range all {
		if old := d.byName[p.name]; old != nil && slices.Equal(old.resources, p.resources) {
			current[p.name] = old
			continue
		}
		if m == nil {
			var err error
			if m, err = newOpenAPIMaker(d.info, c.Reductions(), d.now); err != nil {
				return nil, err
			}
		}
		doc, err := m.v3(p, d.byName[p.name])
		if err != nil {
			return nil, err
		}
		current[p.name] = doc
		d.countV3(d.byName[p.name], doc)
	}
	for name, old := range d.byName {
		if current[name] == nil {
			d.countV3(old, nil)
		}
	}
	d.byName = current
	return maps.Clone(current), nil
}

// v3Named returns the current document of version 3 with a name; nil if there is none.
func (d *openAPIDocuments) v3Named(c *api.Catalogue, name string) (*openAPIDocument, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.parts(c)
	i := slices.IndexFunc(all, func(p openAPIPart) bool { return p.name == name })
	if i < 0 {
		return nil, nil
	}
	if old := d.byName[name]; old != nil && slices.Equal(old.resources, all[i].resources) {
		return old, nil
	}
	m, err := newOpenAPIMaker(d.info, c.Reductions(), d.now)
	if err != nil {
		return nil, err
	}
	doc, err := m.v3(all[i], d.byName[name])
	if err != nil {
		return nil, err
	}
	if d.byName == nil {
		d.byName = map[string]*openAPIDocument{}
	}
	d.countV3(d.byName[name], doc)
	d.byName[name] = doc
	return doc, nil
}

// countV3 counts the custom kinds that differ between two documents, either of which may be nil.
func (d *openAPIDocuments) countV3(before, after *openAPIDocument) {
	resources := func(doc *openAPIDocument) []*api.Resource {
		if doc == nil {
			return nil
		}
		return doc.resources
	}
	d.regenerations.countV3(resources(before), resources(after))
}

// v2 returns the current document of version 2, merged with those of other servers.
func (d *openAPIDocuments) v2(c *api.Catalogue, remote [][]byte) (*openAPIDocument, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	state := c.State()
	if d.v2Document != nil && d.v2Document.state == state && slices.EqualFunc(d.v2Document.remote, remote, bytes.Equal) {
		return d.v2Document.doc, nil
	}
	m, err := newOpenAPIMaker(d.info, c.Reductions(), d.now)
	if err != nil {
		return nil, err
	}
	doc, err := m.v2(d.parts(c), remote, d.v2Document)
	if err != nil {
		return nil, err
	}
	doc.state = state
	d.regenerations.countV2(d.v2Document, doc)
	d.v2Document = doc
	return doc.doc, nil
}

// content returns a document in JSON or protobuf.
func (d *openAPIDocuments) content(doc *openAPIDocument, contentType string) (*compressed.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	if doc.json == nil {
		if doc.json, err = doc.toJSON(); err != nil {
			return nil, err
		}
	}
	if contentType == "application/json" {
		return doc.json, nil
	}
	if doc.protobuf == nil {
		doc.protobuf, err = doc.toProtobuf()
	}
	return doc.protobuf, err
}
