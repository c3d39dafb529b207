package snapshot

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/spec3"

	"github.com/miniapiserver/miniapiserver/internal/schematest"
	"github.com/miniapiserver/miniapiserver/server"
)

// TestSchemas lists every resource in every served version and validates every object against the
// published schema of that version.
func TestSchemas(t *testing.T) {
	c := newClient(t, restored(t, server.Options{
		RuntimeConfig: map[string]string{"api/all": "true"},
		FeatureGates:  map[string]bool{"AllAlpha": true, "AllBeta": true},
	}))
	c.createPreviews()
	resources, objects := 0, 0
	for _, version := range c.versions() {
		if version == "/apis/etcdref.aggr.example/v1" {
			continue // aggregated, its server is not available
		}
		var served metav1.APIResourceList
		c.get(version, &served)
		var doc spec3.OpenAPI
		c.get("/openapi/v3"+version, &doc)
		for _, r := range served.APIResources {
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") {
				continue
			}
			resources++
			v := schematest.New(doc.Components.Schemas, model(t, &doc, served.GroupVersion, r.Kind))
			if v.Validate(map[string]any{"metadata": "nothing"}) == nil {
				t.Errorf("%s %s: anything is valid", version, r.Name)
			}
			var got list
			c.get(version+"/"+r.Name, &got)
			for n, item := range got.Items {
				objects++
				if err := v.Validate(item); err != nil {
					t.Errorf("%s %s: %v", version, names(got.Items)[n], err)
				}
			}
			if len(got.Items) == 0 && r.Name != "componentstatuses" {
				t.Errorf("%s: no %s", version, r.Name)
			}
		}
	}
	if resources < 85 || objects < 300 {
		t.Errorf("only %d resources and %d objects", resources, objects)
	}
}

// createPreviews creates an object of each kind that is disabled by default, which the snapshot
// does not contain.
func (c *client) createPreviews() {
	c.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	root := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	certificate, err := x509.CreateCertificate(rand.Reader, root, root, key.Public(), key)
	if err != nil {
		c.t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		c.t.Fatal(err)
	}
	bundle := encode(c.t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})))
	for _, o := range []struct{ path, object string }{
		{"/apis/certificates.k8s.io/v1beta1/clustertrustbundles", `{"metadata":{"name":"a.example:b:c"},"spec":{"signerName":"a.example/b","trustBundle":` + bundle + `}}`},
		{"/apis/certificates.k8s.io/v1beta1/namespaces/default/podcertificaterequests", `{"metadata":{"name":"p"},"spec":{"signerName":"a.example/b","podName":"p","podUID":"1",` +
			`"serviceAccountName":"default","serviceAccountUID":"2","nodeName":"n","nodeUID":"3","maxExpirationSeconds":86400,"stubPKCS10Request":` + encode(c.t, request) + `}}`},
		{"/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates", `{"metadata":{"name":"c"},"spec":{"leaseName":"l","binaryVersion":"1.36.0","emulationVersion":"1.36.0","strategy":"OldestEmulationVersion"}}`},
		{"/apis/internal.apiserver.k8s.io/v1alpha1/storageversions", `{"metadata":{"name":"apps.deployments"},"spec":{}}`},
		{"/apis/resource.k8s.io/v1beta2/devicetaintrules", `{"metadata":{"name":"r"},"spec":{"deviceSelector":{"driver":"a.example"},"taint":{"key":"a.example/b","effect":"NoExecute"}}}`},
		{"/apis/resource.k8s.io/v1alpha3/resourcepoolstatusrequests", `{"metadata":{"name":"r"},"spec":{"driver":"a.example"}}`},
		{"/apis/scheduling.k8s.io/v1beta1/namespaces/default/workloads", `{"metadata":{"name":"w"},"spec":{"podGroupTemplates":[{"name":"t","schedulingPolicy":{"gang":{"minCount":3}}}]}}`},
		{"/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups", `{"metadata":{"name":"g"},"spec":{"schedulingPolicy":{"gang":{"minCount":3}},` +
			`"workloadRef":{"workloadName":"w","templateName":"t"}}}`},
		{"/apis/scheduling.k8s.io/v1alpha3/namespaces/default/compositepodgroups", `{"metadata":{"name":"c"},"spec":{"schedulingPolicy":{"gang":{"minGroupCount":3}},` +
			`"workloadRef":{"workloadName":"w","templateName":"t"}}}`},
		{"/apis/lifecycle.k8s.io/v1alpha1/namespaces/default/evictionrequests", `{"metadata":{"name":"r"},"spec":{"requester":"a.example/r","intent":"Eviction","target":{"pod":{"name":"p",` +
			`"uid":"0c6b7a5e-90f7-4f4c-a3a4-7d4d65d0a0b1"}}}}`},
		{"/apis/lifecycle.k8s.io/v1alpha1/namespaces/default/evictions", `{"metadata":{"name":"e"},"spec":{"target":{"pod":{"name":"p","uid":"0c6b7a5e-90f7-4f4c-a3a4-7d4d65d0a0b1"}}}}`},
		{"/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations", `{"metadata":{"name":"m"},"spec":{"resource":{"group":"apps","resource":"deployments"}}}`},
	} {
		if code, body := c.do(http.MethodPost, o.path, o.object); code != http.StatusCreated {
			c.t.Errorf("%s: %d %s", o.path, code, body)
		}
	}
}

// versions returns the paths of all served group versions.
func (c *client) versions() []string {
	var groups metav1.APIGroupList
	c.get("/apis", &groups)
	paths := []string{"/api/v1"}
	for _, g := range groups.Groups {
		for _, v := range g.Versions {
			paths = append(paths, "/apis/"+v.GroupVersion)
		}
	}
	return paths
}

// get reads a JSON response.
func (c *client) get(path string, into any) {
	c.t.Helper()
	code, body := c.do(http.MethodGet, path, "")
	if code != http.StatusOK {
		c.t.Fatalf("%s: %d %.300s", path, code, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		c.t.Fatalf("%s: %v", path, err)
	}
}

// model returns the name of a kind's schema.
func model(t *testing.T, doc *spec3.OpenAPI, groupVersion, kind string) string {
	t.Helper()
	for name, s := range doc.Components.Schemas {
		var gvks []metav1.GroupVersionKind
		if s.Extensions.GetObject("x-kubernetes-group-version-kind", &gvks) != nil {
			continue
		}
		for _, gvk := range gvks {
			if (metav1.GroupVersion{Group: gvk.Group, Version: gvk.Version}).String() == groupVersion && gvk.Kind == kind {
				return name
			}
		}
	}
	t.Fatalf("%s has no schema of %s", groupVersion, kind)
	return ""
}
