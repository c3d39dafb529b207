package representation

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/proto"
)

// writeBufferSize is the size of net/http's write buffer: two writes that fit into it become
// one.
const writeBufferSize = 4 << 10

var newline = []byte{'\n'}

func writeHead(w http.ResponseWriter, code int, contentType string, length int) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(length))
	w.WriteHeader(code)
}

// WriteBody sends a complete response, compressed if it is large.
func WriteBody(w http.ResponseWriter, code int, contentType string, body []byte) {
	if len(body) > gzipThreshold && compressible(w) {
		if small, err := gzipWhole(body); err == nil {
			body = small
			setGzip(w.Header())
		}
	}
	writeHead(w, code, contentType, len(body))
	w.Write(body) // the client may have disconnected
}

// WriteJSON sends JSON in the negotiated format, converted to YAML or CBOR or indented if
// necessary.
func WriteJSON(w http.ResponseWriter, m Media, code int, data []byte) error {
	if m.Format == FormatJSON && !m.Pretty && len(data) < writeBufferSize {
		writeHead(w, code, MediaJSON, len(data)+1)
		w.Write(data) // the client may have disconnected
		w.Write(newline)
		return nil
	}
	mediaType, body, err := m.encode(data)
	if err == nil {
		WriteBody(w, code, mediaType, body)
	}
	return err
}

// encode returns the media type and the body of a response, which data has in JSON.
func (m Media) encode(data []byte) (mediaType string, body []byte, err error) {
	switch {
	case m.Format == FormatCBOR:
		body, err = ToCBOR(data)
		return MediaCBOR, body, err
	case m.Format == FormatYAML:
		body, err = ToYAML(data)
		return MediaYAML, body, err
	case m.Pretty:
		return MediaJSON, Indent(data), nil // without a newline at the end, as in kube-apiserver
	}
	return MediaJSON, append(data[:len(data):len(data)], '\n'), nil
}

// WriteObject sends one object.
func (v *View) WriteObject(w http.ResponseWriter, code int, s Encodable) error {
	if v.fault != nil {
		return v.fault
	}
	if v.scope != nil {
		defer v.observe(time.Now())
		if err := v.auditObject(s); err != nil {
			return err
		}
	}
	if v.Format == FormatProtobuf {
		data, err := v.proto(s)
		if err != nil {
			return err
		}
		WriteBody(w, code, MediaProtobuf, data)
		return nil
	}
	if v.Format == FormatCBOR {
		data, err := v.appendCBOR(nil, s)
		if err != nil {
			return err
		}
		WriteBody(w, code, MediaCBOR, data)
		return nil
	}
	if v.as == "" { // the cached encoding is sent without a copy
		data, err := s.Encoding(v.codec.jsonSlot, v.codec.toJSON)
		if err != nil {
			return err
		}
		return WriteJSON(w, v.Media, code, data)
	}
	data, err := v.appendJSON(nil, s, s.ResourceVersion(), true)
	if err != nil {
		return err
	}
	return WriteJSON(w, v.Media, code, data)
}

// WriteStatus sends a Status.
func (p *Responder) WriteStatus(w http.ResponseWriter, r *http.Request, m Media, code int, s *metav1.Status) {
	auditStatus(r, s)
	p.writeStatus(w, r, m, code, s)
}

func (p *Responder) writeStatus(w http.ResponseWriter, r *http.Request, m Media, code int, s *metav1.Status) {
	if m.Format == FormatProtobuf {
		if raw, err := s.Marshal(); err == nil {
			WriteBody(w, code, MediaProtobuf, proto.AppendRaw(nil, "v1", "Status", raw))
			return
		}
	}
	data, err := json.Marshal(s)
	if err == nil {
		err = WriteJSON(w, m, code, data)
	}
	if err == nil {
		return
	}
	// kube-apiserver responds with the fault of the encoding then, under the code of the Status.
	fault := p.Status(r, err)
	if data, err = json.Marshal(fault); err == nil {
		err = WriteJSON(w, m, code, data)
	}
	if err != nil {
		p.RequestLogger(r).Error("cannot encode a Status", "error", err)
		http.Error(w, fmt.Sprintf("%s: %s", fault.Reason, fault.Message), code)
	}
}
