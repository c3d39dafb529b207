package authz_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"strings"
	"testing"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestNodeAndPodCertificates checks that a node may create PodCertificateRequests and read those of
// its pods, but only if the feature gate is enabled.
func TestNodeAndPodCertificates(t *testing.T) {
	config := map[string]string{"certificates.k8s.io/v1beta1": "true"}
	on := start(t, server.Options{RuntimeConfig: config, FeatureGates: map[string]bool{"PodCertificateRequest": true, "ClusterTrustBundle": true}})
	off := start(t, server.Options{RuntimeConfig: config, FeatureGates: map[string]bool{"PodCertificateRequest": false, "ClusterTrustBundle": false, "ClusterTrustBundleProjection": false}})
	createRequest(t, on, "own", "n1")
	createRequest(t, on, "foreign", "n2")
	const all, one = "/apis/certificates.k8s.io/v1beta1/podcertificaterequests", "/apis/certificates.k8s.io/v1beta1/namespaces/default/podcertificaterequests"
	const selector = "can only list/watch podcertificaterequests with nodeName field selector"
	for _, step := range []struct {
		method, path string
		allowed      bool
		reason       string
	}{
		{"POST", one, true, ""},
		{"GET", one + "/own", true, ""},
		{"GET", one + "/foreign", false, "no relationship found between node 'n1' and this object"},
		{"GET", one + "/missing", false, "no relationship found between node 'n1' and this object"},
		{"GET", all + "?fieldSelector=spec.nodeName%3Dn1", true, ""},
		{"GET", all + "?fieldSelector=spec.nodeName%3Dn1&watch=1", true, ""},
		{"GET", one + "?fieldSelector=spec.nodeName%3Dn1", true, ""},
		{"GET", all + "?fieldSelector=spec.nodeName%3Dn2", false, selector},
		{"GET", all, false, selector},
		{"PUT", one + "/own", false, "nodes may not update podcertificaterequests"},
		{"DELETE", one + "/own", false, "nodes may not delete podcertificaterequests"},
		{"PATCH", one + "/own/status", false, "nodes may not access the status subresource of PodCertificateRequests"},
		{"GET", "/apis/certificates.k8s.io/v1beta1/clustertrustbundles", true, ""},
		{"DELETE", "/apis/certificates.k8s.io/v1beta1/clustertrustbundles/b", false, ""},
	} {
		got := review(t, on, "system:node:n1", "system:nodes", step.method, step.path)
		if got.Allowed != step.allowed || strings.TrimPrefix(got.Reason, "node: ") != step.reason {
			t.Errorf("%s %s: got %+v, want %t %q", step.method, step.path, got, step.allowed, step.reason)
		}
		if got := review(t, off, "system:node:n1", "system:nodes", step.method, step.path); got.Allowed {
			t.Errorf("%s %s without the gates: %+v", step.method, step.path, got)
		}
	}
}

// createRequest creates a PodCertificateRequest for a pod on a node.
func createRequest(t *testing.T, c *kubernetes.Clientset, name, node string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.CertificatesV1beta1().PodCertificateRequests("default").Create(t.Context(), &certificatesv1beta1.PodCertificateRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: certificatesv1beta1.PodCertificateRequestSpec{
			SignerName: "example.com/signer", PodName: "p", PodUID: "1", ServiceAccountName: "default", ServiceAccountUID: "2",
			NodeName: types.NodeName(node), NodeUID: "3", MaxExpirationSeconds: ptr.To[int32](86400), StubPKCS10Request: request,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
