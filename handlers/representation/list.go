package representation

import (
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/proto"
	"github.com/miniapiserver/miniapiserver/storage"
)

// listEncoding is a list in one of the formats that are made item by item.
type listEncoding interface {
	head(b []byte) ([]byte, error)
	item(b []byte, i int) ([]byte, error)
	tail(b []byte) []byte
}

// listBuffers are for assembling lists. A buffer is written as a whole, since
// every write below HTTP/2 costs a hand-over to the connection's goroutine.
var listBuffers = sync.Pool{New: func() any { b := make([]byte, 0, listChunk+64<<10); return &b }}

const listChunk = 256 << 10

// touch is called before the i-th item of a list is copied, and looks at that and
// the next ones at once (see storage.PrefetchEncodings).
func (v *View) touch(items Encodables, i int) {
	const together = 64
	s, ok := items.(storedItems)
	if !ok || i%together != 0 {
		return
	}
	slot := v.codec.jsonSlot
	if v.Format == FormatProtobuf {
		slot = nil // the value itself
	}
	storage.PrefetchEncodings(s[i:min(i+together, len(s))], slot)
}

// WriteList sends a list made of the bytes kept with its items.
func (v *View) WriteList(w http.ResponseWriter, meta metav1.ListMeta, items Encodables) error {
	switch {
	case v.Format == FormatProtobuf:
		return v.writeParts(w, &protoList{view: v, meta: meta, items: items}, items)
	case items.len() == 0 && v.as == asPartialList:
		// The one list that kube-apiserver makes of no slice rather than an empty one.
		head := v.appendListHead(nil, meta)
		return WriteJSON(w, v.Media, http.StatusOK, append(head[:len(head)-1], "null}"...))
	case v.Format != FormatJSON || v.Pretty:
		return v.writeWholeList(w, &jsonList{view: v, meta: meta, items: items})
	}
	return v.writeParts(w, &jsonList{view: v, meta: meta, items: items, end: "]}\n"}, items)
}

// writeWholeList is for formats that are made from the whole JSON.
func (v *View) writeWholeList(w http.ResponseWriter, l *jsonList) error {
	b, err := l.head(nil)
	for i := 0; i < l.items.len() && err == nil; i++ {
		b, err = l.item(b, i)
	}
	if err != nil {
		return err
	}
	return WriteJSON(w, v.Media, http.StatusOK, append(b, "]}"...))
}

// writeParts sends a list in as many writes as it needs.
func (v *View) writeParts(w http.ResponseWriter, l listEncoding, items Encodables) error {
	buf := listBuffers.Get().(*[]byte)
	defer listBuffers.Put(buf)
	out := listOutput{w: w, contentType: v.contentType(), buf: buf}
	b, err := l.head((*buf)[:0])
	threshold := 0
	if compressible(w) {
		threshold = gzipThreshold
	}
	for i := 0; i < items.len() && err == nil; i++ {
		v.touch(items, i)
		b, err = l.item(b, i)
		switch {
		case err != nil:
		case threshold > 0 && len(b) > threshold:
			return v.writeGzipList(&out, l, items)
		case len(b) >= listChunk:
			b, err = out.send(b)
		}
	}
	if err != nil {
		return out.fail(err)
	}
	_, err = out.send(l.tail(b))
	return out.fail(err)
}

// listOutput sends the chunks of a list.
type listOutput struct {
	w           http.ResponseWriter
	contentType string
	gzip        bool
	begun       bool
	buf         *[]byte // to be kept
}

// errGone: the client has left.
type errGone struct{ error }

// send writes b and returns it emptied.
func (o *listOutput) send(b []byte) ([]byte, error) {
	*o.buf = b[:0]
	if !o.begun {
		o.begun = true
		o.w.Header().Set("Content-Type", o.contentType)
		if o.gzip {
			setGzip(o.w.Header())
		}
	}
	if _, err := o.w.Write(b); err != nil {
		return nil, errGone{err}
	}
	return b[:0], nil
}

// fail is what becomes of an error: an answer while there is none, and else the
// end of the connection, for a list cut off must not look whole.
func (o *listOutput) fail(err error) error {
	switch err.(type) {
	case nil, errGone:
		return nil
	}
	if o.begun {
		panic(http.ErrAbortHandler)
	}
	return err
}

// jsonList is a list in JSON.
type jsonList struct {
	view  *View
	meta  metav1.ListMeta
	items Encodables
	end   string
}

func (l *jsonList) head(b []byte) ([]byte, error) { return l.view.appendListHead(b, l.meta), nil }

func (l *jsonList) item(b []byte, i int) ([]byte, error) {
	if i > 0 {
		b = append(b, ',')
	}
	return l.view.appendListItem(b, l.items.at(i))
}

func (l *jsonList) tail(b []byte) []byte { return append(b, l.end...) }

// protoList is a list in protobuf.
type protoList struct {
	view  *View
	meta  metav1.ListMeta
	items Encodables
}

func (l *protoList) head(b []byte) ([]byte, error) {
	size := 0
	for i := range l.items.len() {
		l.view.touch(l.items, i)
		n, err := l.view.protoSize(l.items.at(i))
		if err != nil {
			return b, err
		}
		size += proto.ItemSize(n)
	}
	kind, apiVersion := l.view.listKind()
	return proto.AppendListHead(b, apiVersion, kind, &l.meta, size)
}

func (l *protoList) item(b []byte, i int) ([]byte, error) {
	return l.view.appendProtoItem(b, l.items.at(i))
}

func (l *protoList) tail(b []byte) []byte { return proto.AppendListTail(b) }

// protoSize is the size of an item's protobuf.
func (v *View) protoSize(s Encodable) (int, error) {
	if m, ok := v.storedProto(s); ok {
		return m.size(), nil
	}
	raw, err := v.rawProto(s)
	return len(raw), err
}

func (v *View) appendProtoItem(b []byte, s Encodable) ([]byte, error) {
	if m, ok := v.storedProto(s); ok {
		return m.append(proto.AppendItemHead(b, m.size())), nil
	}
	raw, err := v.rawProto(s)
	return proto.AppendItem(b, raw), err
}

// rawProto is an item's protobuf without an envelope, kept with the item.
func (v *View) rawProto(s Encodable) ([]byte, error) {
	if v.as != "" {
		return s.Encoding(v.codec.partialProtoSlot, v.codec.toPartialProto)
	}
	return s.Encoding(v.codec.protoSlot, v.codec.toProto)
}

func (v *View) storedProto(s Encodable) (storedProto, bool) {
	if item, ok := s.(*storage.Item); ok && v.as == "" {
		return v.codec.storedProto(item)
	}
	return storedProto{}, false
}
