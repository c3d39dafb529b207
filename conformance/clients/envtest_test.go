package clients

import (
	"net"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// TestEnvtest checks that envtest starts and stops the server and its etcd under the names
// of kube-apiserver and etcd, several times, and that users, flags and controllers are as
// with these.
func TestEnvtest(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("KUBEBUILDER_ASSETS", output(t, buildServer(t).binary, "envtest", "--bin-dir", t.TempDir()))
	t.Setenv("TMPDIR", tmp)
	for range 2 {
		began := time.Now()
		env := &envtest.Environment{}
		env.ControlPlane.GetAPIServer().Configure().Append("feature-gates", "ClusterTrustBundle=true").Set("watch-cache", "false")
		config, err := env.Start()
		if err != nil {
			t.Fatal(err)
		}
		started := time.Since(began)
		useEnvtest(t, env, kubernetes.NewForConfigOrDie(config))
		began = time.Now()
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
		t.Logf("start %v, stop %v", started, time.Since(began))
		if conn, err := net.Dial("tcp", env.ControlPlane.GetAPIServer().SecureServing.HostPort()); err == nil {
			conn.Close()
			t.Error("the server still listens")
		}
		if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

// useEnvtest uses a started environment as its administrator and as another user.
func useEnvtest(t *testing.T, env *envtest.Environment, admin kubernetes.Interface) {
	t.Helper()
	if _, err := admin.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	version, err := admin.Discovery().ServerVersion()
	if err != nil || version.Major != "1" {
		t.Errorf("version %v, %v", version, err)
	}
	_, err = admin.CoreV1().ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("a controller of kube-controller-manager runs: %v", err)
	}
	privileged := true
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "c", Image: "i", SecurityContext: &corev1.SecurityContext{Privileged: &privileged},
	}}}}
	if _, err := admin.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	user, err := env.AddUser(envtest.User{Name: "jane", Groups: []string{"readers"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	jane := kubernetes.NewForConfigOrDie(user.Config())
	_, err = jane.CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("a user without permissions got %v", err)
	}
	master, err := env.AddUser(envtest.User{Name: "root", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kubernetes.NewForConfigOrDie(master.Config()).CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}
