package representation

import (
	"encoding/json"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
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
	if v.as != "" || v.codec.resource.IsCustom() {
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
	// The goroutines that write to the connection wake each other. Go runs a goroutine that has just been woken first, although
	// others have waited longer. Without a pause here, other requests wait for up to 10 ms at each of their steps.
	runtime.Gosched()
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
		m, err := l.view.message(l.items.at(i))
		if err != nil {
			return b, err
		}
		size += proto.ItemSize(m.size())
	}
	kind, apiVersion := l.view.listKind()
	return proto.AppendListHead(b, apiVersion, kind, &l.meta, size)
}

func (l *protoList) item(b []byte, i int) ([]byte, error) {
	m, err := l.view.message(l.items.at(i))
	if err != nil {
		return b, err
	}
	return m.append(proto.AppendItemHead(b, m.size())), nil
}

func (l *protoList) tail(b []byte) []byte { return proto.AppendTail(b) }

// Encodables are the items of a list.
type Encodables interface {
	len() int
	at(i int) Encodable
}

// storedItems are Encodables that cache their encodings.
type storedItems []*storage.Item

// UnstoredList is a list of objects that are not stored.
type UnstoredList []api.Object

func (s storedItems) len() int { return len(s) }

func (s storedItems) at(i int) Encodable { return s[i] }

func (c UnstoredList) len() int { return len(c) }

func (c UnstoredList) at(i int) Encodable { return Unstored{c[i]} }

// appendListItem appends an item of a list. Items of lists of typed objects have neither kind
// nor version.
func (v *View) appendListItem(b []byte, s Encodable) ([]byte, error) {
	switch v.as {
	case "":
		full, err := s.Encoding(v.codec.jsonSlot, v.codec.toJSON)
		if err != nil {
			return b, err
		}
		if v.codec.resource.IsCustom() {
			return append(b, full...), nil
		}
		return append(append(b, '{'), v.codec.listForm(full)...), nil
	case asTable:
		return v.appendRow(b, s)
	}
	return v.appendPartial(b, s)
}

// listKind returns the kind and the version of a list.
func (v *View) listKind() (kind, apiVersion string) {
	if v.as == "" {
		return v.codec.resource.KindOfList(), v.codec.version.String()
	}
	return asPartialList, v.asGroupVersion()
}

// appendListHead appends a list up to its first item.
func (v *View) appendListHead(b []byte, meta metav1.ListMeta) []byte {
	switch {
	case v.as == asTable:
		return v.appendTableHead(b, meta, true)
	case v.isUntypedList():
		return append(append(append(b, `{"apiVersion":`...), strconv.Quote(v.codec.apiVersion)...), `,"items":[`...)
	}
	b = append(b, objectHead(v.listKind())...)
	b = append(append(b, `"metadata":`...), v.encodeListMeta(meta)...)
	return append(b, `,"items":[`...)
}

// isUntypedList reports whether a list shows objects without a Go type as they are. The fields
// of such a list are in the order of their names, those of its metadata too.
func (v *View) isUntypedList() bool { return v.as == "" && v.codec.resource.IsCustom() }

// appendListTail appends the end of a list, after its last item.
func (v *View) appendListTail(b []byte, meta metav1.ListMeta) []byte {
	b = append(b, ']')
	if v.isUntypedList() {
		b = append(append(b, `,"kind":`...), strconv.Quote(v.codec.resource.KindOfList())...)
		b = append(append(b, `,"metadata":`...), v.encodeListMeta(meta)...)
	}
	return append(b, '}')
}

// encodeListMeta returns the JSON of the metadata of a list. Lists of custom resources have
// an empty continue token.
func (v *View) encodeListMeta(meta metav1.ListMeta) []byte {
	var form any = meta
	if v.isUntypedList() {
		form = struct {
			Continue           string `json:"continue"`
			RemainingItemCount *int64 `json:"remainingItemCount,omitempty"`
			ResourceVersion    string `json:"resourceVersion"`
		}{meta.Continue, meta.RemainingItemCount, meta.ResourceVersion}
	}
	data, err := json.Marshal(form)
	if err != nil {
		return []byte("{}") // strings and numbers have a JSON form
	}
	return data
}

// listForm returns the JSON of an object with a Go type as an item of a list: without its head. The
// result shares memory with full; the caller writes the brace before it.
func (c *Codec) listForm(full []byte) []byte { return full[len(c.head):] }
