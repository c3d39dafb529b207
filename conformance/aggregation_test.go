package conformance

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server"
)

// sample is an API server for things, as others are that APIServices lead to: it
// believes what it is told of users by who shows a certificate of the CA in the
// cluster's ConfigMap, and nobody else.
type sample struct {
	*httptest.Server
	ca []byte // of its own certificate

	mu      sync.Mutex
	trusted *x509.CertPool
	names   []string
	users   []string // who asked, and his groups
	things  map[string]json.RawMessage
	events  []json.RawMessage
	changed *sync.Cond
	// older: it knows no aggregated discovery.
	older bool
	// garbage is what it says instead of its document of version 2, whose name
	// nobody asks about then; documents is how often it was asked for.
	garbage   string
	documents int
}

const sampleGroup = "sample.example.com"

func newSample(t *testing.T, name string) *sample {
	s := &sample{things: map[string]json.RawMessage{}}
	s.changed = sync.NewCond(&s.mu)
	s.Server = httptest.NewUnstartedServer(s)
	var certificate tls.Certificate
	certificate, s.ca = selfSigned(t, name)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequestClientCert}
	s.EnableHTTP2 = true
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // of connections that are refused on purpose
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func selfSigned(t *testing.T, name string) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// believe reads from the cluster whom to believe.
func (s *sample) believe(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	m, err := c.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.trusted = x509.NewCertPool()
	if !s.trusted.AppendCertsFromPEM([]byte(m.Data["requestheader-client-ca-file"])) {
		t.Fatalf("no CA in %v", m.Data)
	}
	if err := json.Unmarshal([]byte(m.Data["requestheader-allowed-names"]), &s.names); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(m.Data["client-ca-file"], "CERTIFICATE") || m.Data["requestheader-username-headers"] != `["X-Remote-User"]` ||
		m.Data["requestheader-group-headers"] != `["X-Remote-Group"]` || m.Data["requestheader-extra-headers-prefix"] != `["X-Remote-Extra-"]` {
		t.Errorf("%v", m.Data)
	}
}

// knows tells whether a request comes from a server that is believed.
func (s *sample) knows(r *http.Request) bool {
	if len(r.TLS.PeerCertificates) == 0 {
		return false
	}
	c := r.TLS.PeerCertificates[0]
	_, err := c.Verify(x509.VerifyOptions{Roots: s.trusted, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return err == nil && slices.Contains(s.names, c.Subject.CommonName)
}

const (
	thingsOf  = "/apis/" + sampleGroup + "/v1/namespaces/default/things"
	aggregate = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
)

// ServeHTTP implements http.Handler.
func (s *sample) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.knows(r) {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	s.mu.Lock()
	s.users = append(s.users, r.Header.Get("X-Remote-User")+" "+strings.Join(r.Header["X-Remote-Group"], ","))
	s.mu.Unlock()
	if r.Header.Get("Authorization") != "" {
		http.Error(w, "I was shown a secret", http.StatusTeapot)
		return
	}
	name, below, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, thingsOf), "/"), "/")
	switch {
	case r.URL.Path == "/apis" && s.older:
		http.NotFound(w, r)
	case r.URL.Path == "/apis":
		w.Header().Set("Content-Type", aggregate)
		fmt.Fprintf(w, `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[{"metadata":{"name":%q},"versions":[
			{"version":"v1","resources":[{"resource":"things","responseKind":{"group":"","version":"","kind":"Thing"},"scope":"Namespaced","singularResource":"thing","verbs":["create","get","list","watch"],"shortNames":["th"]}],"freshness":"Current"}]}]}`, sampleGroup)
	case r.URL.Path == "/apis/"+sampleGroup+"/v1":
		s.json(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"`+sampleGroup+`/v1","resources":[
			{"name":"things","singularName":"thing","namespaced":true,"kind":"Thing","verbs":["create","get","list","watch"],"shortNames":["th"]}]}`)
	case r.URL.Path == "/apis/"+sampleGroup+"/v1/elsewhere":
		http.Redirect(w, r, "https://elsewhere.example.com/", http.StatusFound)
	case r.URL.Path == "/openapi/v3" && !s.older:
		s.json(w, `{"paths":{"version":{"serverRelativeURL":"/openapi/v3/version?hash=1"},
			"apis/`+sampleGroup+`/v1":{"serverRelativeURL":"/openapi/v3/apis/`+sampleGroup+`/v1?hash=ABC"}}}`)
	case r.URL.Path == "/openapi/v3/apis/"+sampleGroup+"/v1" && r.URL.RawQuery == "hash=ABC":
		s.json(w, `{"openapi":"3.0.0","info":{"title":"things"}}`)
	case r.URL.Path == "/openapi/v2" && !s.older:
		s.swagger(w, r)
	case strings.HasPrefix(r.URL.Path, "/openapi"):
		http.NotFound(w, r)
	case below == "echo":
		s.echo(w, r)
	case name != "":
		s.get(w, name)
	case r.Method == http.MethodPost:
		s.create(w, r)
	case r.URL.Query().Get("watch") != "":
		s.watch(w, r)
	default:
		s.list(w)
	}
}

// swagger is a document of version 2, of which the cluster has some parts already
// and others otherwise.
func (s *sample) swagger(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	garbage := s.garbage
	s.documents++
	s.mu.Unlock()
	if garbage != "" {
		s.json(w, garbage)
		return
	}
	w.Header().Set("Etag", `"1"`)
	if r.Header.Get("If-None-Match") == `"1"` {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.json(w, `{"swagger":"2.0","info":{"title":"things","version":"v1"},"paths":{
		"/version/":{"get":{"operationId":"getThingsVersion","responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/io.k8s.apimachinery.pkg.version.Info"}}}}},
		"`+strings.Replace(thingsOf, "/default/", "/{namespace}/", 1)+`":{"get":{"operationId":"listThings","responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/com.example.sample.v1.Thing"}}}}}},
		"definitions":{
			"io.k8s.apimachinery.pkg.version.Info":{"type":"string"},
			"io.k8s.api.core.v1.Pod":{"type":"object","description":"a thing of another sort"},
			"com.example.sample.v1.Thing":{"type":"object","description":"Thing is a thing.","properties":{"pod":{"$ref":"#/definitions/io.k8s.api.core.v1.Pod"}},
				"x-kubernetes-group-version-kind":[{"group":"`+sampleGroup+`","version":"v1","kind":"Thing"}]}}}`)
}

func (s *sample) json(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text) // a client that is gone sees nothing
}

func (s *sample) get(w http.ResponseWriter, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.json(w, string(s.things[name]))
}

func (s *sample) list(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []json.RawMessage{}
	for _, thing := range s.things {
		items = append(items, thing)
	}
	body, _ := json.Marshal(map[string]any{
		"kind": "ThingList", "apiVersion": sampleGroup + "/v1", "metadata": map[string]any{"resourceVersion": "1"}, "items": items,
	})
	s.json(w, string(body))
}

func (s *sample) create(w http.ResponseWriter, r *http.Request) {
	var u unstructured.Unstructured
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = u.UnmarshalJSON(body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.things[u.GetName()] = body
	s.events = append(s.events, body)
	s.changed.Broadcast()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(body) // a client that is gone sees nothing
}

func (s *sample) watch(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	defer context.AfterFunc(r.Context(), s.changed.Broadcast)()
	s.mu.Lock()
	defer s.mu.Unlock()
	for sent := 0; r.Context().Err() == nil; {
		for ; sent < len(s.events); sent++ {
			fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", s.events[sent])
			_ = http.NewResponseController(w).Flush()
		}
		s.changed.Wait()
	}
}

// echo turns a connection into one of another protocol, in which everything comes
// back.
func (s *sample) echo(w http.ResponseWriter, r *http.Request) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil || r.Header.Get("Upgrade") != "echo" {
		http.Error(w, fmt.Sprint(err, r.Header), http.StatusInternalServerError)
		return
	}
	defer conn.Close()
	fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	_, _ = io.Copy(conn, buffered) // until the client ends it
}

// aggregated is a server with an APIService that leads to a sample.
type aggregated struct {
	*sample
	server   *server.Server
	client   kubernetes.Interface
	dynamic  dynamic.Interface
	services dynamic.ResourceInterface
}

// The service of the sample has an endpoint at an address that leads to it.
const sampleIP = "192.0.2.10"

func startAggregated(t *testing.T) *aggregated {
	a := &aggregated{sample: newSample(t, "things.default.svc")}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == sampleIP+":8443" {
			address = a.Listener.Addr().String()
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	a.server, a.client = startWith(t, server.Options{Dial: dial})
	a.believe(t, a.client)
	a.dynamic = dynamic.NewForConfigOrDie(a.server.RESTConfig())
	a.services = a.dynamic.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
	_, err := a.client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "things"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// register makes the APIService, with a group priority.
func (a *aggregated) register(t *testing.T, change func(spec map[string]any)) {
	t.Helper()
	spec := map[string]any{
		"group": sampleGroup, "version": "v1", "groupPriorityMinimum": int64(17790), "versionPriority": int64(10), "caBundle": a.ca,
		"service": map[string]any{"namespace": "default", "name": "things"},
	}
	if change != nil {
		change(spec)
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1." + sampleGroup}, "spec": spec,
	})
	var u unstructured.Unstructured
	if err == nil {
		err = u.UnmarshalJSON(body)
	}
	if err == nil {
		_, err = a.services.Create(t.Context(), &u, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// becomes waits until the APIService has a reason for what it is.
func (a *aggregated) becomes(t *testing.T, want string) {
	t.Helper()
	eventually(t, want, func(ctx context.Context) (bool, error) {
		u, err := a.services.Get(ctx, "v1."+sampleGroup, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		return len(conditions) == 1 && conditions[0].(map[string]any)["reason"] == want, nil
	})
}

// lead gives the service its endpoint.
func (a *aggregated) lead(t *testing.T, ready bool) {
	t.Helper()
	name, port := "https", int32(8443)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "things", Labels: map[string]string{discoveryv1.LabelServiceName: "things"}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{sampleIP}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
	}
	slices := a.client.DiscoveryV1().EndpointSlices("default")
	_, err := slices.Create(t.Context(), slice, metav1.CreateOptions{})
	if err != nil {
		_, err = slices.Update(t.Context(), slice, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAggregation: kinds of another server are as if built in, as long as it can
// be reached.
func TestAggregation(t *testing.T) {
	a := startAggregated(t)
	a.register(t, nil)
	a.becomes(t, "EndpointsNotFound")
	a.lead(t, false)
	a.becomes(t, "MissingEndpoints")
	a.lead(t, true)
	a.becomes(t, "Passed")

	things := a.dynamic.Resource(schema.GroupVersionResource{Group: sampleGroup, Version: "v1", Resource: "things"}).Namespace("default")
	w, err := things.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	thing := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": sampleGroup + "/v1", "kind": "Thing", "metadata": map[string]any{"name": "one", "namespace": "default"},
	}}
	if _, err := things.Create(t.Context(), thing, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-w.ResultChan():
		if u, ok := e.Object.(*unstructured.Unstructured); e.Type != watch.Added || !ok || u.GetName() != "one" {
			t.Errorf("%+v", e)
		}
	case <-time.After(time.Minute):
		t.Fatal("no event")
	}
	if list, err := things.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	a.mu.Lock()
	if last := a.users[len(a.users)-1]; last != "kubernetes-admin system:masters,system:authenticated" && last != "kubernetes-admin system:masters" {
		t.Errorf("the last to ask was %q", last)
	}
	if !slices.Contains(a.users, "system:kube-aggregator system:masters") {
		t.Errorf("asked by %q", a.users)
	}
	a.mu.Unlock()
	if body, code := a.fetch(t, "/apis/"+sampleGroup+"/v1/elsewhere"); code != http.StatusBadGateway || !strings.Contains(body, "attempted to redirect") {
		t.Errorf("a redirect: %d %s", code, body)
	}
	a.upgrade(t)
	a.discovered(t)
	a.described(t)

	a.merged(t)

	if err := a.services.Delete(t.Context(), "v1."+sampleGroup, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if body, code := a.fetch(t, "/openapi/v2"); code != http.StatusOK || strings.Contains(body, sampleGroup) || strings.Contains(body, "Pod_v2") {
		t.Errorf("%d: the document is still about things", code)
	}
	eventually(t, "group gone", func(ctx context.Context) (bool, error) {
		_, code := a.fetch(t, "/apis/"+sampleGroup+"/v1")
		_, err := a.client.Discovery().ServerResourcesForGroupVersion(sampleGroup + "/v1")
		return code == http.StatusNotFound && err != nil, nil
	})
}

// fetch asks the server as its administrator.
func (a *aggregated) fetch(t *testing.T, path string) (body string, code int) {
	t.Helper()
	c, err := rest.HTTPClientFor(a.server.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := c.Get(a.server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw), answer.StatusCode
}

// upgrade has a connection go through to the sample.
func (a *aggregated) upgrade(t *testing.T) {
	t.Helper()
	config, err := rest.TLSConfigFor(a.server.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	config.NextProtos = []string{"http/1.1"}
	conn, err := tls.Dial("tcp", strings.TrimPrefix(a.server.URL, "https://"), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s/one/echo HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n", thingsOf, a.server.Token)
	r := bufio.NewReader(conn)
	answer, err := http.ReadResponse(r, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", answer, err)
	}
	for _, line := range []string{"hello\n", "again\n"} {
		fmt.Fprint(conn, line)
		if got, err := r.ReadString('\n'); got != line {
			t.Fatalf("%q, %v", got, err)
		}
	}
}

func (a *aggregated) discovery() discovery.AggregatedDiscoveryInterface {
	return discovery.NewDiscoveryClientForConfigOrDie(a.server.RESTConfig())
}

// discovered looks for things in both forms of discovery.
func (a *aggregated) discovered(t *testing.T) {
	t.Helper()
	groups, resources, stale, err := a.discovery().GroupsAndMaybeResources()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range groups.Groups {
		names = append(names, g.Name)
	}
	// Its priority is between those of apps and events.
	if i := slices.Index(names, sampleGroup); i < 1 || names[i-1] != "apps" || names[i+1] != "events.k8s.io" {
		t.Errorf("groups %q", names)
	}
	if list := resources[schema.GroupVersion{Group: sampleGroup, Version: "v1"}]; len(stale) > 0 || list == nil || len(list.APIResources) != 1 ||
		list.APIResources[0].Kind != "Thing" || list.APIResources[0].ShortNames[0] != "th" {
		t.Errorf("%+v, stale %v", list, stale)
	}
	var older metav1.APIGroupList
	body, _ := a.fetch(t, "/apis")
	if err := json.Unmarshal([]byte(body), &older); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(older.Groups, func(g metav1.APIGroup) bool { return g.Name == sampleGroup })
	if i < 1 || older.Groups[i-1].Name != "apps" || older.Groups[i].PreferredVersion.GroupVersion != sampleGroup+"/v1" {
		t.Errorf("%+v", older.Groups)
	}
	if metrics, _ := a.fetch(t, "/metrics"); !regexp.MustCompile(`(?m)^aggregator_discovery_aggregation_count_total [1-9]`).MatchString(metrics) {
		t.Error("it is not counted how often discovery is made")
	}
	if body, code := a.fetch(t, "/apis/"+sampleGroup); code != http.StatusOK || !strings.Contains(body, `"kind":"APIGroup"`) {
		t.Errorf("%d %s", code, body)
	}
}

// described looks for the schemas of things.
func (a *aggregated) described(t *testing.T) {
	t.Helper()
	paths, err := a.client.Discovery().OpenAPIV3().Paths()
	if err != nil {
		t.Fatal(err)
	}
	things := paths["apis/"+sampleGroup+"/v1"]
	if things == nil || paths["apis/apps/v1"] == nil || !strings.Contains(paths["version"].ServerRelativeURL(), "hash=") ||
		strings.HasSuffix(paths["version"].ServerRelativeURL(), "hash=1") {
		t.Fatalf("%v", paths)
	}
	if doc, err := things.Schema("application/json"); err != nil || !strings.Contains(string(doc), `"title":"things"`) {
		t.Errorf("%s, %v", doc, err)
	}
}

// merged looks for things in the document of version 2.
func (a *aggregated) merged(t *testing.T) {
	t.Helper()
	eventually(t, "merged", func(context.Context) (bool, error) {
		body, _ := a.fetch(t, "/openapi/v2")
		return strings.Contains(body, "Thing is a thing."), nil
	})
	doc, err := a.client.Discovery().OpenAPISchema() // in protobuf
	if err != nil {
		t.Fatal(err)
	}
	about := map[string]string{}
	for _, d := range doc.Definitions.AdditionalProperties {
		about[d.Name] = d.Value.Description
	}
	if about["io.k8s.api.core.v1.Pod_v2"] != "a thing of another sort" || !strings.HasPrefix(about["io.k8s.api.core.v1.Pod"], "Pod is a collection") {
		t.Errorf("pods are %q and %q", about["io.k8s.api.core.v1.Pod"], about["io.k8s.api.core.v1.Pod_v2"])
	}
	if _, ok := about["io.k8s.apimachinery.pkg.version.Info_v2"]; ok {
		t.Error("a definition of what is not about things is merged")
	}
	a.mu.Lock()
	if !slices.Contains(a.users, "system:aggregator ") {
		t.Errorf("asked by %q", a.users)
	}
	a.mu.Unlock()
	// What cannot be understood changes nothing.
	for _, garbage := range []string{"{", `{"swagger":"2.0","paths":{"` + thingsOf + `":7}}`} {
		a.mu.Lock()
		asked := a.documents
		a.garbage = garbage
		a.mu.Unlock()
		patch := fmt.Sprintf(`{"metadata":{"labels":{"asked":"%d"}}}`, asked)
		if _, err := a.services.Patch(t.Context(), "v1."+sampleGroup, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "asked again", func(context.Context) (bool, error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			return a.documents > asked, nil
		})
		if body, code := a.fetch(t, "/openapi/v2"); code != http.StatusOK || !strings.Contains(body, "Thing is a thing.") || !strings.Contains(body, "Pod is a collection") {
			t.Errorf("%d: the document has changed", code)
		}
	}
}

// TestAggregationFails: what is told of servers that do not answer as they should,
// and that comes back when they do.
func TestAggregationFails(t *testing.T) {
	a := startAggregated(t)
	a.older = true
	a.lead(t, true)
	a.register(t, func(spec map[string]any) { delete(spec, "caBundle") })
	a.becomes(t, "FailedDiscoveryCheck")
	if body, code := a.fetch(t, "/apis/"+sampleGroup+"/v1"); code != http.StatusServiceUnavailable || body != "service unavailable\n" {
		t.Errorf("%d %q", code, body)
	}
	stale := func() bool {
		_, _, failed, err := a.discovery().GroupsAndMaybeResources()
		return err == nil && failed[schema.GroupVersion{Group: sampleGroup, Version: "v1"}] != nil
	}
	if !stale() {
		t.Error("discovery is not stale")
	}
	for _, patch := range []struct{ spec, reason string }{
		{`{"insecureSkipTLSVerify":true}`, "Passed"},
		{`{"service":{"port":80}}`, "ServicePortError"},
		{`{"service":{"port":443,"name":"other"}}`, "ServiceNotFound"},
		{`{"service":null,"insecureSkipTLSVerify":null}`, "Local"},
	} {
		_, err := a.services.Patch(t.Context(), "v1."+sampleGroup, "application/merge-patch+json", []byte(`{"spec":`+patch.spec+`}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		a.becomes(t, patch.reason)
		if patch.reason == "Passed" && stale() {
			t.Error("discovery is stale")
		}
	}
	body, _ := a.fetch(t, "/metrics")
	for _, line := range []string{
		`aggregator_unavailable_apiservice{name="v1.` + sampleGroup + `"} 0`, `aggregator_unavailable_apiservice{name="v1.apps"} 0`,
		`aggregator_unavailable_apiservice_total{name="v1.` + sampleGroup + `",reason="ServicePortError"} 1`,
		"apiserver_kube_aggregator_x509_missing_san_total 0", "apiserver_kube_aggregator_x509_insecure_sha1_total 0",
		"apiserver_webhooks_x509_missing_san_total 0", "apiserver_webhooks_x509_insecure_sha1_total 0",
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("no %s", line)
		}
	}
}
