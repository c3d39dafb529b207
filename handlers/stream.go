package handlers

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/miniapiserver/miniapiserver/proto"
	"github.com/miniapiserver/miniapiserver/storage"
)

// eventStream writes the events of one watch.
type eventStream struct {
	frames
	view *view
	// subject is what an event is shown by.
	subject func(*storage.Item) (subject, error)
	buf     []byte
	// begun is set after the first event.
	begun bool
}

var eventNames = map[storage.EventType]string{
	storage.Added: "ADDED", storage.Modified: "MODIFIED", storage.Deleted: "DELETED", storage.Bookmark: "BOOKMARK",
}

const eventError = "ERROR"

// send writes events that arrived together.
func (s *eventStream) send(events []storage.Event, now time.Time) error {
	s.view.now = now
	for i := range events {
		s.buf = s.buf[:0]
		switch err := s.append(&events[i]); {
		case err == nil:
		case isCorrupt(err) && events[i].Type == storage.Deleted:
			return errCorruptDeleted(err)
		case isCorrupt(err):
			continue // the other objects are shown
		default:
			return err
		}
		if err := s.event(s.buf); err != nil {
			return err
		}
		s.begun = true
	}
	return s.flush()
}

// errEventNoList ends a watch whose client asked for the form of lists.
var errEventNoList = errors.New("an event is no list, as the client wants it")

// unshownError tells that an event could not be brought into the form that the
// client asked for.
type unshownError struct{ error }

// isCorrupt reports whether an error is that of an object which cannot be read.
func isCorrupt(err error) bool {
	var corrupt *storage.CorruptError
	return errors.As(err, &corrupt)
}

// errCorruptDeleted ends a watch when such an object was deleted: the client may have
// seen it before, and has to list again.
func errCorruptDeleted(err error) error {
	var corrupt *storage.CorruptError
	errors.As(err, &corrupt)
	return &unshownError{&storage.CorruptDeletedError{Corrupt: corrupt}}
}

// append adds one event to the buffer: a line of JSON, or a protobuf WatchEvent
// after its length.
func (s *eventStream) append(e *storage.Event) error {
	var object subject = e.Item
	var err error
	switch {
	case s.view.as == asPartialList:
		return errEventNoList
	case e.Type == storage.Bookmark:
		object = bookmark(s.view.codec, e)
	case s.subject != nil:
		if object, err = s.subject(e.Item); isCorrupt(err) {
			return err
		} else if err != nil {
			return &unshownError{err}
		}
	}
	if s.view.format == formatProtobuf {
		data, err := s.view.proto(object)
		s.appendProto(eventNames[e.Type], data)
		return err
	}
	s.beginJSON(eventNames[e.Type])
	s.buf, err = s.view.appendJSON(s.buf, object, strconv.FormatInt(e.Revision, 10), !s.begun)
	s.buf = append(s.buf, "}\n"...)
	return err
}

// bookmark is an empty object with a resourceVersion.
func bookmark(c *codec, e *storage.Event) subject {
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
	return bare{obj}
}

// fail writes the last event, which says why there are no more.
func (s *eventStream) fail(status *metav1.Status) {
	s.buf = s.buf[:0]
	if s.view.format == formatProtobuf {
		raw, err := status.Marshal()
		if err != nil {
			return
		}
		s.appendProto(eventError, proto.AppendRaw(nil, "v1", "Status", raw))
	} else {
		data, err := json.Marshal(status)
		if err != nil {
			return
		}
		s.beginJSON(eventError)
		s.buf = append(append(s.buf, data...), "}\n"...)
	}
	if s.event(s.buf) == nil {
		_ = s.flush() // the last word; nobody is left to be told of its failure
	}
}

func (s *eventStream) beginJSON(name string) {
	s.buf = append(s.buf, `{"type":"`...)
	s.buf = append(s.buf, name...)
	s.buf = append(s.buf, `","object":`...)
}

// appendProto adds WatchEvent{1: type, 2: RawExtension{1: raw}}.
func (s *eventStream) appendProto(name string, object []byte) {
	raw := protowire.SizeTag(1) + protowire.SizeBytes(len(object))
	size := protowire.SizeTag(1) + protowire.SizeBytes(len(name)) + protowire.SizeTag(2) + protowire.SizeBytes(raw)
	s.buf = binary.BigEndian.AppendUint32(s.buf, uint32(size))
	s.buf = protowire.AppendString(protowire.AppendTag(s.buf, 1, protowire.BytesType), name)
	s.buf = protowire.AppendVarint(protowire.AppendTag(s.buf, 2, protowire.BytesType), uint64(raw))
	s.buf = protowire.AppendBytes(protowire.AppendTag(s.buf, 1, protowire.BytesType), object)
}
