package server

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/lab/remote"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
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

// TestForkOf checks a fork of a server in another process, by a kubeconfig file: of the present state and of a Checkpoint, with the
// certificates of its origin, and that the checkpoint which it makes for itself is gone afterwards.
func TestForkOf(t *testing.T) {
	s, c := startLabServer(t, Options{Dir: t.TempDir()})
	createConfigMap(t, c, "before")
	checkpoints := labResource(t, s.RESTConfig(), "checkpoints")
	checkpoint := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "lab.miniapiserver.io/v1alpha1", "kind": "Checkpoint",
		"metadata": map[string]any{"name": "start"}}}
	if _, err := checkpoints.Create(t.Context(), checkpoint, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	createConfigMap(t, c, "after")
	for name, hasAfter := range map[string]bool{"": true, "start": false} {
		fork, err := Start(t.Context(), Options{Fork: Fork{Of: s.KubeconfigFile, Checkpoint: name}})
		if err != nil {
			t.Fatal(err)
		}
		stopAtEnd(t, fork)
		withCertificate := s.RESTConfig()
		withCertificate.Host = fork.RESTConfig().Host
		ofFork := kubernetes.NewForConfigOrDie(withCertificate)
		if !has(t, ofFork, "before") || has(t, ofFork, "after") != hasAfter {
			t.Errorf("checkpoint %q: the fork has another state", name)
		}
	}
	left, err := checkpoints.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) != 1 {
		t.Errorf("%d checkpoints are left, %v", len(left.Items), err)
	}
	for _, wrong := range []Options{
		{Fork: Fork{Of: s.KubeconfigFile, Checkpoint: "missing"}}, {Fork: Fork{Of: s.KubeconfigFile + "x"}}, {Fork: Fork{Checkpoint: "start"}},
		{Fork: Fork{Of: s.KubeconfigFile}, Etcd: Etcd{Servers: []string{"http://127.0.0.1:1"}}},
		{Fork: Fork{Of: s.KubeconfigFile}, Etcd: Etcd{Snapshot: s.KubeconfigFile}},
	} {
		if started, err := Start(t.Context(), wrong); err == nil {
			stopAtEnd(t, started)
			t.Errorf("%+v, %+v started", wrong.Fork, wrong.Etcd.Servers)
		} else if !strings.Contains(err.Error(), "--fork-") {
			t.Errorf("the error names no flag: %v", err)
		}
	}
}

// TestForkOfOtherServers checks that a server without a lab says so to a fork.
func TestForkOfOtherServers(t *testing.T) {
	s, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, s)
	if _, err := Start(t.Context(), Options{Fork: Fork{Of: s.KubeconfigFile}}); !errors.Is(err, remote.ErrNoLab) {
		t.Errorf("a fork of a server without a lab: %v", err)
	}
}

// TestSnapshotAccess checks that the snapshot of a Checkpoint, which has all Secrets, needs a permission of its own, and that a server
// can start from it.
func TestSnapshotAccess(t *testing.T) {
	s, c := startLabServer(t, Options{})
	createConfigMap(t, c, "before")
	admin, err := remote.New(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	name, err := admin.CreateCheckpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: []rbacv1.PolicyRule{{
		Verbs: []string{"get", "list", "watch"}, APIGroups: []string{"lab.miniapiserver.io"}, Resources: []string{"checkpoints"}}}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "reader"},
		Subjects: []rbacv1.Subject{{Kind: "User", Name: "jane"}}}
	if _, err := c.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	jane := s.RESTConfig()
	jane.Impersonate.UserName = "jane"
	if _, err := labResource(t, jane, "checkpoints").Get(t.Context(), name, metav1.GetOptions{}); err != nil {
		t.Errorf("jane may read checkpoints: %v", err)
	}
	ofJane, err := remote.New(jane)
	if err != nil {
		t.Fatal(err)
	}
	if err := ofJane.Snapshot(t.Context(), name, io.Discard); !apierrors.IsForbidden(err) {
		t.Errorf("jane may not read snapshots: %v", err)
	}
	if err := admin.Snapshot(t.Context(), "missing", io.Discard); !apierrors.IsNotFound(err) {
		t.Errorf("the snapshot of a missing checkpoint: %v", err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "snapshot.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(admin.Snapshot(t.Context(), name, file), file.Close()); err != nil {
		t.Fatal(err)
	}
	again, err := Start(t.Context(), Options{Etcd: Etcd{Snapshot: file.Name()}})
	if err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, again)
	if !has(t, kubernetes.NewForConfigOrDie(again.RESTConfig()), "before") {
		t.Error("the snapshot lacks an object")
	}
}

// labResource returns a client of a resource of the lab.
func labResource(t testing.TB, config *rest.Config, resource string) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(v1alpha1.GroupVersion.WithResource(resource))
}
