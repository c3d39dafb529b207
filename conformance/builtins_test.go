package conformance

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/lab/conversation"
	"github.com/miniapiserver/miniapiserver/server"
)

// TestBuiltInQuirks checks answers of kube-apiserver about built-in kinds that its code explains rather
// than its documentation. The requests are sent in their order.
func TestBuiltInQuirks(t *testing.T) {
	s := startServer(t, server.Options{})
	c, err := conversation.NewPeer(t.Context(), conversation.Replayer{Server: s.URL, Token: s.Token, Parallel: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	const (
		pods     = "/api/v1/namespaces/default/pods"
		services = "/api/v1/namespaces/default/services"
		policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
		table    = "application/json;as=Table;v=v1;g=meta.k8s.io"
		apply    = "application/apply-patch+yaml"
	)
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "x"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	inPEM := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}))
	policy := `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"p"}%s}`
	for _, test := range []struct {
		method, path, body string
		headers            map[string]string
		status             int
		want               string
	}{
		// An apply of the status of a missing policy creates the policy, which must be valid.
		{"PATCH", policies + "/p/status?fieldManager=m", fmt.Sprintf(policy, ""), map[string]string{"Content-Type": apply}, 422, "spec.matchConstraints: Required value"},
		{"PUT", policies + "/p/status", fmt.Sprintf(policy, ""), nil, 404, "not found"},
		{"PATCH", policies + "/p/status?fieldManager=m", fmt.Sprintf(policy, `,"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":["x.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["xs"]}]},"validations":[{"expression":"true"}]}`),
			map[string]string{"Content-Type": apply}, 201, "x.example.com"},
		// Addresses are allocated before the name is validated, and refer to the service by it.
		{"POST", services, `{"spec":{"ports":[{"port":80}]}}`, nil, 422, `spec.clusterIPs: Invalid value: [\"\"]: failed to allocate IP: IPAddress.networking.k8s.io`},
		{"POST", services + "?dryRun=All", `{"spec":{"ports":[{"port":80}]}}`, nil, 422, "metadata.name: Required value"},
		{"POST", services, `{"spec":{"clusterIPs":["10.0.0.9"],"ports":[{"port":80}]}}`, nil, 422, "must be empty when `clusterIP` is not specified"},
		// A service that a write of its status creates has no address, also after updates.
		{"PUT", services + "/s/status", `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}}`, nil, 201, `"name":"s"`},
		{"PATCH", services + "/s", `{"metadata":{"labels":{"a":"b"}}}`, map[string]string{"Content-Type": "application/merge-patch+json"}, 200, "!clusterIP"},
		// Names that no object can have are names of missing objects.
		{"POST", pods, `{"metadata":{"name":"x"},"spec":{"nodeName":"a/b","containers":[{"name":"a","image":"a"}]}}`, nil, 422, "spec.nodeName: Invalid value"},
		{"POST", pods, `{"metadata":{"name":"x"},"spec":{"priorityClassName":"a/b","containers":[{"name":"a","image":"a"}]}}`, nil, 403, "no PriorityClass with name a/b was found"},
		// The rows of an empty table are null if the kind has no columns of its own.
		{"GET", "/api/v1/namespaces/default/limitranges", "", map[string]string{"Accept": table}, 200, `"rows":null`},
		{"GET", "/api/v1/namespaces/default/resourcequotas", "", map[string]string{"Accept": table}, 200, `"rows":[]`},
		// A Scale is of its own kind.
		{"POST", "/apis/apps/v1/namespaces/default/deployments", `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"a"}]}}}}`, nil, 201, `"d"`},
		{"GET", "/apis/apps/v1/namespaces/default/deployments/d/scale", "", map[string]string{"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}, 406, "(*autoscaling.Scale)"},
		// An empty certificate is a change of a request without one.
		{"POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests", `{"metadata":{"name":"c"},"spec":{"signerName":"example.com/s","usages":["client auth"],"request":"` + inPEM + `"}}`, nil, 201, "example.com/s"},
		{"POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", `{"metadata":{"name":"r"},"rules":[{"apiGroups":["certificates.k8s.io"],"resources":["certificatesigningrequests/status"],"verbs":["patch"]}]}`, nil, 201, ""},
		{"POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `{"metadata":{"name":"b"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"r"},"subjects":[{"kind":"User","name":"u"}]}`, nil, 201, ""},
		{"PATCH", "/apis/certificates.k8s.io/v1/certificatesigningrequests/c/status", `{"status":{"certificate":""}}`, map[string]string{"Content-Type": "application/merge-patch+json", "Impersonate-User": "u"}, 403, "not permitted to sign"},
	} {
		step := conversation.Step{Method: test.method, Path: test.path, Headers: test.headers}
		if test.body != "" {
			step.Body = []byte(test.body)
		}
		status, data, err := c.Do(t.Context(), step)
		if err != nil {
			t.Fatal(err)
		}
		text, isAbsent := strings.CutPrefix(test.want, "!")
		if status != test.status || strings.Contains(string(data), text) == isAbsent {
			t.Errorf("%s %s %s: %d %.400s, want %d %s", test.method, test.path, test.body, status, data, test.status, test.want)
		}
		if status == http.StatusInternalServerError {
			t.Errorf("%s %s: %s", test.method, test.path, data)
		}
	}
}
