package representation

import (
	"math"

	"github.com/miniapiserver/miniapiserver/internal/jsonscan"
)

// Objects without a Go type are encoded with all fields in the order of their names, and the
// metadata that is shown alone, as in the rows of a Table, in the order of its Go type. The
// metadata of such an object is reordered without being decoded.

// fieldOrder is the order of the fields of a Go type.
type fieldOrder struct {
	names []string
	// elements are the orders of the elements of fields that are lists of objects.
	elements map[string]*fieldOrder
}

// newMetadataOrder returns the order of the fields of ObjectMeta.
func newMetadataOrder() *fieldOrder {
	return &fieldOrder{
		names: []string{"name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation",
			"creationTimestamp", "deletionTimestamp",
			"deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers", "managedFields"},
		elements: map[string]*fieldOrder{
			"ownerReferences": {names: []string{"apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"}},
			"managedFields":   {names: []string{"manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"}},
		},
	}
}

var metadataOrder = newMetadataOrder()

// typedMetadata returns the metadata in the JSON of an object, whose fields are in the order of
// their names, with its fields in the order of ObjectMeta.
func typedMetadata(full []byte) []byte {
	text := jsonscan.Scanner[[]byte]{Text: full, MaxDepth: math.MaxInt}
	out := []byte("{}")
	text.Members(func(name jsonscan.String[[]byte]) bool {
		value, ok := text.Value()
		if !ok || name.Unquote() != "metadata" {
			return ok
		}
		if v := jsonscan.ParseValid(value); v.IsObject() {
			out = metadataOrder.appendObject(make([]byte, 0, len(value)), v)
		}
		return false // the rest of the object is not read
	})
	return out
}

// appendObject appends an object with its fields in the order o.
func (o *fieldOrder) appendObject(out []byte, object jsonscan.Value) []byte {
	var fields [16]struct {
		key   []byte
		value jsonscan.Value
	}
	n := 0
	for p := object.Parts(); n < len(fields) && p.Next(); n++ {
		fields[n].key, fields[n].value = p.Key(), p.Value()
	}
	out = append(out, '{')
	start := len(out)
	for _, name := range o.names {
		for _, f := range fields[:n] {
			if string(f.key[1:len(f.key)-1]) != name {
				continue
			}
			out = jsonscan.AppendMember(out, start, f.key, nil)
			if element := o.elements[name]; element != nil && f.value.IsArray() {
				out = jsonscan.AppendElements(out, f.value, element.appendObject)
			} else {
				out = append(out, f.value.Bytes()...)
			}
		}
	}
	return append(out, '}')
}
