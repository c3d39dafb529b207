package handlers

import (
	"bytes"
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
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	clientspdy "k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

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
		"no translation":        {true, `[]`, "exec?stdout=1&command=a", streams, true, "", func(config *Config) { config.NoStreamTranslation = true }},
		"no tunnel":             {true, `[]`, "portforward?ports=80", ports, true, "", func(config *Config) { config.NoPortTunnels = true }},
		"no tunnel, streams":    {true, `[]`, "exec?stdout=1&command=a", streams, false, translated, func(config *Config) { config.NoPortTunnels = true }},
		"no translation, ports": {true, `[]`, "portforward?ports=80", ports, false, translated, func(config *Config) { config.NoStreamTranslation = true }},
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
