package handlers

import (
	"net/http"

	"k8s.io/apimachinery/pkg/util/net"

	"github.com/miniapiserver/miniapiserver/request"
)

// responseWriter notes the code of an answer and adds, before the header goes
// out, the warnings that the request gave rise to.
type responseWriter struct {
	http.ResponseWriter
	scope *request.Scope
	code  int
}

// warningCode is "miscellaneous persistent warning", warningAgent nobody in
// particular; client-go expects both.
const (
	warningCode  = 299
	warningAgent = "-"
)

// WriteHeader implements http.ResponseWriter.
func (w *responseWriter) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
		for _, text := range w.scope.Warnings() {
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
