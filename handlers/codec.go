package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/proto"
	"github.com/miniapiserver/miniapiserver/quickjson"
	"github.com/miniapiserver/miniapiserver/storage"
)

// codec encodes and decodes the objects of one resource in one version. It is created
// when the version is first requested.
type codec struct {
	resource *api.Resource
	version  *api.Version
	gvk      schema.GroupVersionKind
	// apiVersion is the group and version as in the apiVersion field.
	apiVersion string
	// head is the beginning of the JSON of every object: kind and apiVersion. Items of
	// a list have no head.
	head []byte
	// These identify the encodings that storage items cache. They belong to this codec,
	// except those that all versions of a built-in kind share: a definition may change
	// while requests of its former versions are in progress.
	jsonSlot, protoSlot, cellsSlot, partialProtoSlot *storage.Slot
	// toJSON, toProto and toCells are the methods encodeJSON, encodeProto and
	// encodeCells, stored here because a method value made for each item costs an
	// allocation.
	toJSON, toProto, toCells func(api.Object) ([]byte, error)
	// toPartialProto is the method encodePartialProto.
	toPartialProto func(api.Object) ([]byte, error)
	// meta is the codec of the hub version, whose metadata is shown in all versions:
	// some conversions turn fields into annotations.
	meta *codec
	// plan describes how objects of the version's Go type are read and written.
	plan func() *quickjson.Type
	// rawJSON finds the fields of a decoded protobuf message that hold JSON as text.
	rawJSON func() *rawJSON
	// hasProto reports whether objects have a protobuf form.
	hasProto bool
	// storedHead and storedTail enclose objects that are sent in their stored encoding.
	storedHead, storedTail []byte
	// table makes table rows of objects; columns is the JSON of its column definitions.
	table   *api.Table[api.Object]
	columns func() []byte
}

// sharedSlots identify the encodings that are the same in all versions of a built-in
// kind because they are made from the hub version.
type sharedSlots struct{ cells, partialProto *storage.Slot }

// codec returns the codec of one version of a resource.
func (h *Handler) codec(res *api.Resource, v *api.Version) *codec {
	if c, ok := h.codecs.Load(v); ok {
		return c.(*codec)
	}
	table := res.Table
	c := &codec{
		resource: res, version: v, gvk: v.WithKind(res.Kind), apiVersion: v.String(),
		head:     objectHead(res.Kind, v.String()),
		jsonSlot: storage.NewSlot(), protoSlot: storage.NewSlot(),
		cellsSlot: h.shared.cells, partialProtoSlot: h.shared.partialProto,
		table:   table,
		columns: sync.OnceValue(func() []byte { return encodeColumns(table.Columns()) }),
	}
	c.plan = sync.OnceValue(func() *quickjson.Type { return h.plans.Of(reflect.TypeOf(c.newObject()).Elem()) })
	c.rawJSON = sync.OnceValue(func() *rawJSON { return rawJSONOf(reflect.TypeOf(c.newObject()).Elem()) })
	_, c.hasProto = res.NewOf(v).(protoMessage)
	if res.Untyped { // columns and metadata differ between the versions of such a kind
		c.cellsSlot, c.partialProtoSlot = storage.NewSlot(), storage.NewSlot()
	}
	c.toJSON, c.toProto, c.toCells = c.encodeJSON, c.encodeProto, c.encodeCells
	c.toPartialProto = c.encodePartialProto
	if c.meta = c; v.FromHub != nil {
		c.meta = h.codec(res, &res.Versions[0])
	}
	c.storedHead, c.storedTail = storedHead(c), proto.AppendListTail(nil)
	actual, _ := h.codecs.LoadOrStore(v, c)
	return actual.(*codec)
}

// objectHead returns the beginning of the JSON of an object.
func objectHead(kind, apiVersion string) []byte {
	return []byte(`{"kind":` + strconv.Quote(kind) + `,"apiVersion":` + strconv.Quote(apiVersion) + `,`)
}

// versioned converts an object from the hub version.
func (c *codec) versioned(obj api.Object) (api.Object, error) {
	if c.resource.Storage.ConvertFromStored != nil {
		if u, ok := obj.(*untyped.Object); ok && u.GetAPIVersion() == c.apiVersion {
			return obj, nil
		}
		out, err := c.resource.Storage.ConvertFromStored(context.Background(), []api.Object{obj})
		if err != nil {
			return nil, err
		}
		return out[0], nil
	}
	if c.version.FromHub == nil {
		return obj, nil
	}
	return c.version.FromHub(obj)
}

// hub converts an object to the hub version.
func (c *codec) hub(obj api.Object) (api.Object, error) {
	if c.version.ToHub == nil {
		return obj, nil
	}
	return c.version.ToHub(obj)
}

// defaulted converts an object from a client to the hub version and sets its defaults.
func (c *codec) defaulted(obj api.Object) (api.Object, error) {
	obj, err := c.hub(obj)
	if err == nil && c.resource.Default != nil {
		c.resource.Default(obj)
	}
	return obj, err
}

// newObject returns an empty object of this version's type.
func (c *codec) newObject() api.Object {
	if c.version.New != nil {
		return c.version.New()
	}
	return c.resource.New()
}

// encodeJSON returns the JSON of an object of the hub type, kind and apiVersion first.
func (c *codec) encodeJSON(obj api.Object) ([]byte, error) {
	v, err := c.versioned(obj)
	if err != nil {
		return nil, err
	}
	return c.encodeVersionedJSON(v)
}

func (c *codec) encodeVersionedJSON(v api.Object) ([]byte, error) {
	if u, ok := v.(*untyped.Object); ok {
		return c.encodeContent(u)
	}
	if !v.GetObjectKind().GroupVersionKind().Empty() {
		v = v.DeepCopyObject().(api.Object)
		v.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return c.behindHead(func(dst []byte) ([]byte, error) { return c.plan().Append(dst, v) })
}

// behindHead returns the head followed by the fields of the JSON object that write
// appends.
func (c *codec) behindHead(write func([]byte) ([]byte, error)) ([]byte, error) {
	data, err := quickjson.Exactly(func(dst []byte) ([]byte, error) {
		head := c.head[:len(c.head)-1] // the comma replaces the object's brace
		dst, err := write(append(dst, head...))
		if err == nil {
			dst[len(head)] = ','
		}
		return dst, err
	})
	if err != nil {
		return nil, fmt.Errorf("encode %s as JSON: %w", c.gvk.Kind, err)
	}
	return data, nil
}

// encodeContent is encodeVersionedJSON for objects without a Go type. The order is the
// same: kind and apiVersion, metadata, other fields.
func (c *codec) encodeContent(u *untyped.Object) ([]byte, error) {
	fields := make([]quickjson.Field, 1, len(u.Object)+1)
	fields[0] = quickjson.Field{Name: "metadata", Value: u.Metadata()}
	for name, value := range u.Object {
		switch name {
		case "kind", "apiVersion", "metadata":
		default:
			fields = append(fields, quickjson.Field{Name: name, Value: value})
		}
	}
	quickjson.SortFields(fields[1:])
	return c.behindHead(func(dst []byte) ([]byte, error) { return quickjson.AppendFields(dst, fields) })
}

// Forget drops the codecs of a deleted resource.
func (h *Handler) Forget(res *api.Resource) {
	for _, form := range res.Forms {
		h.forget(form)
	}
	h.forget(res)
}

func (h *Handler) forget(res *api.Resource) {
	for i := range res.Versions {
		h.codecs.Delete(&res.Versions[i])
	}
	for _, sub := range res.Subresources {
		if sub.Kind != nil {
			h.codecs.Delete(&sub.Kind.Versions[0])
		}
	}
}

// listForm returns the JSON of an object as an item of a list: without its head. The
// result shares memory with full; the caller writes the brace before it.
func (c *codec) listForm(full []byte) []byte { return full[len(c.head):] }

// protoMessage is implemented by the types of k8s.io/api.
type protoMessage interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// encodeProto returns the protobuf of an object of the hub type without its envelope,
// which differs between a single object and an item of a list.
func (c *codec) encodeProto(obj api.Object) ([]byte, error) {
	v, err := c.versioned(obj)
	if err != nil {
		return nil, err
	}
	m, ok := v.(protoMessage)
	if !ok {
		return nil, fmt.Errorf("%s has no protobuf form", c.gvk.Kind)
	}
	return m.Marshal()
}

// envelope wraps the protobuf of one object in its envelope.
func (c *codec) envelope(raw []byte) []byte {
	return proto.AppendRaw(nil, c.version.String(), c.gvk.Kind, raw)
}

// encodeCells returns the cached form of the cells of an object's row.
func (c *codec) encodeCells(obj api.Object) ([]byte, error) {
	if c.resource.Storage.ConvertFromStored != nil {
		var err error
		if obj, err = c.versioned(obj); err != nil {
			return nil, err
		}
	}
	var conditions []metav1.TableRowCondition
	if c.table.Conditions != nil {
		conditions = c.table.Conditions(obj)
	}
	return encodeCells(c.table.Cells(obj), conditions)
}

// encodeColumns returns the JSON of a table's column definitions.
func encodeColumns(columns []metav1.TableColumnDefinition) []byte {
	data, err := json.Marshal(columns)
	if err != nil {
		return []byte("null") // strings and numbers have a JSON form
	}
	return data
}

// encodePartialProto returns an object's metadata as protobuf.
func (c *codec) encodePartialProto(obj api.Object) ([]byte, error) {
	p := partial(obj)
	p.Annotations = c.shownAnnotations(p.Annotations)
	raw, err := p.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode metadata: %w", err)
	}
	return raw, nil
}

// shownAnnotations returns annotations without the hidden ones.
func (c *codec) shownAnnotations(all map[string]string) map[string]string {
	shown := all
	for _, name := range c.resource.Fields.HiddenAnnotations {
		if _, ok := shown[name]; ok {
			shown = maps.Clone(shown)
			delete(shown, name)
		}
	}
	if len(shown) == 0 {
		return nil
	}
	return shown
}

// hideAnnotations removes the hidden annotations from the JSON of an object's metadata.
func (c *codec) hideAnnotations(metadata []byte) ([]byte, error) {
	for _, name := range c.resource.Fields.HiddenAnnotations {
		if !bytes.Contains(metadata, []byte(name)) {
			continue
		}
		var m metav1.ObjectMeta
		if err := json.Unmarshal(metadata, &m); err != nil {
			return nil, err
		}
		m.Annotations = c.shownAnnotations(m.Annotations)
		return json.Marshal(m)
	}
	return metadata, nil
}

// encodeListMeta returns the JSON of a list's metadata.
func encodeListMeta(meta metav1.ListMeta) []byte {
	data, err := json.Marshal(meta)
	if err != nil {
		return []byte("{}") // strings and numbers have a JSON form
	}
	return data
}

// indent indents JSON as kube-apiserver does for pretty output.
func indent(data []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, data, "", "  ") != nil {
		return data
	}
	return b.Bytes()
}
