package handlers

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/request"
)

// TestCORS checks the headers for allowed and for other origins.
func TestCORS(t *testing.T) {
	h := newHandler(t, func(c *Config) {
		c.AllowedOrigins = []*regexp.Regexp{regexp.MustCompile(`^https://good\.example(:|$)`), regexp.MustCompile(`//[a-z]+\.sub\.example$`)}
	})
	want := map[string]string{
		"Access-Control-Allow-Methods":     "POST, GET, OPTIONS, PUT, DELETE, PATCH",
		"Access-Control-Allow-Headers":     "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since",
		"Access-Control-Expose-Headers":    "Date",
		"Access-Control-Allow-Credentials": "true",
	}
	for _, c := range []struct {
		method, origin, group string
		code                  int
		allowed               bool
	}{
		{"GET", "https://good.example", "testers", 200, true},
		{"GET", "https://good.example:8443", "testers", 200, true},
		{"GET", "http://a.sub.example", "testers", 200, true},
		{"GET", "https://good.example", "strangers", 403, true},
		{"OPTIONS", "https://good.example", "strangers", 204, true},
		{"GET", "https://good.example.evil.example", "testers", 200, false},
		{"GET", "http://good.example", "testers", 200, false},
		{"GET", "null", "testers", 200, false},
		{"GET", "", "testers", 200, false},
		{"OPTIONS", "https://evil.example", "strangers", 403, false},
		{"OPTIONS", "https://evil.example", "testers", 405, false},
		{"OPTIONS", "", "testers", 405, false},
	} {
		headers := []string{"Group", c.group}
		if c.origin != "" {
			headers = append(headers, "Origin", c.origin)
		}
		w := send(t, h, c.method, mapsPath, nil, headers...)
		if w.Code != c.code {
			t.Errorf("%s by %q of %s: %d %s, want %d", c.method, c.origin, c.group, w.Code, w.Body, c.code)
		}
		origin := ""
		if c.allowed {
			origin = c.origin
		}
		if got := w.Header().Get("Access-Control-Allow-Origin"); got != origin {
			t.Errorf("%s by %q: allowed origin %q", c.method, c.origin, got)
		}
		for name, value := range want {
			if got := w.Header().Get(name); got != value && c.allowed || got != "" && !c.allowed {
				t.Errorf("%s by %q: %s is %q", c.method, c.origin, name, got)
			}
		}
	}
}

// TestWebSocketOrigin checks that pages of other origins cannot open a WebSocket, whatever its
// path and the user of the browser.
func TestWebSocketOrigin(t *testing.T) {
	var allowed []*regexp.Regexp
	for _, configured := range []bool{false, true} {
		if configured {
			allowed = []*regexp.Regexp{regexp.MustCompile(`^https://good\.example$`)}
		}
		_, front := newCluster(t, upgrade, func(c *Config) { c.AllowedOrigins = allowed })
		host := front.Listener.Addr().String()
		const pod = "/api/v1/namespaces/ns/pods/p/"
		for path, protocol := range map[string]string{
			"/api/v1/namespaces?watch=1":   "",
			pod + "exec?command=x&tty=1":   "v5.channel.k8s.io",
			pod + "exec?command=y&tty=1":   "v4.channel.k8s.io",
			pod + "portforward?ports=1":    "SPDY/3.1+portforward.k8s.io",
			pod + "log?follow=1":           "",
			pod + "proxy/chat":             "",
			"/api/v1/nodes/n/proxy/socket": "",
		} {
			for origin, want := range map[string]int{
				"": 0, "http://" + host: 0, "http://" + strings.ToUpper(host): 0,
				"https://good.example":      map[bool]int{false: 403}[configured],
				"https://evil.example":      403,
				"https://good.example.evil": 403,
				"http://" + host + ".evil":  403,
				"null":                      403,
			} {
				code, body := openWebSocket(t, host, path, map[string]string{"Origin": origin, "Sec-WebSocket-Protocol": protocol})
				if origin == "" && strings.Contains(path, "watch=1") {
					want = 403 // without a text: a watch requires an Origin
					if code == want && body == "" {
						continue
					}
				}
				if want != 0 && (code != want || !strings.Contains(body, "forbidden: upgrade requests of the origin")) || want == 0 && code == 403 {
					t.Errorf("%s (%s) by origin %q, configured %v: %d %s", path, protocol, origin, configured, code, body)
				}
			}
		}
	}
}

// TestWebSocketOfProgram checks that a program, which a page is not because it cannot add a bearer
// token, opens a WebSocket whatever its origin.
func TestWebSocketOfProgram(t *testing.T) {
	_, front := newCluster(t, upgrade)
	for authorization, foreign := range map[string]bool{"Bearer x": false, "bearer x": false, "Basic eDp5": true, "Bearerx": true} {
		code, body := openWebSocket(t, front.Listener.Addr().String(), "/api/v1/namespaces?watch=1",
			map[string]string{"Origin": "http://localhost", "Authorization": authorization})
		if (code == http.StatusForbidden) != foreign {
			t.Errorf("%q: %d %s", authorization, code, body)
		}
	}
}

// openWebSocket requests a WebSocket with headers, of which empty ones are left out, and returns the
// code and the body of the response.
func openWebSocket(t *testing.T, host, path string, headers map[string]string) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nGroup: %s\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: XW7visyKGwFcxlEMU8FsHg==\r\n",
		path, host, request.GroupMasters)
	for name, value := range headers {
		if value != "" {
			fmt.Fprintf(conn, "%s: %s\r\n", name, value)
		}
	}
	fmt.Fprint(conn, "\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode == http.StatusSwitchingProtocols {
		return response.StatusCode, ""
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}
