package handlers

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/handlers/proxy"
	"github.com/miniapiserver/miniapiserver/request"
)

// newCluster returns a Handler with a node, a pod on it and a service, and a server in front of
// it. All connections lead to backend, whatever their address. Requests to the server are
// those of an administrator.
func newCluster(t *testing.T, backend http.HandlerFunc, changes ...func(*Config)) (*Handler, *httptest.Server) {
	t.Helper()
	kubelet := httptest.NewTLSServer(backend)
	plain := httptest.NewServer(backend)
	p := proxy.New(proxy.Config{
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			to := plain
			if strings.HasSuffix(address, ":10250") || strings.HasSuffix(address, ":443") {
				to = kubelet
			}
			return (&net.Dialer{}).DialContext(ctx, network, to.Listener.Addr().String())
		},
	})
	h := newHandler(t, func(c *Config) {
		c.Kubelets, c.Proxy = api.Kubelets{AddressTypes: []string{"Hostname", "InternalIP"}, Port: 10250}, p
		for _, change := range changes {
			change(c)
		}
	})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Group") == "" {
			r.Header.Set("Group", request.GroupMasters)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { front.Close(); p.Close(); kubelet.Close(); plain.Close() })
	post := func(path, body string) {
		if w := sendText(t, h, http.MethodPost, path, body); w.Code != http.StatusCreated {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	put := func(path, body string) {
		if w := sendText(t, h, http.MethodPatch, path, body, "Content-Type", "application/merge-patch+json"); w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	post("/api/v1/nodes", `{"metadata":{"name":"n"},"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.9"}]}}`)
	post("/api/v1/nodes", `{"metadata":{"name":"bare"}}`)
	post("/api/v1/namespaces/ns/pods", `{"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i","ports":[{"containerPort":8080}]}]}}`)
	put("/api/v1/namespaces/ns/pods/p/status", `{"status":{"podIP":"10.1.0.1","podIPs":[{"ip":"10.1.0.1"}]}}`)
	post("/api/v1/namespaces/ns/pods", `{"metadata":{"name":"local"},"spec":{"nodeName":"bare","containers":[{"name":"a","image":"i"},{"name":"b","image":"i"}]}}`)
	put("/api/v1/namespaces/ns/pods/local/status", `{"status":{"podIP":"127.0.0.1","podIPs":[{"ip":"127.0.0.1"}]}}`)
	for service, endpoints := range map[string]string{
		"s": `{"addresses":["10.1.0.1"],"targetRef":{"kind":"Pod","namespace":"ns","name":"p"}},{"addresses":["10.9.9.9"]},
			{"addresses":["10.1.0.2"],"targetRef":{"kind":"Pod","namespace":"ns","name":"p"},"conditions":{"ready":false}}`,
		"stray": `{"addresses":["10.9.9.9"]}`,
	} {
		post("/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices", `{"metadata":{"name":"`+service+`","labels":{"kubernetes.io/service-name":"`+service+`"}},
			"addressType":"IPv4","ports":[{"name":"web","port":8080}],"endpoints":[`+endpoints+`]}`)
	}
	return h, front
}

// echo writes the request into the response.
func echo(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/to":
		w.Header().Set("Location", "/there?x=1")
		w.WriteHeader(http.StatusFound)
	case r.URL.Path == "/page":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Access-Control-Allow-Origin", "*")
		page := io.WriteCloser(nopCloser{w})
		if r.Header.Get("Accept-Encoding") == "gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			page = gzip.NewWriter(w)
		}
		fmt.Fprint(page, `<a href="/x/">x</a><img src="y"><a href="http://elsewhere/z">z</a>`)
		page.Close()
	case r.URL.Query().Get("tailLines") == "7":
		http.Error(w, "seven is too many", http.StatusBadRequest)
	case r.URL.Query().Get("follow") == "true":
		fmt.Fprint(w, "first\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s|%s|%s", r.Method, r.URL.RequestURI(), body, r.Header.Get("X-Forwarded-Uri"), r.Header.Get("Authorization"))
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// TestConnect checks the requests that reach kubelets, pods and services.
func TestConnect(t *testing.T) {
	_, front := newCluster(t, echo)
	const ns = "/api/v1/namespaces/ns/"
	pod := ns + "pods/p/proxy"
	for _, c := range []struct {
		ask, body string
		code      int
		want      string
	}{
		{"GET " + ns + "pods/p/log", "", 200, "GET /containerLogs/ns/p/c "},
		{"GET " + ns + "pods/p/log?tailLines=3&timestamps=1&sinceSeconds=9&container=c", "", 200, "GET /containerLogs/ns/p/c?sinceSeconds=9&tailLines=3&timestamps=true "},
		{"GET " + ns + "pods/p/log?tailLines=7", "", 400, `"message":"seven is too many`},
		{"GET " + ns + "pods/p/log?tailLines=-1", "", 422, `PodLogOptions \"p\" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0`},
		{"GET " + ns + "pods/p/log?tailLines=x", "", 400, `strconv.ParseInt: parsing \"x\": invalid syntax`},
		{"GET " + ns + "pods/p/log?container=d", "", 400, "container d is not valid for pod p"},
		{"GET " + ns + "pods/local/log", "", 400, "a container name must be specified for pod local, choose one of: [a b]"},
		{"GET " + ns + "pods/local/log?container=a", "", 500, "no preferred addresses found; known addresses: []"},
		{"POST " + ns + "pods/p/exec?command=ls", "", 400, "Upgrade request required"},
		{"DELETE " + ns + "pods/p/exec", "", 405, "MethodNotAllowed"},
		{"GET " + ns + "pods/p/exec/x", "", 404, "could not find the requested resource"},
		{"GET " + pod, "", 301, ""},
		{"GET " + pod + "/a/b?c=d", "", 200, "GET /a/b?c=d |" + pod + "/a/b|"},
		{"GET " + pod + "/a/", "", 200, "GET /a/ |" + pod + "/a/|"},
		{"POST " + pod + "/a", "text", 200, "POST /a text|"},
		{"PATCH " + pod + "/a", "text", 200, "PATCH /a text|"},
		{"OPTIONS " + pod + "/a", "", 200, "OPTIONS /a "},
		{"HEAD " + pod + "/a", "", 200, ""},
		{"GET " + pod + "/page", "", 200, `<a href="` + pod + `/x/">x</a><img src="y"><a href="http://elsewhere/z">z</a>`},
		{"GET " + ns + "pods/https:p:443/proxy/a", "", 200, "GET /a "},
		{"GET " + ns + "pods/ftp:p:80/proxy/", "", 400, `invalid pod request \"ftp:p:80\"`},
		{"GET " + ns + "pods/local/proxy/", "", 400, "address not allowed"},
		{"GET " + ns + "services/s:web/proxy/a", "", 200, "GET /a "},
		{"GET " + ns + "services/stray:web/proxy/a", "", 503, `no endpoints available for service \"stray\"`},
		{"GET " + ns + "services/none:web/proxy/a", "", 503, `no endpoints available for service \"none\"`},
		{"GET " + ns + "services/gone/proxy/a", "", 503, `no endpoints available for service \"gone\"`},
		{"GET " + ns + "services/gone:80/proxy/a", "", 404, `services \"gone\" not found`},
		{"GET /api/v1/nodes/n/proxy/metrics", "", 200, "GET /metrics |/api/v1/nodes/n/proxy/metrics|"},
		// The path at the backend is clean and resolved, as in kube-apiserver.
		{"GET " + pod + "/a/../b", "", 200, "GET /b "},
		{"GET " + pod + "/%2e%2e/%2E%2E/b/", "", 200, "GET /b/ "},
		{"GET " + pod + "//a//b", "", 200, "GET /a/b "},
		{"GET " + pod + "/a%2Fb", "", 200, "GET /a/b "},
		{"GET " + pod + "/a%2F..%2Fb", "", 200, "GET /b "},
		{"GET " + pod + "/a%252Fb", "", 200, "GET /a%252Fb "},
		{"GET " + pod + "/a%20b/", "", 200, "GET /a%20b/ "},
		{"GET " + ns + "services/s:web/proxy/a/./b/", "", 200, "GET /a/b/ "},
		{"GET /api/v1/nodes/n%2Fproxy/metrics", "", 200, "GET /metrics "},
		{"GET /api/v1/nodes/n//proxy/metrics", "", 404, "could not find the requested resource"},
		{"GET " + ns + "pods//p/proxy/a", "", 404, "could not find the requested resource"},
		{"GET //api/v1/nodes/n/proxy", "", 404, "404 page not found"},
		{"GET /api/v1/nodes/bare/proxy/metrics", "", 500, "no preferred addresses found"},
	} {
		method, path, _ := strings.Cut(c.ask, " ")
		code, body := fetch(t, front, method, path, c.body)
		if code != c.code || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s, want %d %s", c.ask, code, body, c.code, c.want)
		}
	}
}

// fetch sends a request with a credential that only the server may see. It does not follow
// redirects.
func fetch(t *testing.T, front *httptest.Server, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, front.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

// TestConnectRedirect checks redirects of backends.
func TestConnectRedirect(t *testing.T) {
	h, _ := newCluster(t, echo)
	const path = "/api/v1/namespaces/ns/pods/p/proxy"
	if w := send(t, h, "GET", path+"/to", nil); w.Code != 302 || w.Header().Get("Location") != path+"/there?x=1" {
		t.Errorf("%d to %q", w.Code, w.Header().Get("Location"))
	}
	w := send(t, h, "GET", path+"/page", nil, "Accept-Encoding", "gzip")
	page, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(page)
	if want := `<a href="` + path + `/x/">`; err != nil || !strings.HasPrefix(string(text), want) || w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%q (%v), %v", text, err, w.Header())
	}
}

// TestBackendCompression checks that backends are asked for compressed responses on behalf of clients that do not say
// whether they want them, and of no others.
func TestBackendCompression(t *testing.T) {
	backend := func(w http.ResponseWriter, r *http.Request) {
		asked := r.Header.Get("Accept-Encoding")
		w.Header().Set("Asked", "'"+asked+"'")
		if proxy.WantsUpgrade(r) {
			http.Error(w, "not this", http.StatusForbidden)
			return
		}
		if asked != "gzip" {
			fmt.Fprint(w, "text")
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		body := gzip.NewWriter(w)
		fmt.Fprint(body, "text")
		body.Close()
	}
	h, front := newCluster(t, backend)
	for _, path := range []string{"/api/v1/namespaces/ns/pods/p/proxy/x", "/api/v1/nodes/n/proxy/x"} {
		w := send(t, h, "GET", path, nil)
		if w.Body.String() != "text" || w.Header().Get("Content-Encoding") != "" || w.Header().Get("Asked") != "'gzip'" {
			t.Errorf("%s: %q, %v", path, w.Body, w.Header())
		}
		w = send(t, h, "GET", path, nil, "Accept-Encoding", "identity")
		if w.Body.String() != "text" || w.Header().Get("Asked") != "'identity'" {
			t.Errorf("%s: %q, %v", path, w.Body, w.Header())
		}
		w = send(t, h, "GET", path, nil, "Accept-Encoding", "gzip")
		if w.Body.String() == "text" || w.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: %q, %v", path, w.Body, w.Header())
		}
	}
	if w := send(t, h, "GET", "/api/v1/namespaces/ns/pods/p/log", nil); w.Body.String() != "text" {
		t.Errorf("a log: %q", w.Body)
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", front.URL+"/api/v1/namespaces/ns/pods/p/proxy/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"x"}}
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); response.Header.Get("Asked") != "''" {
		t.Errorf("an upgrade: %q (%v), %v", text, err, response.Header)
	}
}

// TestLogHeaders checks that the headers of a log do not wait for its text, so that its length is unknown to them.
func TestLogHeaders(t *testing.T) {
	_, front := newCluster(t, echo)
	response, err := front.Client().Get(front.URL + "/api/v1/namespaces/ns/pods/p/log")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if !slices.Equal(response.TransferEncoding, []string{"chunked"}) || response.ContentLength != -1 {
		t.Errorf("%v, %d bytes", response.TransferEncoding, response.ContentLength)
	}
}

// TestFollowLog checks that a followed log is flushed, and ends with the client and at shutdown.
func TestFollowLog(t *testing.T) {
	h, front := newCluster(t, echo)
	url := front.URL + "/api/v1/namespaces/ns/pods/p/log?follow=1"
	response, err := front.Client().Get(url)
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	if line != "first\n" || response.Header.Get("Content-Type") != "text/plain" {
		t.Errorf("%q (%v), %v", line, err, response.Header)
	}
	response.Body.Close()

	conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(url, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, want := range []string{"", "first\n"} {
		if kind, data, err := conn.ReadMessage(); kind != websocket.BinaryMessage || string(data) != want {
			t.Errorf("message %d %q (%v), want %q", kind, data, err, want)
		}
	}
	h.BeginShutdown(0)
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, _, err := conn.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Errorf("at the end: %v", err)
	}
}

// upgrade is a kubelet with a protocol of its own, which returns all input twice.
func upgrade(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("command") == "no" {
		http.Error(w, "not this", http.StatusForbidden)
		return
	}
	conn, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\nX-Asked: %s\r\n\r\n", r.Header.Get("Upgrade"), r.URL.RequestURI())
	rw.Flush()
	for {
		line, err := rw.ReadString('\n')
		if err != nil || line == "end\n" {
			return
		}
		rw.WriteString(line + line)
		rw.Flush()
	}
}

// TestUpgrade checks connections that are upgraded to another protocol.
func TestUpgrade(t *testing.T) {
	_, front := newCluster(t, upgrade)
	dial := func(command string) (net.Conn, *bufio.Reader, *http.Response) {
		conn, err := net.Dial("tcp", front.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		fmt.Fprintf(conn, "POST /api/v1/namespaces/ns/pods/p/exec?command=%s&stdout=1&tty=1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n", command)
		in := bufio.NewReader(conn)
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		return conn, in, response
	}
	conn, in, response := dial("ls")
	if response.StatusCode != 101 || response.Header.Get("X-Asked") != "/exec/ns/p/c?command=ls&output=1&tty=1" {
		t.Fatalf("%d %v", response.StatusCode, response.Header)
	}
	fmt.Fprint(conn, "hello\n")
	for range 2 {
		if line, err := in.ReadString('\n'); line != "hello\n" {
			t.Errorf("%q (%v)", line, err)
		}
	}
	fmt.Fprint(conn, "end\n")
	if _, err := in.ReadByte(); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
	if _, _, response := dial("no"); response.StatusCode != 403 {
		t.Errorf("refused with %d", response.StatusCode)
	}
}

// TestConnectDescribed checks that discovery and OpenAPI have the connecting subresources.
func TestConnectDescribed(t *testing.T) {
	h := newHandler(t, nil)
	for path, wants := range map[string][]string{
		"/api/v1": {
			`{"name":"pods/exec","singularName":"","namespaced":true,"kind":"PodExecOptions","verbs":["create","get"]}`,
			`{"name":"pods/log","singularName":"","namespaced":true,"kind":"Pod","verbs":["get"]}`,
			`{"name":"nodes/proxy","singularName":"","namespaced":false,"kind":"NodeProxyOptions","verbs":["create","delete","get","patch","update"]}`,
		},
		"/openapi/v3/api/v1": {
			`"operationId":"connectCoreV1PostNamespacedPodExec"`, `"operationId":"connectCoreV1OptionsNodeProxyWithPath"`,
			`"operationId":"readCoreV1NamespacedPodLog"`, `"name":"tailLines"`, `"/api/v1/namespaces/{namespace}/services/{name}/proxy/{path}"`,
		},
	} {
		w := send(t, h, http.MethodGet, path, nil)
		for _, want := range wants {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s has no %s", path, want)
			}
		}
	}
}
