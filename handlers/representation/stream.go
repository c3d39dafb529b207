package representation

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/proto"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// EventStream writes the events of one watch.
type EventStream struct {
	frames Frames
	view   *View
	target registry.Target
	buf    []byte // the event that is made; nil between calls
	sent   EventCounter
	// hasSent is true once an event was sent: the first row of a Table has the columns.
	hasSent bool
}

// EventCounter counts sent events.
type EventCounter interface {
	// Sent counts an event of a size in bytes.
	Sent(size int)
}

// NewEventStream returns a stream of the events of a target's objects.
func NewEventStream(f Frames, v *View, t registry.Target, sent EventCounter) *EventStream {
	return &EventStream{frames: f, view: v, target: t, sent: sent}
}

// Begin starts the response.
func (s *EventStream) Begin() error { return s.frames.Begin(s.view.streamContentType()) }

// End releases the resources of the connection.
func (s *EventStream) End() { s.frames.End() }

var eventNames = map[storage.EventType]string{
	storage.Added: "ADDED", storage.Modified: "MODIFIED", storage.Deleted: "DELETED", storage.Bookmark: "BOOKMARK",
}

const eventError = "ERROR"

// Send writes events that arrived together. If its error is a ConversionError, the client can
// still get an error event.
func (s *EventStream) Send(ctx context.Context, events []storage.Event) error {
	defer s.giveBack(s.borrow())
	s.view.now = s.view.codec.codecs.now()
	if err := s.view.codec.convertAll(ctx, s.target, events); err != nil {
		return err
	}
	for i := range events {
		s.buf = s.buf[:0]
		switch err := s.append(ctx, &events[i]); {
		case err == nil:
		case isCorrupt(err) && events[i].Type == storage.Deleted:
			return errCorruptDeleted(err)
		case isCorrupt(err):
			continue // the client gets the other objects
		default:
			return err
		}
		if err := s.frames.Event(s.buf); err != nil {
			return err
		}
		s.sent.Sent(len(s.buf))
		s.hasSent = true
	}
	return s.frames.Flush()
}

// convertAll converts the items of events that arrived together, in one call.
func (c *Codec) convertAll(ctx context.Context, t registry.Target, events []storage.Event) error {
	if !t.Resource.Storage.ConvertsRemotely {
		return nil
	}
	items := make([]*storage.Item, 0, len(events))
	for i := range events {
		if events[i].Type != storage.Bookmark && events[i].Item.Corrupt() == nil {
			items = append(items, events[i].Item)
		}
	}
	if _, err := c.Encodables(ctx, t, items); err != nil {
		return &ConversionError{err}
	}
	return nil
}

// errListOfEvents ends a watch whose client asks for a PartialObjectMetadataList.
var errListOfEvents = errors.New("the client asks for a list, which an event is not")

// ConversionError reports that an event could not be converted to the version that the
// client asked for.
type ConversionError struct{ Err error }

// Error implements error.
func (e *ConversionError) Error() string { return e.Err.Error() }

// isCorrupt reports whether an error is that of a stored object that cannot be decoded.
func isCorrupt(err error) bool {
	var corrupt *storage.CorruptError
	return errors.As(err, &corrupt)
}

// errCorruptDeleted ends a watch when such an object was deleted: the client may have seen it
// before, and must list again.
func errCorruptDeleted(err error) error {
	var corrupt *storage.CorruptError
	errors.As(err, &corrupt)
	return &ConversionError{&storage.CorruptDeletedError{Corrupt: corrupt}}
}

// append appends an event to the buffer: a line of JSON, a protobuf WatchEvent after its length, or
// an item of a CBOR sequence.
func (s *EventStream) append(ctx context.Context, e *storage.Event) error {
	var object Encodable
	var err error
	switch {
	case s.view.as == asPartialList:
		return errListOfEvents
	case e.Type == storage.Bookmark:
		object = bookmark(s.view.codec, e)
	default:
		if object, err = s.view.codec.Encodable(ctx, s.target, e.Item); err != nil {
			if isCorrupt(err) {
				return err
			}
			return &ConversionError{err}
		}
	}
	switch s.view.Format {
	case FormatProtobuf:
		m, err := s.view.message(object)
		if err != nil {
			return err
		}
		head, size := s.view.envelopeHead(), m.size()
		s.beginProto(eventNames[e.Type], head.EnvelopeSize(size))
		s.buf = proto.AppendTail(m.append(head.AppendHead(s.buf, size)))
		return nil
	case FormatCBOR:
		s.buf, err = s.view.appendCBOR(appendCBOREventHead(s.buf, eventNames[e.Type]), object)
		return err
	}
	if e.End && s.view.include == metav1.IncludeNone {
		// The row has the object even so: it carries the annotation by which clients know the end.
		s.view.include = metav1.IncludeMetadata
		defer func() { s.view.include = metav1.IncludeNone }()
	}
	s.beginJSON(eventNames[e.Type])
	s.buf, err = s.view.appendJSON(s.buf, object, strconv.FormatInt(e.Revision, 10), !s.hasSent)
	s.buf = append(s.buf, "}\n"...)
	return err
}

// bookmark returns the object of a bookmark, which is empty except for its resourceVersion.
func bookmark(c *Codec, e *storage.Event) Encodable {
	obj := c.resource.New()
	if c.resource.CompleteBookmark != nil {
		c.resource.CompleteBookmark(obj)
	}
	obj.SetResourceVersion(strconv.FormatInt(e.Revision, 10))
	if e.End {
		annotations := maps.Clone(obj.GetAnnotations())
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[metav1.InitialEventsAnnotationKey] = "true"
		obj.SetAnnotations(annotations)
	}
	return Unstored{obj}
}

// Fail writes an error event, which is the last one.
func (s *EventStream) Fail(status *metav1.Status) {
	defer s.giveBack(s.borrow())
	data, err := json.Marshal(status)
	switch s.view.Format {
	case FormatProtobuf:
		if data, err = status.Marshal(); err == nil {
			data = proto.AppendRaw(nil, "v1", "Status", data)
			s.beginProto(eventError, len(data))
			s.buf = append(s.buf, data...)
		}
	case FormatCBOR:
		if data, err = ToCBOR(data); err == nil {
			s.buf = append(appendCBOREventHead(s.buf, eventError), data...)
		}
	default:
		s.beginJSON(eventError)
		s.buf = append(append(s.buf, data...), "}\n"...)
	}
	if err != nil {
		return
	}
	if s.frames.Event(s.buf) == nil {
		_ = s.frames.Flush() // the watch ends either way
	}
}

// borrow takes a buffer for events, which giveBack returns: a watch lives long and has few events.
func (s *EventStream) borrow() *frameBuffer {
	b := takeFrameBuffer()
	s.buf = b.data
	return b
}

func (s *EventStream) giveBack(b *frameBuffer) {
	b.data, s.buf = s.buf, nil
	b.release()
}

func (s *EventStream) beginJSON(name string) {
	s.buf = append(s.buf, `{"type":"`...)
	s.buf = append(s.buf, name...)
	s.buf = append(s.buf, `","object":`...)
}

// protoLengthSize is the size of the length before an event in protobuf.
const protoLengthSize = 4

// beginProto appends WatchEvent{1: type, 2: RawExtension{1: raw}} up to the object, whose size with its envelope is size.
func (s *EventStream) beginProto(name string, size int) {
	raw := protowire.SizeTag(1) + protowire.SizeBytes(size)
	event := protowire.SizeTag(1) + protowire.SizeBytes(len(name)) + protowire.SizeTag(2) + protowire.SizeBytes(raw)
	s.buf = binary.BigEndian.AppendUint32(s.buf, uint32(event))
	s.buf = protowire.AppendString(protowire.AppendTag(s.buf, 1, protowire.BytesType), name)
	s.buf = protowire.AppendVarint(protowire.AppendTag(s.buf, 2, protowire.BytesType), uint64(raw))
	s.buf = protowire.AppendVarint(protowire.AppendTag(s.buf, 1, protowire.BytesType), uint64(size))
}
