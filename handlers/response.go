package handlers

import (
	"net/http"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/net"

	"github.com/miniapiserver/miniapiserver/request"
)

// responseWriter notes the code of an answer and adds, before the header goes
// out, the warnings that the request gave rise to.
type responseWriter struct {
	http.ResponseWriter
	scope *request.Scope
	r     *http.Request
	code  int
}

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
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController find what the connection can do.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
