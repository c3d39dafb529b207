package representation

import (
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/proto"
	"github.com/miniapiserver/miniapiserver/storage"
)

// listEncoding encodes a list item by item.
type listEncoding interface {
	head(b []byte) ([]byte, error)
	item(b []byte, i int) ([]byte, error)
	tail(b []byte) []byte
}

// listBuffers are the buffers of lists. A buffer is written at once when it is full, because
// every write of HTTP/2 is a hand-over to the goroutine of the connection.
var listBuffers = sync.Pool{New: func() any { b := make([]byte, 0, listChunk+64<<10); return &b }}

const listChunk = 256 << 10

// prefetch is called before item i of a list is copied. It loads the encodings of this and the
// next items from memory together (see storage.PrefetchEncodings).
func (v *View) prefetch(items Encodables, i int) {
	const batch = 64
	s, ok := items.(storedItems)
	if !ok || i%batch != 0 {
		return
	}
	slot := v.codec.jsonSlot
	switch v.Format {
	case FormatProtobuf:
		slot = nil // the value itself
	case FormatCBOR:
		slot = v.codec.cborSlot
	}
	storage.PrefetchEncodings(s[i:min(i+batch, len(s))], slot)
}

// WriteList sends a list from the cached encodings of its items.
func (v *View) WriteList(w http.ResponseWriter, meta metav1.ListMeta, items Encodables) error {
	if v.fault != nil {
		return v.fault
	}
	if v.as != "" || v.codec.resource.Untyped {
		meta.ShardInfo = nil // as in kube-apiserver, only lists of built-in kinds have it
	}
	if v.scope != nil {
		defer v.observe(time.Now())
		if err := v.auditList(meta, items); err != nil {
			return err
		}
	}
	switch {
	case v.Format == FormatProtobuf:
		return v.writeParts(w, &protoList{view: v, meta: meta, items: items}, items)
	case v.Format == FormatCBOR && v.as == "":
		return v.writeParts(w, &cborList{view: v, meta: meta, items: items}, items)
	case items.len() == 0 && v.nullIfEmpty():
		head := v.appendListHead(nil, meta)
		return WriteJSON(w, v.Media, http.StatusOK, append(head[:len(head)-1], "null}"...))
	case v.Format != FormatJSON || v.Pretty:
		return v.writeWholeList(w, &jsonList{view: v, meta: meta, items: items})
	}
	return v.writeParts(w, &jsonList{view: v, meta: meta, items: items}, items)
}

// nullIfEmpty reports whether kube-apiserver encodes the missing items, or rows, of an empty list as null.
func (v *View) nullIfEmpty() bool {
	return v.as == asPartialList || v.as == asTable && v.codec.table.NullIfEmpty
}

// writeWholeList sends a list in a format that is made from its complete JSON.
func (v *View) writeWholeList(w http.ResponseWriter, l *jsonList) error {
	b, err := v.wholeList(l)
	if err != nil {
		return err
	}
	return WriteJSON(w, v.Media, http.StatusOK, b)
}

// wholeList returns the complete JSON of a list.
func (v *View) wholeList(l *jsonList) ([]byte, error) {
	b, err := l.head(nil)
	for i := 0; i < l.items.len() && err == nil; i++ {
		b, err = l.item(b, i)
	}
	return v.appendListTail(b, l.meta), err
}

// writeParts sends a list in several writes if it is large.
func (v *View) writeParts(w http.ResponseWriter, l listEncoding, items Encodables) error {
	buf := listBuffers.Get().(*[]byte)
	defer listBuffers.Put(buf)
	out := listOutput{w: w, contentType: MediaJSON, buf: buf}
	switch v.Format {
	case FormatProtobuf:
		out.contentType = MediaProtobuf
	case FormatCBOR:
		out.contentType = MediaCBOR
	}
	b, err := l.head((*buf)[:0])
	threshold := 0
	if compressible(w) {
		threshold = gzipThreshold
	}
	for i := 0; i < items.len() && err == nil; i++ {
		v.prefetch(items, i)
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
	buf         *[]byte // returned to listBuffers
}

// errDisconnected reports that a write failed because the client has disconnected.
type errDisconnected struct{ error }

// send writes b and returns it empty.
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
		return nil, errDisconnected{err}
	}
	return b[:0], nil
}

// fail returns an error for the response if none of the list was sent. Otherwise it closes the
// connection, because a truncated list must not look complete.
func (o *listOutput) fail(err error) error {
	switch err.(type) {
	case nil, errDisconnected:
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
}

func (l *jsonList) head(b []byte) ([]byte, error) { return l.view.appendListHead(b, l.meta), nil }

func (l *jsonList) item(b []byte, i int) ([]byte, error) {
	if i > 0 {
		b = append(b, ',')
	}
	return l.view.appendListItem(b, l.items.at(i))
}

func (l *jsonList) tail(b []byte) []byte { return append(l.view.appendListTail(b, l.meta), '\n') }

// protoList is a list in protobuf.
type protoList struct {
	view  *View
	meta  metav1.ListMeta
	items Encodables
}

func (l *protoList) head(b []byte) ([]byte, error) {
	size := 0
	for i := range l.items.len() {
		l.view.prefetch(l.items, i)
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

// protoSize returns the size of an item in protobuf.
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

// rawProto returns the cached protobuf of an item without an envelope.
func (v *View) rawProto(s Encodable) ([]byte, error) {
	if v.as != "" {
		return s.Encoding(v.codec.partialProtoSlot, v.codec.toPartialProto)
	}
	return s.Encoding(v.codec.protoSlot, v.codec.toProto)
}

// storedProto returns the protobuf of an item that is sent in its stored encoding.
func (v *View) storedProto(s Encodable) (storedProto, bool) {
	if item, ok := s.(*storage.Item); ok && v.as == "" {
		return v.codec.storedProto(item)
	}
	return storedProto{}, false
}
