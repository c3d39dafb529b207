package noderestriction

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/admission/admissiontest"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// onNode returns a pod bound to the node n1.
func onNode(change func(*corev1.Pod)) *corev1.Pod {
	return admissiontest.Pod(func(p *corev1.Pod) {
		p.Spec.NodeName = "n1"
		if change != nil {
			change(p)
		}
	})
}

// byNode returns a write of the node n1; resource is "name[/subresource]".
func byNode(t testing.TB, verb, resource string, obj, old api.Object) *registry.Attributes {
	t.Helper()
	return admissiontest.WriteBy(t, &request.User{Name: "system:node:n1", Groups: []string{"system:nodes"}}, verb, resource, obj, old)
}

func signingRequestFor(t testing.TB, name string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: name, Organization: []string{"system:nodes"}}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// TestNodeRestrictionStatus checks that a node cannot change the status fields by which the Node
// authorizer grants access to claims, nor fields of a claim's status that others own.
func TestNodeRestrictionStatus(t *testing.T) {
	p := New(admissiontest.Objects(t), nil, features.Default())
	name := "claim"
	extended := func(claim string) *corev1.Pod {
		return onNode(func(p *corev1.Pod) {
			p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: claim}
		})
	}
	generated := onNode(func(p *corev1.Pod) {
		p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "a", ResourceClaimName: &name}}
	})
	volume := func(change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}}
		if change != nil {
			change(c)
		}
		return c
	}
	for what, test := range map[string]struct {
		resource string
		is, was  api.Object
		want     string
	}{
		"phase":                 {"pods/status", onNode(func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }), onNode(nil), ""},
		"a claim set":           {"pods/status", extended("secret"), onNode(nil), `node "n1" cannot update extended resource claim status`},
		"a claim changed":       {"pods/status", extended("secret"), extended("own"), `node "n1" cannot update extended resource claim status`},
		"a claim removed":       {"pods/status", onNode(nil), extended("own"), `node "n1" cannot update extended resource claim status`},
		"a claim kept":          {"pods/status", extended("own"), extended("own"), ""},
		"a generated claim set": {"pods/status", generated, onNode(nil), `node "n1" cannot update resource claim statues`},
		"another node's pod":    {"pods/status", admissiontest.Pod(nil), admissiontest.Pod(nil), `node "n1" can only update pod status for pods with spec.nodeName set to itself`},
		"ephemeral containers":  {"pods/ephemeralcontainers", onNode(nil), onNode(nil), `unexpected pod subresource "ephemeralcontainers", only 'status' and 'eviction' are allowed`},
		"the pod itself":        {"pods", onNode(nil), onNode(nil), `unexpected operation "UPDATE", node "n1" can only create and delete mirror pods`},
		"the claim of a volume": {"persistentvolumeclaims", volume(nil), volume(nil), "may only update PVC status"},
		"the capacity of a claim": {"persistentvolumeclaims/status", volume(func(c *corev1.PersistentVolumeClaim) {
			c.Status.Capacity = corev1.ResourceList{"storage": resource.MustParse("1")}
			c.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
		}), volume(nil), ""},
		"the phase of a claim": {"persistentvolumeclaims/status", volume(func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimLost }), volume(nil),
			"is not allowed to update fields other than status.quantity and status.conditions: @@ -"},
		"owner references": {"nodes", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"k8s.io/a": ""}, OwnerReferences: make([]metav1.OwnerReference, 1)}},
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, `node "n1" is not allowed to modify ownerReferences`},
	} {
		a := byNode(t, "update", test.resource, test.is, test.was)
		if test.resource == "nodes" {
			a.Name = "n1"
		}
		if got := admissiontest.Run(t, p, a); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", what, got, test.want)
		}
	}
}

// TestNodeRestrictionMirror checks that no field of a mirror pod may refer to an API object.
func TestNodeRestrictionMirror(t *testing.T) {
	objects := admissiontest.Objects(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	node, err := admission.NodesOf(objects).Get(t.Context(), "", "n1")
	if err != nil {
		t.Fatal(err)
	}
	p := New(objects, nil, features.Default())
	volume := func(s corev1.VolumeSource) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: s}} }
	}
	projected := func(s corev1.VolumeProjection) func(*corev1.Pod) {
		return volume(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{s}}})
	}
	const refers = `node "n1" can not create pods that reference `
	for _, test := range []struct {
		change func(*corev1.Pod)
		want   string
	}{
		{nil, ""},
		{volume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}), ""},
		{volume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}}), ""},
		{func(p *corev1.Pod) { p.Spec.ServiceAccountName = "a" }, refers + "serviceaccounts"},
		{func(p *corev1.Pod) { p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "s"}} }, refers + "secrets"},
		{func(p *corev1.Pod) {
			p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}}}
		}, refers + "configmaps"},
		{func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "r"}} }, refers + "resourceclaims"},
		{volume(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}), refers + "configmaps (via configmap volumes)"},
		{volume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}}), refers + "secrets (via secret volumes)"},
		{volume(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d"}}), refers + "csidrivers (via CSI volumes)"},
		{volume(corev1.VolumeSource{Glusterfs: &corev1.GlusterfsVolumeSource{}}), refers + "endpoints (via glusterFS volumes)"},
		{volume(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}), refers + "persistentvolumeclaims"},
		{volume(corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}), refers + "persistentvolumeclaims (via ephemeral volumes)"},
		{volume(corev1.VolumeSource{AzureFile: &corev1.AzureFileVolumeSource{}}), refers + "secrets (via azureFile volumes)"},
		{projected(corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}}), refers + "serviceaccounts (via projected volumes)"},
		{projected(corev1.VolumeProjection{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{}}), refers + "clustertrustbundles"},
		{projected(corev1.VolumeProjection{PodCertificate: &corev1.PodCertificateProjection{}}), refers + "podcertificates"},
		{projected(corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{}}), ""},
		{projected(corev1.VolumeProjection{}), `unknown source for projected volume "v"`},
		{func(p *corev1.Pod) { p.OwnerReferences[0].UID = "other" }, "node n1 UID mismatch: expected other got " + string(node.UID)},
	} {
		mirror := onNode(func(p *corev1.Pod) {
			yes := true
			p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n1", UID: node.UID, Controller: &yes}}
			if test.change != nil {
				test.change(p)
			}
		})
		if got := admissiontest.Run(t, p, byNode(t, "create", "pods", mirror, nil)); (got == "") != (test.want == "") || !strings.HasSuffix(got, test.want) {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// TestNodeRestrictionNames checks that slices and certificates must be the node's own, and that
// errors name a missing pod like kube-apiserver's listers.
func TestNodeRestrictionNames(t *testing.T) {
	p := New(admissiontest.Objects(t), nil, features.Default())
	n1, n2 := "n1", "n2"
	slice := func(node *string) *resourcev1.ResourceSlice {
		return &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{NodeName: node}}
	}
	csr := func(signer string, request []byte) *certificatesv1.CertificateSigningRequest {
		return &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: signer, Request: request}}
	}
	own, other := signingRequestFor(t, "system:node:n1"), signingRequestFor(t, "system:node:n2")
	const client, serving = certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.KubeletServingSignerName
	for _, test := range []struct {
		verb, resource string
		obj, old       api.Object
		want           string
	}{
		{"create", "resourceslices", slice(&n1), nil, ""},
		{"create", "resourceslices", slice(&n2), nil, "can only create ResourceSlice with the same NodeName as the requesting node"},
		{"create", "resourceslices", slice(nil), nil, "can only create ResourceSlice with the same NodeName as the requesting node"},
		{"delete", "resourceslices", nil, slice(&n2), "can only delete ResourceSlice with the same NodeName as the requesting node"},
		{"update", "resourceslices", slice(&n1), slice(&n1), ""},
		{"create", "certificatesigningrequests", csr(client, own), nil, ""},
		{"create", "certificatesigningrequests", csr(serving, own), nil, ""},
		{"create", "certificatesigningrequests", csr(client, other), nil, "can only create a node CSR with CN=system:node:n1"},
		{"create", "certificatesigningrequests", csr(serving, other), nil, "can only create a node CSR with CN=system:node:n1"},
		{"create", "certificatesigningrequests", csr("example.com/x", other), nil, ""},
		{"create", "certificatesigningrequests", csr(serving, []byte("x")), nil, "unable to parse csr: PEM block type must be CERTIFICATE REQUEST"},
		{"create", "pods/eviction", &policyv1.Eviction{}, nil, `pod "x" not found`},
	} {
		if got := admissiontest.Run(t, p, byNode(t, test.verb, test.resource, test.obj, test.old)); (got == "") != (test.want == "") || !strings.HasSuffix(got, test.want) {
			t.Errorf("%s %s: %q, want %q", test.verb, test.resource, got, test.want)
		}
	}
}

// TestInsecureSigningRequests checks that a gate allows nodes to request certificates for other names.
func TestInsecureSigningRequests(t *testing.T) {
	csr := &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
		SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName, Request: signingRequestFor(t, "system:node:n2"),
	}}
	for allowed, want := range map[bool]string{true: "", false: "can only create a node CSR with CN=system:node:n1"} {
		p := New(admissiontest.Objects(t), nil, features.Gates{features.AllowInsecureKubeletCertificateSigningRequests: allowed})
		chain, err := admission.NewChain([]admission.Plugin{p}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := chain.Mutate(t.Context(), byNode(t, api.VerbCreate, "certificatesigningrequests", csr, nil)); err != nil {
			got = err.Error()
		}
		if (got == "") != (want == "") || !strings.HasSuffix(got, want) {
			t.Errorf("allowed %t: got %q, want %q", allowed, got, want)
		}
	}
}

// TestNodeRestrictionToken checks that a node gets tokens only for audiences that a volume of the
// pod requires or an authorizer allows, and for any without the gate.
func TestNodeRestrictionToken(t *testing.T) {
	token := func(audience string) corev1.VolumeSource {
		return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "t", Audience: audience}}}}}
	}
	size := corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1")}}
	claim := func(name, volume string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"}, VolumeName: volume, Resources: size}}
	}
	volume := func(name string, source corev1.PersistentVolumeSource) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"}, Capacity: size.Requests, PersistentVolumeSource: source}}
	}
	driver := func(name string) *storagev1.CSIDriver {
		return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSIDriverSpec{TokenRequests: []storagev1.TokenRequest{{Audience: "aud-" + name}}}}
	}
	pods := map[string][]corev1.VolumeSource{
		"plain": nil, "default": {token("")}, "vault": {token("vault")},
		"inline":    {{CSI: &corev1.CSIVolumeSource{Driver: "d"}}},
		"nodriver":  {{CSI: &corev1.CSIVolumeSource{Driver: "gone"}}, token("vault")},
		"claimed":   {{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}}},
		"noclaim":   {{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "none"}}},
		"unbound":   {{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "pending"}}},
		"migrated":  {{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "azure"}}},
		"migrated2": {{AzureFile: &corev1.AzureFileVolumeSource{SecretName: "s", ShareName: "s"}}},
		"ephemeral": {{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: claim("", "").Spec}}}},
	}
	stored := []api.Object{driver("d"), driver(azureFileDriver),
		volume("v", corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h"}}), claim("claim", "v"), claim("pending", ""),
		volume("a", corev1.PersistentVolumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{SecretName: "s", ShareName: "s"}}), claim("azure", "a"),
		claim("ephemeral-v0", "v")}
	for name, volumes := range pods {
		stored = append(stored, onNode(func(p *corev1.Pod) {
			p.Name, p.Spec.ServiceAccountName = name, "x"
			for i, source := range volumes {
				p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "v" + string(rune('0'+i)), VolumeSource: source})
			}
		}))
	}
	objects := admissiontest.Objects(t, stored...)
	asked := func(info *request.Info) string { return info.Resource + " " + info.Namespace + "/" + info.Name }
	allowed := func(_ context.Context, user *request.User, info *request.Info) (bool, string, error) {
		if info.Resource == "broken" {
			return false, "", errors.New("no answer")
		}
		return user.Name == "system:node:n1" && info.Verb == "request-serviceaccounts-token-audience" && asked(info) == "myaud://x/y.com ns/x", "", nil
	}
	p, unrestricted := New(objects, allowed, features.Default()), New(objects, allowed, nil)
	missing := func(audience string) string {
		return `system:node:n1 is not authorized to request tokens for audience "` + audience + `"`
	}
	for _, test := range []struct {
		pod       string
		audiences []string
		want      string
	}{
		{"plain", nil, missing("")}, {"plain", []string{"vault"}, missing("vault")}, {"default", nil, ""}, {"default", []string{""}, ""}, {"default", []string{"vault"}, missing("vault")},
		{"vault", []string{"vault"}, ""}, {"vault", nil, missing("")}, {"vault", []string{"vault", "vault"}, "node may only request 0 or 1 audiences"},
		{"plain", []string{"myaud://x/y.com"}, ""},
		{"plain", []string{"broken"}, `error authorizing system:node:n1 to request tokens for audience "broken": no answer`},
		{"inline", []string{"aud-d"}, ""}, {"inline", []string{"other"}, missing("other")},
		{"nodriver", []string{"vault"}, ""}, {"nodriver", []string{"other"}, `error validating audience "other": csidriver.storage.k8s.io "gone" not found`},
		{"claimed", []string{"aud-d"}, ""}, {"claimed", []string{"other"}, missing("other")},
		{"noclaim", []string{"aud-d"}, `error validating audience "aud-d": persistentvolumeclaim "none" not found`},
		{"unbound", []string{"aud-d"}, `error validating audience "aud-d": persistentvolume "" not found`},
		{"migrated", []string{"aud-" + azureFileDriver}, ""}, {"migrated2", []string{"aud-" + azureFileDriver}, ""},
		{"ephemeral", []string{"aud-d"}, ""},
		{"gone", nil, `pod "gone" not found`},
	} {
		uid := types.UID("u")
		if stored, err := admission.NewReader[*corev1.Pod](objects, corev1.Resource("pods")).Get(t.Context(), "ns", test.pod); err == nil {
			uid = stored.UID
		}
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: test.audiences,
			BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: test.pod, UID: uid}}}
		if got := admissiontest.Run(t, p, byNode(t, "create", "serviceaccounts/token", request, nil)); (got == "") != (test.want == "") || !strings.HasSuffix(got, test.want) {
			t.Errorf("%s %q: %q, want %q", test.pod, test.audiences, got, test.want)
		}
		if got := admissiontest.Run(t, unrestricted, byNode(t, "create", "serviceaccounts/token", request, nil)); got != "" && test.pod != "gone" {
			t.Errorf("%s %q: %q without the restriction of audiences", test.pod, test.audiences, got)
		}
	}
}

// TestNodeRestrictionCertificate checks that a node may request certificates only for its own pods.
func TestNodeRestrictionCertificate(t *testing.T) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "sa", Namespace: "ns"}}
	there := onNode(func(p *corev1.Pod) {
		p.Spec.ServiceAccountName = "sa"
		mounted := corev1.PodCertificateProjection{SignerName: "example.com/mounted", KeyType: "ED25519", KeyPath: "k", CertificateChainPath: "c"}
		p.Spec.Volumes = []corev1.Volume{{Name: "empty"}, {Name: "certificate", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{PodCertificate: &mounted}}}}}}
	})
	mirror := onNode(func(p *corev1.Pod) {
		p.Name, p.Spec.ServiceAccountName, p.Annotations = "mirror", "sa", map[string]string{corev1.MirrorPodAnnotationKey: ""}
	})
	elsewhere := onNode(func(p *corev1.Pod) { p.Name, p.Spec.NodeName = "elsewhere", "n2" })
	machine := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	objects := admissiontest.PreviewObjects(t, admissiontest.Namespace(), account, there, mirror, elsewhere, machine)
	ask := func(change func(*certificatesv1beta1.PodCertificateRequestSpec)) *certificatesv1beta1.PodCertificateRequest {
		r := &certificatesv1beta1.PodCertificateRequest{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}, Spec: certificatesv1beta1.PodCertificateRequestSpec{
			SignerName: "example.com/mounted", PodName: "x", PodUID: there.UID, ServiceAccountName: "sa", ServiceAccountUID: account.UID, NodeName: "n1", NodeUID: machine.UID}}
		if change != nil {
			change(&r.Spec)
		}
		return r
	}
	type spec = certificatesv1beta1.PodCertificateRequestSpec
	for name, c := range map[string]struct {
		verb, resource string
		is             api.Object
		want           string
	}{
		"good":         {"create", "podcertificaterequests", ask(nil), ""},
		"update":       {"update", "podcertificaterequests", ask(nil), "unexpected operation UPDATE"},
		"status":       {"create", "podcertificaterequests/status", ask(nil), "unexpected subresource status"},
		"other node":   {"create", "podcertificaterequests", ask(func(s *spec) { s.NodeName = "n2" }), `PodCertificateRequest.Spec.NodeName="n2", which is not the requesting node "n1"`},
		"other uid":    {"create", "podcertificaterequests", ask(func(s *spec) { s.NodeUID = "u" }), "inconsistent with the running node"},
		"no pod":       {"create", "podcertificaterequests", ask(func(s *spec) { s.PodName = "none" }), `while retrieving pod "ns/none" named in the PodCertificateRequest: pod "none" not found`},
		"other pod":    {"create", "podcertificaterequests", ask(func(s *spec) { s.PodUID = "u" }), "contains pod UID (\"u\") which differs from running pod"},
		"elsewhere":    {"create", "podcertificaterequests", ask(func(s *spec) { s.PodName, s.PodUID = "elsewhere", elsewhere.UID }), `pod "ns/elsewhere" is not running on node "n1"`},
		"mirror":       {"create", "podcertificaterequests", ask(func(s *spec) { s.PodName, s.PodUID = "mirror", mirror.UID }), `pod "ns/mirror" is a mirror pod`},
		"account":      {"create", "podcertificaterequests", ask(func(s *spec) { s.ServiceAccountName = "other" }), `contains serviceAccountName ("other") that differs from running pod ("sa")`},
		"account's id": {"create", "podcertificaterequests", ask(func(s *spec) { s.ServiceAccountUID = "u" }), "which differs from the running service account"},
		"allowed":      {"create", "podcertificaterequests", ask(func(s *spec) { s.SignerName = "example.com/allowed" }), ""},
		"not allowed":  {"create", "podcertificaterequests", ask(func(s *spec) { s.SignerName = "example.com/other" }), `forbidden: pod "ns/x" does not mount a podCertificate projected volume for signer "example.com/other"`},
		"no answer":    {"create", "podcertificaterequests", ask(func(s *spec) { s.SignerName = "example.com/broken" }), `forbidden: error authorizing system:node:n1 to request podcertificaterequests for signer "example.com/broken": no answer`},
	} {
		p := New(objects, func(_ context.Context, user *request.User, info *request.Info) (bool, string, error) {
			if info.Resource == "example.com:broken" {
				return false, "", errors.New("no answer")
			}
			asks := fmt.Sprint(user.Name, " ", info.Verb, " ", info.Group, "/", info.Version, " ", info.Resource, " ", info.Namespace, "/", info.Name)
			return asks == "system:node:n1 request-serviceaccounts-podcertificate-signer certificates.k8s.io/v1beta1 example.com:allowed ns/sa", "", nil
		}, features.Default())
		if got := admissiontest.Run(t, p, byNode(t, c.verb, c.resource, c.is, nil)); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
