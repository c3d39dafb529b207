package server

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// slowly is the maximum time for which an inactive client may occupy a connection in these
// tests, whose request timeout is half a second.
const slowly = 20 * time.Second

// dialTLS opens a TLS connection to the server.
func dialTLS(t *testing.T, s *Server, protocol string) *tls.Conn {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.CA)
	conn, err := tls.Dial("tcp", strings.TrimPrefix(s.URL, "https://"), &tls.Config{RootCAs: roots, ServerName: s.admin.ServerName, NextProtos: []string{protocol}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// untilClosed reads until the server closes the connection.
func untilClosed(t *testing.T, conn net.Conn, from io.Reader) []byte {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(slowly))
	data, err := io.ReadAll(from)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection is still open")
	}
	return data
}

// trickle sends single bytes until the connection is closed.
func trickle(t *testing.T, conn net.Conn) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			if _, err := conn.Write([]byte(" ")); err != nil {
				return
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-t.Context().Done():
				return
			}
		}
	}()
	t.Cleanup(func() { conn.Close(); <-ended })
}

// TestTrickle checks that a body that arrives byte by byte does not occupy a connection,
// whatever the request and its user are, and whether the handler reads the body or not.
func TestTrickle(t *testing.T) {
	s := run(t, Options{Limits: Limits{RequestTimeout: 500 * time.Millisecond}, Serving: Serving{InsecurePort: -1}})
	const maps = "/api/v1/namespaces/default/configmaps"
	for _, tt := range []struct{ name, head, token string }{
		{"nobody's body", "POST " + maps, ""},
		{"a body", "POST " + maps, s.Token},
		{"a patch", "PATCH " + maps + "/x", s.Token},
		{"the options of a deletion", "DELETE " + maps + "/x", s.Token},
		{"the body of a get", "GET " + maps, s.Token},
		{"the body of what is no resource", "POST /version", s.Token},
		{"the body of a watch", "GET " + maps + "?watch=1&timeoutSeconds=1", s.Token},
		{"the body of what is not there", "POST /nothing", s.Token},
	} {
		for _, secure := range []bool{true, false} {
			if !secure && tt.token == "" {
				continue // there is no nobody on this port
			}
			t.Run(fmt.Sprintf("%s, TLS %v", tt.name, secure), func(t *testing.T) {
				t.Parallel()
				var conn net.Conn
				if secure {
					conn = dialTLS(t, s, "http/1.1")
				} else {
					var err error
					if conn, err = net.Dial("tcp", strings.TrimPrefix(s.InsecureURL, "http://")); err != nil {
						t.Fatal(err)
					}
				}
				head := tt.head + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\nContent-Type: application/json\r\n"
				if tt.head[:5] == "PATCH" {
					head = strings.Replace(head, "application/json", "application/merge-patch+json", 1)
				}
				if tt.token != "" {
					head += "Authorization: Bearer " + tt.token + "\r\n"
				}
				if _, err := io.WriteString(conn, head+"\r\n"); err != nil {
					t.Fatal(err)
				}
				trickle(t, conn)
				response := untilClosed(t, conn, conn)
				if !bytes.HasPrefix(response, []byte("HTTP/1.1 ")) {
					t.Errorf("the answer is %.100q", response)
				}
			})
		}
	}
}

// TestUnreadResponses checks that a client that does not read small responses cannot occupy
// a connection.
func TestUnreadResponses(t *testing.T) {
	s := run(t, Options{Limits: Limits{RequestTimeout: 500 * time.Millisecond}})
	conn := dialTLS(t, s, "http/1.1")
	one := "GET /openapi/v2?timeout=1s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + s.Token + "\r\n\r\n"
	requests := strings.Repeat(one, 100)
	begin := time.Now()
	for time.Since(begin) < slowly {
		_ = conn.SetWriteDeadline(time.Now().Add(slowly))
		_, err := io.WriteString(conn, requests)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			return // the server has had enough
		}
	}
	t.Error("the connection is still open")
}

// TestJammed checks that the server closes an HTTP/2 connection whose client opens the
// largest window, sends many requests and reads no response.
func TestJammed(t *testing.T) {
	// Long enough to fill the connection with a response under the race detector.
	s := run(t, Options{Limits: Limits{RequestTimeout: 4 * time.Second}})
	conn := dialTLS(t, s, "h2")
	f := http2.NewFramer(conn, conn)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	const most = 1<<31 - 1
	_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: most})
	_ = f.WriteWindowUpdate(0, most-1<<16)
	_ = conn.SetWriteDeadline(time.Now().Add(slowly))
	for stream := uint32(1); ; stream += 2 {
		err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: header(s, "/openapi/v2"), EndHeaders: true, EndStream: true})
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("the connection is still open")
		}
		if err != nil {
			return // the server has had enough
		}
	}
}

// header encodes the header of a GET without the dynamic table of a connection.
func header(s *Server, path string) []byte {
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, h := range [][2]string{{":method", http.MethodGet}, {":scheme", "https"}, {":authority", "localhost"}, {":path", path}, {"authorization", "Bearer " + s.Token}} {
		_ = enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1], Sensitive: true})
	}
	return block.Bytes()
}

// TestNoWindow checks the same for an HTTP/2 client whose window is 0.
func TestNoWindow(t *testing.T) {
	s := run(t, Options{Limits: Limits{RequestTimeout: 500 * time.Millisecond}})
	for _, path := range []string{"/version", "/api/v1/namespaces", "/api/v1/namespaces?watch=1"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			conn := dialTLS(t, s, "h2")
			reader := bufio.NewReader(conn)
			f := http2.NewFramer(conn, reader)
			f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
			if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
				t.Fatal(err)
			}
			_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: header(s, path), EndHeaders: true, EndStream: true}); err != nil {
				t.Fatal(err)
			}
			_ = conn.SetReadDeadline(time.Now().Add(slowly))
			for {
				frame, err := f.ReadFrame()
				if errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatal("the stream is still open")
				}
				if err != nil {
					return
				}
				switch frame.(type) {
				case *http2.RSTStreamFrame, *http2.GoAwayFrame:
					return
				case *http2.DataFrame:
					if frame.Header().Length > 0 {
						t.Fatal("the server sent data beyond the window")
					}
				}
			}
		})
	}
}

// TestConnectionTimeouts checks the time limits of a handshake, a header and an idle
// connection.
func TestConnectionTimeouts(t *testing.T) {
	o := Options{}.withDefaults()
	h := newHTTPServer(&o, slog.DiscardHandler, http.NotFoundHandler())
	if h.ReadHeaderTimeout <= 0 || h.ReadHeaderTimeout > time.Minute { // that of a handshake too
		t.Error("headers", h.ReadHeaderTimeout)
	}
	if h.IdleTimeout <= 0 || h.IdleTimeout > 5*time.Minute {
		t.Error("idle", h.IdleTimeout)
	}
	if h.WriteTimeout <= o.Limits.RequestTimeout {
		t.Error("answers", h.WriteTimeout)
	}
}
