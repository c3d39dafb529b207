package description

import (
	"encoding/json"
	"strings"

	"github.com/miniapiserver/miniapiserver/openapi"
)

// merge adds documents of other servers. Blocks that are not the same afterwards are
// others from then on, so that what is kept for the next document stays as it was.
func (m *openAPIMaker) merge(w *openAPIWhole) error {
	members := membersOfBlocks{}
	of := map[string]*openAPIBlock{}
	own := openapi.BaseV2{Parameters: w.parameters}
	for _, b := range w.definitions {
		for _, name := range b.names {
			of[name] = b
		}
		own.Definitions = append(own.Definitions, b.names...)
	}
	own.Definition = func(name string) ([]byte, error) { return members.get(of[name], name) }
	own.HasPath = func(path string) (bool, error) {
		for _, b := range w.paths {
			if !strings.HasPrefix(path, "/"+b.part+"/") {
				continue
			}
			if item, err := members.get(b, path); err != nil || item != nil {
				return true, err
			}
		}
		return false, nil
	}
	more, err := openapi.MergeV2(own, w.others...)
	if err != nil {
		return err
	}
	w.parameters = more.Parameters
	changed := map[*openAPIBlock]*openAPIBlock{}
	for name := range more.Changed {
		b := of[name]
		if changed[b] != nil {
			continue
		}
		if changed[b], err = m.changed(b, more.Changed); err != nil {
			return err
		}
	}
	for i, b := range w.definitions {
		if other := changed[b]; other != nil {
			w.definitions[i] = other
		}
	}
	for _, add := range []struct {
		to *[]*openAPIBlock
		of openapi.BlockV2
	}{{&w.paths, more.Paths}, {&w.definitions, more.Definitions}} {
		switch b, err := m.block(add.of); {
		case err != nil:
			return err
		case b != nil:
			*add.to = append(*add.to, b)
		}
	}
	return nil
}

// changed is a block in which some members are others.
func (m *openAPIMaker) changed(b *openAPIBlock, others map[string]json.RawMessage) (*openAPIBlock, error) {
	text, err := b.json.Bytes()
	if err != nil {
		return nil, err
	}
	if text, err = openapi.ReplaceMembersV2(text, others); err != nil {
		return nil, err
	}
	out := *b
	out.protobuf = nil
	out.json, err = m.Compress(text)
	return &out, err
}

// membersOfBlocks are those of blocks that were looked into.
type membersOfBlocks map[*openAPIBlock]map[string]json.RawMessage

// get is a member of a block; nil if it has none of that name.
func (m membersOfBlocks) get(b *openAPIBlock, name string) (json.RawMessage, error) {
	if m[b] == nil {
		text, err := b.json.Bytes()
		if err != nil {
			return nil, err
		}
		if m[b], err = openapi.MembersV2(text); err != nil {
			return nil, err
		}
	}
	return m[b][name], nil
}
