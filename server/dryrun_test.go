package server

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	jsonType  = "application/json"
	mergeType = "application/merge-patch+json"
	dryPods   = "/api/v1/namespaces/dry/pods"
	dryMaps   = "/api/v1/namespaces/dry/configmaps"
	evictionP = `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q}%s}`
	bindingP  = `{"apiVersion":"v1","kind":"Binding","metadata":{"name":%q},"target":{"kind":"Node","name":"n1"}}`
	podP      = `{"metadata":{"name":%q,"labels":{"app":%[1]q}},"spec":{%s"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]}}`
	onNode    = `"nodeName":"n1",`
)

// requestFor is a certificate signing request in PEM, base64-encoded for JSON.
func requestFor(t *testing.T, name string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
}

// dryWrite is a write, and the key that it changes without a dry run.
type dryWrite struct {
	name, method, path, contentType, body string
	key                                   string
	// byOptions means that the body is DeleteOptions, which can request a dry run.
	// byEviction means that it is an Eviction, whose deleteOptions can.
	byOptions, byEviction bool
}

// dryRunObjects returns pairs of a path and the object that the test posts to it.
func dryRunObjects(t *testing.T) [][2]string {
	out := [][2]string{
		{"/api/v1/namespaces", `{"metadata":{"name":"dry"}}`},
		{"/api/v1/namespaces", `{"metadata":{"name":"dry-gone"}}`},
		{"/api/v1/nodes", `{"metadata":{"name":"n1","labels":{"topology.kubernetes.io/zone":"z"}},"status":{"allocatable":{"cpu":"8","memory":"8Gi"}}}`},
		{"/api/v1/namespaces/dry/resourcequotas", `{"metadata":{"name":"q"},"spec":{"hard":{"pods":"100","configmaps":"100","services.nodeports":"10"}}}`},
		{dryMaps, `{"metadata":{"name":"kept","finalizers":["a.example/b"]}}`},
		{"/api/v1/namespaces/dry/services", `{"metadata":{"name":"old"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`},
		{"/api/v1/namespaces/dry/services", `{"metadata":{"name":"plain"},"spec":{"ports":[{"port":80}]}}`},
		{"/apis/policy/v1/namespaces/dry/poddisruptionbudgets", `{"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"guarded"}}}}`},
		{"/apis/apps/v1/namespaces/dry/deployments", `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`},
		{"/apis/certificates.k8s.io/v1/certificatesigningrequests", fmt.Sprintf(`{"metadata":{"name":"r"},"spec":{"request":%q,"signerName":"a.example/b","usages":["client auth"]}}`, requestFor(t, "somebody"))},
		{"/apis/certificates.k8s.io/v1/certificatesigningrequests", fmt.Sprintf(`{"metadata":{"name":"r2"},"spec":{"request":%q,"signerName":"a.example/b","usages":["client auth"]}}`, requestFor(t, "somebody"))},
		{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"things.dry.example"},"spec":{"group":"dry.example","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},"subresources":{"status":{},"scale":{"specReplicasPath":".spec.n","statusReplicasPath":".status.n"}}}]}}`},
	}
	for _, name := range []string{"put", "json", "merge", "strategic", "applied", "delete", "delete-body"} {
		out = append(out, [2]string{dryMaps, fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"single":"yes"}},"data":{"a":"b"}}`, name)})
	}
	out = append(out, [2]string{dryMaps, `{"metadata":{"name":"one-of-many","labels":{"many":"yes"}}}`})
	for _, name := range []string{"bound", "bound-otherwise"} {
		out = append(out, [2]string{dryPods, fmt.Sprintf(podP, name, "")})
	}
	for _, name := range []string{"evicted", "evicted-body", "guarded", "status", "debug", "resize", "graceful"} {
		out = append(out, [2]string{dryPods, fmt.Sprintf(podP, name, onNode)})
	}
	return out
}

func dryWrites() []dryWrite {
	const cm, pods, crd = "configmaps/dry/", "pods/dry/", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	const things, deployment = "/apis/dry.example/v1/namespaces/dry/things", "/apis/apps/v1/namespaces/dry/deployments/d"
	const services, csr = "/api/v1/namespaces/dry/services", "/apis/certificates.k8s.io/v1/certificatesigningrequests/r"
	scale := `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d","namespace":"dry"},"spec":{"replicas":3}}`
	w := func(name, method, path, contentType, body, key string) dryWrite {
		return dryWrite{name: name, method: method, path: path, contentType: contentType, body: body, key: key}
	}
	options := func(w dryWrite) dryWrite { w.byOptions = true; return w }
	evict := func(name string) dryWrite {
		w := w("evict "+name, "POST", dryPods+"/"+name+"/eviction", jsonType, fmt.Sprintf(evictionP, name, ""), pods+name)
		w.byEviction = true
		return w
	}
	return []dryWrite{
		w("create", "POST", dryMaps, jsonType, `{"metadata":{"name":"new"}}`, cm+"new"),
		w("create a generated name", "POST", dryMaps, jsonType, `{"metadata":{"generateName":"new-"}}`, cm+"new-"),
		w("create what a quota counts", "POST", dryMaps, jsonType, `{"metadata":{"name":"counted"}}`, "resourcequotas/dry/q"),
		w("create where a namespace is made for it", "POST", "/api/v1/namespaces/dry-made/configmaps", jsonType, `{"metadata":{"name":"new"}}`, "namespaces/dry-made"),
		w("create a pod", "POST", dryPods, jsonType, fmt.Sprintf(podP, "new", ""), pods+"new"),
		w("create a service", "POST", services, jsonType, `{"metadata":{"name":"new"},"spec":{"ports":[{"port":80}]}}`, "ipaddresses/"),
		w("create a node port", "POST", services, jsonType, `{"metadata":{"name":"newport"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`, "ranges/"),
		w("create a kind", "POST", crd, jsonType, `{"metadata":{"name":"others.dry.example"},"spec":{"group":"dry.example","scope":"Cluster","names":{"plural":"others","kind":"Other"},
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`, "customresourcedefinitions/others.dry.example"),
		w("create a custom object", "POST", things, jsonType, `{"apiVersion":"dry.example/v1","kind":"Thing","metadata":{"name":"t"},"spec":{"n":1}}`, "dry.example/things/dry/t"),
		w("create an account", "POST", "/api/v1/namespaces/dry/serviceaccounts", jsonType, `{"metadata":{"name":"new"}}`, "serviceaccounts/dry/new"),
		w("create a range", "POST", "/apis/networking.k8s.io/v1/servicecidrs", jsonType, `{"metadata":{"name":"new"},"spec":{"cidrs":["10.97.0.0/24"]}}`, "servicecidrs/new"),
		w("create a namespace", "POST", "/api/v1/namespaces", jsonType, `{"metadata":{"name":"dry-new"}}`, "namespaces/dry-new"),
		w("create by PUT", "PUT", "/apis/coordination.k8s.io/v1/namespaces/dry/leases/by-put", jsonType, `{"metadata":{"name":"by-put"}}`, "leases/dry/by-put"),
		w("create by apply", "PATCH", dryMaps+"/by-apply?fieldManager=m", "application/apply-patch+yaml", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"by-apply"}}`, cm+"by-apply"),
		w("put", "PUT", dryMaps+"/put", jsonType, `{"metadata":{"name":"put"},"data":{"a":"c"}}`, cm+"put"),
		w("JSON patch", "PATCH", dryMaps+"/json", "application/json-patch+json", `[{"op":"add","path":"/data","value":{"a":"c"}}]`, cm+"json"),
		w("merge patch", "PATCH", dryMaps+"/merge", mergeType, `{"data":{"a":"c"}}`, cm+"merge"),
		w("strategic patch", "PATCH", dryMaps+"/strategic", "application/strategic-merge-patch+json", `{"data":{"a":"c"}}`, cm+"strategic"),
		w("apply", "PATCH", dryMaps+"/applied?fieldManager=m&force=true", "application/apply-patch+yaml", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied"},"data":{"a":"c"}}`, cm+"applied"),
		w("begin to delete", "DELETE", dryMaps+"/kept", jsonType, "", cm+"kept"),
		w("delete", "DELETE", dryMaps+"/delete", jsonType, "", cm+"delete"),
		options(w("delete with options", "DELETE", dryMaps+"/delete-body", jsonType, `{"propagationPolicy":"Orphan"}`, cm+"delete-body")),
		options(w("delete gracefully", "DELETE", dryPods+"/graceful", jsonType, `{"gracePeriodSeconds":9}`, pods+"graceful")),
		options(w("delete now", "DELETE", dryPods+"/graceful", jsonType, `{"gracePeriodSeconds":0}`, pods+"graceful")),
		options(w("delete many", "DELETE", dryMaps+"?labelSelector=many", jsonType, `{"gracePeriodSeconds":0}`, cm+"one-of-many")),
		w("bind", "POST", dryPods+"/bound/binding", jsonType, fmt.Sprintf(bindingP, "bound"), pods+"bound"),
		w("bind otherwise", "POST", "/api/v1/namespaces/dry/bindings", jsonType, fmt.Sprintf(bindingP, "bound-otherwise"), pods+"bound-otherwise"),
		evict("evicted"),
		evict("evicted-body"),
		func() dryWrite { w := evict("guarded"); w.key = "poddisruptionbudgets/dry/b"; return w }(),
		w("pod status", "PATCH", dryPods+"/status/status", mergeType, `{"status":{"phase":"Running"}}`, pods+"status"),
		w("debug a pod", "PATCH", dryPods+"/debug/ephemeralcontainers", "application/strategic-merge-patch+json", `{"spec":{"ephemeralContainers":[{"name":"e","image":"i"}]}}`, pods+"debug"),
		w("resize a pod", "PATCH", dryPods+"/resize/resize", "application/strategic-merge-patch+json", `{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]}}`, pods+"resize"),
		w("scale", "PUT", deployment+"/scale", jsonType, scale, "deployments/dry/d"),
		w("scale by patch", "PATCH", deployment+"/scale", mergeType, `{"spec":{"replicas":4}}`, "deployments/dry/d"),
		w("approve", "PATCH", csr+"/approval", mergeType, `{"status":{"conditions":[{"type":"Approved","status":"True","reason":"a","message":"b"}]}}`, "certificatesigningrequests/r"),
		w("certify", "PATCH", csr+"2/status", mergeType, `{"status":{"conditions":[{"type":"Failed","status":"True","reason":"a","message":"b"}]}}`, "certificatesigningrequests/r2"),
		w("take a port", "PATCH", services+"/plain", mergeType, `{"spec":{"type":"NodePort"}}`, "ranges/servicenodeports"),
		w("give a port back", "PATCH", services+"/old", mergeType, `{"spec":{"type":"ClusterIP"}}`, "ranges/servicenodeports"),
		w("delete a service", "DELETE", services+"/old", jsonType, "", "ipaddresses/"),
		w("delete an account", "DELETE", "/api/v1/namespaces/dry/serviceaccounts/default", jsonType, "", "serviceaccounts/dry/default"),
		w("finalize a namespace", "PUT", "/api/v1/namespaces/dry/finalize", jsonType, `{"metadata":{"name":"dry"},"spec":{"finalizers":["kubernetes","a.example/b"]}}`, "namespaces/dry"),
		w("status of a namespace", "PATCH", "/api/v1/namespaces/dry/status", mergeType, `{"status":{"conditions":[{"type":"A","status":"True"}]}}`, "namespaces/dry"),
		w("delete a namespace", "DELETE", "/api/v1/namespaces/dry-gone", jsonType, "", "namespaces/dry-gone"),
		w("delete a node", "DELETE", "/api/v1/nodes/n1", jsonType, "", "minions/n1"),
		options(w("delete a kind", "DELETE", crd+"/things.dry.example", jsonType, `{"gracePeriodSeconds":0}`, "customresourcedefinitions/things.dry.example")),
	}
}

// ways are the forms in which a write can request a dry run.
func (w dryWrite) ways() map[string]dryWrite {
	out := map[string]dryWrite{}
	query := w
	query.path += "?dryRun=All"
	if strings.Contains(w.path, "?") {
		query.path = strings.Replace(query.path, "?dryRun", "&dryRun", 1)
	}
	if w.byOptions { // the body alone counts
		query.body = ""
	}
	out["query"] = query
	if w.byOptions {
		body := w
		body.body = strings.Replace(w.body, "{", `{"dryRun":["All"],`, 1)
		out["body"] = body
	}
	if w.byEviction {
		body := w
		body.body = strings.Replace(w.body, `}}`, `},"deleteOptions":{"dryRun":["All"]}}`, 1)
		out["deleteOptions"] = body
		both := query
		both.body = body.body
		out["query and deleteOptions"] = both
	}
	return out
}

// keys returns the revisions of all keys in etcd, except keys that the server renews.
func keys(t *testing.T, s *Server) map[string]int64 {
	t.Helper()
	resp, err := s.store.Client().Get(t.Context(), "\x00", clientv3.WithFromKey(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	for _, kv := range resp.Kvs {
		if key := string(kv.Key); !strings.HasPrefix(key, "/registry/leases/kube-system/") && !strings.HasPrefix(key, "/registry/masterleases/") {
			out[key] = kv.ModRevision
		}
	}
	return out
}

// changed returns the keys in which two states differ.
func changed(before, after map[string]int64) []string {
	found := map[string]bool{}
	for key, rev := range after {
		found[key] = found[key] || before[key] != rev
	}
	for key := range before {
		if _, ok := after[key]; !ok {
			found[key] = true
		}
	}
	maps.DeleteFunc(found, func(_ string, isChanged bool) bool { return !isChanged })
	return slices.Sorted(maps.Keys(found))
}

// quiet returns the state when the controllers no longer change it.
func quiet(t *testing.T, s *Server) map[string]int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	last := keys(t, s)
	for same := 0; same < 20; same++ {
		select {
		case <-ctx.Done():
			t.Fatal("etcd does not come to rest")
		case <-tick.C:
		}
		if now := keys(t, s); !maps.Equal(now, last) {
			last, same = now, 0
		}
	}
	return last
}

// TestDryRun checks that no write changes anything in etcd as a dry run, in each form of
// the request, and that all of them do otherwise.
func TestDryRun(t *testing.T) {
	s := run(t, Options{Admission: Admission{EnablePlugins: []string{"NamespaceAutoProvision"}}})
	c := raw(t, s)
	for _, o := range dryRunObjects(t) {
		if resp, body := send(t, c, s, "POST", o[0], jsonType, o[1]); resp.StatusCode != http.StatusCreated {
			t.Fatalf("%s: %s", o[1], body)
		}
	}
	for path, status := range map[string]string{
		dryPods + "/guarded/status":                                                         `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`,
		"/apis/policy/v1/namespaces/dry/poddisruptionbudgets/b/status":                      `{"status":{"observedGeneration":1,"currentHealthy":2,"desiredHealthy":1,"disruptionsAllowed":1,"expectedPods":2}}`,
		"/apis/apps/v1/namespaces/dry/deployments/d/status":                                 `{"status":{"replicas":1}}`,
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.dry.example/status": `{"status":{"acceptedNames":{"plural":"things","kind":"Thing"}}}`,
	} {
		if resp, body := send(t, c, s, "PATCH", path, mergeType, status); resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", path, body)
		}
	}
	before := quiet(t, s)
	for _, w := range dryWrites() {
		for way, request := range w.ways() {
			resp, body := send(t, c, s, request.method, request.path, request.contentType, request.body)
			// A dry run does not create the namespace, so nothing can be written to it.
			if ok := resp.StatusCode < 300; ok == strings.Contains(w.path, "dry-made") {
				t.Errorf("%s, by %s: %d %s", w.name, way, resp.StatusCode, body)
			}
			after := keys(t, s)
			if found := changed(before, after); len(found) > 0 {
				t.Errorf("%s, by %s: changed %q", w.name, way, found)
				before = after
			}
			invalidDryRun(t, c, s, w.name, way, request)
		}
	}
	if found := changed(before, keys(t, s)); len(found) > 0 {
		t.Errorf("dry runs with values that do not exist changed %q", found)
	}
	for _, w := range dryWrites() {
		before := keys(t, s)
		resp, body := send(t, c, s, w.method, w.path, w.contentType, w.body)
		if resp.StatusCode >= 300 {
			t.Errorf("%s: %d %s", w.name, resp.StatusCode, body)
		}
		found := changed(before, keys(t, s))
		if !slices.ContainsFunc(found, func(key string) bool { return strings.HasPrefix(key, "/registry/") && strings.Contains(key, w.key) }) {
			t.Errorf("%s: changed %q, which is not %s", w.name, found, w.key)
		}
	}
}

// invalidDryRun requests an unknown form of a dry run.
func invalidDryRun(t *testing.T, c *http.Client, s *Server, name, way string, request dryWrite) {
	t.Helper()
	path, body := strings.Replace(request.path, "dryRun=All", "dryRun=Some", 1), strings.Replace(request.body, `["All"]`, `["Some"]`, 1)
	resp, response := send(t, c, s, request.method, path, request.contentType, body)
	var status struct {
		Message string
	}
	if err := json.NewDecoder(bytes.NewBufferString(response)).Decode(&status); err != nil {
		t.Fatalf("%s: %v", response, err)
	}
	if want := `Options.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"`; resp.StatusCode != http.StatusUnprocessableEntity || !strings.HasSuffix(status.Message, want) {
		t.Errorf("%s, by %s: %d %s", name, way, resp.StatusCode, status.Message)
	}
}
