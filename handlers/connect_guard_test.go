package handlers

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestConnectRefusesAddresses checks that no status of a node or a pod makes a proxy connect to the server's
// machine or link, and that no WebSocket begins.
func TestConnectRefusesAddresses(t *testing.T) {
	h, front := newCluster(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was reached", r.URL) })
	write := func(method, path, body string, code int) {
		t.Helper()
		if w := sendText(t, h, method, path, body, "Content-Type", map[string]string{http.MethodPost: "application/json", http.MethodPatch: "application/merge-patch+json"}[method]); w.Code != code {
			t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
	}
	const ns = "/api/v1/namespaces/ns/"
	const webSocket = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: XW7visyKGwFcxlEMU8FsHg==\r\n"
	for i, address := range []string{"127.0.0.1", "::1", "0.0.0.0", "169.254.169.254", "fe80::1", "224.0.0.1"} {
		name := fmt.Sprint("bad", i)
		write(http.MethodPost, "/api/v1/nodes", `{"metadata":{"name":"`+name+`"},"status":{"addresses":[{"type":"InternalIP","address":"`+address+`"}]}}`, 201)
		write(http.MethodPost, ns+"pods", `{"metadata":{"name":"`+name+`"},"spec":{"nodeName":"`+name+`","containers":[{"name":"c","image":"i"}]}}`, 201)
		write(http.MethodPatch, ns+"pods/"+name+"/status", `{"status":{"podIP":"`+address+`","podIPs":[{"ip":"`+address+`"}]}}`, 200)
		for _, ask := range []struct{ method, path, headers string }{
			{"GET", "/api/v1/nodes/" + name + "/proxy/metrics", ""},
			{"POST", "/api/v1/nodes/" + name + "/proxy/run", ""},
			{"GET", "/api/v1/nodes/" + name + "/proxy/exec", webSocket},
			{"GET", "/api/v1/nodes/" + name + ":8080/proxy/", ""},
			{"GET", ns + "pods/" + name + "/proxy/", ""},
		} {
			conn, err := net.Dial("tcp", front.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n%s\r\n", ask.method, ask.path, ask.headers)
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			var body []byte
			if response.StatusCode != http.StatusSwitchingProtocols {
				body, err = io.ReadAll(response.Body)
			}
			if response.StatusCode != http.StatusBadRequest || err != nil || !strings.Contains(string(body), `"message":"address not allowed`) {
				t.Errorf("%s %s at %s: %d %s (%v)", ask.method, ask.path, address, response.StatusCode, body, err)
			}
			conn.Close()
		}
	}
}
