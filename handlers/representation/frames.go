package representation

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/miniapiserver/miniapiserver/handlers/proxy"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// Frames sends the events of a watch to the client.
type Frames interface {
	// Begin starts the response.
	Begin(contentType string) error
	// Event sends one event, which may be buffered until Flush.
	Event(data []byte) error
	// Flush sends buffered events.
	Flush() error
	// End releases the resources of the connection. Nothing is written after it.
	End()
}

// httpFrames writes events to a plain HTTP response. Events that arrive together are
// sent in one write, or in a few if they are large.
type httpFrames struct {
	w   http.ResponseWriter
	out *http.ResponseController
	// buf has the events that are not written yet. It is nil between a write and the next event.
	buf *frameBuffer
	// compress means that each write is a gzip stream of its own, since an idle watch must not hold
	// the state of a compressor. Clients read the streams as one.
	compress bool

	writeTimeout time.Duration // maximum duration of a write
	stall        *time.Timer   // runs during a write
	stalled      chan struct{} // closed when stall has expired and the write was aborted
	failed       error         // first error; nothing is written after it
}

// errStalled reports that the client is connected but does not read. Without a bound
// the events for such clients would stay in memory.
var errStalled = errors.New("the client does not read")

// watchChunk is the size up to which events are buffered before a write.
const watchChunk = 256 << 10

// frameBuffer is a buffer for events. A watch without events has none: it may live long, and its first events, which are all
// objects that it selects, were many.
type frameBuffer struct{ data []byte }

var frameBuffers = sync.Pool{New: func() any { return new(frameBuffer) }}

func takeFrameBuffer() *frameBuffer { return frameBuffers.Get().(*frameBuffer) }

// release gives the buffer to other watches, unless large events made it large, which are rare.
func (b *frameBuffer) release() {
	if cap(b.data) <= 2*watchChunk {
		b.data = b.data[:0]
		frameBuffers.Put(b)
	}
}

// NewHTTPFrames returns frames in the body of an HTTP response. A write that takes longer than
// writeTimeout ends the watch. If mayCompress is true, the response is compressed for a client
// that accepts gzip.
func NewHTTPFrames(w http.ResponseWriter, writeTimeout time.Duration, mayCompress bool) Frames {
	f := &httpFrames{w: w, out: http.NewResponseController(w), writeTimeout: writeTimeout,
		stalled: make(chan struct{}), compress: mayCompress && compressible(w)}
	f.stall = time.AfterFunc(time.Hour, func() {
		defer close(f.stalled)
		// Connections without deadlines do not block for long.
		_ = f.out.SetWriteDeadline(time.Unix(1, 0))
	})
	f.stall.Stop() // until the first write
	return f
}

func (f *httpFrames) Begin(contentType string) error {
	f.w.Header().Set("Content-Type", contentType)
	if f.compress {
		setGzip(f.w.Header())
	}
	f.stall.Reset(f.writeTimeout)
	f.w.WriteHeader(http.StatusOK)
	return f.written(f.out.Flush())
}

func (f *httpFrames) Event(data []byte) error {
	if f.buf == nil {
		f.buf = takeFrameBuffer()
	}
	f.buf.data = append(f.buf.data, data...)
	if len(f.buf.data) < watchChunk {
		return nil
	}
	return f.write()
}

func (f *httpFrames) Flush() error {
	if err := f.write(); err != nil {
		return err
	}
	f.stall.Reset(f.writeTimeout)
	return f.written(f.out.Flush())
}

func (f *httpFrames) write() error {
	if f.failed != nil {
		return f.failed
	}
	var data []byte
	if f.buf != nil {
		defer f.buf.release()
		data, f.buf = f.buf.data, nil
	}
	if f.compress && len(data) > 0 {
		if data, f.failed = gzipWhole(data); f.failed != nil {
			return f.failed
		}
	}
	f.stall.Reset(f.writeTimeout)
	_, err := f.w.Write(data)
	return f.written(err)
}

// written finishes a write that returned err.
func (f *httpFrames) written(err error) error {
	if !f.stall.Stop() {
		<-f.stalled // the timer must not touch the connection after the request
		err = errStalled
	}
	f.failed = err
	return err
}

func (f *httpFrames) End() {}

// webSocketFrames sends every event as a WebSocket message.
type webSocketFrames struct {
	w       http.ResponseWriter
	r       *http.Request
	onClose func() // called when the client closes the connection
	framing Framing

	writeTimeout time.Duration // maximum duration of a write

	conn   *websocket.Conn
	reader sync.WaitGroup
}

// Framing is the form of the messages of a WebSocket.
type Framing struct {
	// text is true for text messages, and false for binary ones.
	text bool
	// prefix is the length of the prefix of an event that a message does not have: the size of the
	// event, which that of the message tells.
	prefix int
	// subprotocols are those of which the client may choose one; nil for watches, whose clients may
	// name any one, which changes nothing.
	subprotocols []string
}

// Subprotocols of a log over WebSocket: binary frames, or base64 in text frames for clients that
// cannot receive binary ones.
const (
	protocolBinary = "binary.k8s.io"
	protocolBase64 = "base64.binary.k8s.io"
)

// LogFraming returns the form of a log as the messages of a WebSocket.
func LogFraming() Framing { return Framing{subprotocols: []string{protocolBinary, protocolBase64}} }

// check returns the status code of a handshake. As in kube-apiserver, a watch requires an absolute
// Origin, whoever sends the request, and at most one subprotocol; a log requires a subprotocol that
// it has, or none.
func (f Framing) check(r *http.Request, offered []string) int {
	if f.subprotocols != nil {
		isServed := func(p string) bool { return slices.Contains(f.subprotocols, p) }
		if len(offered) > 0 && !slices.ContainsFunc(offered, isServed) {
			return http.StatusForbidden
		}
		return http.StatusOK
	}
	origin := r.Header.Get("Origin")
	if _, err := url.ParseRequestURI(origin); err != nil || origin == "null" {
		return http.StatusForbidden
	}
	if len(offered) > 1 {
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// NewWebSocketFrames returns frames over the connection of r, each a message. onClose is called
// when the client closes the connection.
func NewWebSocketFrames(w http.ResponseWriter, r *http.Request, writeTimeout time.Duration, framing Framing, onClose func()) Frames {
	return &webSocketFrames{w: w, r: r, writeTimeout: writeTimeout, framing: framing, onClose: onClose}
}

func (f *webSocketFrames) Begin(string) error {
	protocols := websocket.Subprotocols(f.r)
	if code := f.framing.check(f.r, protocols); code != http.StatusOK {
		f.w.Header()["Content-Type"] = nil // the response has no body
		f.w.WriteHeader(code)
		return fmt.Errorf("refuse a WebSocket with status code %d", code)
	}
	if f.framing.subprotocols != nil {
		protocols = f.framing.subprotocols
	}
	upgrader := websocket.Upgrader{
		Subprotocols: protocols,
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
		f.onClose()
	})
	return nil
}

func (f *webSocketFrames) Event(data []byte) error {
	_ = f.conn.SetWriteDeadline(time.Now().Add(f.writeTimeout)) // never fails
	if f.framing.subprotocols != nil && f.conn.Subprotocol() == protocolBase64 {
		return f.conn.WriteMessage(websocket.TextMessage, []byte(base64.StdEncoding.EncodeToString(data)))
	}
	if data = data[f.framing.prefix:]; f.framing.text {
		return f.conn.WriteMessage(websocket.TextMessage, data)
	}
	return f.conn.WriteMessage(websocket.BinaryMessage, data)
}

func (f *webSocketFrames) Flush() error { return nil }

func (f *webSocketFrames) End() {
	if f.conn == nil {
		return
	}
	_ = f.conn.SetWriteDeadline(time.Now().Add(time.Second)) // never fails
	bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = f.conn.WriteMessage(websocket.CloseMessage, bye) // the client may have disconnected
	f.conn.Close()
	f.reader.Wait()
}
