package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	openapiv2 "github.com/google/gnostic-models/openapiv2"
	openapiv3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
)

// ProtobufV3 returns a document of version 3 in protobuf, which client-go requests.
func ProtobufV3(document []byte) ([]byte, error) {
	return convertInPieces(document, true, []string{"paths"}, []string{"components", "schemas"},
		func(piece []byte, head bool) (proto.Message, error) {
			m, err := openapiv3.ParseDocument(piece)
			if err == nil && !head {
				m.Openapi, m.Info = "", nil
			}
			return m, err
		})
}

// ProtobufV2 returns a document of version 2 in protobuf.
func ProtobufV2(document []byte) ([]byte, error) { return protobufV2(document, true) }

// ProtobufOfBlocksV2 returns a block of paths and a block of definitions in protobuf, to be
// appended to the rest of the document: concatenated protobuf messages are merged.
func ProtobufOfBlocksV2(paths, definitions []byte) ([]byte, error) {
	return protobufV2(slices.Concat([]byte(`{"swagger":"2.0","info":{"title":"","version":""},"paths":{`), paths,
		[]byte(`},"definitions":{`), definitions, []byte(`}}`)), false)
}

func protobufV2(document []byte, head bool) ([]byte, error) {
	return convertInPieces(document, head, []string{"paths"}, []string{"definitions"},
		func(piece []byte, head bool) (proto.Message, error) {
			m, err := openapiv2.ParseDocument(piece)
			if err == nil && !head {
				m.Swagger, m.Info = "", nil
			}
			return m, err
		})
}

// pieceSize is the number of members that are converted at a time.
const pieceSize = 16

// rawObject is a JSON object with undecoded members.
type rawObject = map[string]json.RawMessage

// convertInPieces converts a document piece by piece, because the parser needs about 20 times
// the memory of its input. first and second are the paths of the large objects that are split.
// The concatenated protobuf messages of the pieces are equivalent to that of the whole
// document. Without withHead, only the members of the two objects are converted.
func convertInPieces(document []byte, withHead bool, first, second []string,
	parse func(piece []byte, head bool) (proto.Message, error)) ([]byte, error) {
	var whole rawObject
	if err := json.Unmarshal(document, &whole); err != nil {
		return nil, err
	}
	var out []byte
	convert := func(o rawObject, head bool) error {
		var piece bytes.Buffer
		if err := appendJSON(&piece, o); err != nil {
			return err
		}
		m, err := parse(piece.Bytes(), head)
		if err != nil {
			return err
		}
		out, err = proto.MarshalOptions{Deterministic: true}.MarshalAppend(out, m)
		return err
	}
	large := make([]rawObject, 2)
	for i, place := range [][]string{first, second} {
		var err error
		if large[i], err = takeMembers(whole, place); err != nil {
			return nil, err
		}
	}
	if withHead {
		if err := convert(whole, true); err != nil {
			return nil, err
		}
	}
	for i, place := range [][]string{first, second} {
		for names := range slices.Chunk(slices.Sorted(maps.Keys(large[i])), pieceSize) {
			members := rawObject{}
			for _, name := range names {
				members[name] = large[i][name]
			}
			piece, err := skeletonWith(whole, place, members)
			if err != nil {
				return nil, err
			}
			if err := convert(piece, false); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// takeMembers removes and returns the members of the object at a path, or returns nil if the
// object does not exist.
func takeMembers(o rawObject, place []string) (rawObject, error) {
	if _, ok := o[place[0]]; !ok {
		return nil, nil
	}
	var inner rawObject
	if err := json.Unmarshal(o[place[0]], &inner); err != nil {
		return nil, fmt.Errorf("%s: %w", place[0], err)
	}
	if len(place) == 1 {
		o[place[0]] = json.RawMessage("{}")
		return inner, nil
	}
	out, err := takeMembers(inner, place[1:])
	if err != nil {
		return nil, err
	}
	o[place[0]], err = json.Marshal(inner)
	return out, err
}

// skeletonWith returns a document that has only the members at a path and the required fields
// of a document.
func skeletonWith(whole rawObject, place []string, members rawObject) (rawObject, error) {
	out := rawObject{}
	for _, key := range []string{"openapi", "swagger", "info", "paths"} {
		if v, ok := whole[key]; ok {
			out[key] = v
		}
	}
	var inner any = members
	for i := len(place) - 1; i > 0; i-- {
		inner = map[string]any{place[i]: inner}
	}
	var raw bytes.Buffer
	if err := appendJSON(&raw, inner); err != nil {
		return nil, err
	}
	out[place[0]] = raw.Bytes()
	return out, nil
}
