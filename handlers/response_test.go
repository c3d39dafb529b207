package handlers

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/request"
)

// TestUnreadResponse checks that a client that does not read a large response cannot hold its
// request for longer than the timeout.
func TestUnreadResponse(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprint("HTTP/2 ", http2), func(t *testing.T) {
			ended := make(chan error, 1)
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				sw := &responseWriter{ResponseWriter: w, scope: &request.Scope{}, timeout: 50 * time.Millisecond}
				var err error
				for range 256 {
					if _, err = sw.Write(make([]byte, 1<<20)); err != nil {
						break
					}
				}
				ended <- err
			}))
			s.EnableHTTP2 = http2
			s.StartTLS()
			defer s.Close()
			response, err := s.Client().Get(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if response.ProtoAtLeast(2, 0) != http2 {
				t.Errorf("the protocol is %s", response.Proto)
			}
			if err := <-ended; err == nil {
				t.Error("all was written although the client read nothing")
			}
		})
	}
}
