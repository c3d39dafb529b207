package handlers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	clientspdy "k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/seriestest"
)

// containers is a kubelet that serves exec with a command that prints its arguments and its
// input, and port-forward to every port.
func containers(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("command") == "refused" {
		http.Error(w, "no such container", http.StatusNotFound)
		return
	}
	forward := strings.HasPrefix(r.URL.Path, "/portForward/")
	protocol := "v4.channel.k8s.io"
	if forward {
		protocol = "portforward.k8s.io"
	}
	if _, err := httpstream.Handshake(r, w, []string{protocol}); err != nil {
		return
	}
	opened := make(chan httpstream.Stream, 16)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, replied <-chan struct{}) error {
		opened <- s
		return nil
	})
	if conn == nil {
		return
	}
	defer conn.Close()
	if forward {
		forwardPorts(conn, opened)
		return
	}
	streams := map[string]httpstream.Stream{}
	q := r.URL.Query()
	want := 1 + len(q["input"]) + len(q["output"]) + len(q["error"])
	if q.Get("tty") == "1" {
		want += 1 - len(q["error"])
	}
	for len(streams) < want {
		select {
		case s := <-opened:
			streams[s.Headers().Get("streamType")] = s
		case <-conn.CloseChan():
			return
		}
	}
	execute(q["command"], streams)
}

func execute(command []string, streams map[string]httpstream.Stream) {
	out := streams["stdout"]
	fmt.Fprint(out, strings.Join(command, " "), ": ")
	if resize := streams["resize"]; resize != nil {
		var size [64]byte
		n, _ := resize.Read(size[:])
		fmt.Fprintf(out, "%s", size[:n])
	}
	if in := streams["stdin"]; in != nil {
		_, _ = io.Copy(out, in)
	}
	if e := streams["stderr"]; e != nil {
		fmt.Fprint(e, "a fault")
		e.Close()
	}
	out.Close()
	if command[0] == "fail" {
		fmt.Fprint(streams["error"], `{"status":"Failure","reason":"NonZeroExitCode","message":"exit status 3","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}`)
	} else {
		fmt.Fprint(streams["error"], `{"status":"Success"}`)
	}
	streams["error"].Close()
}

// forwardPorts answers each connection with its port and then with its input.
func forwardPorts(conn httpstream.Connection, opened <-chan httpstream.Stream) {
	for {
		select {
		case s := <-opened:
			if s.Headers().Get("streamType") == "data" {
				fmt.Fprintf(s, "port %s: ", s.Headers().Get("port"))
				_, _ = io.Copy(s, s)
			}
			s.Close()
		case <-conn.CloseChan():
			return
		}
	}
}

type sizes chan remotecommand.TerminalSize

func (s sizes) Next() *remotecommand.TerminalSize {
	size, ok := <-s
	if !ok {
		return nil
	}
	return &size
}

// TestExec checks exec over SPDY and over WebSockets.
func TestExec(t *testing.T) {
	settle(t)
	h, front := newCluster(t, containers)
	config := &rest.Config{Host: front.URL}
	const path = "/api/v1/namespaces/ns/pods/p/exec?stdout=1&"
	executors := map[string]func(u *url.URL) (remotecommand.Executor, error){
		"SPDY": func(u *url.URL) (remotecommand.Executor, error) {
			return remotecommand.NewSPDYExecutor(config, "POST", u)
		},
		"WebSocket": func(u *url.URL) (remotecommand.Executor, error) {
			return remotecommand.NewWebSocketExecutor(config, "GET", u.String())
		},
	}
	for name, dial := range executors {
		run := func(query string, o remotecommand.StreamOptions) (string, string, error) {
			u, err := url.Parse(front.URL + path + query)
			if err != nil {
				t.Fatal(err)
			}
			executor, err := dial(u)
			if err != nil {
				t.Fatal(err)
			}
			var out, faults bytes.Buffer
			o.Stdout = &out
			if strings.Contains(query, "stderr") {
				o.Stderr = &faults
			}
			err = executor.StreamWithContext(t.Context(), o)
			return out.String(), faults.String(), err
		}
		large := strings.Repeat("0123456789", 50_000)
		if out, faults, err := run("stdin=1&stderr=1&command=cat&command=-", remotecommand.StreamOptions{Stdin: strings.NewReader(large)}); out != "cat -: "+large || faults != "a fault" || err != nil {
			t.Errorf("%s: %d bytes, %q, %v", name, len(out), faults, err)
		}
		var exit exec.CodeExitError
		_, _, err := run("command=fail", remotecommand.StreamOptions{})
		if e, ok := err.(exec.CodeExitError); ok {
			exit = e
		}
		if exit.Code != 3 {
			t.Errorf("%s: %v, want exit code 3", name, err)
		}
		size := make(sizes)
		go func() { size <- remotecommand.TerminalSize{Width: 80, Height: 24}; close(size) }()
		if out, _, err := run("tty=1&command=sh", remotecommand.StreamOptions{Tty: true, TerminalSizeQueue: size}); !strings.Contains(out, `"Width":80,"Height":24`) || err != nil {
			t.Errorf("%s: resized: %q, %v", name, out, err)
		}
		if _, _, err := run("command=refused", remotecommand.StreamOptions{}); err == nil || !strings.Contains(err.Error(), "no such container") {
			t.Errorf("%s: refused: %v", name, err)
		}
	}
	wantStreams(t, h, map[string]float64{
		`apiserver_stream_translator_requests_total{code="200"}`:                                                3,
		`apiserver_stream_translator_requests_total{code="500"}`:                                                1,
		`apiserver_websocket_streaming_requests_total{proxy_type="translated_at_apiserver",subresource="exec"}`: 8,
	})
}

// TestExecProtocols checks that a kubelet may choose each protocol of the streams of a process, and what the
// client learns of the end of the process in it.
func TestExecProtocols(t *testing.T) {
	settle(t)
	chosen, offered := "", make(chan []string, 1)
	_, front := newCluster(t, func(w http.ResponseWriter, r *http.Request) {
		offered <- r.Header.Values("X-Stream-Protocol-Version")
		if _, err := httpstream.Handshake(r, w, []string{chosen}); err != nil {
			return
		}
		opened := make(chan httpstream.Stream, 16)
		conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
			opened <- s
			return nil
		})
		defer conn.Close()
		for s := range opened {
			switch s.Headers().Get("streamType") {
			case "error":
				fmt.Fprint(s, r.URL.Query().Get("command"))
				s.Close()
			case "stdout":
				s.Close()
				<-conn.CloseChan()
				return
			}
		}
	})
	const exit = `{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"CODE"}]}}`
	for _, c := range []struct{ protocol, text, want string }{
		{"v5.channel.k8s.io", strings.Replace(exit, "CODE", "7", 1), "command terminated with exit code 7"},
		{"v4.channel.k8s.io", strings.Replace(exit, "CODE", "256", 1), `Internal error occurred: error stream protocol error: invalid exit code value "256"`},
		{"v4.channel.k8s.io", `{"status":"Failure","reason":"NonZeroExitCode"}`, "Internal error occurred: error stream protocol error: details must be set"},
		{"v4.channel.k8s.io", `{"status":"Success"}`, ""},
		{"v3.channel.k8s.io", "fault", "Internal error occurred: error executing remote command: fault"},
		{"v2.channel.k8s.io", "fault", "Internal error occurred: error executing remote command: fault"},
		{"channel.k8s.io", "fault", "Internal error occurred: Error executing remote command: fault"},
		{"v2.channel.k8s.io", "", ""},
	} {
		chosen = c.protocol
		executor, err := remotecommand.NewWebSocketExecutor(&rest.Config{Host: front.URL}, "GET", front.URL+"/api/v1/namespaces/ns/pods/p/exec?stdout=1&command="+url.QueryEscape(c.text))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: io.Discard}); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s %s: %q, want %q", c.protocol, c.text, got, c.want)
		}
		if all := strings.Join(<-offered, " "); all != "v5.channel.k8s.io v4.channel.k8s.io v3.channel.k8s.io v2.channel.k8s.io channel.k8s.io" {
			t.Errorf("offered %s", all)
		}
	}
}

// TestRefusedUpgrades checks what clients learn of kubelets that do not upgrade.
func TestRefusedUpgrades(t *testing.T) {
	settle(t)
	answer := func(http.ResponseWriter) {}
	_, front := newCluster(t, func(w http.ResponseWriter, _ *http.Request) { answer(w) })
	refuse := func(code int, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Location", "https://192.0.2.1/")
			w.WriteHeader(code)
			fmt.Fprint(w, body)
		}
	}
	const pod = "/api/v1/namespaces/ns/pods/p/"
	const webSocket = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: XW7visyKGwFcxlEMU8FsHg==\r\nSec-WebSocket-Protocol: "
	for _, c := range []struct {
		answer                   func(http.ResponseWriter)
		channels, tunnel, direct string
	}{
		{refuse(403, "no\n"), "unable to upgrade connection: no", "403 no\n", "403 no\n"},
		{refuse(404, `{"kind":"Status","message":" none ","code":404}`), "unable to upgrade connection: none", `404 {"kind":"Status","message":" none ","code":404}`, `404 {"kind":"Status","message":" none ","code":404}`},
		{refuse(500, `{"error":"e"}`), "unable to upgrade connection: e", `500 {"error":"e"}`, `500 {"error":"e"}`},
		{refuse(503, ""), "unable to upgrade connection: empty server response", "503 ", "503 "},
		{refuse(302, ""), "error sending request: redirect not allowed", "500 invalid upgrade response: status code 302", "500 invalid upgrade response: status code 302"},
		{refuse(200, "ok"), "unable to upgrade connection: ok", "500 invalid upgrade response: status code 200", "500 invalid upgrade response: status code 200"},
	} {
		answer = c.answer
		for path, want := range map[string]string{"exec?stdout=1&command=x": c.direct, "portforward?ports=1": c.tunnel} {
			protocol := "v4.channel.k8s.io"
			if strings.HasPrefix(path, "portforward") {
				protocol = "SPDY/3.1+portforward.k8s.io"
			}
			conn, err := net.Dial("tcp", front.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "GET %s%s HTTP/1.1\r\nHost: x\r\n%s%s\r\n\r\n", pod, path, webSocket, protocol)
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(response.StatusCode, " ", string(body))
			var s metav1.Status
			if json.Unmarshal(body, &s) == nil && s.APIVersion == "v1" {
				got = fmt.Sprint(response.StatusCode, " ", s.Message)
			}
			if got != want || s.APIVersion == "" && response.Header.Get("Cache-Control") != "" {
				t.Errorf("%s: %q %v, want %q", path, got, response.Header, want)
			}
			conn.Close()
		}
		executor, err := remotecommand.NewWebSocketExecutor(&rest.Config{Host: front.URL}, "GET", front.URL+pod+"exec?stdout=1&command=x")
		if err != nil {
			t.Fatal(err)
		}
		if err := executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: io.Discard}); err == nil || err.Error() != "Internal error occurred: "+c.channels {
			t.Errorf("channels: %v, want %s", err, c.channels)
		}
	}
}

// wantStreams waits until the metrics of streams are the given ones. A client may see the end of
// a stream before it is counted.
func wantStreams(t *testing.T, h *Handler, want map[string]float64) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		got, err := seriestest.Read(h.Metrics)
		if err != nil {
			t.Fatal(err)
		}
		maps.DeleteFunc(got, func(name string, _ float64) bool {
			return !strings.HasPrefix(name, "apiserver_stream_") && !strings.HasPrefix(name, "apiserver_websocket_")
		})
		if maps.Equal(got, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

// TestForwardedWebSockets checks which WebSockets the server forwards to the kubelet rather than
// translates: those of an older subprotocol, and all if the kubelet declares that it serves them and
// the feature is enabled. Only the latter are counted as proxied. A server that does not translate
// forwards all, and counts none.
func TestForwardedWebSockets(t *testing.T) {
	const older, streams, ports = "v4.channel.k8s.io", "v5.channel.k8s.io", "SPDY/3.1+portforward.k8s.io"
	const translated, proxied = "translated_at_apiserver", "proxied_to_kubelet"
	translates := func(*Config) {}
	for name, c := range map[string]struct {
		enabled     bool
		declared    string // features that the node declares
		subresource string
		protocol    string
		forwarded   bool
		label       string // empty if the request is not counted
		configure   func(*Config)
	}{
		"no translation":        {true, `[]`, "exec?stdout=1&command=a", streams, true, "", func(config *Config) { config.Gates[features.TranslateStreamCloseWebsocketRequests] = false }},
		"no tunnel":             {true, `[]`, "portforward?ports=80", ports, true, "", func(config *Config) { config.Gates[features.PortForwardWebsockets] = false }},
		"no tunnel, streams":    {true, `[]`, "exec?stdout=1&command=a", streams, false, translated, func(config *Config) { config.Gates[features.PortForwardWebsockets] = false }},
		"no translation, ports": {true, `[]`, "portforward?ports=80", ports, false, translated, func(config *Config) { config.Gates[features.TranslateStreamCloseWebsocketRequests] = false }},
		"older subprotocol":     {true, `[]`, "attach?stdout=1", older, true, translated, translates},
		"declared":              {true, `["A","ExtendWebSocketsToKubelet"]`, "exec?stdout=1&command=a", streams, true, proxied, translates},
		"declared, attach":      {true, `["ExtendWebSocketsToKubelet"]`, "attach?stdout=1", streams, true, proxied, translates},
		"declared, ports":       {true, `["ExtendWebSocketsToKubelet"]`, "portforward?ports=80", ports, true, proxied, translates},
		"other features":        {true, `["A"]`, "exec?stdout=1&command=a", streams, false, translated, translates},
		"other features, ports": {true, `["A"]`, "portforward?ports=80", ports, false, translated, translates},
		"disabled":              {false, `["ExtendWebSocketsToKubelet"]`, "exec?stdout=1&command=a", streams, false, translated, translates},
	} {
		t.Run(name, func(t *testing.T) {
			settle(t)
			h, front := newCluster(t, func(w http.ResponseWriter, r *http.Request) {
				if !websocket.IsWebSocketUpgrade(r) {
					http.Error(w, "translated", http.StatusNotImplemented)
					return
				}
				upgrader := websocket.Upgrader{Subprotocols: []string{c.protocol}}
				conn, err := upgrader.Upgrade(w, r, nil)
				if err != nil {
					t.Error(err)
					return
				}
				_ = conn.WriteMessage(websocket.TextMessage, []byte(r.URL.String()))
				conn.Close()
			}, func(config *Config) {
				config.Kubelets.WebSockets = c.enabled
				c.configure(config)
			})
			if w := sendText(t, h, http.MethodPatch, "/api/v1/nodes/n/status", `{"status":{"declaredFeatures":`+c.declared+`}}`,
				"Content-Type", "application/merge-patch+json"); w.Code != http.StatusOK {
				t.Fatal(w.Code, w.Body)
			}
			at := "ws" + strings.TrimPrefix(front.URL, "http") + "/api/v1/namespaces/ns/pods/p/" + c.subresource
			text := ""
			if conn, _, err := (&websocket.Dialer{Subprotocols: []string{c.protocol}}).Dial(at, nil); err == nil {
				_, data, _ := conn.ReadMessage() // an error is a missing text
				text = string(data)
				conn.Close()
			}
			subresource, _, _ := strings.Cut(c.subresource, "?")
			if forwarded := strings.HasPrefix(strings.ToLower(text), "/"+subresource+"/ns/p"); forwarded != c.forwarded {
				t.Errorf("forwarded: %v, the client got %q", forwarded, text)
			}
			got, err := seriestest.Read(h.Metrics)
			counted := map[string]bool{}
			for series := range got {
				if strings.HasPrefix(series, "apiserver_websocket_streaming_requests_total") {
					counted[series] = true
				}
			}
			want := map[string]bool{}
			if c.label != "" {
				want[`apiserver_websocket_streaming_requests_total{proxy_type="`+c.label+`",subresource="`+subresource+`"}`] = true
			}
			if !maps.Equal(counted, want) || err != nil {
				t.Errorf("counted %v, want %v, %v", counted, want, err)
			}
		})
	}
}

// TestExecEnds checks that exec ends when the client disconnects from a process that waits.
func TestExecEnds(t *testing.T) {
	settle(t)
	disconnected := make(chan struct{})
	_, front := newCluster(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(disconnected)
		containers(w, r)
	})
	at := "ws" + strings.TrimPrefix(front.URL, "http") + "/api/v1/namespaces/ns/pods/p/exec?stdin=1&stdout=1&command=cat"
	dialer := websocket.Dialer{Subprotocols: []string{"v5.channel.k8s.io"}}
	conn, _, err := dialer.Dial(at, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\x01", "\x01cat: "} {
		if _, data, err := conn.ReadMessage(); string(data) != want {
			t.Errorf("%q (%v), want %q", data, err, want)
		}
	}
	conn.Close()
	<-disconnected
}

// settle waits at the end of a test until its goroutines have ended, because SPDY notices only
// after a while that both sides have closed a connection.
func settle(t *testing.T) {
	t.Cleanup(func() {
		var err error
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
			if err = goleak.Find(); err == nil {
				return
			}
		}
		t.Error(err)
	})
}

// TestPortForward checks port-forward over SPDY and over WebSockets.
func TestPortForward(t *testing.T) {
	settle(t)
	h, front := newCluster(t, containers)
	config := &rest.Config{Host: front.URL}
	u, err := url.Parse(front.URL + "/api/v1/namespaces/ns/pods/p/portforward")
	if err != nil {
		t.Fatal(err)
	}
	transport, upgrade, err := clientspdy.RoundTripperFor(config)
	if err != nil {
		t.Fatal(err)
	}
	tunnel, err := portforward.NewSPDYOverWebsocketDialerForStreaming(u, config)
	if err != nil {
		t.Fatal(err)
	}
	for name, dialer := range map[string]httpstream.Dialer{
		"SPDY":      clientspdy.NewDialerForStreaming(upgrade, &http.Client{Transport: transport}, "POST", u),
		"WebSocket": tunnel,
	} {
		stop, ready := make(chan struct{}), make(chan struct{})
		f, err := portforward.NewForStreaming(dialer, []string{"0:8080"}, stop, ready, io.Discard, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- f.ForwardPorts() }()
		select {
		case <-ready:
		case err := <-ended:
			t.Fatalf("%s: %v", name, err)
		}
		ports, err := f.GetPorts()
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", ports[0].Local))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, "hello")
		_ = conn.(*net.TCPConn).CloseWrite()
		if text, err := io.ReadAll(conn); string(text) != "port 8080: hello" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		conn.Close()
		close(stop)
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantStreams(t, h, map[string]float64{
		`apiserver_stream_tunnel_requests_total{code="101"}`:                                                           1,
		`apiserver_websocket_streaming_requests_total{proxy_type="translated_at_apiserver",subresource="portforward"}`: 2,
	})
}
