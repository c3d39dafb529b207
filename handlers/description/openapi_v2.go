package description

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/coldsort"
	"github.com/miniapiserver/miniapiserver/internal/compressed"
	"github.com/miniapiserver/miniapiserver/openapi"
)

// openAPIV2 is the document of version 2 with the compressed blocks of which it is composed.
// The next document, after a change of the catalogue, reuses the blocks of unchanged kinds.
type openAPIV2 struct {
	doc *openAPIDocument
	// state is the state of the described catalogue, and remote are the merged documents of
	// other servers.
	state  any
	remote [][]byte

	shares    map[openAPIShareKey]*openAPIShare
	needs     map[string]*openAPINeeds // by openAPINeeds.key
	published *openAPIPublished

	// paths and definitions are the blocks in the order of the document.
	paths, definitions []*openAPIBlock
	parameters         openapi.ParametersV2
}

// openAPIShareKey identifies a share: that of a part or, if kind is not nil, that of a custom
// kind in the part.
type openAPIShareKey struct {
	part string
	kind *api.Resource
}

// openAPIShare is the content of the document that describes a part or a custom kind.
type openAPIShare struct {
	resources          []*api.Resource // of a part; nil for a custom kind
	paths, definitions *openAPIBlock   // nil if there are none
	needs              *openAPINeeds
}

// openAPINeeds are the shared parameters and the definitions of published types to which a share
// refers. Nearly all custom kinds have the same needs, and share one value.
type openAPINeeds struct {
	key        string
	parameters openapi.ParametersV2
	models     []string
}

// openAPIBlock is a run of members of the object paths or the object definitions.
type openAPIBlock struct {
	part  string   // name of the part of paths
	first string   // first name, by which blocks are sorted
	names []string // names of definitions; nil for paths
	json  *compressed.Text
	// protobuf is made when it is first requested.
	protobuf *compressed.Text
}

// openAPIPublished are the definitions of published types. It depends only on the names of the
// needed definitions, and on the names that definitions of custom kinds hide.
type openAPIPublished struct {
	models, hidden []string
	blocks         []*openAPIBlock
}

// v2 makes the document of version 2 for parts, merged with the documents of other servers. It
// reuses blocks of the previous document, which may be nil.
func (m *openAPIMaker) v2(parts []openAPIPart, remote [][]byte, previous *openAPIV2) (*openAPIV2, error) {
	if previous == nil {
		previous = &openAPIV2{doc: &openAPIDocument{}}
	}
	w := &openAPIV2{remote: remote, shares: map[openAPIShareKey]*openAPIShare{}, needs: map[string]*openAPINeeds{}}
	coldsort.Func(parts, func(a, b openAPIPart) int { return strings.Compare(a.name+"/", b.name+"/") })
	for _, p := range parts {
		if err := m.addShare(w, p, previous); err != nil {
			return nil, err
		}
	}
	if err := m.addNeeds(w, previous); err != nil {
		return nil, err
	}
	if len(remote) > 0 {
		if err := m.merge(w); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(w.definitions, func(a, b *openAPIBlock) int { return strings.Compare(a.first, b.first) })
	tail, err := openapi.TailV2(w.parameters)
	if err != nil {
		return nil, err
	}
	file, err := m.joinBlocks(w, tail)
	if err != nil {
		return nil, err
	}
	w.doc = &openAPIDocument{modified: m.now(), hash: fmt.Sprintf("%X", file.Hash()), json: file}
	if w.doc.hash == previous.doc.hash {
		w.doc.modified = previous.doc.modified
	}
	info := m.info
	w.doc.toProtobuf = func() (*compressed.File, error) { return protobufOfV2(w, info) }
	return w, nil
}

// addShare adds the share of a part or, if it has custom kinds, the share of each kind.
func (m *openAPIMaker) addShare(w *openAPIV2, p openAPIPart, previous *openAPIV2) error {
	keys := []openAPIShareKey{{part: p.name}}
	if p.custom {
		keys = keys[:0]
		for _, r := range p.resources {
			keys = append(keys, openAPIShareKey{p.name, r})
		}
	}
	first := len(w.paths)
	for _, key := range keys {
		s := previous.shares[key]
		if s == nil || key.kind == nil && !slices.Equal(s.resources, p.resources) {
			var err error
			if s, err = m.newShare(key, p, w, previous); err != nil {
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

// newShare makes a share.
func (m *openAPIMaker) newShare(key openAPIShareKey, p openAPIPart, w, previous *openAPIV2) (*openAPIShare, error) {
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
		s.paths.part, s.paths.names = p.name, nil // the names would take much memory
	}
	if s.definitions, err = m.block(part.Definitions); err != nil {
		return nil, err
	}
	needs := &openAPINeeds{parameters: part.Parameters, models: part.Models}
	needs.key = strings.Join(slices.Sorted(maps.Keys(needs.parameters)), " ") + "\n" + strings.Join(needs.models, " ")
	for _, known := range []*openAPIV2{w, previous} {
		if same := known.needs[needs.key]; same != nil {
			needs = same
		}
	}
	s.needs = needs
	return s, nil
}

// block compresses a block; it returns nil for an empty one.
func (m *openAPIMaker) block(b openapi.BlockV2) (*openAPIBlock, error) {
	if len(b.Names) == 0 {
		return nil, nil
	}
	text, err := m.Compress(b.Text)
	return &openAPIBlock{first: b.Names[0], names: b.Names, json: text}, err
}

// addNeeds adds the parameters and the definitions of published types that the shares need. It
// reuses the definitions of the previous document if they are the same.
func (m *openAPIMaker) addNeeds(w, previous *openAPIV2) error {
	w.parameters = openapi.ParametersV2{}
	needed := map[string]bool{}
	for _, needs := range w.needs {
		maps.Copy(w.parameters, needs.parameters)
		for _, name := range needs.models {
			needed[name] = true
		}
	}
	custom := map[string]bool{}
	p := &openAPIPublished{models: slices.Sorted(maps.Keys(needed))}
	for _, b := range w.definitions {
		for _, name := range b.names {
			custom[name] = true
			if needed[name] || m.defs.Published(name) {
				p.hidden = append(p.hidden, name)
			}
		}
	}
	slices.Sort(p.hidden)
	if old := previous.published; old != nil && slices.Equal(old.models, p.models) && slices.Equal(old.hidden, p.hidden) {
		p = old
	} else {
		blocks, err := m.defs.PublishedV2(p.models, func(name string) bool { return custom[name] })
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

// joinBlocks joins all blocks to a document, with commas between them.
func (m *openAPIMaker) joinBlocks(w *openAPIV2, tail []byte) (*compressed.File, error) {
	head, err := openapi.HeadV2(m.info)
	if err != nil {
		return nil, err
	}
	var compressedTexts [4]*compressed.Text
	for i, text := range [][]byte{head, []byte(openapi.MiddleV2), tail, []byte(",")} {
		if compressedTexts[i], err = m.Compress(text); err != nil {
			return nil, err
		}
	}
	headText, middleText, tailText, comma := compressedTexts[0], compressedTexts[1], compressedTexts[2], compressedTexts[3]
	texts := make([]*compressed.Text, 0, 2*(len(w.paths)+len(w.definitions))+3)
	add := func(blocks []*openAPIBlock) {
		for i, b := range blocks {
			if i > 0 {
				texts = append(texts, comma)
			}
			texts = append(texts, b.json)
		}
	}
	texts = append(texts, headText)
	add(w.paths)
	texts = append(texts, middleText)
	add(w.definitions)
	return compressed.Join(append(texts, tailText)...), nil
}

// protobufOfV2 converts a document to protobuf. It reuses the blocks that are already converted.
func protobufOfV2(w *openAPIV2, info openapi.Info) (*compressed.File, error) {
	m := &openAPIMaker{info: info}
	head, err := openapi.HeadV2(info)
	if err != nil {
		return nil, err
	}
	tail, err := openapi.TailV2(w.parameters)
	if err != nil {
		return nil, err
	}
	texts := make([]*compressed.Text, 1, len(w.paths)+len(w.definitions)+1)
	empty, err := openapi.ProtobufV2(slices.Concat(head, []byte(openapi.MiddleV2), tail))
	if err != nil {
		return nil, err
	}
	if texts[0], err = m.Compress(empty); err != nil {
		return nil, err
	}
	for i, b := range slices.Concat(w.paths, w.definitions) {
		if b.protobuf == nil {
			if b.protobuf, err = m.protobufOfBlock(b, i < len(w.paths)); err != nil {
				return nil, err
			}
		}
		texts = append(texts, b.protobuf)
	}
	return compressed.Join(texts...), nil
}

// protobufOfBlock converts a block to protobuf.
func (m *openAPIMaker) protobufOfBlock(b *openAPIBlock, paths bool) (*compressed.Text, error) {
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
