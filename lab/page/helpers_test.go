package page

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen.
const patience = 10 * time.Second

// fixture is a page in front of an API.
type fixture struct {
	t      *testing.T
	server *Server
	token  string
	host   string
	// got are the requests that came to the API.
	got chan *http.Request
}

// start serves a page in front of a handler.
func start(t *testing.T, api http.HandlerFunc) *fixture {
	t.Helper()
	f := &fixture{t: t, token: NewToken(), got: make(chan *http.Request, 1000)}
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.got <- r
		api(w, r)
	}))
	u, err := url.Parse(backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableCompression: true}
	f.server, err = Listen(Config{API: transport, URL: u, Token: f.token, Log: slog.New(slog.DiscardHandler)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.server.Close(); err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
		backend.Close()
	})
	page, err := url.Parse(f.server.URL())
	if err != nil {
		t.Fatal(err)
	}
	f.host = page.Host
	return f
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }

// send sends a request as it is written here, so that no client corrects it. lines follow the request line; Host and the
// token are added unless a line has them. It returns the response and its body.
func (f *fixture) send(method, target string, lines ...string) (*http.Response, string) {
	f.t.Helper()
	c, err := net.Dial("tcp", f.host)
	if err != nil {
		f.t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		f.t.Fatal(err)
	}
	has := func(name string) bool {
		for _, l := range lines {
			if strings.HasPrefix(l, name+":") {
				return true
			}
		}
		return false
	}
	var body string
	var head []string
	for _, l := range lines {
		if b, isBody := strings.CutPrefix(l, "\n"); isBody {
			body = b
			continue
		}
		if l != "Authorization:" { // without a token
			head = append(head, l)
		}
	}
	if !has("Host") {
		head = append([]string{"Host: " + f.host}, head...)
	}
	if !has("Authorization") {
		head = append(head, "Authorization: Bearer "+f.token)
	}
	fmt.Fprintf(c, "%s %s HTTP/1.1\r\n%s\r\nConnection: close\r\n\r\n%s", method, target, strings.Join(head, "\r\n"), body)
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		f.t.Fatalf("%s %s: %v", method, target, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil && method != http.MethodHead {
		f.t.Fatalf("%s %s: %v", method, target, err)
	}
	return resp, string(text)
}

// untouched checks that no request came to the API.
func (f *fixture) untouched(what string) {
	f.t.Helper()
	select {
	case r := <-f.got:
		f.t.Errorf("%s: %s %s came to the API", what, r.Method, r.RequestURI)
	default:
	}
}
