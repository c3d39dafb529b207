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

// openAPIDocuments are the OpenAPI documents about a catalogue. They are made
// when somebody asks, and kept compressed for as long as what they are about
// stays in the catalogue: a change of one group version leaves the documents of
// the others as they are, and what there is of the others in the document of version
// 2. The zero value has none.
type openAPIDocuments struct {
	mu sync.Mutex
	// made are those of version 3 by their name; whole is that of version 2.
	made  map[string]*openAPIDocument
	whole *openAPIWhole
}

// openAPIDocument is one document.
type openAPIDocument struct {
	resources []*api.Resource // of which it was made
	// digests are what custom kinds give to the hash.
	digests map[*api.Resource]openapi.Digest
	made    time.Time
	hash    string
	// json and protobuf are made when they are first wanted, unless they are there
	// from the start.
	json, protobuf     *compressed.File
	toJSON, toProtobuf func() (*compressed.File, error)
}

// openAPIPart is what a document of version 3 is to be made of, and a part of that
// of version 2.
type openAPIPart struct {
	name      string
	resources []*api.Resource
	// custom: the resources are custom kinds, so that a document about each of them
	// has all that one about all has.
	custom   bool
	describe func([]*api.Resource) openapi.Document
}

// openAPIParts are the documents that a catalogue gives.
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
			published = published || slices.ContainsFunc(resources, func(r *api.Resource) bool { return !r.Untyped })
			out = append(out, openAPIPart{
				name: prefix + "/" + gv.Version, resources: resources, custom: onlyCustom(gv, resources),
				describe: func(resources []*api.Resource) openapi.Document {
					return openapi.VersionDocument(gv, describeForOpenAPI(gv, resources))
				},
			})
		}
		if published { // kube-apiserver has none of groups that are custom
			out = append(out, openAPIPart{name: prefix, describe: func([]*api.Resource) openapi.Document { return openapi.GroupDocument(g.Name) }})
		}
	}
	return out
}

// v3 gives all documents of version 3 by name, up to date.
func (d *openAPIDocuments) v3(c *api.Catalogue, version string, now func() time.Time) (map[string]*openAPIDocument, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := openAPIParts(c)
	kept := make(map[string]*openAPIDocument, len(all))
	var m *openAPIMaker
	for _, p := range all {
		if old := d.made[p.name]; old != nil && slices.Equal(old.resources, p.resources) {
			kept[p.name] = old
			continue
		}
		if m == nil {
			var err error
			if m, err = newOpenAPIMaker(version, now); err != nil {
				return nil, err
			}
		}
		doc, err := m.v3(p, d.made[p.name])
		if err != nil {
			return nil, err
		}
		kept[p.name] = doc
	}
	d.made = kept
	return maps.Clone(kept), nil
}

// v3One gives one document of version 3, up to date; nil if there is none of
// that name.
func (d *openAPIDocuments) v3One(c *api.Catalogue, name, version string, now func() time.Time) (*openAPIDocument, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := openAPIParts(c)
	i := slices.IndexFunc(all, func(p openAPIPart) bool { return p.name == name })
	if i < 0 {
		return nil, nil
	}
	if old := d.made[name]; old != nil && slices.Equal(old.resources, all[i].resources) {
		return old, nil
	}
	m, err := newOpenAPIMaker(version, now)
	if err != nil {
		return nil, err
	}
	doc, err := m.v3(all[i], d.made[name])
	if err != nil {
		return nil, err
	}
	if d.made == nil {
		d.made = map[string]*openAPIDocument{}
	}
	d.made[name] = doc
	return doc, nil
}

// v2 gives the document of version 2, up to date, with those of others.
func (d *openAPIDocuments) v2(c *api.Catalogue, others [][]byte, version string, now func() time.Time) (*openAPIDocument, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	state := c.State()
	if d.whole != nil && d.whole.state == state && slices.EqualFunc(d.whole.others, others, bytes.Equal) {
		return d.whole.doc, nil
	}
	m, err := newOpenAPIMaker(version, now)
	if err != nil {
		return nil, err
	}
	whole, err := m.v2(openAPIParts(c), others, d.whole)
	if err != nil {
		return nil, err
	}
	whole.state = state
	d.whole = whole
	return whole.doc, nil
}

// content is a document in one of its forms.
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
