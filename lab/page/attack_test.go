package page

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const podsPath = "/api/v1/pods"

// TestOrigins checks that only the page itself reaches the API, and only under its own names.
func TestOrigins(t *testing.T) {
	f := start(t, ok)
	_, port, err := net.SplitHostPort(f.host)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		line []string
		code int
	}{
		{"plain", nil, 200},
		{"localhost", []string{"Host: localhost:" + port}, 200},
		{"own origin", []string{"Origin: http://" + f.host}, 200},
		{"own site", []string{"Sec-Fetch-Site: same-origin"}, 200},
		{"address bar", []string{"Sec-Fetch-Site: none"}, 200},
		{"name that resolves to 127.0.0.1", []string{"Host: evil.example.com:" + port}, 421},
		{"name without a port", []string{"Host: localhost"}, 421},
		{"another port", []string{"Host: 127.0.0.1:1"}, 421},
		{"another loopback address", []string{"Host: 127.0.0.2:" + port}, 421},
		{"IPv6 address", []string{"Host: [::1]:" + port}, 421},
		{"capital letters", []string{"Host: LOCALHOST:" + port}, 421},
		{"trailing dot", []string{"Host: localhost.:" + port}, 421},
		{"subdomain", []string{"Host: a.localhost:" + port}, 421},
		{"no host", []string{"Host:"}, 421},
		{"foreign origin", []string{"Origin: http://evil.example.com"}, 403},
		{"origin null", []string{"Origin: null"}, 403},
		{"other port of the origin", []string{"Origin: http://127.0.0.1:1"}, 403},
		{"https origin", []string{"Origin: https://" + f.host}, 403},
		{"localhost for 127.0.0.1", []string{"Origin: http://localhost:" + port}, 403},
		{"longer origin", []string{"Origin: http://" + f.host + ".evil.example.com"}, 403},
		{"two origins", []string{"Origin: http://" + f.host, "Origin: http://evil.example.com"}, 403},
		{"cross site", []string{"Sec-Fetch-Site: cross-site"}, 403},
		{"same site", []string{"Sec-Fetch-Site: same-site"}, 403},
		{"unknown site", []string{"Sec-Fetch-Site: x"}, 403},
		{"two sites", []string{"Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"}, 403},
	} {
		resp, body := f.send("GET", podsPath, c.line...)
		if resp.StatusCode != c.code {
			t.Errorf("%s: %d, want %d: %s", c.name, resp.StatusCode, c.code, body)
		}
		if c.code == 200 {
			<-f.got
			continue
		}
		f.untouched(c.name)
		if resp, _ := f.send("GET", "/", c.line...); resp.StatusCode != c.code {
			t.Errorf("%s: the files answer %d, want %d", c.name, resp.StatusCode, c.code)
		}
	}
	if resp, _ := f.send("GET", "http://evil.example.com"+podsPath); resp.StatusCode != 421 {
		t.Errorf("address with a foreign host: %d", resp.StatusCode)
	}
	f.untouched("address with a foreign host")
	resp, _ := f.send("OPTIONS", podsPath, "Origin: http://evil.example.com", "Access-Control-Request-Method: GET")
	if resp.StatusCode != 403 || resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("preflight: %d %v", resp.StatusCode, resp.Header)
	}
}

// TestTokens checks that each request to the API needs the token, in one header.
func TestTokens(t *testing.T) {
	f := start(t, ok)
	other := NewToken()
	for name, lines := range map[string][]string{
		"none":               {"Authorization:"},
		"another":            {"Authorization: Bearer " + other},
		"the beginning":      {"Authorization: Bearer " + f.token[:20]},
		"more":               {"Authorization: Bearer " + f.token + "x"},
		"other case":         {"Authorization: Bearer " + strings.ToUpper(f.token)},
		"another scheme":     {"Authorization: Basic " + f.token},
		"no scheme":          {"Authorization: " + f.token},
		"empty":              {"Authorization: Bearer "},
		"two":                {"Authorization: Bearer " + f.token, "Authorization: Bearer " + other},
		"a wrong one before": {"Authorization: Bearer " + other, "Authorization: Bearer " + f.token},
		"cookie":             {"Authorization:", "Cookie: token=" + f.token},
	} {
		for _, path := range []string{podsPath, "/apis", "/api", "/metrics", "/openapi/v3", "/debug/api_priority_and_fairness/dump_queues"} {
			resp, body := f.send("GET", path, lines...)
			if resp.StatusCode != http.StatusUnauthorized || strings.Contains(body, f.token) {
				t.Errorf("%s: %s answers %d %s", name, path, resp.StatusCode, body)
			}
		}
		f.untouched(name)
	}
	if resp, _ := f.send("GET", podsPath+"?token="+f.token, "Authorization:"); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("token in the address: %d", resp.StatusCode)
	}
	if resp, _ := f.send("GET", podsPath, "Authorization: bearer "+f.token); resp.StatusCode != http.StatusOK {
		t.Errorf("small letters of the scheme: %d", resp.StatusCode)
	}
	if a, b := NewToken(), NewToken(); a == b || len(a) < leastToken {
		t.Error("tokens are not random")
	}
	for _, c := range []Config{{API: http.DefaultTransport, Token: "short"}, {API: http.DefaultTransport}, {Token: NewToken()}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v: no error", c)
		}
		if _, err := Listen(c, 0); err == nil {
			t.Errorf("%+v: no error of Listen", c)
		}
	}
}

// TestLoopback checks that the handler serves no address of a network.
func TestLoopback(t *testing.T) {
	h, err := New(Config{API: http.DefaultTransport, Token: NewToken()})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil)) // it has no local address
	if w.Code != http.StatusForbidden {
		t.Errorf("without a local address: %d", w.Code)
	}
	r := httptest.NewRequest("GET", "/", nil)
	address := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}
	r.Host = address.String()
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(localAddress(r.Context(), address)))
	if w.Code != http.StatusForbidden {
		t.Errorf("on a network: %d", w.Code)
	}
}

// TestPaths checks that no path leads past the ones of the API.
func TestPaths(t *testing.T) {
	f := start(t, ok)
	for target, code := range map[string]int{
		"/apis/../logs": 400, "/api/v1/../../logs": 400, "/api/./v1": 400, "/api//v1/pods": 400, "/api/v1/pods/..": 400,
		"/api/%2e%2e/logs": 400, "/api/%2E%2E/logs": 400, "/api/v1/pods%2f..": 400, "/api/v1%2Fpods": 400, "/api/v1/pods%5c..": 400,
		"/api/v1/pods\\x": 400, "/api/v1/pods%00": 400, "/apis/%252e%252e/x": 200, "/api/v1/pods/": 200,
		"/apix": 404, "/apiserver": 404, "/openapix/v3": 404, "/metrics/": 404, "/metrics/slis": 404, "/logs": 404,
		"/healthz": 404, "/version": 404,
		"/debug/pprof/profile": 404, "/debug/flags/v": 404, "/debug/api_priority_and_fairness": 200,
		"/debug/api_priority_and_fairness/../pprof": 400,
		"/static/page.js": 404, "/../page.go": 404, "/..%2fpage.go": 404, "/%2e%2e/page.go": 404, "/index.html/": 404,
		"//index.html": 404, "//api/v1": 404,
		"/api/v1/proxy/nodes/n": 403, "/api/v1/nodes/n/proxy": 403, "/api/v1/nodes/n/proxy/": 403, "/api/v1/nodes/n/proxy/stats": 403,
		"/api/v1/namespaces/a/pods/p/proxy": 403, "/api/v1/namespaces/a/services/s:80/proxy/x": 403, "/api/v1/namespaces/a/pods/p/exec": 403,
		"/api/v1/namespaces/a/pods/p/attach": 403, "/api/v1/namespaces/a/pods/p/portforward": 403,
		"/api/v1/namespaces/a/configmaps/proxy": 200, "/api/v1/namespaces/proxy": 200, "/api/v1/nodes/proxy": 200,
	} {
		resp, body := f.send("GET", target)
		if resp.StatusCode != code {
			t.Errorf("%s: %d, want %d: %s", target, resp.StatusCode, code, body)
		}
		if code == 200 {
			if r := <-f.got; !isAPI(r.URL.Path) {
				t.Errorf("%s came as %s", target, r.URL.Path)
			}
		} else {
			f.untouched(target)
		}
	}
}

// TestMethods checks that the page writes nothing.
func TestMethods(t *testing.T) {
	f := start(t, ok)
	review := "/apis/authorization.k8s.io/v1/subjectaccessreviews"
	for _, c := range []struct {
		method, target string
		code           int
		lines          []string
	}{
		{"POST", podsPath, 403, []string{"Content-Length: 0"}},
		{"PUT", podsPath + "/p", 405, []string{"Content-Length: 0"}},
		{"PATCH", podsPath + "/p", 405, []string{"Content-Length: 0"}},
		{"DELETE", podsPath + "/p", 405, nil},
		{"HEAD", podsPath, 405, nil},
		{"OPTIONS", podsPath, 405, nil},
		{"TRACE", podsPath, 405, nil},
		{"CONNECT", podsPath, 405, nil},
		{"BREW", podsPath, 405, nil},
		{"POST", "/", 405, []string{"Content-Length: 0"}},
		{"DELETE", "/page.js", 405, nil},
		{"GET", podsPath, 400, []string{"Content-Length: 2", "\n{}"}},
		{"GET", podsPath, 403, []string{"Connection: Upgrade", "Upgrade: websocket"}},
		{"POST", review, 200, []string{"Content-Length: 2", "\n{}"}},
		{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", 200, []string{"Content-Length: 2", "\n{}"}},
		{"POST", review, 413, []string{"Content-Length: 1000000"}},
		{"POST", review, 413, []string{"Transfer-Encoding: chunked", "\n0\r\n\r\n"}},
		{"POST", review, 403, []string{"Content-Length: 2", "Origin: http://evil.example.com", "\n{}"}},
		{"POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", 403, []string{"Content-Length: 2", "\n{}"}},
		{"POST", "/api/v1/namespaces/a/serviceaccounts/s/token", 403, []string{"Content-Length: 2", "\n{}"}},
	} {
		resp, body := f.send(c.method, c.target, c.lines...)
		if resp.StatusCode != c.code {
			t.Errorf("%s %s %q: %d, want %d: %s", c.method, c.target, c.lines, resp.StatusCode, c.code, body)
		}
		if c.code == 200 {
			<-f.got
		} else {
			f.untouched(c.method + " " + c.target)
		}
	}
}

// TestHeaders checks that the browser cannot say who it is, and that the API cannot set what browsers keep.
func TestHeaders(t *testing.T) {
	f := start(t, func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range map[string]string{"Set-Cookie": "a=b", "Access-Control-Allow-Origin": "*",
			"Content-Security-Policy": "default-src *", "Cache-Control": "max-age=999",
			"Location": "http://evil.example.com", "Refresh": "0; url=http://evil.example.com", "Clear-Site-Data": "*", "Audit-Id": "x",
			"Warning": `299 - "careful"`, "Content-Type": "application/json"} {
			w.Header().Set(name, value)
		}
		_, _ = w.Write([]byte("{}"))
	})
	resp, _ := f.send("GET", podsPath, "Impersonate-User: root", "Impersonate-Group: system:masters", "Impersonate-Uid: 1",
		"Impersonate-Extra-Scopes: x", "X-Remote-User: root", "X-Remote-Group: system:masters", "Cookie: a=b",
		"Proxy-Authorization: Basic x", "X-Forwarded-For: 10.0.0.1", "Forwarded: for=10.0.0.1",
		"Audit-ID: chosen", "Traceparent: 00-1-1-01", "User-Agent: evil", "Origin: http://"+f.host,
		"Accept: application/json", "Te: trailers", "Connection: Accept", "X-Http-Method-Override: DELETE")
	got := <-f.got
	allowed := map[string]bool{"Accept": true, "Accept-Encoding": true, "User-Agent": true}
	for name, values := range got.Header {
		if !allowed[name] {
			t.Errorf("the API got %s: %q", name, values)
		}
	}
	if agent := got.Header.Get("User-Agent"); agent != UserAgent {
		t.Errorf("the API got the agent %q", agent)
	}
	for name, want := range map[string]string{"Set-Cookie": "", "Access-Control-Allow-Origin": "", "Location": "", "Refresh": "",
		"Clear-Site-Data": "", "Content-Security-Policy": policy,
		"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Audit-Id": "x", "Warning": `299 - "careful"`,
		"Content-Type": "application/json"} {
		if values := resp.Header.Values(name); strings.Join(values, "|") != want {
			t.Errorf("%s: %q, want %q", name, values, want)
		}
	}
}

// TestLargeHeaders checks that the size of headers and addresses is bounded, and that a slow client is left.
func TestLargeHeaders(t *testing.T) {
	f := start(t, ok)
	if resp, _ := f.send("GET", podsPath, "X-Large: "+strings.Repeat("x", 1<<16)); resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("large header: %d", resp.StatusCode)
	}
	if resp, _ := f.send("GET", podsPath+"?x="+strings.Repeat("x", 1<<16)); resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("large address: %d", resp.StatusCode)
	}
	f.untouched("large headers")
	if s := f.server.server; s.ReadHeaderTimeout == 0 || s.IdleTimeout == 0 || s.ReadTimeout != 0 || s.WriteTimeout != 0 {
		t.Error("the timeouts of the server end watches, or no slow client")
	}
}

// TestSmuggling checks that a request in the body of another one is not served.
func TestSmuggling(t *testing.T) {
	f := start(t, ok)
	inner := "DELETE /api/v1/nodes/n HTTP/1.1\r\nHost: x\r\n\r\n"
	resp, _ := f.send("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", fmt.Sprintf("Content-Length: %d", len(inner)),
		"Transfer-Encoding: chunked", "\n0\r\n\r\n"+inner)
	if resp.StatusCode < 400 {
		t.Errorf("two lengths: %d", resp.StatusCode)
	}
	f.untouched("two lengths")
}

// TestManyRequests checks that the number of requests at a time is bounded, and that they end with their clients.
func TestManyRequests(t *testing.T) {
	ended := make(chan struct{}, maxForwarded)
	f := start(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		ended <- struct{}{}
	})
	var open []net.Conn
	for range maxForwarded {
		c, err := net.Dial("tcp", f.host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		open = append(open, c)
		fmt.Fprintf(c, "GET %s?watch=true HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", podsPath, f.host, f.token)
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
	}
	resp, _ := f.send("GET", podsPath)
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("one more: %d", resp.StatusCode)
	}
	for _, c := range open {
		c.Close()
	}
	for range open {
		select {
		case <-ended:
		case <-time.After(patience):
			t.Fatal("a watch did not end with its client")
		}
	}
}
