package representation

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/jsonscan"
	"github.com/miniapiserver/miniapiserver/proto"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// View is the representation that a client asks for: a media type, and whole objects, rows of a
// Table, or metadata alone.
type View struct {
	Media
	codec *Codec
	// include decides what the rows of a Table contain besides their cells.
	include metav1.IncludeObjectPolicy
	// now is the time to which ages refer.
	now time.Time
	// scope is the scope of an audited request; nil if the request is not audited.
	scope *request.Scope
	// ended returns an error when the time of the request is over.
	ended func() error
	// fault is the error of a form that the objects of the request do not have; nil if they have it.
	// As in kube-apiserver, it ends the request when the response is encoded, after a write.
	fault error
	// partialHead is the beginning of a PartialObjectMetadata, up to the metadata; nil until it is needed.
	partialHead []byte
}

// Encodable is an object that can be encoded: an item, which caches its encodings, or an object
// that is not stored.
type Encodable interface {
	// Encoding returns the encoding that a slot identifies, made by encode unless it is
	// cached.
	Encoding(slot *storage.Slot, encode func(api.Object) ([]byte, error)) ([]byte, error)
	ResourceVersion() string
}

// Unstored is an object that is not stored, whose encodings are not cached.
type Unstored struct{ Object api.Object }

// Encoding implements Encodable.
func (b Unstored) Encoding(_ *storage.Slot, encode func(api.Object) ([]byte, error)) ([]byte, error) {
	return encode(b.Object)
}

// ResourceVersion implements Encodable.
func (b Unstored) ResourceVersion() string { return b.Object.GetResourceVersion() }

// View returns the view of a request for objects of a resource, which may have another kind
// than the codec if the request is for a subresource.
func (c *Codec) View(r *http.Request, res *api.Resource, o Offer) (View, error) {
	if !c.hasProto {
		o = o.untyped()
	}
	o.cbor = c.codecs.CBOR
	m, err := negotiate(r, o)
	if err != nil {
		return View{}, err
	}
	scope := request.From(r.Context())
	v := View{Media: m, codec: c, include: metav1.IncludeMetadata, ended: r.Context().Err}
	if scope.Audit != nil {
		v.scope = scope
	}
	switch {
	case o.stream && m.Format == FormatYAML: // kube-apiserver ignores the other alternatives too
		v.fault = o.notAcceptable(o.byParameters)
		return v, nil
	case m.as == "":
		return v, nil
	}
	v.now = c.codecs.now()
	info := &scope.Info
	isList := info.Verb == api.VerbList || info.Verb == api.VerbDeleteCollection
	switch {
	case m.as == asPartialList && o.stream:
		return v, nil // the watch ends at the first event
	case m.as == asPartialList && !isList && res.IsCustom():
		v.fault = errors.New("content is not a list") // a custom object looks like a list until its items are read
	case m.as == asPartial && isList && res.IsCustom():
		v.fault = errNotShown("you requested %s, but the requested object is a list (*unstructured.UnstructuredList)", m.as)
	case m.as == asPartialList && !isList:
		v.fault = errNotShown("you requested %s, but the requested object is not a list (*%s.%s)", m.as,
			api.InternalPackage(c.resource), c.gvk.Kind)
	case m.as == asPartial && isList:
		v.fault = errNotShown("you requested %s, but the requested object is a list (*%s.%sList)", m.as, api.InternalPackage(res), res.Kind)
	case m.as == asTable:
		v.readTableOptions(info)
	}
	return v, nil
}

// Fault returns the error of a form that the objects of the request do not have, or nil.
func (v *View) Fault() error { return v.fault }

// TableFault returns the error of the options of a Table, or nil. It concerns responses that are a
// Status too.
func (v *View) TableFault() error {
	if v.as != asTable {
		return nil
	}
	return v.fault
}

// readTableOptions reads the options of a Table.
func (v *View) readTableOptions(info *request.Info) {
	switch include := metav1.IncludeObjectPolicy(info.Query.Get("includeObject")); include {
	case "", metav1.IncludeMetadata:
	case metav1.IncludeNone, metav1.IncludeObject:
		v.include = include
	default:
		v.fault = apierrors.NewBadRequest(fmt.Sprintf(
			"Unable to convert to Table as requested: includeObject: Invalid value: %q: must be 'Metadata', 'Object', 'None', or empty", include))
	}
}

func errNotShown(format string, args ...any) error {
	return NewStatusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, fmt.Sprintf(format, args...), nil)
}

func (v *View) asGroupVersion() string { return metav1.GroupName + "/" + v.asVersion }

// envelopeHead returns the head of the envelope of one object.
func (v *View) envelopeHead() proto.Head {
	if v.as == "" {
		return v.codec.protoHead
	}
	return proto.NewHead(v.asGroupVersion(), asPartial)
}

// proto returns the protobuf of one object with its envelope.
func (v *View) proto(s Encodable) ([]byte, error) {
	m, err := v.message(s)
	if err != nil {
		return nil, err
	}
	head, size := v.envelopeHead(), m.size()
	b := head.AppendHead(make([]byte, 0, head.EnvelopeSize(size)), size)
	return proto.AppendTail(m.append(b)), nil
}

// appendJSON appends the JSON of one object. first reports whether the object is the first of
// its stream, whose Table has the columns.
func (v *View) appendJSON(b []byte, s Encodable, resourceVersion string, first bool) ([]byte, error) {
	switch v.as {
	case "":
		full, err := s.Encoding(v.codec.jsonSlot, v.codec.toJSON)
		return append(b, full...), err
	case asTable:
		b = v.appendTableHead(b, metav1.ListMeta{ResourceVersion: resourceVersion}, first || v.codec.table.ColumnsInEvents)
		b, err := v.appendRow(b, s)
		return append(b, "]}"...), err
	}
	return v.appendPartial(b, s)
}

// appendPartial appends the PartialObjectMetadata of an object.
func (v *View) appendPartial(b []byte, s Encodable) ([]byte, error) {
	if v.partialHead == nil {
		v.partialHead = append(objectHead(asPartial, v.asGroupVersion()), metadataKey...)
	}
	b, err := v.codec.meta.appendMetadata(append(b, v.partialHead...), s)
	return append(b, '}'), err
}

// appendMetadata appends the JSON of the metadata of an object, without hidden annotations. It is a part of the JSON of the
// object, which is not made for it alone if the item's value has the metadata.
func (c *Codec) appendMetadata(b []byte, s Encodable) ([]byte, error) {
	item, _ := s.(*storage.Item)
	if item != nil && item.CachedEncoding(c.jsonSlot) == nil {
		if data := item.CachedEncoding(c.metadataSlot); data != nil {
			return append(b, data...), nil
		}
		switch m, ok, err := c.storedMetadata(item); {
		case err != nil:
			return b, err
		case ok:
			return c.appendStoredMetadata(b, item, m.meta)
		}
	}
	full, err := s.Encoding(c.jsonSlot, c.toJSON)
	if err != nil {
		return b, err
	}
	metadata, err := c.hideAnnotations(c.metadataOf(full))
	return append(b, metadata...), err
}

// appendStoredMetadata appends the JSON of the stored metadata of an item, and caches it if the item keeps encodings of its
// size: requests for the metadata of many objects do not come at the same time.
func (c *Codec) appendStoredMetadata(b []byte, item *storage.Item, stored []byte) ([]byte, error) {
	var meta metav1.ObjectMeta
	if err := meta.Unmarshal(stored); err != nil {
		return b, fmt.Errorf("decode metadata: %w", err)
	}
	meta.ResourceVersion = item.ResourceVersion()
	begin := len(b)
	b, err := c.codecs.metadataPlan().Append(b, &meta)
	if err != nil {
		return b, fmt.Errorf("encode metadata: %w", err)
	}
	if data := b[begin:]; item.Keeps(len(data)) {
		item.CacheEncoding(c.metadataSlot, bytes.Clone(data))
	}
	return b, nil
}

var metadataKey = []byte(`"metadata":`)

// metadataOf returns the metadata in the JSON of an object, with its fields in the order of their
// type.
func (c *Codec) metadataOf(full []byte) []byte {
	if c.resource.IsCustom() {
		return typedMetadata(full)
	}
	if body, ok := bytes.CutPrefix(c.listForm(full), metadataKey); ok {
		if end := jsonscan.ContainerEnd(body, 0); end >= 0 {
			return body[:end]
		}
	}
	return []byte("{}")
}

// appendTableHead appends a Table up to its first row.
func (v *View) appendTableHead(b []byte, meta metav1.ListMeta, withColumns bool) []byte {
	b = append(b, objectHead(asTable, v.asGroupVersion())...)
	b = append(append(b, `"metadata":`...), v.encodeListMeta(meta)...)
	b = append(b, `,"columnDefinitions":`...)
	if withColumns {
		b = append(b, v.codec.columns()...)
	} else {
		b = append(b, "null"...)
	}
	return append(b, `,"rows":[`...)
}

// appendRow appends a row of a Table.
func (v *View) appendRow(b []byte, s Encodable) ([]byte, error) {
	cells, err := v.cells(s)
	if err != nil {
		return b, err
	}
	b = appendCells(append(b, `{"cells":`...), cells, v.now)
	b = append(b, `,"object":`...)
	switch v.include {
	case metav1.IncludeNone:
		b = append(b, "null"...)
	case metav1.IncludeObject:
		full, err := s.Encoding(v.codec.jsonSlot, v.codec.toJSON)
		if err != nil {
			return b, err
		}
		b = append(b, full...)
	default:
		if b, err = v.appendPartial(b, s); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

// cells returns the cells of a row. Cells that are made for each Table end with the time
// of the request.
func (v *View) cells(s Encodable) ([]byte, error) {
	if !v.codec.table.OnDemand {
		return s.Encoding(v.codec.cellsSlot, v.codec.toCells)
	}
	if err := v.ended(); err != nil {
		return nil, err
	}
	obj, err := objectOf(s)
	if err != nil {
		return nil, err
	}
	return v.codec.encodeCells(obj)
}

// objectOf returns the object of an Encodable.
func objectOf(s Encodable) (api.Object, error) {
	switch s := s.(type) {
	case *storage.Item:
		return s.Object()
	case *convertedItem:
		return s.decoded()
	case Unstored:
		return s.Object, nil
	}
	return nil, fmt.Errorf("encode a row of %T", s)
}
