package representation

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/jsonscan"
	"github.com/miniapiserver/miniapiserver/request"
)

// The audit events of a request contain its objects as JSON, whatever format the client
// uses. They are encoded here, together with the response.

// AuditJSON returns an object as it stands in audit events.
func (c *Codec) AuditJSON(obj api.Object, omitManagedFields bool) ([]byte, error) {
	data, err := c.toJSON(obj)
	if err == nil && omitManagedFields {
		data = withoutManagedFields(data)
	}
	return data, err
}

// PatchJSON returns a patch in YAML or CBOR as JSON.
func PatchJSON(kind types.PatchType, data []byte) ([]byte, error) {
	f := FormatYAML
	if kind == types.ApplyCBORPatchType {
		f = FormatCBOR
	}
	b, err := openBody(f, data)
	return b.data, err
}

// auditStatus records a response that is a Status.
func auditStatus(r *http.Request, s *metav1.Status) {
	a := request.From(r.Context()).Audit
	if a == nil {
		return
	}
	a.ResponseStatus = s
	if a.WantsResponseObject() {
		a.ResponseObject, _ = json.Marshal(s) // cannot fail for its fields
	}
}

// observe records the duration of encoding and sending a response.
func (v *View) observe(start time.Time) {
	v.scope.Durations.Add(request.PartSerialize, time.Since(start))
}

// auditObject records a response that is one object or its Table.
func (v *View) auditObject(s Encodable) error {
	if !v.scope.Audit.WantsResponseObject() {
		return nil
	}
	data, err := v.appendJSON(nil, s, s.ResourceVersion(), true)
	return v.auditJSON(data, err)
}

// auditList records a response that is a list.
func (v *View) auditList(meta metav1.ListMeta, items Encodables) error {
	if !v.scope.Audit.WantsResponseObject() {
		return nil
	}
	data, err := v.wholeList(&jsonList{view: v, meta: meta, items: items})
	return v.auditJSON(data, err)
}

func (v *View) auditJSON(data []byte, err error) error {
	if err != nil {
		return err
	}
	if v.scope.Audit.OmitManagedFields {
		data = withoutManagedFields(data)
	}
	v.scope.Audit.ResponseObject = data
	return nil
}

// withoutManagedFields removes the managedFields of an object, of the items of a list, and
// of the objects in the rows of a Table.
func withoutManagedFields(data []byte) []byte {
	return appendWithoutManagedFields(make([]byte, 0, len(data)), jsonscan.ParseValid(data))
}

func appendWithoutManagedFields(b []byte, object jsonscan.Value) []byte {
	return appendMembers(b, object, func(b []byte, key string, value jsonscan.Value) ([]byte, bool) {
		switch {
		case key == `"metadata"` && value.IsObject():
			return appendMembers(b, value, func(b []byte, key string, value jsonscan.Value) ([]byte, bool) {
				return append(b, value.Bytes()...), key != `"managedFields"`
			}), true
		case key == `"items"` && value.IsArray():
			return jsonscan.AppendElements(b, value, appendWithoutManagedFields), true
		case key == `"rows"` && value.IsArray():
			return jsonscan.AppendElements(b, value, appendRowWithoutManagedFields), true
		}
		return append(b, value.Bytes()...), true
	})
}

func appendRowWithoutManagedFields(b []byte, row jsonscan.Value) []byte {
	return appendMembers(b, row, func(b []byte, key string, value jsonscan.Value) ([]byte, bool) {
		if key == `"object"` {
			return appendWithoutManagedFields(b, value), true
		}
		return append(b, value.Bytes()...), true
	})
}

// appendMembers appends an object, whose members appendValue appends or refuses. It appends
// values that are no objects as they are.
func appendMembers(b []byte, object jsonscan.Value, appendValue func(b []byte, key string, value jsonscan.Value) ([]byte, bool)) []byte {
	if !object.IsObject() {
		return append(b, object.Bytes()...)
	}
	b = append(b, '{')
	start := len(b)
	for p := object.Parts(); p.Next(); {
		before := len(b)
		if before > start {
			b = append(b, ',')
		}
		out, ok := appendValue(append(append(b, p.Key()...), ':'), string(p.Key()), p.Value())
		if b = out; !ok {
			b = b[:before]
		}
	}
	return append(b, '}')
}

// RecordBody adds the body of a request, and the object of the hub type that was decoded from it, to the account of the request.
func (c *Codec) RecordBody(account *request.Account, contentType string, data []byte, obj api.Object) {
	account.SentState(c.resource, request.ObjectState{Data: data, Decode: func(data []byte) ([]byte, error) { return c.bodyJSON(contentType, data) }})
	by := request.ChangedByDecoding
	if c.version.FromHub != nil || c.resource.Storage.ConvertFromStored != nil {
		text, err := c.AuditJSON(obj, false) // in the version of the body
		account.SentState(c.resource, request.ObjectState{By: by, Data: text, Decode: func(text []byte) ([]byte, error) { return text, err }})
		by = ""
	}
	c.resource.RecordState(account, by, obj)
}

// bodyJSON returns the body of a request as JSON, without defaults. A body in protobuf is decoded into the Go type of the
// version.
func (c *Codec) bodyJSON(contentType string, data []byte) ([]byte, error) {
	name, _, err := mime.ParseMediaType(contentType)
	f, ok := FormatOf(name)
	if err != nil || !ok {
		f = FormatJSON
	}
	b, err := openBody(f, data)
	if err != nil || f != FormatProtobuf {
		return b.data, err
	}
	obj, ok := c.newObject().(api.ProtoObject)
	if !ok {
		return nil, fmt.Errorf("%T has no protobuf encoding", obj)
	}
	if err := obj.Unmarshal(b.data); err != nil {
		return nil, err
	}
	return json.Marshal(obj)
}
