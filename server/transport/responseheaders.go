package transport

import (
	"math/rand/v2"
	"net/http"
	"strings"
)

// StrictTransportSecurity adds the header Strict-Transport-Security with the directives to
// every response, if there are any.
func StrictTransportSecurity(directives []string, next http.Handler) http.Handler {
	if len(directives) == 0 {
		return next
	}
	value := strings.Join(directives, "; ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Strict-Transport-Security", value)
		next.ServeHTTP(w, r)
	})
}

// Goaway ends HTTP/2 connections with a probability: after the response to a request,
// the server sends GOAWAY, and closes the connection when its other requests are
// finished.
func Goaway(chance float64, next http.Handler) http.Handler {
	if chance == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && rand.Float64() < chance {
			w.Header().Set("Connection", "close") // by which net/http sends GOAWAY
		}
		next.ServeHTTP(w, r)
	})
}
