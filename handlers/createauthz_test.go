package handlers

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/request"
)

// verbs is an authorizer that allows administrators everything, and all other users the listed
// requests, as "verb resource/subresource".
type verbs []string

func (v verbs) Authorize(_ context.Context, u *request.User, info *request.Info) (authz.Decision, string, error) {
	resource := info.Resource
	if info.Subresource != "" {
		resource += "/" + info.Subresource
	}
	if slices.Contains(u.Groups, request.GroupMasters) || slices.Contains(v, info.Verb+" "+resource) {
		return authz.Allow, "", nil
	}
	return authz.NoOpinion, "", nil
}

// TestConnectRequiresCreate checks that a GET that opens streams to a pod requires create, in
// every protocol.
func TestConnectRequiresCreate(t *testing.T) {
	var reached atomic.Int32
	kubelet := func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		upgrade(w, r)
	}
	authorizer := verbs{"get pods/exec", "get pods/attach", "get pods/portforward", "get pods/log", "get pods/proxy"}
	var also verbs
	_, front := newCluster(t, kubelet, func(c *Config) {
		c.Authorizer = authorizerFunc(func(ctx context.Context, u *request.User, info *request.Info) (authz.Decision, string, error) {
			return append(slices.Clone(authorizer), also...).Authorize(ctx, u, info)
		})
	})
	const webSocket = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: XW7visyKGwFcxlEMU8FsHg==\r\n"
	get := func(path, headers string) (int, string) {
		conn, err := net.Dial("tcp", front.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET /api/v1/namespaces/ns/pods/%s HTTP/1.1\r\nHost: x\r\nGroup: readers\r\n%s\r\n", path, headers)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode == http.StatusSwitchingProtocols {
			return response.StatusCode, ""
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	protocols := map[string]string{
		"none":             "",
		"SPDY":             "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n",
		"WebSocket":        webSocket,
		"WebSocket, v4":    webSocket + "Sec-WebSocket-Protocol: v4.channel.k8s.io\r\n",
		"WebSocket, v5":    webSocket + "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n",
		"WebSocket tunnel": webSocket + "Sec-WebSocket-Protocol: SPDY/3.1+portforward.k8s.io\r\n",
	}
	for _, sub := range []string{"exec?command=id&stdout=1", "attach?stdout=1", "portforward?ports=80"} {
		for name, headers := range protocols {
			for _, pod := range []string{"p", "missing"} {
				code, body := get(pod+"/"+sub, headers)
				if want := fmt.Sprintf(`"message":"pods \"%s\" is forbidden: "`, pod); code != http.StatusForbidden || !strings.Contains(body, want) {
					t.Errorf("%s of %s by %s: %d %s, want %s", sub, pod, name, code, body, want)
				}
			}
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("the kubelet was reached %d times", n)
	}
	also = verbs{"create pods/exec"}
	if code, body := get("p/exec?command=id&stdout=1", protocols["SPDY"]); code != http.StatusSwitchingProtocols {
		t.Errorf("with create: %d %s", code, body)
	}
	if code, body := get("p/attach?stdout=1", protocols["SPDY"]); code != http.StatusForbidden {
		t.Errorf("with create of another subresource: %d %s", code, body)
	}
}

type authorizerFunc func(context.Context, *request.User, *request.Info) (authz.Decision, string, error)

func (f authorizerFunc) Authorize(ctx context.Context, u *request.User, info *request.Info) (authz.Decision, string, error) {
	return f(ctx, u, info)
}

// TestUpdateThatCreatesRequiresCreate checks that a PUT that creates requires create, also in a
// dry run.
func TestUpdateThatCreatesRequiresCreate(t *testing.T) {
	h := newHandler(t, func(c *Config) {
		c.Authorizer = verbs{"update leases", "update services", "update services/status", "update clusterroles", "create clusterroles"}
	})
	const leases = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/"
	for _, c := range []struct {
		path, body string
		code       int
		want       string
	}{
		{leases + "x", `{"metadata":{"name":"x"}}`, 403,
			`leases.coordination.k8s.io \"x\" is forbidden: User \"somebody\" cannot create resource \"leases\" in API group \"coordination.k8s.io\" in the namespace \"ns\"`},
		{leases + "x?dryRun=All", `{"metadata":{"name":"x"}}`, 403, "cannot create resource"},
		{leases + "x", `{"metadata":{"name":"x"},"spec":{"leaseDurationSeconds":-1}}`, 422, "leaseDurationSeconds"},
		{"/api/v1/namespaces/ns/services/x/status", `{"metadata":{"name":"x"},"spec":{"ports":[{"port":1}]}}`, 403, `cannot create resource \"services/status\"`},
		{"/apis/rbac.authorization.k8s.io/v1/clusterroles/x", `{"metadata":{"name":"x"}}`, 201, ""},
	} {
		w := sendText(t, h, http.MethodPut, c.path, c.body, "Group", "writers")
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("PUT %s: %d %s, want %d %s", c.path, w.Code, w.Body, c.code, c.want)
		}
	}
	for _, path := range []string{leases + "x", "/api/v1/namespaces/ns/services/x"} {
		if w := send(t, h, http.MethodGet, path, nil); w.Code != http.StatusNotFound {
			t.Errorf("%s was created: %d %s", path, w.Code, w.Body)
		}
	}
	if w := sendText(t, h, http.MethodPost, strings.TrimSuffix(leases, "/"), `{"metadata":{"name":"x"}}`); w.Code != http.StatusCreated {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	get := send(t, h, http.MethodGet, leases+"x", nil)
	if w := sendText(t, h, http.MethodPut, leases+"x", get.Body.String(), "Group", "writers"); w.Code != http.StatusOK {
		t.Errorf("an update of what is there: %d %s", w.Code, w.Body)
	}
}
