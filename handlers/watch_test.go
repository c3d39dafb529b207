package handlers

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	"github.com/gorilla/websocket"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/request"
)

// event is a watch event, as far as the tests look at it.
type event struct {
	Type   string
	Object struct {
		Kind     string
		Code     int
		Metadata struct{ Name, ResourceVersion string }
	}
}

// serveOver serves h over HTTP/1.1 or HTTP/2.
func serveOver(t *testing.T, h http.Handler, http2 bool) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = http2
	if http2 {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// open starts a watch.
func open(t *testing.T, s *httptest.Server, query string) (*http.Response, *json.Decoder) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+mapsPath+"?watch=1&"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Group", request.GroupMasters)
	response, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response, json.NewDecoder(response.Body)
}

// next returns the next event of a watch.
func next(t *testing.T, d *json.Decoder) event {
	t.Helper()
	var e event
	if err := d.Decode(&e); err != nil {
		t.Fatal(err)
	}
	return e
}

// watches returns the metric of long-running requests as text.
func watches(t *testing.T, h *Handler) string {
	t.Helper()
	_, text := series(t, h.Metrics, "apiserver_longrunning_requests")
	return text
}

// TestWatchOverHTTP checks the events of a watch, and its end by the client and by shutdown.
func TestWatchOverHTTP(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprint("HTTP/2 ", http2), func(t *testing.T) {
			h := newHandler(t, nil)
			addMaps(t, h, "a")
			s := serveOver(t, h, http2)
			response, events := open(t, s, "allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan")
			if response.StatusCode != 200 || response.Header.Get("Content-Type") != representation.MediaJSON || (response.ProtoMajor == 2) != http2 {
				t.Fatalf("%s %s %s", response.Proto, response.Status, response.Header)
			}
			want := func(kind, name string) {
				t.Helper()
				if e := next(t, events); e.Type != kind || e.Object.Metadata.Name != name {
					t.Errorf("got %+v, want %s of %q", e, kind, name)
				}
			}
			want("ADDED", "a")
			want("BOOKMARK", "")
			addMaps(t, h, "b")
			want("ADDED", "b")
			sendText(t, h, http.MethodDelete, mapsPath+"/a", "")
			want("DELETED", "a")
			if got := watches(t, h); !strings.Contains(got, "gauge:{value:1}") {
				t.Errorf("watches are %s", got)
			}
			response.Body.Close() // the client disconnects
			eventually.True(t, "the end of the watch", func() bool { return strings.Contains(watches(t, h), "gauge:{value:0}") })

			response, _ = open(t, s, "resourceVersion=0")
			h.BeginShutdown(0)
			if _, err := io.Copy(io.Discard, response.Body); err != nil {
				t.Errorf("shutdown does not end a watch cleanly: %v", err)
			}
		})
	}
}

// TestWatchOfStalledClient checks that the watch of a client that does not read ends.
func TestWatchOfStalledClient(t *testing.T) {
	for _, socket := range []bool{false, true} {
		t.Run(fmt.Sprint("WebSocket ", socket), func(t *testing.T) {
			h := newHandler(t, func(c *Config) { c.RequestTimeout = 300 * time.Millisecond })
			l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
			s := &http.Server{Handler: h}
			go s.Serve(l)
			t.Cleanup(func() { s.Close() })
			client, server := net.Pipe() // no buffer: each write waits for a read
			l.conns <- server
			defer client.Close()
			upgrade := ""
			if socket {
				upgrade = "Origin: http://x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MTIzNDU2Nzg5MDEyMzQ1Ng==\r\n"
			}
			fmt.Fprintf(client, "GET %s?watch=1 HTTP/1.1\r\nHost: x\r\nGroup: %s\r\n%s\r\n", mapsPath, request.GroupMasters, upgrade)
			if _, err := http.ReadResponse(bufio.NewReader(client), nil); err != nil {
				t.Fatal(err)
			}
			eventually.True(t, "the beginning of the watch", func() bool { return strings.Contains(watches(t, h), "gauge:{value:1}") })
			addMaps(t, h, "a")
			eventually.True(t, "the end of the watch", func() bool { return strings.Contains(watches(t, h), "gauge:{value:0}") })
		})
	}
}

// pipes is a listener for connections without a network.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

// TestWatchOverWebSocket checks the handshake and the messages of a watch: it has one subprotocol, whatever it
// is, and requires an absolute Origin.
func TestWatchOverWebSocket(t *testing.T) {
	h := newHandler(t, nil)
	addMaps(t, h, "a")
	s := serveOver(t, h, false)
	for _, c := range []struct {
		protocols []string
		origin    string
		code      int
	}{
		{nil, s.URL, 101}, {[]string{"binary.k8s.io"}, s.URL, 101}, {[]string{"base64.binary.k8s.io"}, s.URL, 101}, {[]string{"nonsense"}, s.URL, 101},
		{[]string{"a", "b"}, s.URL, 400}, {nil, "", 403}, {nil, "x", 403}, {nil, "null", 403}, {nil, "%", 403},
	} {
		header := http.Header{"Group": {request.GroupMasters}, "Authorization": {"Bearer x"}}
		if c.origin != "" {
			header["Origin"] = []string{c.origin}
		}
		d := websocket.Dialer{Subprotocols: c.protocols}
		conn, response, err := d.DialContext(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+mapsPath+"?watch=1", header)
		if response == nil || response.StatusCode != c.code || (err == nil) != (c.code == 101) {
			t.Errorf("%q by %q: %v, %v", c.protocols, c.origin, response, err)
		}
		if err != nil {
			continue
		}
		kind, data, err := conn.ReadMessage()
		if err != nil || kind != websocket.TextMessage || len(c.protocols) > 0 && conn.Subprotocol() != c.protocols[0] {
			t.Errorf("%q: a message of kind %d in %q, %v", c.protocols, kind, conn.Subprotocol(), err)
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil || e.Type != "ADDED" || e.Object.Metadata.Name != "a" {
			t.Errorf("%q: %s, %v", c.protocols, data, err)
		}
		conn.Close() // without a close message, like a client that crashes
		eventually.True(t, "the end of the watch", func() bool { return strings.Contains(watches(t, h), "gauge:{value:0}") })
	}
}

// TestWatchOfGoneRevision checks the errors of watches that cannot begin.
func TestWatchOfGoneRevision(t *testing.T) {
	h := newHandler(t, nil)
	w := sendText(t, h, http.MethodGet, mapsPath+"?watch=1&resourceVersion=99999999&timeoutSeconds=1", "")
	if w.Code != http.StatusOK && statusIn(t, w).Reason != "Timeout" {
		t.Errorf("a future revision: %d %s", w.Code, w.Body)
	}
	for path, want := range map[string]int{"?watch=1&resourceVersion=x": 500, "?watch=1&labelSelector=(": 400, "?watch=1&resourceVersionMatch=Exact": 422} {
		if w := sendText(t, h, http.MethodGet, mapsPath+path, ""); w.Code != want {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestWatchDuringShutdown checks that no watch begins after shutdown has begun.
func TestWatchDuringShutdown(t *testing.T) {
	h := newHandler(t, nil)
	h.BeginShutdown(0)
	if w := sendText(t, h, http.MethodGet, mapsPath+"?watch=1", ""); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "shutting down") {
		t.Errorf("a watch during shutdown: %d %s", w.Code, w.Body)
	}
	if w := sendText(t, h, http.MethodGet, "/readyz", ""); w.Code != http.StatusInternalServerError {
		t.Errorf("/readyz during shutdown: %d %s", w.Code, w.Body)
	}
}
