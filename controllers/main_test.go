package controllers_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs a server with its controllers and returns a client.
func start(t *testing.T, o server.Options) (*server.Server, *kubernetes.Clientset) {
	t.Helper()
	s, err := server.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return s, clientFor(t, s.RESTConfig())
}

// clientFor returns a client whose connections are closed at the end of the test.
func clientFor(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.CloseIdleConnections)
	c, err := kubernetes.NewForConfigAndClient(config, h)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// whoami returns the user name that the server assigns to a client.
func whoami(t *testing.T, c kubernetes.Interface) string {
	t.Helper()
	me, err := c.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return me.Status.UserInfo.Username
}

// eventually waits until holds returns true, and fails the test after a timeout. NotFound
// errors count as false.
func eventually(t *testing.T, what string, holds func(context.Context) (bool, error)) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 2*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		ok, err := holds(ctx)
		if last = err; errors.IsNotFound(err) {
			err = nil
		}
		return ok, err
	})
	if err != nil {
		t.Fatalf("%s: %v (%v)", what, err, last)
	}
}

// gone reports whether err is a NotFound error.
func gone(err error) (bool, error) {
	if errors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}

// TestSwitchedOff starts a server with all controllers turned off by name.
func TestSwitchedOff(t *testing.T) {
	_, c := start(t, server.Options{Controllers: server.Controllers{Off: controllers.Names()}})
	list, err := c.CoreV1().ServiceAccounts("").List(t.Context(), listAll)
	if err != nil || len(list.Items) != 0 {
		t.Errorf("service accounts: %d, %v", len(list.Items), err)
	}
}

func TestKnown(t *testing.T) {
	for name, want := range map[string]string{
		"csrsigning":                   "certificatesigningrequest-signing-controller",
		"tokencleaner":                 "token-cleaner-controller",
		"bootstrapsigner":              "bootstrap-signer-controller",
		"garbage-collector-controller": "garbage-collector-controller",
		"nothing":                      "",
		"*":                            "",
	} {
		if got, ok := controllers.CanonicalName(name); got != want || ok != (want != "") {
			t.Errorf("%s is %q, %t", name, got, ok)
		}
	}
}
