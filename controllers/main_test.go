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

// start runs a server, with its controllers, and returns a client for it.
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

// clientFor makes a client whose connections end with the test.
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

// whoami asks the server whom it takes a client for.
func whoami(t *testing.T, c kubernetes.Interface) string {
	t.Helper()
	me, err := c.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return me.Status.UserInfo.Username
}

// eventually waits until holds, and fails the test if it never does. What is not
// found is not there yet.
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

// gone tells whether a read says that there is nothing.
func gone(err error) (bool, error) {
	if errors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}

// TestSwitchedOff starts a server whose controllers are all off, by the names
// that there are.
func TestSwitchedOff(t *testing.T) {
	_, c := start(t, server.Options{ControllersOff: controllers.Names()})
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
		if got, ok := controllers.Known(name); got != want || ok != (want != "") {
			t.Errorf("%s is %q, %t", name, got, ok)
		}
	}
}
