package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/miniapiserver/miniapiserver/proto"
)

// Field numbers of the messages of which this program reads a part. They are part of the API.
const (
	eventType, eventObject = 1, 2 // of WatchEvent
	rawExtensionRaw        = 1
	objectMeta             = 1 // of all objects
	metaName               = 1
	metaUID                = 5
	metaVersion            = 6
	metaDeletion           = 9
	metaAnnotations        = 12
	podSpec, podStatus     = 2, 3
	podSpecNode            = 10
	podStatusPhase         = 1
)

// metadata is the part of an object's metadata that this program reads.
type metadata struct {
	name, uid []byte
	version   uint64
	deleting  bool
	// initialEventsEnd means that the object is that of the bookmark after the initial events.
	initialEventsEnd bool
}

// endAnnotation is on the bookmark after the initial events.
const endAnnotation = "k8s.io/initial-events-end"

// event is an event of a watch.
type event struct {
	kind string // such as ADDED
	metadata
	// object is a protobuf message without its envelope, or JSON. It is valid until the next event.
	object []byte
}

// eachField calls visit for the length-delimited fields of a message.
func eachField(message []byte, visit func(n protowire.Number, value []byte) error) error {
	for len(message) > 0 {
		n, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return protowire.ParseError(size)
		}
		message = message[size:]
		if kind != protowire.BytesType {
			if size = protowire.ConsumeFieldValue(n, kind, message); size < 0 {
				return protowire.ParseError(size)
			}
			message = message[size:]
			continue
		}
		value, size := protowire.ConsumeBytes(message)
		if size < 0 {
			return protowire.ParseError(size)
		}
		if err := visit(n, value); err != nil {
			return err
		}
		message = message[size:]
	}
	return nil
}

// errFound ends a visit.
var errFound = errors.New("found")

// field returns the first value at a path of length-delimited fields, or nil.
func field(message []byte, path ...protowire.Number) (found []byte) {
	for _, wanted := range path {
		found = nil
		_ = eachField(message, func(n protowire.Number, value []byte) error { // a broken message has no field
			if n != wanted {
				return nil
			}
			found = value
			return errFound
		})
		message = found
	}
	return found
}

// decodeMetadata reads the metadata of a message.
func decodeMetadata(object []byte) (m metadata, err error) {
	err = eachField(field(object, objectMeta), func(n protowire.Number, value []byte) error {
		switch n {
		case metaName:
			m.name = value
		case metaUID:
			m.uid = value
		case metaVersion:
			if len(value) == 0 {
				return nil
			}
			var err error
			m.version, err = strconv.ParseUint(string(value), 10, 64)
			return err
		case metaDeletion:
			m.deleting = true
		case metaAnnotations:
			m.initialEventsEnd = m.initialEventsEnd || string(field(value, 1)) == endAnnotation
		}
		return nil
	})
	if err != nil {
		return m, fmt.Errorf("metadata: %w", err)
	}
	return m, nil
}

// decodeResponse returns the object in a protobuf response, and its metadata.
func decodeResponse(body []byte) ([]byte, metadata, error) {
	envelope, err := proto.Decode(body)
	if err != nil {
		return nil, metadata{}, err
	}
	m, err := decodeMetadata(envelope.Raw)
	return envelope.Raw, m, err
}

// longestEvent is the largest size of an event that is no error of the stream.
const longestEvent = 64 << 20

// readProtobufEvent reads an event of a watch in protobuf, whose size is head, into buf or a larger
// buffer, which it returns.
func readProtobufEvent(in io.Reader, head [4]byte, buf []byte) (e event, _ []byte, err error) {
	size := int(binary.BigEndian.Uint32(head[:]))
	if size > longestEvent {
		return e, buf, fmt.Errorf("an event of %d bytes", size)
	}
	if cap(buf) < size {
		buf = make([]byte, size+size/4)
	}
	buf = buf[:size]
	if _, err := io.ReadFull(in, buf); err != nil {
		return e, buf, fmt.Errorf("a part of an event: %w", err)
	}
	e.kind = kindOf(field(buf, eventType))
	envelope, err := proto.Decode(field(buf, eventObject, rawExtensionRaw))
	if err != nil {
		return e, buf, err
	}
	e.object = envelope.Raw
	if e.kind == "ERROR" {
		return e, buf, nil
	}
	e.metadata, err = decodeMetadata(e.object)
	return e, buf, err
}

// kindOf returns the kind of an event without an allocation.
func kindOf(kind []byte) string {
	for _, known := range []string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"} {
		if string(kind) == known {
			return known
		}
	}
	return string(kind)
}

// decodeJSONEvent decodes an event of a watch in JSON.
func decodeJSONEvent(line []byte) (e event, err error) {
	var decoded struct {
		Type   string
		Object struct {
			Metadata struct {
				Name, UID, ResourceVersion string
				DeletionTimestamp          *string
				Annotations                map[string]string
			}
		}
	}
	if err := json.Unmarshal(line, &decoded); err != nil {
		return e, fmt.Errorf("event: %w", err)
	}
	meta := &decoded.Object.Metadata
	e.kind, e.object, e.name, e.uid = decoded.Type, line, []byte(meta.Name), []byte(meta.UID)
	e.deleting = meta.DeletionTimestamp != nil
	_, e.initialEventsEnd = meta.Annotations[endAnnotation]
	if meta.ResourceVersion != "" {
		e.version, err = strconv.ParseUint(meta.ResourceVersion, 10, 64)
	}
	return e, err
}

// jsonVersion returns the resourceVersion of an object in JSON, whose first one is its own.
func jsonVersion(object []byte) uint64 {
	version, err := strconv.ParseUint(valueAfter(object, `"resourceVersion":"`), 10, 64)
	if err != nil {
		return 0
	}
	return version
}

// valueAfter returns the quoted value after key, or "".
func valueAfter(text []byte, key string) string {
	_, rest, _ := bytes.Cut(text, []byte(key))
	value, _, ended := bytes.Cut(rest, []byte(`"`))
	if !ended {
		return ""
	}
	return string(value)
}
