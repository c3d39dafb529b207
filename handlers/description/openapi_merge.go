package description

import (
	"encoding/json"
	"strings"

	"github.com/miniapiserver/miniapiserver/openapi"
)

// merge adds the documents of other servers. It replaces blocks that change by copies, because
// the next document reuses the original blocks.
func (m *openAPIMaker) merge(w *openAPIV2) error {
	members := membersOfBlocks{}
	blockOf := map[string]*openAPIBlock{}
	own := openapi.BaseV2{Parameters: w.parameters}
	for _, b := range w.definitions {
		for _, name := range b.names {
			blockOf[name] = b
		}
		own.Definitions = append(own.Definitions, b.names...)
	}
	own.Definition = func(name string) ([]byte, error) { return members.get(blockOf[name], name) }
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
	merged, err := openapi.MergeV2(own, w.remote...)
	if err != nil {
		return err
	}
	w.parameters = merged.Parameters
	changed := map[*openAPIBlock]*openAPIBlock{}
	for name := range merged.Changed {
		b := blockOf[name]
		if changed[b] != nil {
			continue
		}
		if changed[b], err = m.replaceMembers(b, merged.Changed); err != nil {
			return err
		}
	}
	for i, b := range w.definitions {
		if replacement := changed[b]; replacement != nil {
			w.definitions[i] = replacement
		}
	}
	for _, add := range []struct {
		to *[]*openAPIBlock
		of openapi.BlockV2
	}{{&w.paths, merged.Paths}, {&w.definitions, merged.Definitions}} {
		switch b, err := m.block(add.of); {
		case err != nil:
			return err
		case b != nil:
			*add.to = append(*add.to, b)
		}
	}
	return nil
}

// replaceMembers returns a copy of a block with some members replaced.
func (m *openAPIMaker) replaceMembers(b *openAPIBlock, members map[string]json.RawMessage) (*openAPIBlock, error) {
	text, err := b.json.Bytes()
	if err != nil {
		return nil, err
	}
	if text, err = openapi.ReplaceMembersV2(text, members); err != nil {
		return nil, err
	}
	out := *b
	out.protobuf = nil
	out.json, err = m.Compress(text)
	return &out, err
}

// membersOfBlocks caches the decoded members of blocks.
type membersOfBlocks map[*openAPIBlock]map[string]json.RawMessage

// get returns a member of a block; nil if there is none of that name.
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
