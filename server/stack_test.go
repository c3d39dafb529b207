//go:build !race

package server

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"

	certutil "k8s.io/client-go/util/cert"
)

// TestStack checks that the stack of a request grows once, at its beginning: each further growth copies all of it, which is some
// percent of the cost of the request. A variable on the stack has another address after a copy.
func TestStack(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection shrinks stacks
	const (
		pods, maps   = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/configmaps"
		read, write  = 5, 12 // the room that the step identify makes, in KiB
		merge, apply = "application/merge-patch+json", "application/apply-patch+yaml"
		pod          = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "NAME", "labels": {"app": "web"}}, "spec": {"containers": [
			{"name": "c", "image": "a", "resources": {"requests": {"cpu": "1"}}, "env": [{"name": "a", "value": "b"}]}]}}`
		configMap = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "NAME", "labels": {"app": "web"}}, "data": {"a": "VALUE"}}`
	)
	for name, hasLab := range map[string]bool{"without a lab": false, "with a lab": true} {
		o := Options{}
		o.Lab.Enabled = hasLab
		s, err := Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		stopAtEnd(t, s)
		admin, err := certutil.ParseCertsPEM(s.RESTConfig().CertData)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range []string{"first", "second", "third"} { // what the first requests do once needs more room
			for _, row := range []struct {
				room                          int
				method, path, mediaType, body string
			}{
				{write, "POST", pods, "application/json", pod},
				{write, "POST", maps, "application/json", strings.ReplaceAll(configMap, "VALUE", "1")},
				{write, "PUT", maps + "/NAME", "application/json", strings.ReplaceAll(configMap, "VALUE", "2")},
				{write, "PATCH", maps + "/NAME", merge, `{"data": {"a": "3"}}`},
				{write, "PATCH", maps + "/NAME?fieldManager=m&force=true", apply, strings.ReplaceAll(configMap, "VALUE", "4")},
				{read, "GET", pods + "/NAME", "", ""},
				{read, "GET", pods, "", ""},
				{write, "DELETE", maps + "/NAME", "", ""},
			} {
				named := strings.NewReplacer("NAME", object)
				r := httptest.NewRequest(row.method, named.Replace(row.path), strings.NewReader(named.Replace(row.body))).WithContext(t.Context())
				r.Header.Set("Content-Type", row.mediaType)
				r.TLS = &tls.ConnectionState{PeerCertificates: admin}
				w, moved := httptest.NewRecorder(), make(chan bool)
				go func() { moved <- serveOnStack(s.handler, w, r, row.room) }()
				isList := row.method == "GET" && row.path == pods // with a lab it needs a little more; its cost is in the objects
				if <-moved && object == "third" && !(hasLab && isList) {
					t.Errorf("%s: the stack of %s %s %s grew again", name, row.method, row.path, row.mediaType)
				}
				if w.Code >= 300 {
					t.Errorf("%s: %s %s: %d %.200s", name, row.method, row.path, w.Code, w.Body)
				}
			}
		}
	}
}

// serveOnStack serves a request on a stack that has grown before, and reports whether it was moved.
func serveOnStack(h http.Handler, w http.ResponseWriter, r *http.Request, room int) (moved bool) {
	var here byte
	fill(room)
	before := uintptr(unsafe.Pointer(&here))
	belowServer(h, w, r)
	return before != uintptr(unsafe.Pointer(&here))
}

//go:noinline
func fill(room int) {
	var five [5 << 10]byte
	if room > 5 {
		fillMore()
	}
	runtime.KeepAlive(&five)
}

//go:noinline
func fillMore() {
	var seven [7 << 10]byte
	runtime.KeepAlive(&seven)
}

// belowServer has what the HTTP server has on the stack.
//
//go:noinline
func belowServer(h http.Handler, w http.ResponseWriter, r *http.Request) {
	var server [800]byte
	h.ServeHTTP(w, r)
	runtime.KeepAlive(&server)
}
