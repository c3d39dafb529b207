package conformance

import (
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
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
)

// sample is an aggregated API server for things. It accepts user headers only from clients with a
// certificate of the CA in the cluster's ConfigMap.
type sample struct {
	*httptest.Server
	ca []byte // CA of its own certificate

	mu      sync.Mutex
	trusted *x509.CertPool
	names   []string
	users   map[string][]string // by path: the user of the request, followed by the groups
	things  map[string]json.RawMessage
	events  []json.RawMessage
	changed *sync.Cond
	// older disables aggregated discovery.
	older bool
	// garbage replaces its OpenAPI v2 document; documents counts the requests for it.
	garbage   string
	documents int
}

const sampleGroup = "sample.example.com"

func newSample(t *testing.T, name string) *sample {
	s := &sample{users: map[string][]string{}, things: map[string]json.RawMessage{}}
	s.changed = sync.NewCond(&s.mu)
	s.Server = httptest.NewUnstartedServer(s)
	var certificate tls.Certificate
	certificate, s.ca = selfSigned(t, name)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequestClientCert}
	s.EnableHTTP2 = true
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // hides errors of connections that the test rejects
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

// loadTrust reads the trusted CA and names from the cluster.
func (s *sample) loadTrust(t *testing.T, c kubernetes.Interface) {
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

// isTrusted reports whether a request comes from a trusted server.
func (s *sample) isTrusted(r *http.Request) bool {
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
	if !s.isTrusted(r) {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	s.mu.Lock()
	s.users[r.URL.Path] = append(s.users[r.URL.Path], r.Header.Get("X-Remote-User")+" "+strings.Join(r.Header["X-Remote-Group"], ","))
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

// swagger is an OpenAPI v2 document with some definitions that the cluster has, equal or different.
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
	_, _ = io.WriteString(w, text) // an error means that the client has disconnected
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
	_, _ = w.Write(body) // an error means that the client has disconnected
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

// echo upgrades a connection and returns everything that it receives.
func (s *sample) echo(w http.ResponseWriter, r *http.Request) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil || r.Header.Get("Upgrade") != "echo" {
		http.Error(w, fmt.Sprint(err, r.Header), http.StatusInternalServerError)
		return
	}
	defer conn.Close()
	fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	_, _ = io.Copy(conn, buffered) // until the client closes the connection
}
