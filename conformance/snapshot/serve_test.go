package snapshot

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/server"
)

const (
	snapshotFile = "testdata/kube-apiserver-1.36.snapshot.gz"
	listsFile    = "testdata/lists.json.gz"
)

// list is kube-apiserver's response to a list.
type list struct {
	Kind  string           `json:"kind"`
	Items []map[string]any `json:"items"`
}

func readLists(t *testing.T) map[string]list {
	t.Helper()
	f, err := os.Open(listsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string]list{}
	if err := json.NewDecoder(z).Decode(&lists); err != nil {
		t.Fatal(err)
	}
	return lists
}

// restored starts a server on the snapshot.
func restored(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	o.Etcd.Snapshot = snapshotFile
	return start(t, o)
}

func start(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	o.Controllers.Off = controllers.Names() // controllers would change the objects
	s, err := server.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// client returns an HTTP client of the administrator.
type client struct {
	t    *testing.T
	url  string
	http *http.Client
}

func newClient(t *testing.T, s *server.Server) *client {
	t.Helper()
	return newClientFor(t, s.RESTConfig())
}

func newClientFor(t *testing.T, config *rest.Config) *client {
	t.Helper()
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return &client{t, config.Host, c}
}

func (c *client) do(method, path, body string) (int, []byte) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, data
}

// TestServed lists every resource of the snapshot and compares the responses with kube-apiserver's.
func TestServed(t *testing.T) {
	c := newClient(t, restored(t, server.Options{Emulation: server.Emulation{Version: "1.36"},
		Services: server.Services{EndpointReconciler: "none"}}))
	for path, want := range readLists(t) {
		t.Run(path, func(t *testing.T) {
			code, body := c.do(http.MethodGet, path, "")
			if code != http.StatusOK {
				t.Fatalf("%d %s", code, body)
			}
			var got list
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatal(err)
			}
			if got.Kind != want.Kind {
				t.Errorf("kind %s, want %s", got.Kind, want.Kind)
			}
			addEmptyStatus(want)
			compareItems(t, withoutIdentities(got.Items), withoutIdentities(want.Items))
		})
	}
}

// addEmptyStatus adds the status that CSINodes have since Kubernetes 1.37 to a list that 1.36 gave.
// It has no feature gate and is not omitted when it is empty.
func addEmptyStatus(l list) {
	if l.Kind != "CSINodeList" {
		return
	}
	for _, item := range l.Items {
		item["status"] = map[string]any{}
	}
}

// extendedRole has rules that Kubernetes 1.37 added, also where it emulates 1.36.
const extendedRole = "system:controller:node-controller"

// withoutIdentities removes that role, and objects that identify a server: its lease, which this server may take
// over if the host name is the same; the ConfigMap to which every server adds its CAs; and the
// permission of this server's kubelet client.
func withoutIdentities(items []map[string]any) []map[string]any {
	return slices.DeleteFunc(items, func(item map[string]any) bool {
		meta, _ := item["metadata"].(map[string]any)
		labels, _ := meta["labels"].(map[string]any)
		return labels["apiserver.kubernetes.io/identity"] != nil || meta["name"] == "extension-apiserver-authentication" ||
			meta["name"] == "miniapiserver:kubelet-api-admin" || meta["name"] == extendedRole
	})
}

// compareItems compares lists in the same order.
func compareItems(t *testing.T, got, want []map[string]any) {
	t.Helper()
	if g, w := names(got), names(want); !reflect.DeepEqual(g, w) {
		t.Fatalf("got  %v\nwant %v", g, w)
	}
	for n := range want {
		for _, d := range differences("", got[n], want[n]) {
			t.Errorf("%s: %s", names(want)[n], d)
		}
	}
}

func names(items []map[string]any) []string {
	var out []string
	for _, i := range items {
		m, _ := i["metadata"].(map[string]any)
		out = append(out, fmt.Sprint(m["namespace"], "/", m["name"]))
	}
	return out
}

// differences returns the differences of two values by path.
func differences(path string, got, want any) []string {
	g, ok1 := got.(map[string]any)
	w, ok2 := want.(map[string]any)
	if ok1 && ok2 {
		keys := map[string]bool{}
		for k := range g {
			keys[k] = true
		}
		for k := range w {
			keys[k] = true
		}
		var out []string
		for k := range keys {
			out = append(out, differences(path+"."+k, g[k], w[k])...)
		}
		sort.Strings(out)
		return out
	}
	gl, ok1 := got.([]any)
	wl, ok2 := want.([]any)
	if ok1 && ok2 && len(gl) == len(wl) {
		var out []string
		for n := range wl {
			out = append(out, differences(fmt.Sprintf("%s[%d]", path, n), gl[n], wl[n])...)
		}
		return out
	}
	if reflect.DeepEqual(got, want) {
		return nil
	}
	return []string{fmt.Sprintf("%s: got %s, want %s", path, short(got), short(want))}
}

func short(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	const most = 200
	if len(b) > most {
		b = append(b[:most], "..."...)
	}
	return string(b)
}

// TestRestartAfterRestore restarts on the directory restored from the snapshot: without the flag
// all objects exist, with the flag the start fails.
func TestRestartAfterRestore(t *testing.T) {
	dir := t.TempDir()
	s, err := server.Start(t.Context(), server.Options{Dir: dir, Etcd: server.Etcd{Snapshot: snapshotFile}})
	if err != nil {
		t.Fatal(err)
	}
	code, body := newClient(t, s).do(http.MethodPost, "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"after"}}`)
	if code != http.StatusCreated {
		t.Errorf("%d %s", code, body)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = server.Start(t.Context(), server.Options{Dir: dir, Etcd: server.Etcd{Snapshot: snapshotFile}})
	want := fmt.Sprintf("--etcd-snapshot: %s: data directory %s/etcd is not empty, a snapshot can only be restored into a new one", snapshotFile, dir)
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	again := newClient(t, start(t, server.Options{Dir: dir}))
	for _, path := range []string{"/api/v1/namespaces/default/configmaps/after", "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin"} {
		if code, body := again.do(http.MethodGet, path, ""); code != http.StatusOK {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}
