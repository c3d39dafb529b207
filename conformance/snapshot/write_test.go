package snapshot

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/server"
	"github.com/miniapiserver/miniapiserver/storage"
)

// stored is a value in etcd.
type stored struct {
	value   []byte
	created int64
}

// readKeys returns all values in an etcd by key.
func readKeys(t *testing.T, o storage.Options) map[string]stored {
	t.Helper()
	s, err := storage.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	resp, err := s.Client().Get(t.Context(), "/registry/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]stored{}
	for _, kv := range resp.Kvs {
		keys[string(kv.Key)] = stored{kv.Value, kv.CreateRevision}
	}
	return keys
}

// servedObject is an object with the path at which it is served.
type servedObject struct {
	collection string // the path to POST to
	object     map[string]any
	created    int64
}

// TestWritten creates each object of the snapshot from its representation to clients, and compares
// the keys and values in etcd.
func TestWritten(t *testing.T) {
	want := readKeys(t, storage.Options{Ephemeral: true, SnapshotFile: snapshotFile})
	places := servedObjects(t, want)
	dir := t.TempDir()
	// Controllers would change the objects, such as aggregated roles.
	off := slices.DeleteFunc(controllers.Names(), func(name string) bool { return name == "clusterrole-aggregation-controller" })
	func() {
		s, err := server.Start(t.Context(), server.Options{Dir: dir, Emulation: server.Emulation{Version: "1.36"},
			Authentication: server.Authentication{TokenFile: "testdata/tokens.csv"}, Controllers: server.Controllers{Off: off}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		// The user that created the objects of the snapshot; one of them contains the name.
		config := s.RESTConfig()
		config.CertData, config.KeyData, config.BearerToken = nil, nil, "admin-token"
		c := newClientFor(t, config)
		for _, p := range places {
			c.create(p)
		}
	}()
	got := readKeys(t, storage.Options{Dir: filepath.Join(dir, "etcd")})
	compared := 0
	for key, w := range want {
		if why := notWritten(key); why != "" {
			continue
		}
		g, ok := got[key]
		if !ok {
			t.Errorf("%s is not there", key)
			continue
		}
		compared++
		for _, d := range differences("", content(t, key, g.value), content(t, key, w.value)) {
			t.Errorf("%s%s", key, d)
		}
	}
	const least = 225
	if compared < least {
		t.Errorf("compared %d objects, there should be at least %d", compared, least)
	}
}

// notWritten returns the reason for which a key may be missing.
func notWritten(key string) string {
	if strings.HasSuffix(key, "/default/kubernetes") {
		return "where the server is"
	}
	for prefix, why := range map[string]string{
		"/registry/ranges/":                      "the allocators' own record, made of the services that are there",
		"/registry/masterleases/":                "which kube-apiservers run",
		"/registry/leases/kube-system/":          "which kube-apiservers run",
		"/registry/apiextensions.k8s.io/":        "client-go has no such type to read it by; package api compares its bytes",
		"/registry/apiregistration.k8s.io/":      "client-go has no such type to read it by; package api compares its bytes",
		"/registry/etcdref.parity.example/":      "client-go has no such type to read it by",
		"/registry/peerserverleases/":            "which kube-apiservers run",
		"/registry/storageversionmigrations/":    "not served",
		"/registry/clusterroles/" + extendedRole: "which has further rules since",
		"/registry/configmaps/kube-system/ext":   "the certificates of that server",
		"/registry/configmaps/kube-system/kube-apiserver-legacy-service-account-token-tracking": "the day on which that server first started",
	} {
		if strings.HasPrefix(key, prefix) {
			return why
		}
	}
	return ""
}

// servedObjects returns the objects of the snapshot in the order of their creation. An object that
// is served at two paths is created in its storage version.
func servedObjects(t *testing.T, keys map[string]stored) []servedObject {
	t.Helper()
	created, versions := map[string]int64{}, map[string]string{}
	for key, s := range keys {
		if notWritten(key) != "" {
			continue
		}
		obj, apiVersion := decode(t, key, s.value)
		meta, err := meta.Accessor(obj)
		if err != nil {
			t.Fatal(err)
		}
		created[string(meta.GetUID())], versions[string(meta.GetUID())] = s.created, apiVersion
	}
	places := map[string]servedObject{}
	for path, l := range readLists(t) {
		base, resource := filepath.Split(path)
		apiVersion := strings.TrimPrefix(strings.TrimPrefix(strings.Trim(base, "/"), "apis/"), "api/")
		for _, item := range l.Items {
			meta := item["metadata"].(map[string]any)
			uid := fmt.Sprint(meta["uid"])
			if _, ok := created[uid]; !ok {
				continue
			}
			if _, ok := places[uid]; ok && apiVersion != versions[uid] {
				continue
			}
			collection := path
			if ns, ok := meta["namespace"]; ok {
				collection = fmt.Sprint(base, "namespaces/", ns, "/", resource)
			}
			places[uid] = servedObject{collection, item, created[uid]}
		}
	}
	return slices.SortedFunc(maps.Values(places), func(a, b servedObject) int { return cmp.Compare(a.created, b.created) })
}

// create creates an object, unless it exists, and sets its status. Objects that the server creates
// itself are skipped.
func (c *client) create(p servedObject) {
	c.t.Helper()
	meta := p.object["metadata"].(map[string]any)
	name := fmt.Sprint(meta["name"])
	status, hasStatus := p.object["status"]
	if labels, ok := meta["labels"].(map[string]any); ok && labels["ipaddress.kubernetes.io/managed-by"] == "ipallocator.k8s.io" {
		return // it is created with its service
	}
	if code, _ := c.do(http.MethodGet, p.collection+"/"+name, ""); code == http.StatusOK {
		return
	}
	for _, own := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink"} {
		delete(meta, own)
	}
	if strings.HasSuffix(p.collection, "/jobs") {
		removeGenerated(p.object)
	}
	code, body := c.do(http.MethodPost, p.collection, encode(c.t, p.object))
	if code != http.StatusCreated {
		c.t.Errorf("%s/%s: %d %s", p.collection, name, code, body)
		return
	}
	if !hasStatus {
		return
	}
	for !c.setStatus(p.collection+"/"+name+"/status", status) {
	}
}

// setStatus replaces the status at path, if there is one. It returns false on a conflict.
func (c *client) setStatus(path string, status any) bool {
	c.t.Helper()
	code, body := c.do(http.MethodGet, path, "")
	if code == http.StatusNotFound {
		return true // without the subresource, the create has set the status
	}
	var now map[string]any
	if err := json.Unmarshal(body, &now); err != nil || code != http.StatusOK {
		c.t.Fatalf("%d %v %s", code, err, body)
	}
	if len(differences("", now["status"], status)) == 0 {
		return true
	}
	now["status"] = status
	code, body = c.do(http.MethodPut, path, encode(c.t, now))
	if code == http.StatusConflict {
		return false
	}
	if code != http.StatusOK {
		c.t.Errorf("%s: %d %s", path, code, body)
	}
	return true
}

// removeGenerated removes the values derived from a Job's UID: the pod labels and their selector.
// The labels of the Job are defaulted from those of its pods.
func removeGenerated(job map[string]any) {
	delete(job["metadata"].(map[string]any), "labels")
	spec := job["spec"].(map[string]any)
	delete(spec, "selector")
	delete(spec["template"].(map[string]any), "metadata")
}

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// decode decodes a stored value with client-go's codec, which sets no defaults.
func decode(t *testing.T, key string, value []byte) (runtime.Object, string) {
	t.Helper()
	obj, gvk, err := scheme.Codecs.UniversalDeserializer().Decode(value, nil, nil)
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	apiVersion, _ := gvk.ToAPIVersionAndKind()
	return obj, apiVersion
}

// content returns the content of a value without the parts that differ between creations.
func content(t *testing.T, key string, value []byte) map[string]any {
	t.Helper()
	obj, apiVersion := decode(t, key, value)
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	m["apiVersion"] = apiVersion
	if meta, ok := m["metadata"].(map[string]any); ok {
		// Values derived from the UID are compared with the new UID.
		text := strings.ReplaceAll(encode(t, m), fmt.Sprint(meta["uid"]), "UID")
		m = map[string]any{}
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		meta = m["metadata"].(map[string]any)
		removeTransitionTimes(m)
		for _, own := range []string{"uid", "creationTimestamp", "managedFields"} {
			delete(meta, own)
		}
	}
	return m
}

// removeTransitionTimes removes the times of all conditions.
func removeTransitionTimes(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "lastTransitionTime")
		for _, field := range v {
			removeTransitionTimes(field)
		}
	case []any:
		for _, item := range v {
			removeTransitionTimes(item)
		}
	}
}
