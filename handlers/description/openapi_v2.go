package description

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/compressed"
	"github.com/miniapiserver/miniapiserver/openapi"
)

// openAPIWhole is the document of version 2, with what it is put together of: when
// a kind is added, what there is of the others goes into the next as it is.
type openAPIWhole struct {
	doc *openAPIDocument
	// state is that of the catalogue it is about, and others are documents of other
	// servers that are in it.
	state  any
	others [][]byte

	shares    map[openAPIShareKey]*openAPIShare
	needs     map[string]*openAPINeeds
	published *openAPIPublished

	// paths and definitions are blocks in the order in which they are written.
	paths, definitions []*openAPIBlock
	parameters         openapi.ParametersV2
}

// openAPIShareKey tells whose a share is: a part's, or that of one of the custom
// kinds which it is about.
type openAPIShareKey struct {
	part string
	kind *api.Resource
}

// openAPIShare is what somebody brings into the document.
type openAPIShare struct {
	resources          []*api.Resource // of a part
	paths, definitions *openAPIBlock   // nil where there are none
	needs              *openAPINeeds
}

// openAPINeeds are parameters that operations share, and names of definitions of
// published types. Nearly all custom kinds need the same, and hold the same value.
type openAPINeeds struct {
	key        string
	parameters openapi.ParametersV2
	models     []string
}

// openAPIBlock is some members of the document's object of paths, or of that of
// definitions.
type openAPIBlock struct {
	part  string   // whose paths they are
	first string   // the first name, by which blocks are sorted
	names []string // of definitions
	json  *compressed.Text
	// protobuf is made when it is first asked for.
	protobuf *compressed.Text
}

// openAPIPublished are the definitions of published types, by what they were
// chosen: the names of those that are needed, and of those that custom kinds have in
// their place.
type openAPIPublished struct {
	models, hidden []string
	blocks         []*openAPIBlock
}

// v2 makes the document of version 2 about parts, with those of others, of what
// there is already of the one before, if there was one.
func (m *openAPIMaker) v2(parts []openAPIPart, others [][]byte, before *openAPIWhole) (*openAPIWhole, error) {
	if before == nil {
		before = &openAPIWhole{doc: &openAPIDocument{}}
	}
	w := &openAPIWhole{others: others, shares: map[openAPIShareKey]*openAPIShare{}, needs: map[string]*openAPINeeds{}}
	slices.SortFunc(parts, func(a, b openAPIPart) int { return strings.Compare(a.name+"/", b.name+"/") })
	for _, p := range parts {
		if err := m.share(w, p, before); err != nil {
			return nil, err
		}
	}
	if err := m.complete(w, before); err != nil {
		return nil, err
	}
	if len(others) > 0 {
		if err := m.merge(w); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(w.definitions, func(a, b *openAPIBlock) int { return strings.Compare(a.first, b.first) })
	middle, err := openapi.MiddleV2(w.parameters)
	if err != nil {
		return nil, err
	}
	file, err := m.wholeFile(w, middle)
	if err != nil {
		return nil, err
	}
	w.doc = &openAPIDocument{made: m.now(), hash: fmt.Sprintf("%X", file.Hash()), json: file}
	if w.doc.hash == before.doc.hash {
		w.doc.made = before.doc.made
	}
	info := m.info
	w.doc.toProtobuf = func() (*compressed.File, error) { return inProtobufV2(w, info) }
	return w, nil
}

// share adds what a part brings. Where it is about custom kinds each of these brings
// its own, one after the other.
func (m *openAPIMaker) share(w *openAPIWhole, p openAPIPart, before *openAPIWhole) error {
	keys := []openAPIShareKey{{part: p.name}}
	if p.custom {
		keys = keys[:0]
		for _, r := range p.resources {
			keys = append(keys, openAPIShareKey{p.name, r})
		}
	}
	first := len(w.paths)
	for _, key := range keys {
		s := before.shares[key]
		if s == nil || key.kind == nil && !slices.Equal(s.resources, p.resources) {
			var err error
			if s, err = m.newShare(key, p, w, before); err != nil {
				return err
			}
		}
		w.shares[key], w.needs[s.needs.key] = s, s.needs
		if s.paths != nil {
			w.paths = append(w.paths, s.paths)
		}
		if s.definitions != nil {
			w.definitions = append(w.definitions, s.definitions)
		}
	}
	slices.SortFunc(w.paths[first:], func(a, b *openAPIBlock) int { return strings.Compare(a.first, b.first) })
	return nil
}

func (m *openAPIMaker) newShare(key openAPIShareKey, p openAPIPart, w, before *openAPIWhole) (*openAPIShare, error) {
	resources := p.resources
	if key.kind != nil {
		resources = []*api.Resource{key.kind}
	}
	part, err := p.describe(resources).V2()
	if err != nil {
		return nil, err
	}
	s := &openAPIShare{}
	if key.kind == nil {
		s.resources = resources
	}
	if s.paths, err = m.block(part.Paths); err != nil {
		return nil, err
	}
	if s.paths != nil {
		s.paths.part, s.paths.names = p.name, nil // there are many names, and hardly anybody asks
	}
	if s.definitions, err = m.block(part.Definitions); err != nil {
		return nil, err
	}
	needs := &openAPINeeds{parameters: part.Parameters, models: part.Models}
	needs.key = strings.Join(slices.Sorted(maps.Keys(needs.parameters)), " ") + "\n" + strings.Join(needs.models, " ")
	for _, known := range []*openAPIWhole{w, before} {
		if same := known.needs[needs.key]; same != nil {
			needs = same
		}
	}
	s.needs = needs
	return s, nil
}

// block compresses a block; nil if nothing is in it.
func (m *openAPIMaker) block(b openapi.BlockV2) (*openAPIBlock, error) {
	if len(b.Names) == 0 {
		return nil, nil
	}
	text, err := m.Compress(b.Text)
	return &openAPIBlock{first: b.Names[0], names: b.Names, json: text}, err
}

// complete adds what the shares need: parameters, and definitions of published types,
// which stay the same unless other ones are needed.
func (m *openAPIMaker) complete(w, before *openAPIWhole) error {
	w.parameters = openapi.ParametersV2{}
	needed := map[string]bool{}
	for _, needs := range w.needs {
		maps.Copy(w.parameters, needs.parameters)
		for _, name := range needs.models {
			needed[name] = true
		}
	}
	owned := map[string]bool{}
	p := &openAPIPublished{models: slices.Sorted(maps.Keys(needed))}
	for _, b := range w.definitions {
		for _, name := range b.names {
			owned[name] = true
			if needed[name] || m.defs.Published(name) {
				p.hidden = append(p.hidden, name)
			}
		}
	}
	slices.Sort(p.hidden)
	if old := before.published; old != nil && slices.Equal(old.models, p.models) && slices.Equal(old.hidden, p.hidden) {
		p = old
	} else {
		blocks, err := m.defs.PublishedV2(p.models, func(name string) bool { return owned[name] })
		if err != nil {
			return err
		}
		for _, b := range blocks {
			block, err := m.block(b)
			if err != nil {
				return err
			}
			p.blocks = append(p.blocks, block)
		}
	}
	w.published = p
	w.definitions = append(w.definitions, p.blocks...)
	return nil
}

// wholeFile puts blocks together, with commas between them.
func (m *openAPIMaker) wholeFile(w *openAPIWhole, middle []byte) (*compressed.File, error) {
	head, err := openapi.HeadV2(m.info)
	if err != nil {
		return nil, err
	}
	var fixed [4]*compressed.Text
	for i, text := range [][]byte{head, middle, []byte(openapi.TailV2), []byte(",")} {
		if fixed[i], err = m.Compress(text); err != nil {
			return nil, err
		}
	}
	texts := make([]*compressed.Text, 0, 2*(len(w.paths)+len(w.definitions))+3)
	add := func(blocks []*openAPIBlock) {
		for i, b := range blocks {
			if i > 0 {
				texts = append(texts, fixed[3])
			}
			texts = append(texts, b.json)
		}
	}
	texts = append(texts, fixed[0])
	add(w.paths)
	texts = append(texts, fixed[1])
	add(w.definitions)
	return compressed.Join(append(texts, fixed[2])...), nil
}

// inProtobufV2 converts the document, but for those blocks that were converted
// before.
func inProtobufV2(w *openAPIWhole, info openapi.Info) (*compressed.File, error) {
	m := &openAPIMaker{info: info}
	head, err := openapi.HeadV2(info)
	if err != nil {
		return nil, err
	}
	middle, err := openapi.MiddleV2(w.parameters)
	if err != nil {
		return nil, err
	}
	texts := make([]*compressed.Text, 1, len(w.paths)+len(w.definitions)+1)
	empty, err := openapi.ProtobufV2(slices.Concat(head, middle, []byte(openapi.TailV2)))
	if err != nil {
		return nil, err
	}
	if texts[0], err = m.Compress(empty); err != nil {
		return nil, err
	}
	for i, b := range slices.Concat(w.paths, w.definitions) {
		if b.protobuf == nil {
			if b.protobuf, err = m.blockInProtobuf(b, i < len(w.paths)); err != nil {
				return nil, err
			}
		}
		texts = append(texts, b.protobuf)
	}
	return compressed.Join(texts...), nil
}

func (m *openAPIMaker) blockInProtobuf(b *openAPIBlock, paths bool) (*compressed.Text, error) {
	text, err := b.json.Bytes()
	if err != nil {
		return nil, err
	}
	if paths {
		text, err = openapi.ProtobufOfBlocksV2(text, nil)
	} else {
		text, err = openapi.ProtobufOfBlocksV2(nil, text)
	}
	if err != nil {
		return nil, err
	}
	return m.Compress(text)
}
