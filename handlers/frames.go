package handlers

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"sync"

	"github.com/gorilla/websocket"
)

// frames carry the events of a watch to the client.
type frames interface {
	// begin tells the client that the watch is on.
	begin(contentType string) error
	// event sends one event, which may wait for flush.
	event(data []byte) error
	flush() error
	// end lets go of what begin took. Nothing is written after it.
	end()
}

// httpFrames is the body of a plain answer. Events that arrive together go out
// in one write.
type httpFrames struct {
	w   http.ResponseWriter
	out *http.ResponseController
	buf []byte
}

func newHTTPFrames(w http.ResponseWriter) *httpFrames {
	return &httpFrames{w: w, out: http.NewResponseController(w)}
}

func (f *httpFrames) begin(contentType string) error {
	f.w.Header().Set("Content-Type", contentType)
	f.w.WriteHeader(http.StatusOK)
	return f.out.Flush()
}

func (f *httpFrames) event(data []byte) error {
	f.buf = append(f.buf, data...)
	return nil
}

func (f *httpFrames) flush() error {
	_, err := f.w.Write(f.buf)
	f.buf = f.buf[:0]
	if err != nil {
		return err
	}
	return f.out.Flush()
}

func (f *httpFrames) end() {}

// Subprotocols of a watch over WebSocket: frames as they are, or as base64 in
// text for clients that cannot take binary ones.
const (
	protocolBinary = "binary.k8s.io"
	protocolBase64 = "base64.binary.k8s.io"
)

// wsFrames is a WebSocket; every event is a message of its own.
type wsFrames struct {
	w    http.ResponseWriter
	r    *http.Request
	gone func() // called when the client closes the connection
	text bool

	conn   *websocket.Conn
	reader sync.WaitGroup
}

// newWebSocketFrames are frames over the connection of r. Text tells whether
// events are text; gone is called when the client leaves.
func newWebSocketFrames(w http.ResponseWriter, r *http.Request, text bool, gone func()) *wsFrames {
	return &wsFrames{w: w, r: r, text: text, gone: gone}
}

func (f *wsFrames) begin(string) error {
	upgrader := websocket.Upgrader{
		Subprotocols: []string{protocolBinary, protocolBase64},
		// Credentials come in headers, which another site's page cannot set.
		CheckOrigin: func(*http.Request) bool { return true },
	}
	conn, err := upgrader.Upgrade(innermost(f.w), f.r, nil)
	if err != nil {
		return fmt.Errorf("upgrade to WebSocket: %w", err)
	}
	f.conn = conn
	conn.SetReadLimit(64 << 10)
	f.reader.Go(func() { // ends when the connection is closed, by either side
		defer f.gone()
		for {
			if _, _, err := conn.NextReader(); err != nil {
				return
			}
		}
	})
	return nil
}

func (f *wsFrames) event(data []byte) error {
	switch {
	case f.conn.Subprotocol() == protocolBase64:
		return f.conn.WriteMessage(websocket.TextMessage, []byte(base64.StdEncoding.EncodeToString(data)))
	case f.text && f.conn.Subprotocol() != protocolBinary:
		return f.conn.WriteMessage(websocket.TextMessage, data)
	}
	return f.conn.WriteMessage(websocket.BinaryMessage, data)
}

func (f *wsFrames) flush() error { return nil }

func (f *wsFrames) end() {
	if f.conn == nil {
		return
	}
	bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = f.conn.WriteMessage(websocket.CloseMessage, bye) // a courtesy to who may be gone
	f.conn.Close()
	f.reader.Wait()
}

// innermost is the writer that the HTTP server made, which can be hijacked.
func innermost(w http.ResponseWriter) http.ResponseWriter {
	for {
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return w
		}
		w = u.Unwrap()
	}
}
