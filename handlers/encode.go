package handlers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/proto"
	"github.com/miniapiserver/miniapiserver/storage"
)

// writeBody sends a whole answer.
func writeBody(w http.ResponseWriter, code int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	w.Write(body) // a client that is gone needs no answer
}

// writeJSON sends JSON in the format agreed on; formats without a JSON origin
// of their own are made from it.
func (h *Handler) writeJSON(w http.ResponseWriter, m media, code int, data []byte) error {
	switch {
	case m.format == formatYAML:
		out, err := yaml.JSONToYAML(data)
		if err != nil {
			return fmt.Errorf("encode YAML: %w", err)
		}
		data = out
	case m.pretty:
		data = append(indent(data), '\n')
	default:
		data = append(data[:len(data):len(data)], '\n')
	}
	writeBody(w, code, m.contentType(), data)
	return nil
}

// writeItem sends an object as it is kept with its item.
func (h *Handler) writeItem(w http.ResponseWriter, m media, code int, c *codec, item *storage.Item) error {
	if m.format == formatProtobuf {
		raw, err := item.Encoding(c.protoSlot, c.encodeProto)
		if err != nil {
			return err
		}
		writeBody(w, code, mediaProtobuf, c.envelope(raw))
		return nil
	}
	data, err := item.Encoding(c.jsonSlot, c.encodeJSON)
	if err != nil {
		return err
	}
	return h.writeJSON(w, m, code, data)
}

// writeObject sends an object that is not stored.
func (h *Handler) writeObject(w http.ResponseWriter, m media, code int, c *codec, obj api.Object) error {
	if m.format == formatProtobuf {
		raw, err := c.encodeProto(obj)
		if err != nil {
			return err
		}
		writeBody(w, code, mediaProtobuf, c.envelope(raw))
		return nil
	}
	data, err := c.encodeJSON(obj)
	if err != nil {
		return err
	}
	return h.writeJSON(w, m, code, data)
}

// writeStatus sends a Status.
func (h *Handler) writeStatus(w http.ResponseWriter, r *http.Request, m media, code int, s *metav1.Status) {
	if m.format == formatProtobuf {
		if raw, err := s.Marshal(); err == nil {
			writeBody(w, code, mediaProtobuf, proto.AppendRaw(nil, "v1", "Status", raw))
			return
		}
	}
	data, err := json.Marshal(s)
	if err == nil {
		err = h.writeJSON(w, m, code, data)
	}
	if err != nil {
		h.logger(r).Error("cannot encode a Status", "error", err)
		http.Error(w, s.Message, code)
	}
}

// listBuffers are for assembling lists. A buffer is written as a whole, since
// every write below HTTP/2 costs a hand-over to the connection's goroutine.
var listBuffers = sync.Pool{New: func() any { b := make([]byte, 0, listChunk+64<<10); return &b }}

const listChunk = 512 << 10

// writeList sends a list made of the bytes kept with its items.
func (h *Handler) writeList(w http.ResponseWriter, m media, c *codec, meta metav1.ListMeta, items []*storage.Item) error {
	if m.format == formatProtobuf {
		return h.writeProtoList(w, c, meta, items)
	}
	metaJSON, err := json.Marshal(meta)
	if err != nil {
		return fmt.Errorf("encode list metadata: %w", err)
	}
	head := `{"kind":` + strconv.Quote(c.gvk.Kind+"List") + `,"apiVersion":` + strconv.Quote(c.version.String()) + `,"metadata":` + string(metaJSON) + `,"items":[`
	if m.format != formatJSON || m.pretty {
		return h.writeWholeList(w, m, c, head, items)
	}
	buf := listBuffers.Get().(*[]byte)
	defer func() { *buf = (*buf)[:0]; listBuffers.Put(buf) }()
	b := append((*buf)[:0], head...)
	w.Header().Set("Content-Type", mediaJSON)
	for i, item := range items {
		if b, err = appendListItem(b, c, i, item); err != nil {
			if i == 0 {
				return err
			}
			panic(http.ErrAbortHandler) // a list cut off must not look whole
		}
		if len(b) >= listChunk {
			if _, err := w.Write(b); err != nil {
				return nil // the client is gone
			}
			b = b[:0]
		}
	}
	b = append(b, "]}\n"...)
	w.Write(b)
	*buf = b
	return nil
}

func appendListItem(b []byte, c *codec, i int, item *storage.Item) ([]byte, error) {
	full, err := item.Encoding(c.jsonSlot, c.encodeJSON)
	if err != nil {
		return b, err
	}
	if i > 0 {
		b = append(b, ',')
	}
	return append(append(b, '{'), c.listForm(full)...), nil
}

// writeWholeList is for formats that are made from the whole JSON.
func (h *Handler) writeWholeList(w http.ResponseWriter, m media, c *codec, head string, items []*storage.Item) error {
	b := []byte(head)
	var err error
	for i, item := range items {
		if b, err = appendListItem(b, c, i, item); err != nil {
			return err
		}
	}
	return h.writeJSON(w, m, http.StatusOK, append(b, "]}"...))
}

// writeProtoList sends the protobuf message of a list.
func (h *Handler) writeProtoList(w http.ResponseWriter, c *codec, meta metav1.ListMeta, items []*storage.Item) error {
	raws := make([][]byte, len(items))
	for i, item := range items {
		var err error
		if raws[i], err = item.Encoding(c.protoSlot, c.encodeProto); err != nil {
			return err
		}
	}
	body, err := proto.AppendList(nil, c.version.String(), c.gvk.Kind+"List", &meta, raws)
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, mediaProtobuf, body)
	return nil
}
