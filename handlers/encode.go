package handlers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/proto"
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

// writeOne sends one object.
func (h *Handler) writeOne(w http.ResponseWriter, v *view, code int, s subject, resourceVersion string) error {
	if v.format == formatProtobuf {
		data, err := v.proto(s)
		if err != nil {
			return err
		}
		writeBody(w, code, mediaProtobuf, data)
		return nil
	}
	if v.as == "" { // nothing is put together, so nothing is copied
		data, err := s.Encoding(v.codec.jsonSlot, v.codec.encodeJSON)
		if err != nil {
			return err
		}
		return h.writeJSON(w, v.media, code, data)
	}
	data, err := v.appendJSON(nil, s, resourceVersion, true)
	if err != nil {
		return err
	}
	return h.writeJSON(w, v.media, code, data)
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
func (h *Handler) writeList(w http.ResponseWriter, v *view, meta metav1.ListMeta, items subjects) error {
	if v.format == formatProtobuf {
		return h.writeProtoList(w, v, meta, items)
	}
	if items.len() == 0 && v.as == asPartialList {
		// The one list that kube-apiserver makes of no slice rather than an empty one.
		head := v.appendListHead(nil, meta)
		return h.writeJSON(w, v.media, http.StatusOK, append(head[:len(head)-1], "null}"...))
	}
	if v.format != formatJSON || v.pretty {
		return h.writeWholeList(w, v, meta, items)
	}
	buf := listBuffers.Get().(*[]byte)
	defer func() { *buf = (*buf)[:0]; listBuffers.Put(buf) }()
	b := v.appendListHead((*buf)[:0], meta)
	w.Header().Set("Content-Type", mediaJSON)
	for i := range items.len() {
		var err error
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = v.appendListItem(b, items.at(i)); err != nil {
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

// writeWholeList is for formats that are made from the whole JSON.
func (h *Handler) writeWholeList(w http.ResponseWriter, v *view, meta metav1.ListMeta, items subjects) error {
	b := v.appendListHead(nil, meta)
	for i := range items.len() {
		var err error
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = v.appendListItem(b, items.at(i)); err != nil {
			return err
		}
	}
	return h.writeJSON(w, v.media, http.StatusOK, append(b, "]}"...))
}

// writeProtoList sends the protobuf message of a list.
func (h *Handler) writeProtoList(w http.ResponseWriter, v *view, meta metav1.ListMeta, items subjects) error {
	slot, encode := v.codec.protoSlot, v.codec.encodeProto
	if v.as != "" {
		slot, encode = partialProtoSlot, encodePartialProto
	}
	raws := make([][]byte, items.len())
	for i := range items.len() {
		var err error
		if raws[i], err = items.at(i).Encoding(slot, encode); err != nil {
			return err
		}
	}
	kind, apiVersion := v.listKind()
	body, err := proto.AppendList(nil, apiVersion, kind, &meta, raws)
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, mediaProtobuf, body)
	return nil
}
