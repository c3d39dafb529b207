package server

import (
	"context"
	"errors"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/storage"
)

// startLabServer starts a server with a lab, and returns a client of it.
func startLabServer(t testing.TB, o Options) (*Server, *kubernetes.Clientset) {
	t.Helper()
	o.Lab.Enabled = true
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, s)
	return s, kubernetes.NewForConfigOrDie(s.RESTConfig())
}

func stopAtEnd(t testing.TB, s *Server) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
}

func createConfigMap(t testing.TB, c kubernetes.Interface, name string) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// has reports whether there is a ConfigMap.
func has(t testing.TB, c kubernetes.Interface, name string) bool {
	t.Helper()
	_, err := c.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// TestFork checks that a fork has the objects of its origin, that neither sees what the other writes later, that certificates and
// service account tokens of one are accepted by the other, and that a fork can begin with an earlier state.
func TestFork(t *testing.T) {
	s, c := startLabServer(t, Options{})
	createConfigMap(t, c, "before")
	m, err := s.Lab().Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	createConfigMap(t, c, "after")
	fork, err := s.Fork(t.Context(), ForkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, fork)
	ofFork := kubernetes.NewForConfigOrDie(fork.RESTConfig())
	createConfigMap(t, c, "origin")
	createConfigMap(t, ofFork, "fork")
	if !has(t, ofFork, "before") || !has(t, ofFork, "after") || has(t, ofFork, "origin") || has(t, c, "fork") {
		t.Error("the fork is not a copy, or not independent")
	}
	// The client certificate of the origin's administrator.
	withCertificate := s.RESTConfig()
	withCertificate.Host = fork.RESTConfig().Host
	if !has(t, kubernetes.NewForConfigOrDie(withCertificate), "fork") {
		t.Error("the certificate of the origin is not accepted")
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	for _, client := range []kubernetes.Interface{c, ofFork} {
		if _, err := client.CoreV1().ServiceAccounts("kube-system").Create(t.Context(), account.DeepCopy(), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	earlier, err := s.Fork(t.Context(), ForkOptions{To: m})
	if err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, earlier)
	ofEarlier := kubernetes.NewForConfigOrDie(earlier.RESTConfig())
	if !has(t, ofEarlier, "before") || has(t, ofEarlier, "after") {
		t.Error("the fork of an earlier state has another one")
	}
}

// TestForkTokens checks that a service account token of the origin is valid in a fork that has the account.
func TestForkTokens(t *testing.T) {
	s, c := startLabServer(t, Options{})
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	if _, err := c.CoreV1().ServiceAccounts("default").Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	fork, err := s.Fork(t.Context(), ForkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, fork)
	request, err := c.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "robot", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(fork.RESTConfig())
	config.BearerToken = request.Status.Token
	review, err := kubernetes.NewForConfigOrDie(config).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || review.Status.UserInfo.Username != "system:serviceaccount:default:robot" {
		t.Errorf("%v, %v", review, err)
	}
}

// TestForkErrors checks which servers have no forks.
func TestForkErrors(t *testing.T) {
	s, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, s)
	if _, err := s.Fork(t.Context(), ForkOptions{To: &storage.Mark{}}); err == nil {
		t.Error("a server without a lab has a fork of an earlier state")
	}
	other, err := Start(t.Context(), Options{Etcd: Etcd{Servers: []string{externalEtcd(t)}}})
	if err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, other)
	if _, err := other.Fork(t.Context(), ForkOptions{}); !errors.Is(err, storage.ErrNotEmbedded) {
		t.Errorf("a server with an external etcd: %v", err)
	}
}
