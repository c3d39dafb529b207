package attempts

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client sends requests of the administrator.
type client struct {
	t     *testing.T
	url   string
	token string
	http  *http.Client
}

// startServer starts a server whose controllers and admission plugins change no objects.
func startServer(t *testing.T) *client {
	t.Helper()
	s, err := server.Start(t.Context(), server.Options{
		Controllers: server.Controllers{Off: controllers.Names()}, RuntimeConfig: map[string]string{"api/all": "true"},
		Admission: server.Admission{DisablePlugins: []string{"ServiceAccount", "DefaultTolerationSeconds", "Priority",
			"TaintNodesByCondition", "DefaultIngressClass", "StorageObjectInUseProtection", "DefaultStorageClass", "PodTopologyLabels"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 8}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &client{t, s.URL, s.Token, &http.Client{Transport: transport}}
}

// answer is the response to an attempt.
type answer struct {
	code     int
	object   map[string]any
	status   metav1.Status
	warnings []string
}

// causes returns the causes of a refusal.
func (a answer) causes() []metav1.StatusCause {
	if a.status.Details == nil {
		return nil
	}
	return a.status.Details.Causes
}

func (a answer) ok() bool { return a.code < 300 }

// do sends an object, or no body if it is nil.
func (c *client) do(method, path, mediaType string, object map[string]any) answer {
	c.t.Helper()
	if object == nil {
		return c.send(method, path, mediaType, nil)
	}
	return c.send(method, path, mediaType, object)
}

// send sends a body of any type, or none if it is nil.
func (c *client) send(method, path, mediaType string, body any) answer {
	c.t.Helper()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(context.WithoutCancel(c.t.Context()), method, c.url+path, content)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Content-Type", mediaType)
	resp, err := c.http.Do(r)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	a := answer{code: resp.StatusCode, warnings: resp.Header.Values("Warning")}
	if a.ok() {
		err = json.Unmarshal(text, &a.object)
	} else {
		err = json.Unmarshal(text, &a.status)
	}
	if err != nil {
		c.t.Fatalf("%s %s: %v in %.200s", method, path, err, text)
	}
	return a
}

const jsonType = "application/json"

// kind is one served version of a resource with its schema and a valid object.
type kind struct {
	metav1.APIResource
	gv        metav1.GroupVersion
	path      string // of the collection
	hasStatus bool
	schema    Schema
	document  *Document
	base      map[string]any
}

func (k *kind) String() string { return k.gv.String() + " " + k.Kind }

// on returns the path of an object.
func (k *kind) on(object map[string]any) string {
	name, _ := metadataOf(object)["name"].(string)
	return k.path + "/" + name
}

func metadataOf(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	return metadata
}

// kinds returns all served versions of all kinds, with a valid object each: that of
// testdata/objects.yaml in its version, and what the server converts it to in others.
func (c *client) kinds() []*kind {
	c.t.Helper()
	objects := readObjects(c.t)
	var groups metav1.APIGroupList
	c.get("/apis", &groups)
	versions := [][2]string{{"v1", "/api/v1"}}
	for _, g := range groups.Groups {
		for _, v := range g.Versions {
			versions = append(versions, [2]string{v.GroupVersion, "/apis/" + v.GroupVersion})
		}
	}
	var all []*kind
	for _, version := range versions {
		all = append(all, c.kindsIn(version[0], version[1], objects)...)
	}
	for _, k := range all {
		if k.base == nil {
			c.convertBase(k, all)
		}
	}
	return all
}

func (c *client) get(path string, into any) {
	c.t.Helper()
	a := c.do(http.MethodGet, path, jsonType, nil)
	text, err := json.Marshal(a.object)
	if err == nil && a.ok() {
		err = json.Unmarshal(text, into)
	}
	if err != nil || !a.ok() {
		c.t.Fatalf("%s: %d %v", path, a.code, err)
	}
}

func (c *client) kindsIn(groupVersion, path string, objects []map[string]any) (kinds []*kind) {
	c.t.Helper()
	var served metav1.APIResourceList
	c.get(path, &served)
	var text json.RawMessage
	c.get("/openapi/v3"+path, &text)
	document, err := ParseDocument(text)
	if err != nil {
		c.t.Fatal(err)
	}
	group, version, found := strings.Cut(groupVersion, "/")
	if !found {
		group, version = "", groupVersion
	}
	withStatus := map[string]bool{}
	for _, r := range served.APIResources {
		if name, ok := strings.CutSuffix(r.Name, "/status"); ok {
			withStatus[name] = true
		}
	}
	for _, r := range served.APIResources {
		if strings.Contains(r.Name, "/") || r.Name == "componentstatuses" {
			continue
		}
		k := &kind{APIResource: r, gv: metav1.GroupVersion{Group: group, Version: version}, path: path + "/" + r.Name, hasStatus: withStatus[r.Name], document: document}
		if r.Namespaced {
			k.path = path + "/namespaces/default/" + r.Name
		}
		var ok bool
		if k.schema, ok = document.Kind(group, version, r.Kind); !ok {
			c.t.Fatalf("%s: no schema", k)
		}
		for _, o := range objects {
			if o["apiVersion"] == groupVersion && o["kind"] == r.Kind {
				k.base = o
			}
		}
		kinds = append(kinds, k)
	}
	return kinds
}

// convertBase creates the object of another version of the kind without storing it, and converts it.
func (c *client) convertBase(k *kind, all []*kind) {
	c.t.Helper()
	for _, other := range all {
		if other.base == nil || other.gv == k.gv || other.gv.Group != k.gv.Group || other.Kind != k.Kind {
			continue
		}
		if a := c.do(http.MethodPost, other.path, jsonType, other.base); a.code != http.StatusCreated {
			c.t.Fatalf("%s: %d %s", other, a.code, a.status.Message)
		}
		a := c.do(http.MethodGet, k.on(other.base), jsonType, nil)
		if c.do(http.MethodDelete, other.on(other.base), jsonType, nil); !a.ok() {
			c.t.Fatalf("%s: %d %s", k, a.code, a.status.Message)
		}
		k.base = a.object
		k.base["metadata"] = map[string]any{"name": metadataOf(k.base)["name"]}
		delete(k.base, "status")
		return
	}
	c.t.Fatalf("testdata/objects.yaml has no %s", k)
}

// readObjects reads testdata/objects.yaml.
func readObjects(t *testing.T) (objects []map[string]any) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	root := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	certificate, err := x509.CreateCertificate(rand.Reader, root, root, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	inPEM := func(kind string, content []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
	}
	objects, err = Objects(strings.NewReplacer(
		"${csr}", base64.StdEncoding.EncodeToString(inPEM("CERTIFICATE REQUEST", request)),
		"${pkcs10}", base64.StdEncoding.EncodeToString(request),
		"${bundle}", strings.ReplaceAll(string(inPEM("CERTIFICATE", certificate)), "\n", "\\n"),
	))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}
