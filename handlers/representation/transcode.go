package representation

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/proto"
)

// Transcoder converts what a client and the server sent each other to JSON. The bodies of a request are objects of a resource or of
// the kinds of its subresources, lists of them, or kinds of meta.k8s.io. Resource is nil for a request that is for no resource.
type Transcoder struct{ Resource *api.Resource }

// JSON returns a body of a media type as JSON. It reports false if the media type is none of objects.
func (t Transcoder) JSON(mediaType string, data []byte) (out []byte, ok bool, err error) {
	name, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		return nil, false, nil
	}
	switch name {
	case MediaProtobuf:
		out, err = t.protoJSON(data)
		return out, true, err
	case MediaYAML, MediaCBOR, "application/apply-patch+yaml", "application/apply-patch+cbor":
		f := FormatYAML
		if strings.HasSuffix(name, "cbor") {
			f = FormatCBOR
		}
		b, err := openBody(f, data)
		return b.data, true, err
	}
	return data, name == MediaJSON || strings.HasSuffix(name, "+json"), nil
}

// Event reads one event of a watch as JSON, from a stream in a media type. CBOR is refused.
func (t Transcoder) Event(mediaType string, data []byte) (event, rest []byte, err error) {
	name, _, err := mime.ParseMediaType(mediaType)
	switch {
	case err != nil:
		return nil, data, err
	case name == MediaJSON:
		line, rest, found := bytes.Cut(data, []byte("\n"))
		if !found {
			return nil, data, io.ErrUnexpectedEOF
		}
		return line, rest, nil
	case name != MediaProtobuf:
		return nil, data, fmt.Errorf("events in %s", name)
	case len(data) < protoLengthSize || len(data)-protoLengthSize < int(binary.BigEndian.Uint32(data)):
		return nil, data, io.ErrUnexpectedEOF
	}
	end := protoLengthSize + int(binary.BigEndian.Uint32(data))
	var e metav1.WatchEvent
	if err := e.Unmarshal(data[protoLengthSize:end]); err != nil {
		return nil, data, err
	}
	if e.Object.Raw, err = t.protoJSON(e.Object.Raw); err != nil {
		return nil, data, err
	}
	event, err = json.Marshal(&e)
	return event, data[end:], err
}

// metaKind returns an object of a kind that all resources share; nil if it is none.
func metaKind(kind string) protoTarget {
	switch kind {
	case "Status":
		return &metav1.Status{}
	case "DeleteOptions":
		return &metav1.DeleteOptions{}
	case "PartialObjectMetadata":
		return &metav1.PartialObjectMetadata{}
	case "PartialObjectMetadataList":
		return &metav1.PartialObjectMetadataList{}
	}
	return nil
}

// protoTarget is a message that is decoded from protobuf.
type protoTarget interface{ Unmarshal([]byte) error }

// object returns an empty object of a kind in a request; nil if there is none.
func (t Transcoder) object(apiVersion, kind string) protoTarget {
	if t.Resource == nil {
		return nil
	}
	for _, res := range append([]*api.Resource{t.Resource}, t.Resource.BodyKinds()...) {
		for i := range res.Versions {
			if v := &res.Versions[i]; res.Kind == kind && v.GroupVersion.String() == apiVersion {
				m, _ := res.NewOf(v).(api.ProtoObject)
				if m == nil {
					return nil
				}
				return m
			}
		}
	}
	return nil
}

func (t Transcoder) protoJSON(data []byte) ([]byte, error) {
	e, err := proto.Decode(data)
	if err != nil {
		return nil, err
	}
	m := metaKind(e.Kind)
	if m == nil {
		m = t.object(e.APIVersion, e.Kind)
	}
	if m == nil {
		return t.protoList(&e)
	}
	if err := m.Unmarshal(e.Raw); err != nil {
		return nil, err
	}
	return withType(m, e.APIVersion, e.Kind)
}

// protoList converts a list, whose items have no kind of their own.
func (t Transcoder) protoList(e *proto.Envelope) ([]byte, error) {
	kind, isList := strings.CutSuffix(e.Kind, "List")
	if !isList || t.object(e.APIVersion, kind) == nil {
		return nil, fmt.Errorf("%s %s is no kind of the request", e.APIVersion, e.Kind)
	}
	list := struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ListMeta   `json:"metadata"`
		Items           []json.RawMessage `json:"items"`
	}{TypeMeta: metav1.TypeMeta{APIVersion: e.APIVersion, Kind: e.Kind}, Items: []json.RawMessage{}}
	err := proto.VisitList(e.Raw, list.Metadata.Unmarshal, func(raw []byte) error {
		m := t.object(e.APIVersion, kind)
		err := m.Unmarshal(raw)
		item, encodeErr := json.Marshal(m)
		list.Items = append(list.Items, item)
		return errors.Join(err, encodeErr)
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(&list)
}

// withType returns a message as JSON with its kind.
func withType(m protoTarget, apiVersion, kind string) ([]byte, error) {
	data, err := json.Marshal(m)
	if err != nil || len(data) < 2 {
		return data, err
	}
	head, err := json.Marshal(metav1.TypeMeta{APIVersion: apiVersion, Kind: kind})
	if err != nil {
		return nil, err
	}
	if data = data[1:]; data[0] != '}' {
		head[len(head)-1] = ','
		return append(head, data...), nil
	}
	return head, nil
}
