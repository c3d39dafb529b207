package handlers

import (
	"bufio"
	"net"
	"net/http"
	"time"
	"unicode/utf8"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/miniapiserver/miniapiserver/audit"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/request"
)

// responseWriter records the code of a response, and adds the request's warnings to its
// header.
type responseWriter struct {
	http.ResponseWriter
	scope *request.Scope
	r     *http.Request
	code  int
	gates features.Gates
	// timeout is the maximum time in which a client must read a large response.
	timeout time.Duration
	written int // bytes so far
	// received is the time at which the request arrived.
	received time.Time
	// trail records the start of the response; nil if the request is not audited.
	trail *audit.Trail
	// recording records the request; nil if the server has no lab.
	recording request.Recording
	// tap gets what is sent; nil unless the lab records the traffic.
	tap request.Tap
	// span is that of the verb; nil if the request is not traced.
	span *request.Span
}

// flowControlWindow is the number of bytes that HTTP/2 sends before the client has read any.
// Smaller responses cannot block.
const flowControlWindow = 64 << 10

// The code and agent that client-go expects: "miscellaneous persistent warning" of an unnamed
// agent.
const (
	warningCode  = 299
	warningAgent = "-"
)

// truncateWarnings limits warnings to a size that clients and proxies accept in headers.
func truncateWarnings(texts []string) []string {
	total := 0
	for _, text := range texts {
		total += utf8.RuneCountInString(text)
	}
	if total <= request.WarningsTotal {
		return texts
	}
	var out []string
	for left := request.WarningsTotal; len(out) < len(texts) && left > 0; {
		text := []rune(texts[len(out)])
		text = text[:min(len(text), request.WarningsEach)]
		left -= len(text)
		out = append(out, string(text))
	}
	return out
}

// addWarnings adds a Warning header for each text.
func addWarnings(header http.Header, texts []string) {
	for _, text := range truncateWarnings(texts) {
		if value, err := utilnet.NewWarningHeader(warningCode, warningAgent, text); err == nil {
			header.Add("Warning", value)
		}
	}
}

// WriteHeader implements http.ResponseWriter.
func (w *responseWriter) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
		w.span.Event("About to write a response")
		if texts := w.scope.Warnings(); len(texts) > 0 {
			addWarnings(w.Header(), texts)
		}
		if w.trail != nil {
			w.trail.Started(code)
		}
		if w.recording != nil && w.scope.Info.IsLongRunning() {
			w.recording.Started(code)
		}
		if w.tap != nil {
			w.tap.Began(code, w.Header())
		}
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(b []byte) (int, error) {
	if w.code == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.tap != nil {
		w.tap.Wrote(b)
	}
	previous := w.written
	if w.written += len(b); previous < flowControlWindow && w.written >= flowControlWindow && !w.scope.Info.Watch && !w.scope.Info.Connects {
		// The deadline begins with the response, which may be long after the request. A
		// connection without deadlines is bounded by its creator.
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.timeout))
	}
	if w.trail == nil {
		return w.ResponseWriter.Write(b)
	}
	start := time.Now()
	n, err := w.ResponseWriter.Write(b)
	w.scope.Durations.Add(request.PartResponseWrite, time.Since(start))
	return n, err
}

// Hijack lets the caller take over the connection, as for WebSockets. The events of an
// audited request have the code of that.
func (w *responseWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil && w.trail != nil {
		w.trail.Started(http.StatusSwitchingProtocols)
	}
	return conn, buffered, err
}

// clearDeadlines removes the deadlines that the server sets for the connection of each
// request, for a long-running request.
func clearDeadlines(w http.ResponseWriter) {
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Time{}) // fails only for connections of tests, which have no deadlines
	_ = connection.SetWriteDeadline(time.Time{})
}

// AcceptsGzip reports whether the response may be compressed with gzip.
func (w *responseWriter) AcceptsGzip() bool {
	return representation.AcceptsGzip(w.r) && w.gates.Enabled(features.APIResponseCompression)
}

// Unwrap returns the wrapped writer to http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
