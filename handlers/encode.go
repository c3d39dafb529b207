package handlers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/proto"
)

// gathered is the size of net/http's write buffer: two writes that fit into it become
// one.
const gathered = 4 << 10

// writeLine sends a complete response body and a newline.
func writeLine(w http.ResponseWriter, code int, contentType string, body []byte) {
	if len(body) >= gathered {
		writeBody(w, code, contentType, append(body[:len(body):len(body)], '\n'))
		return
	}
	writeHead(w, code, contentType, len(body)+1)
	w.Write(body) // the client may have disconnected
	w.Write(newline)
}

var newline = []byte{'\n'}

func writeHead(w http.ResponseWriter, code int, contentType string, length int) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(length))
	w.WriteHeader(code)
}

// writeBody sends a complete response, compressed if it is large.
func writeBody(w http.ResponseWriter, code int, contentType string, body []byte) {
	if len(body) > gzipThreshold && compressible(w) {
		if small, err := gzipWhole(body); err == nil {
			body = small
			setGzip(w.Header())
		}
	}
	writeHead(w, code, contentType, len(body))
	w.Write(body) // the client may have disconnected
}

// writeJSON sends JSON in the negotiated format, converted to YAML or indented if
// necessary.
func (h *Handler) writeJSON(w http.ResponseWriter, m media, code int, data []byte) error {
	switch {
	case m.format == formatYAML:
		out, err := toYAML(data)
		if err != nil {
			return fmt.Errorf("encode YAML: %w", err)
		}
		data = out
	case m.pretty:
		data = append(indent(data), '\n')
	default:
		writeLine(w, code, m.contentType(), data)
		return nil
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
	if v.as == "" { // the cached encoding is sent without a copy
		data, err := s.Encoding(v.codec.jsonSlot, v.codec.toJSON)
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
