package handlers

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/miniapiserver/miniapiserver/handlers/proxy"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
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
// in one write, or in a few where they are large.
type httpFrames struct {
	w   http.ResponseWriter
	out *http.ResponseController
	buf []byte

	patience time.Duration // how long a client may take no more
	stall    *time.Timer   // runs while something is written
	stalled  chan struct{} // closed when it ran out, and the connection is cut
	failed   error         // of the write after which there is no other
}

// errStalled: the client is there but reads nothing. Without a bound such
// clients would hold on to what they were to get for ever.
var errStalled = errors.New("the client does not read")

// watchChunk is how much is put together before it is written.
const watchChunk = 256 << 10

func newHTTPFrames(w http.ResponseWriter, patience time.Duration) *httpFrames {
	f := &httpFrames{w: w, out: http.NewResponseController(w), patience: patience, stalled: make(chan struct{})}
	f.stall = time.AfterFunc(time.Hour, func() {
		defer close(f.stalled)
		// Where a connection has no deadlines, nothing blocks for long.
		_ = f.out.SetWriteDeadline(time.Unix(1, 0))
	})
	f.stall.Stop() // until something is written
	return f
}

func (f *httpFrames) begin(contentType string) error {
	f.w.Header().Set("Content-Type", contentType)
	f.stall.Reset(f.patience)
	f.w.WriteHeader(http.StatusOK)
	return f.written(f.out.Flush())
}

func (f *httpFrames) event(data []byte) error {
	f.buf = append(f.buf, data...)
	if len(f.buf) < watchChunk {
		return nil
	}
	return f.write()
}

func (f *httpFrames) flush() error {
	if err := f.write(); err != nil {
		return err
	}
	f.stall.Reset(f.patience)
	return f.written(f.out.Flush())
}

func (f *httpFrames) write() error {
	if f.failed != nil {
		return f.failed
	}
	f.stall.Reset(f.patience)
	_, err := f.w.Write(f.buf)
	if f.buf = f.buf[:0]; cap(f.buf) > 2*watchChunk {
		f.buf = nil // a watch may live long, and what was large is rare
	}
	return f.written(err)
}

// written ends a write that had err.
func (f *httpFrames) written(err error) error {
	if !f.stall.Stop() {
		<-f.stalled // the connection is not ours once the request is done
		err = errStalled
	}
	f.failed = err
	return err
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

	patience time.Duration // how long a client may take no more

	conn   *websocket.Conn
	reader sync.WaitGroup
}

// newWebSocketFrames are frames over the connection of r. Text tells whether
// events are text; gone is called when the client leaves.
func newWebSocketFrames(w http.ResponseWriter, r *http.Request, patience time.Duration, text bool, gone func()) *wsFrames {
	return &wsFrames{w: w, r: r, patience: patience, text: text, gone: gone}
}

func (f *wsFrames) begin(string) error {
	upgrader := websocket.Upgrader{
		Subprotocols: []string{protocolBinary, protocolBase64},
		// The chain has refused foreign origins.
		CheckOrigin: func(*http.Request) bool { return true },
	}
	conn, err := upgrader.Upgrade(proxy.Innermost(f.w), f.r, nil)
	if err != nil {
		return fmt.Errorf("upgrade to WebSocket: %w", err)
	}
	f.conn = conn
	conn.SetReadLimit(64 << 10)
	f.reader.Go(func() { // ends when the connection is closed, by either side
		_ = recovery.Call(nil, "reading a WebSocket", func() {
			for {
				if _, _, err := conn.NextReader(); err != nil {
					return
				}
			}
		})
		f.gone()
	})
	return nil
}

func (f *wsFrames) event(data []byte) error {
	_ = f.conn.SetWriteDeadline(time.Now().Add(f.patience)) // never fails
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
	_ = f.conn.SetWriteDeadline(time.Now().Add(time.Second)) // never fails
	bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = f.conn.WriteMessage(websocket.CloseMessage, bye) // a courtesy to who may be gone
	f.conn.Close()
	f.reader.Wait()
}
