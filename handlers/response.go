package handlers

import (
	"net/http"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/net"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/request"
)

// responseWriter notes the code of an answer and adds, before the header goes
// out, the warnings that the request gave rise to.
type responseWriter struct {
	http.ResponseWriter
	scope *request.Scope
	r     *http.Request
	code  int
	// timeout is how long a client may take to read a large answer, of which written
	// bytes were written; a watch ends in other ways.
	timeout time.Duration
	written int
}

// window is how much of an answer HTTP/2 takes before the client has read any:
// what is less is written at once, whatever the client does.
const window = 64 << 10

// warningCode is "miscellaneous persistent warning", warningAgent nobody in
// particular; client-go expects both.
const (
	warningCode  = 299
	warningAgent = "-"
)

// Bounds of the warnings in one answer, in characters: when they come to more
// than warningsTotal, each is cut to warningsEach.
const (
	warningsTotal = 4 << 10
	warningsEach  = 256
)

// shortened keeps warnings within what clients and proxies take as headers.
func shortened(texts []string) []string {
	total := 0
	for _, text := range texts {
		total += utf8.RuneCountInString(text)
	}
	if total <= warningsTotal {
		return texts
	}
	var out []string
	for left := warningsTotal; len(out) < len(texts) && left > 0; {
		text := []rune(texts[len(out)])
		text = text[:min(len(text), warningsEach)]
		left -= len(text)
		out = append(out, string(text))
	}
	return out
}

// WriteHeader implements http.ResponseWriter.
func (w *responseWriter) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
		for _, text := range shortened(w.scope.Warnings()) {
			if header, err := net.NewWarningHeader(warningCode, warningAgent, text); err == nil {
				w.Header().Add("Warning", header)
			}
		}
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(b []byte) (int, error) {
	if w.code == 0 {
		w.WriteHeader(http.StatusOK)
	}
	before := w.written
	if w.written += len(b); before < window && w.written >= window && !w.scope.Info.Watch && !connects(&w.scope.Info) {
		// The answer begins late where the request took long. Whoever made a connection
		// without deadlines bounds its time.
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.timeout))
	}
	return w.ResponseWriter.Write(b)
}

// unbound lifts the bounds that the server sets for the connection of each request,
// for one that ends when its client likes.
func unbound(w http.ResponseWriter) {
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Time{}) // every connection has deadlines, but those of tests
	_ = connection.SetWriteDeadline(time.Time{})
}

// AcceptsGzip reports whether the client accepts a response compressed with gzip.
func (w *responseWriter) AcceptsGzip() bool { return representation.AcceptsGzip(w.r) }

// Unwrap lets http.ResponseController find what the connection can do.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
