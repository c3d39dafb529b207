package servertest_test

import (
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/miniapiserver/miniapiserver/lab"
	"github.com/miniapiserver/miniapiserver/server"
	"github.com/miniapiserver/miniapiserver/server/servertest"
)

// TestExampleNew checks the example of docs/testing.md: a server for one test.
func TestExampleNew(t *testing.T) {
	s := servertest.New(t, server.Options{})
	greeting := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "greeting"}}
	if _, err := s.Client.CoreV1().ConfigMaps("default").Create(t.Context(), greeting, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestExampleVersions checks the example of docs/testing.md: a test on several versions of Kubernetes.
func TestExampleVersions(t *testing.T) {
	for _, version := range []string{"1.34", "1.35", "1.36", "1.37"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := servertest.New(t, server.Options{Emulation: server.Emulation{Version: version, Faithful: true}})
			info, err := s.Client.Discovery().ServerVersion()
			if err != nil || info.Major+"."+info.Minor != version {
				t.Fatal(info, err)
			}
		})
	}
}

var shared servertest.Shared

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// TestExampleShared checks the example of docs/testing.md: a namespace of a shared server.
func TestExampleShared(t *testing.T) {
	t.Parallel()
	s := shared.Get(t)
	namespace := s.Namespace(t)
	greeting := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "greeting"}}
	if _, err := s.Client.CoreV1().ConfigMaps(namespace).Create(t.Context(), greeting, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestExampleInject checks the example of docs/lab.md: an update that meets a conflict once.
func TestExampleInject(t *testing.T) {
	s := servertest.New(t, server.Options{Lab: server.Lab{Enabled: true}})
	maps := s.Client.CoreV1().ConfigMaps("default")
	if _, err := maps.Create(t.Context(), configMap, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.Inject(t, lab.Fault{
		Match:  lab.Match{Verbs: []string{"update"}, Resources: []string{"configmaps"}},
		When:   lab.When{Times: 1},
		Inject: lab.Conflict(),
	})
	tries := 0
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		tries++
		now, err := maps.Get(t.Context(), configMap.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		now.Data = map[string]string{"hello": "world"}
		_, err = maps.Update(t.Context(), now, metav1.UpdateOptions{})
		return err
	})
	if err != nil || tries != 2 {
		t.Errorf("after %d tries: %v", tries, err)
	}
}

// TestInjectNeedsSense checks that a Fault which makes no sense is an error with the path of its field.
func TestInjectNeedsSense(t *testing.T) {
	s := servertest.New(t, server.Options{Lab: server.Lab{Enabled: true}})
	_, err := s.Lab().Inject(t.Context(), lab.Fault{Match: lab.Match{Verbs: []string{"create"}}, Inject: lab.Stale(time.Second)})
	if err == nil || !strings.Contains(err.Error(), "spec.match.verbs[0]") {
		t.Errorf("a stale create: %v", err)
	}
}
