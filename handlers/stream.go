package handlers

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/miniapiserver/miniapiserver/proto"
	"github.com/miniapiserver/miniapiserver/storage"
)

// eventStream writes the events of one watch.
type eventStream struct {
	h     *Handler
	w     http.ResponseWriter
	out   *http.ResponseController
	codec *codec
	media media
	buf   []byte
}

func newEventStream(h *Handler, c *call, m media) *eventStream {
	return &eventStream{h: h, w: c.w, out: http.NewResponseController(c.w), codec: c.codec, media: m}
}

var eventNames = map[storage.EventType]string{
	storage.Added: "ADDED", storage.Modified: "MODIFIED", storage.Deleted: "DELETED", storage.Bookmark: "BOOKMARK",
}

const eventError = "ERROR"

// send writes events that arrived together with one write and one flush.
func (s *eventStream) send(events []storage.Event) error {
	s.buf = s.buf[:0]
	for i := range events {
		object, err := s.object(&events[i])
		if err != nil {
			return err
		}
		s.append(eventNames[events[i].Type], object)
	}
	if _, err := s.w.Write(s.buf); err != nil {
		return err
	}
	return s.flush()
}

// fail writes the last event, which says why there are no more.
func (s *eventStream) fail(status *metav1.Status) {
	var object []byte
	var err error
	if s.media.format == formatProtobuf {
		if object, err = status.Marshal(); err == nil {
			object = proto.AppendRaw(nil, "v1", "Status", object)
		}
	} else {
		object, err = json.Marshal(status)
	}
	if err != nil {
		return
	}
	s.buf = s.buf[:0]
	s.append(eventError, object)
	if _, err := s.w.Write(s.buf); err == nil {
		s.flush()
	}
}

func (s *eventStream) flush() error { return s.out.Flush() }

// object is the encoded object of an event, kept with its item.
func (s *eventStream) object(e *storage.Event) ([]byte, error) {
	if e.Type == storage.Bookmark {
		return s.bookmark(e)
	}
	if s.media.format == formatProtobuf {
		raw, err := e.Item.Encoding(s.codec.protoSlot, s.codec.encodeProto)
		if err != nil {
			return nil, err
		}
		return s.codec.envelope(raw), nil
	}
	return e.Item.Encoding(s.codec.jsonSlot, s.codec.encodeJSON)
}

// bookmark is an empty object with a resourceVersion.
func (s *eventStream) bookmark(e *storage.Event) ([]byte, error) {
	obj := s.codec.newObject()
	obj.SetResourceVersion(strconv.FormatInt(e.Revision, 10))
	if e.End {
		obj.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	if s.media.format != formatProtobuf {
		return s.codec.encodeVersionedJSON(obj)
	}
	m, ok := obj.(protoMessage)
	if !ok {
		return nil, fmt.Errorf("%s has no protobuf form", s.codec.gvk.Kind)
	}
	raw, err := m.Marshal()
	if err != nil {
		return nil, err
	}
	return s.codec.envelope(raw), nil
}

// append adds one event to the buffer: a line of JSON, or a protobuf WatchEvent
// after its length.
func (s *eventStream) append(name string, object []byte) {
	if s.media.format != formatProtobuf {
		s.buf = append(s.buf, `{"type":"`...)
		s.buf = append(s.buf, name...)
		s.buf = append(s.buf, `","object":`...)
		s.buf = append(s.buf, object...)
		s.buf = append(s.buf, "}\n"...)
		return
	}
	// WatchEvent{1: type, 2: RawExtension{1: raw}}
	raw := protowire.SizeTag(1) + protowire.SizeBytes(len(object))
	size := protowire.SizeTag(1) + protowire.SizeBytes(len(name)) + protowire.SizeTag(2) + protowire.SizeBytes(raw)
	s.buf = binary.BigEndian.AppendUint32(s.buf, uint32(size))
	s.buf = protowire.AppendString(protowire.AppendTag(s.buf, 1, protowire.BytesType), name)
	s.buf = protowire.AppendVarint(protowire.AppendTag(s.buf, 2, protowire.BytesType), uint64(raw))
	s.buf = protowire.AppendBytes(protowire.AppendTag(s.buf, 1, protowire.BytesType), object)
}
