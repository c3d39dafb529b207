package servertest_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapiserver/miniapiserver/lab"
	"github.com/miniapiserver/miniapiserver/server"
	"github.com/miniapiserver/miniapiserver/server/servertest"
)

// A test has a server of its own, which stops when the test ends.
func ExampleNew() {
	s := servertest.New(t, server.Options{})
	_, err := s.Client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// All tests of a package share a server, which starts with the first of them. Each has a namespace of its own.
func ExampleShared() {
	s := shared.Get(t) // where TestMain calls shared.Run
	_, err := s.Client.CoreV1().ConfigMaps(s.Namespace(t)).Create(t.Context(), configMap, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// A test of permissions acts as another user.
func ExampleServer_As() {
	s := shared.Get(t)
	jane := kubernetes.NewForConfigOrDie(s.As("jane", "developers"))
	_, err := jane.CoreV1().Secrets(s.Namespace(t)).List(t.Context(), metav1.ListOptions{})
	if err == nil {
		t.Error("jane can read secrets")
	}
}

// The server misbehaves as a test asks: here the first update of each object meets a conflict.
func ExampleServer_Inject() {
	s := servertest.New(t, server.Options{Lab: server.Lab{Enabled: true}})
	s.Inject(t, lab.Fault{
		Match:  lab.Match{Verbs: []string{"update"}, Resources: []string{"deployments.apps"}},
		When:   lab.When{Times: 1, Per: "Object"},
		Inject: lab.Conflict(),
	})
}

// t stands for the test that contains the code of an example.
var t testing.TB

// configMap is what the examples create.
var configMap = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "greeting"}}
