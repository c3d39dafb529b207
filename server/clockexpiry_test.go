package server

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/internal/eventually"
)

// expiring is something that expires: a row of the table of TestExpiries.
type expiring struct {
	name  string
	after time.Duration
	// within is the time after which it is noticed, where the server looks at intervals.
	within time.Duration
	create func(*clockTest)
	// isOver reports whether it has expired.
	isOver func(*clockTest) bool
}

// clockTest is a server whose clock a test moves, and what rows of the table share.
type clockTest struct {
	*testing.T
	server *Server
	client *kubernetes.Clientset

	token       string       // of a service account
	certificate *rest.Config // with a client certificate
}

func startClockTest(t *testing.T, o Options) *clockTest {
	t.Helper()
	s, _ := startLabServer(t, o)
	return &clockTest{T: t, server: s, client: kubernetes.NewForConfigOrDie(s.LocalConfig())}
}

// must fails the test if err is not nil.
func (c *clockTest) must(what string, err error) {
	c.Helper()
	if err != nil {
		c.Fatalf("%s: %v", what, err)
	}
}

// advance moves the clock.
func (c *clockTest) advance(d time.Duration) {
	c.Helper()
	c.must("moving the clock", c.server.Lab().Clock().Advance(c.Context(), d))
}

// isGone reports whether err says that there is no object.
func (c *clockTest) isGone(err error) bool {
	c.Helper()
	if err != nil && !apierrors.IsNotFound(err) {
		c.Fatal(err)
	}
	return err != nil
}

// isRefused reports whether a configuration authenticates nobody.
func (c *clockTest) isRefused(config *rest.Config) bool {
	c.Helper()
	_, err := kubernetes.NewForConfigOrDie(config).AuthenticationV1().SelfSubjectReviews().
		Create(c.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsUnauthorized(err) {
		c.Fatal(err)
	}
	return err != nil
}

// bearing returns a configuration with a bearer token.
func (c *clockTest) bearing(token string) *rest.Config {
	config := rest.AnonymousClientConfig(c.server.RESTConfig())
	config.BearerToken = token
	return config
}

func createEvent(c *clockTest, name string) {
	_, err := c.client.CoreV1().Events("default").Create(c.Context(), &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: name},
		InvolvedObject: corev1.ObjectReference{Namespace: "default", Kind: "Pod", Name: "p"}}, metav1.CreateOptions{})
	c.must("an event", err)
}

func eventIsGone(c *clockTest, name string) bool {
	_, err := c.client.CoreV1().Events("default").Get(c.Context(), name, metav1.GetOptions{})
	return c.isGone(err)
}

// bootstrapTokenFor creates a bootstrap token that is valid for a time.
func bootstrapTokenFor(c *clockTest, id string, lifetime time.Duration) {
	_, err := c.client.CoreV1().Secrets("kube-system").Create(c.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + id}, Type: "bootstrap.kubernetes.io/token",
		StringData: map[string]string{"token-id": id, "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true",
			"usage-bootstrap-signing": "true",
			"expiration":              c.server.Lab().Clock().Now().Add(lifetime).UTC().Format(time.RFC3339)},
	}, metav1.CreateOptions{})
	c.must("a bootstrap token", err)
}

func bootstrapTokenIsGone(c *clockTest, id string) bool {
	_, err := c.client.CoreV1().Secrets("kube-system").Get(c.Context(), "bootstrap-token-"+id, metav1.GetOptions{})
	return c.isGone(err)
}

// request creates a certificate signing request with a condition; "" leaves it pending.
func (c *clockTest) request(name string, seconds int32, condition certificatesv1.RequestConditionType) (keyPEM []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	c.must("a key", err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}}, key)
	c.must("a request", err)
	requests := c.client.CertificatesV1().CertificateSigningRequests()
	r, err := requests.Create(c.Context(), &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: certificatesv1.KubeAPIServerClientSignerName, ExpirationSeconds: &seconds,
			Usages:  []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})}}, metav1.CreateOptions{})
	c.must("a request", err)
	if condition != "" {
		r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: condition, Status: corev1.ConditionTrue, Reason: "test"}}
		_, err = requests.UpdateApproval(c.Context(), name, r, metav1.UpdateOptions{})
		c.must("a decision", err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	c.must("a key", err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}

func (c *clockTest) requestIsGone(name string) bool {
	_, err := c.client.CertificatesV1().CertificateSigningRequests().Get(c.Context(), name, metav1.GetOptions{})
	return c.isGone(err)
}

// expirings returns the table, in the order in which the rows expire. The times are those of the server or of kube-controller-manager.
func expirings() []expiring {
	return []expiring{
		{"the usage of a pod past its grace period", time.Minute, 0, deletedPod, func(c *clockTest) bool {
			q, err := c.client.CoreV1().ResourceQuotas("default").Get(c.Context(), "pods", metav1.GetOptions{})
			c.must("the quota", err)
			used := q.Status.Used["pods"]
			return used.IsZero()
		}},
		{"the Lease of a server that is gone", 20 * time.Minute, 0, func(c *clockTest) { identityLease(c, "gone", 20*time.Minute) },
			func(c *clockTest) bool {
				_, err := c.client.CoordinationV1().Leases("kube-system").Get(c.Context(), "gone", metav1.GetOptions{})
				return c.isGone(err)
			}},
		{"a candidate that does not renew", 30 * time.Minute, 0, leaseCandidate, func(c *clockTest) bool {
			_, err := c.client.CoordinationV1beta1().LeaseCandidates("default").Get(c.Context(), "candidate", metav1.GetOptions{})
			return c.isGone(err)
		}},
		{"an Event", time.Hour, 0, func(c *clockTest) { createEvent(c, "e") }, func(c *clockTest) bool { return eventIsGone(c, "e") }},
		{"a denied request", time.Hour, 0, func(c *clockTest) { c.request("denied", 3600, certificatesv1.CertificateDenied) },
			func(c *clockTest) bool { return c.requestIsGone("denied") }},
		{"an issued request", time.Hour, 0, issuedRequest, func(c *clockTest) bool { return c.requestIsGone("issued") }},
		{"a service account token", 100 * time.Minute, 0, serviceAccountToken, func(c *clockTest) bool { return c.isRefused(c.bearing(c.token)) }},
		{"a bootstrap token", 2 * time.Hour, 0, func(c *clockTest) { bootstrapTokenFor(c, "abcdef", 2*time.Hour) }, func(c *clockTest) bool {
			gone, refused := bootstrapTokenIsGone(c, "abcdef"), c.isRefused(c.bearing("abcdef.0123456789abcdef"))
			if gone != refused {
				c.Errorf("the token is gone: %v, refused: %v", gone, refused)
			}
			return gone
		}},
		{"a client certificate", 5 * time.Hour, 0, nil, func(c *clockTest) bool { return c.isRefused(c.certificate) }},
		{"a pending request", 24 * time.Hour, 0, func(c *clockTest) { c.request("pending", 3600, "") },
			func(c *clockTest) bool { return c.requestIsGone("pending") }},
		{"an approved request that nobody signs", 24 * time.Hour, 0, unsignedRequest, func(c *clockTest) bool { return c.requestIsGone("unsigned") }},
		{"the administrator's certificate", 335 * 24 * time.Hour, time.Hour, nil, func(c *clockTest) bool {
			return !bytes.Equal(c.server.RESTConfig().CertData, c.server.admin.CertPEM)
		}},
	}
}

func deletedPod(c *clockTest) {
	_, err := c.client.CoreV1().ResourceQuotas("default").Create(c.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "pods"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": resource.MustParse("5")}}}, metav1.CreateOptions{})
	c.must("a quota", err)
	eventually.True(c, "the first count", func() bool {
		q, err := c.client.CoreV1().ResourceQuotas("default").Get(c.Context(), "pods", metav1.GetOptions{})
		return err == nil && len(q.Status.Hard) > 0
	})
	pods := c.client.CoreV1().Pods("default")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Finalizers: []string{"example.com/stays"}}, Spec: corev1.PodSpec{NodeName: "n",
		Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	eventually.Succeeds(c, "a pod", func() error { // the service account of the namespace may not be there yet
		_, err := pods.Create(c.Context(), pod, metav1.CreateOptions{})
		return err
	})
	c.must("deleting the pod", pods.Delete(c.Context(), "p", metav1.DeleteOptions{GracePeriodSeconds: new(int64(30))}))
	eventually.True(c, "the usage of a pod", func() bool {
		q, err := c.client.CoreV1().ResourceQuotas("default").Get(c.Context(), "pods", metav1.GetOptions{})
		used := q.Status.Used["pods"]
		return err == nil && used.Value() == 1
	})
}

func identityLease(c *clockTest, name string, lifetime time.Duration) {
	_, err := c.client.CoordinationV1().Leases("kube-system").Create(c.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{controllers.IdentityLabel: "kube-apiserver"}},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: new(int32(lifetime.Seconds())),
			RenewTime: &metav1.MicroTime{Time: c.server.Lab().Clock().Now()}}}, metav1.CreateOptions{})
	c.must("a lease", err)
}

func leaseCandidate(c *clockTest) {
	now := metav1.MicroTime{Time: c.server.Lab().Clock().Now()}
	_, err := c.client.CoordinationV1beta1().LeaseCandidates("default").Create(c.Context(), &coordinationv1beta1.LeaseCandidate{
		ObjectMeta: metav1.ObjectMeta{Name: "candidate"}, Spec: coordinationv1beta1.LeaseCandidateSpec{LeaseName: "l", BinaryVersion: "1.37.0",
			EmulationVersion: "1.37.0", Strategy: coordinationv1.OldestEmulationVersion, RenewTime: &now}}, metav1.CreateOptions{})
	c.must("a candidate", err)
}

func issuedRequest(c *clockTest) {
	key := c.request("issued", 5*3600, certificatesv1.CertificateApproved)
	eventually.True(c, "a certificate", func() bool {
		r, err := c.client.CertificatesV1().CertificateSigningRequests().Get(c.Context(), "issued", metav1.GetOptions{})
		c.must("the request", err)
		c.certificate = rest.AnonymousClientConfig(c.server.RESTConfig())
		c.certificate.CertData, c.certificate.KeyData = r.Status.Certificate, key
		return len(r.Status.Certificate) > 0
	})
}

func unsignedRequest(c *clockTest) {
	requests := c.client.CertificatesV1().CertificateSigningRequests()
	c.request("template", 3600, "")
	r, err := requests.Get(c.Context(), "template", metav1.GetOptions{})
	c.must("the request", err)
	r.ObjectMeta, r.Spec.SignerName = metav1.ObjectMeta{Name: "unsigned"}, "example.com/nobody"
	r, err = requests.Create(c.Context(), r, metav1.CreateOptions{})
	c.must("a request", err)
	r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue}}
	_, err = requests.UpdateApproval(c.Context(), "unsigned", r, metav1.UpdateOptions{})
	c.must("an approval", err)
}

func serviceAccountToken(c *clockTest) {
	r, err := c.client.CoreV1().ServiceAccounts("default").CreateToken(c.Context(), "default", &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64((100*time.Minute - leewayOfTokens).Seconds()))}}, metav1.CreateOptions{})
	c.must("a token", err)
	c.token = r.Status.Token
}

// leewayOfTokens is the time for which service account tokens are valid after they have expired.
const leewayOfTokens = time.Minute

// TestExpiries walks through the table of everything that expires: a moment before its time it has not, and once the clock has passed
// the time it has, when the move of the clock returns. All rows share a server.
func TestExpiries(t *testing.T) {
	c := startClockTest(t, Options{Authentication: Authentication{BootstrapTokens: true}, FeatureGates: map[string]bool{"CoordinatedLeaderElection": true},
		RuntimeConfig: map[string]string{"coordination.k8s.io/v1beta1": "true"}})
	start := c.server.Lab().Clock().Now()
	rows := expirings()
	for _, row := range rows {
		if row.create != nil {
			row.create(c)
		}
	}
	const moment = 15 * time.Second // more than the creation of all takes
	for i, row := range rows {
		if left := row.after - moment - c.server.Lab().Clock().Now().Sub(start); left > 0 {
			c.advance(left)
		}
		for _, other := range rows[i:] {
			if other.after > c.server.Lab().Clock().Now().Sub(start) && other.isOver(c) {
				t.Errorf("%s is over after %v, not %v", other.name, c.server.Lab().Clock().Now().Sub(start), other.after)
			}
		}
		if left := row.after + row.within + moment - c.server.Lab().Clock().Now().Sub(start); left > 0 {
			c.advance(left)
		}
		if !row.isOver(c) {
			t.Errorf("%s is not over after %v", row.name, c.server.Lab().Clock().Now().Sub(start))
		}
	}
	if _, err := c.client.CoordinationV1().Leases("kube-system").Get(context.Background(), c.server.serverID, metav1.GetOptions{}); err != nil {
		t.Errorf("the lease of the server itself: %v", err)
	}
}
