package representation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/internal/quickjson"
	"github.com/miniapiserver/miniapiserver/proto"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Codec encodes and decodes the objects of one resource in one version. It is created
// when the version is first requested.
type Codec struct {
	codecs   *Codecs
	resource *api.Resource
	version  *api.Version
	gvk      schema.GroupVersionKind
	// apiVersion is the group and version as in the apiVersion field.
	apiVersion string
	// head is the beginning of the JSON of every object with a Go type: kind and apiVersion.
	// Items of a list have no head.
	head []byte
	// These identify the encodings that storage items cache. Each belongs to this codec, since
	// the definition of a custom kind may change while requests of its former versions are in
	// progress; only an encoding that all versions of a built-in kind share has one slot.
	jsonSlot, protoSlot, cborSlot, metadataSlot, cellsSlot, partialProtoSlot *storage.Slot
	// toJSON, toProto, toCBOR and toCells are the methods encodeJSON, encodeProto, encodeCBOR and
	// encodeCells, stored here because a method value made for each item costs an
	// allocation.
	toJSON, toProto, toCBOR, toCells func(api.Object) ([]byte, error)
	// toPartialProto is the method encodePartialProto.
	toPartialProto func(api.Object) ([]byte, error)
	// meta is the codec of the hub version, whose metadata is shown in all versions:
	// some conversions turn fields into annotations.
	meta *Codec
	// setDefaults sets the defaults of an object converted from the version; nil if there are none.
	setDefaults func(api.Object)
	// plan describes how objects of the version's Go type are read and written.
	plan func() *quickjson.Type
	// rawJSON finds the fields of a decoded protobuf message that hold JSON as text.
	rawJSON func() *rawJSONChecker
	// hasProto reports whether objects have a protobuf form.
	hasProto bool
	// protoHead is the head of the envelope of objects.
	protoHead proto.Head
	// sentAsStored is true if protobuf can be made from values in etcd. If hasDefaults is true as well, a decoded object may
	// have defaults that its value lacks.
	sentAsStored, hasDefaults bool
	// table makes table rows of objects; columns is the JSON of its column definitions.
	table   *api.Table[api.Object]
	columns func() []byte
}

// Codecs creates the codecs of a catalogue's resources and holds what they share. It is
// safe for concurrent use.
type Codecs struct {
	// CBOR is true if clients can get and send CBOR.
	CBOR      bool
	catalogue *api.Catalogue
	now       func() time.Time
	byVersion sync.Map // *api.Version -> *codec
	// cellsSlot and partialProtoSlot identify the encodings that are the same in all
	// versions of a built-in kind because they are made from the hub version.
	cellsSlot, partialProtoSlot *storage.Slot
	plans                       quickjson.Plans
	metadataPlan                func() *quickjson.Type
	conversions                 conversions
	parts                       *partCache
}

// NewCodecs returns the codecs of a catalogue. The clock now decides how old objects are
// in tables.
func NewCodecs(catalogue *api.Catalogue, now func() time.Time) *Codecs {
	s := &Codecs{catalogue: catalogue, now: now, cellsSlot: storage.NewSlot(), partialProtoSlot: storage.NewSlot(), parts: newPartCache(),
		plans: quickjson.Plans{
			// The registry and storage refuse objects whose managedFields are not JSON.
			Valid: []reflect.Type{reflect.TypeFor[metav1.FieldsV1](), reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]()},
			// The parser of a short quantity can compute a number of two billion digits.
			Accepts: map[reflect.Type]func([]byte) bool{reflect.TypeFor[resource.Quantity](): func(text []byte) bool {
				return bounds.Quantity(strings.TrimSpace(strings.Trim(string(text), `"`))) == nil
			}},
		}}
	s.metadataPlan = sync.OnceValue(func() *quickjson.Type { return s.plans.Of(reflect.TypeFor[metav1.ObjectMeta]()) })
	return s
}

// Codec returns the codec of one version of a resource.
func (s *Codecs) Codec(res *api.Resource, v *api.Version) *Codec {
	if c, ok := s.byVersion.Load(v); ok {
		return c.(*Codec)
	}
	c := &Codec{
		codecs: s, resource: res, version: v, gvk: v.WithKind(res.Kind), apiVersion: v.String(),
		head:     objectHead(res.Kind, v.String()),
		jsonSlot: storage.NewSlot(), protoSlot: storage.NewSlot(), cborSlot: storage.NewSlot(), metadataSlot: storage.NewSlot(),
		cellsSlot: s.cellsSlot, partialProtoSlot: s.partialProtoSlot, setDefaults: res.Default,
		table:   &res.Table,
		columns: sync.OnceValue(func() []byte { return encodeColumns(res.Columns()) }),
	}
	if v.HubDefault != nil {
		c.setDefaults = v.HubDefault
	}
	c.plan = sync.OnceValue(func() *quickjson.Type { return s.plans.Of(reflect.TypeOf(c.newObject()).Elem()) })
	c.rawJSON = sync.OnceValue(func() *rawJSONChecker { return newRawJSONChecker(reflect.TypeOf(c.newObject()).Elem()) })
	_, c.hasProto = res.NewOf(v).(ProtoMessage)
	if res.IsCustom() { // columns and metadata differ between the versions of such a kind
		c.cellsSlot, c.partialProtoSlot = storage.NewSlot(), storage.NewSlot()
	}
	c.toJSON, c.toProto, c.toCBOR, c.toCells = c.encodeJSON, c.encodeProto, c.encodeCBOR, c.encodeCells
	c.toPartialProto = c.encodePartialProto
	if c.meta = c; v.FromHub != nil {
		c.meta = s.Codec(res, &res.Versions[0])
	}
	c.protoHead = proto.NewHead(c.apiVersion, res.Kind)
	c.sentAsStored, c.hasDefaults = c.isSentAsStored(), res.Default != nil || res.DefaultStored != nil
	actual, _ := s.byVersion.LoadOrStore(v, c)
	return actual.(*Codec)
}

// objectHead returns the beginning of the JSON of an object.
func objectHead(kind, apiVersion string) []byte {
	return []byte(`{"kind":` + strconv.Quote(kind) + `,"apiVersion":` + strconv.Quote(apiVersion) + `,`)
}

// versioned converts an object from the hub version.
func (c *Codec) versioned(obj api.Object) (api.Object, error) {
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

// newObject returns an empty object of this version's type.
func (c *Codec) newObject() api.Object {
	if c.version.New != nil {
		return c.version.New()
	}
	return c.resource.New()
}

// encodeJSON returns the JSON of an object of the hub type. That of an object with a Go type has
// kind and apiVersion first.
func (c *Codec) encodeJSON(obj api.Object) ([]byte, error) {
	v, err := c.versioned(obj)
	if err != nil {
		return nil, err
	}
	if u, ok := v.(*untyped.Object); ok {
		return c.encodeContent(u)
	}
	if !v.GetObjectKind().GroupVersionKind().Empty() {
		v = v.DeepCopyObject().(api.Object)
		v.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return c.appendAfterHead(func(dst []byte) ([]byte, error) { return c.plan().Append(dst, v) })
}

// appendAfterHead returns the head followed by the fields of the JSON object that write
// appends.
func (c *Codec) appendAfterHead(write func([]byte) ([]byte, error)) ([]byte, error) {
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

// encodeContent is encodeJSON for objects without a Go type. All fields are in the order of
// their names.
func (c *Codec) encodeContent(u *untyped.Object) ([]byte, error) {
	fields := make([]quickjson.Field, 3, len(u.Object)+3)
	fields[0] = quickjson.Field{Name: "apiVersion", Value: c.apiVersion}
	fields[1] = quickjson.Field{Name: "kind", Value: c.gvk.Kind}
	fields[2] = quickjson.Field{Name: "metadata", Value: u.Metadata()}
	for name, value := range u.Object {
		switch name {
		case "kind", "apiVersion", "metadata":
		default:
			fields = append(fields, quickjson.Field{Name: name, Value: value})
		}
	}
	quickjson.SortFields(fields)
	data, err := quickjson.Exactly(func(dst []byte) ([]byte, error) { return quickjson.AppendFields(dst, fields) })
	if err != nil {
		return nil, fmt.Errorf("encode %s as JSON: %w", c.gvk.Kind, err)
	}
	return data, nil
}

// Forget drops the codecs of a deleted resource.
func (s *Codecs) Forget(res *api.Resource) {
	for _, form := range res.Forms() {
		s.forgetForm(form)
	}
	s.forgetForm(res)
}

func (s *Codecs) forgetForm(res *api.Resource) {
	for i := range res.Versions {
		s.byVersion.Delete(&res.Versions[i])
	}
	for _, kind := range res.BodyKinds() {
		s.byVersion.Delete(&kind.Versions[0])
	}
}

// ProtoMessage is implemented by the types of k8s.io/api.
type ProtoMessage interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// encodeProto returns the protobuf of an object of the hub type without its envelope,
// which differs between a single object and an item of a list.
func (c *Codec) encodeProto(obj api.Object) ([]byte, error) {
	v, err := c.versioned(obj)
	if err != nil {
		return nil, err
	}
	m, ok := v.(ProtoMessage)
	if !ok {
		return nil, fmt.Errorf("%s has no protobuf form", c.gvk.Kind)
	}
	return m.Marshal()
}

// maxCellsOnWrite is the length of a stored value from which on a write of an object without a Go
// type does not compute its row, which may have to read the whole object.
const maxCellsOnWrite = 64 << 10

// CacheCells makes the cells of an item's row while the decoded object is still in
// memory. It takes less than a microsecond; the first table after many writes would
// otherwise decode all written objects. It does nothing if the row may be expensive.
func (c *Codec) CacheCells(item *storage.Item) {
	if c.table.OnDemand || c.resource.IsCustom() && len(item.Value()) > maxCellsOnWrite {
		return
	}
	_, _ = item.Encoding(c.cellsSlot, c.toCells) // the request that needs the cells gets the error
}

// encodeCells returns the cached form of the cells of an object's row.
func (c *Codec) encodeCells(obj api.Object) ([]byte, error) {
	if c.resource.Storage.ConvertFromStored != nil {
		var err error
		if obj, err = c.versioned(obj); err != nil {
			return nil, err
		}
	}
	row := c.resource.Row(obj)
	return encodeCells(row.Cells(), row.Conditions())
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
func (c *Codec) encodePartialProto(obj api.Object) ([]byte, error) {
	p := partial(obj)
	p.Annotations = c.visibleAnnotations(p.Annotations)
	raw, err := p.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode metadata: %w", err)
	}
	return raw, nil
}

// visibleAnnotations returns annotations without the hidden ones.
func (c *Codec) visibleAnnotations(annotations map[string]string) map[string]string {
	visible := annotations
	for _, name := range c.resource.HiddenAnnotations {
		if _, ok := visible[name]; ok {
			visible = maps.Clone(visible)
			delete(visible, name)
		}
	}
	if len(visible) == 0 {
		return nil
	}
	return visible
}

// hideAnnotations removes the hidden annotations from the JSON of an object's metadata.
func (c *Codec) hideAnnotations(metadata []byte) ([]byte, error) {
	for _, name := range c.resource.HiddenAnnotations {
		if !bytes.Contains(metadata, []byte(name)) {
			continue
		}
		var m metav1.ObjectMeta
		if err := json.Unmarshal(metadata, &m); err != nil {
			return nil, err
		}
		m.Annotations = c.visibleAnnotations(m.Annotations)
		return json.Marshal(m)
	}
	return metadata, nil
}

// Indent indents JSON as kube-apiserver does for pretty output.
func Indent(data []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, data, "", "  ") != nil {
		return data
	}
	return b.Bytes()
}
