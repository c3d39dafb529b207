package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/miniapiserver/miniapiserver/lab/kubectl"
	"github.com/miniapiserver/miniapiserver/lab/try"
)

// asWriter is the environment variable that makes the test binary run as a program that writes objects to the server of
// KUBECONFIG.
const asWriter = "MINIAPISERVER_TEST_WRITER"

// writerStatus is the exit status of the program.
const writerStatus = 3

// writeObjects is that program. A ConfigMap of its own is changed, another one deleted, and a write is refused.
func writeObjects() int {
	ctx := context.Background()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	c := kubernetes.NewForConfigOrDie(config)
	_, err = c.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tried"}}, metav1.CreateOptions{})
	if apierrors.IsForbidden(err) {
		return writerStatus
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"password": "opensesame"}}
	_, err2 := c.CoreV1().Secrets("tried").Create(ctx, secret, metav1.CreateOptions{})
	maps := c.CoreV1().ConfigMaps("default")
	_, err3 := maps.Patch(ctx, "changed", types.MergePatchType, []byte(`{"data":{"a":"after"}}`), metav1.PatchOptions{})
	err4 := maps.Delete(ctx, "deleted", metav1.DeleteOptions{})
	_, err5 := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "No_Name"}}, metav1.CreateOptions{})
	if err != nil || err2 != nil || err3 != nil || err4 != nil || !apierrors.IsInvalid(err5) {
		fmt.Println(err, err2, err3, err4, err5)
		return 1
	}
	fmt.Println("written")
	return writerStatus
}

// labServer is a server with the lab, as a process, with two ConfigMaps.
type labServer struct {
	t          *testing.T
	kubeconfig string
	url        string
	client     kubernetes.Interface
}

func startLab(t *testing.T, flags ...string) *labServer {
	t.Helper()
	p := command(t, append([]string{"--ephemeral", "--secure-port=0", "--output=json"}, flags...)...)
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	launch(t, p)
	var ready struct{ Kubeconfig, URL string }
	if err := json.NewDecoder(stdout).Decode(&ready); err != nil {
		t.Fatal(err, p.stderr.String())
	}
	config, err := clientcmd.BuildConfigFromFlags("", ready.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return &labServer{t, ready.Kubeconfig, ready.URL, kubernetes.NewForConfigOrDie(config)}
}

// fill creates the objects that the program expects, and lets jane look at ConfigMaps.
func (s *labServer) fill() {
	s.t.Helper()
	for _, name := range []string{"changed", "deleted"} {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := s.client.CoreV1().ConfigMaps("default").Create(s.t.Context(), cm, metav1.CreateOptions{}); err != nil {
			s.t.Fatal(err)
		}
	}
	rules := []rbacv1.PolicyRule{{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"configmaps", "namespaces"}}}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "look"}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "look"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "look"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "jane"}}}
	_, err := s.client.RbacV1().ClusterRoles().Create(s.t.Context(), role, metav1.CreateOptions{})
	_, err2 := s.client.RbacV1().ClusterRoleBindings().Create(s.t.Context(), binding, metav1.CreateOptions{})
	if err != nil || err2 != nil {
		s.t.Fatal(err, err2)
	}
}

// lab runs kubectl lab and returns its outputs and exit status.
func (s *labServer) lab(args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	p := command(s.t, append([]string{kubectl.Name, "--kubeconfig", s.kubeconfig}, args...)...)
	var out bytes.Buffer
	p.Stdout = &out
	if err := p.Run(); err != nil && p.ProcessState == nil {
		s.t.Fatal(err)
	}
	return out.String(), p.stderr.String(), p.ProcessState.ExitCode()
}

// writerCommand is the command line of the program that writes objects.
func writerCommand() []string { return []string{"--", "env", asWriter + "=1", os.Args[0]} }

// TestLabTry tries a program against a fork, with all rights, as a user without them, and against a cluster without a lab.
func TestLabTry(t *testing.T) {
	s := startLab(t, "--lab")
	s.fill()
	out, errs, code := s.lab(append([]string{"try"}, writerCommand()...)...)
	if code != writerStatus || !strings.HasPrefix(out, "written\n") || strings.Contains(out+errs, "opensesame") || errs != "" {
		t.Errorf("%d: %s, %s", code, out, errs)
	}
	for _, want := range []string{"+++ namespaces/tried    created\n", "+++ secrets/tried/s    created\n", "+  password: '***'\n", "+data:\n+  a: after\n",
		"--- configmaps/default/deleted\n+++ (no object)    deleted\n", "Refused\n  422 create configmaps/default", "metadata.name: Invalid value: ",
		"The command would change 4 objects: 2 created, 1 changed, 1 deleted (and 2 of the server's controllers, see --all).\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	out, errs, code = s.lab(append([]string{"try", "--as", "jane"}, writerCommand()...)...)
	if code != writerStatus || !strings.Contains(out, "  403 create namespaces") || !strings.HasSuffix(out, "The command would change nothing.\n") {
		t.Errorf("%d: %s, %s", code, out, errs)
	}
	plain := startLab(t)
	plain.fill()
	if out, errs, code = plain.lab("try", "--", "true"); code != 1 || !strings.Contains(errs, "--against "+plain.url) {
		t.Errorf("a server without a lab: %d: %s, %s", code, out, errs)
	}
	out, errs, code = s.lab(append([]string{"try", "--against", s.url, "-o", "json"}, writerCommand()...)...)
	var d try.Diff
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != writerStatus || !strings.Contains(errs, "written\n") || strings.Contains(out, "opensesame") {
		t.Errorf("%v, %d: %s, %s", err, code, out, errs)
	}
	for _, o := range d.Objects {
		if key := o.Key(); key == "configmaps/default/deleted" && o.Action != try.Deleted {
			t.Errorf("%+v", o)
		}
	}
	if len(d.Objects) != 6 || len(d.Refusals) != 1 || d.Refusals[0].Code != 422 {
		t.Errorf("%+v", d)
	}
	if _, err := s.client.CoreV1().Namespaces().Get(t.Context(), "tried", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the server has what was tried: %v", err)
	}
}

// TestLabForkAndSave runs commands in forks, ends a fork by its signal, and starts a server with a saved state.
func TestLabForkAndSave(t *testing.T) {
	s := startLab(t, "--lab")
	s.fill()
	if out, errs, code := s.lab("checkpoint", "filled"); code != 0 {
		t.Fatal(out, errs)
	}
	if err := s.client.CoreV1().ConfigMaps("default").Delete(t.Context(), "changed", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := s.lab(append([]string{"fork", "--checkpoint", "filled"}, writerCommand()...)...); code != writerStatus || out != "written\n" {
		t.Errorf("%d: %s, %s", code, out, errs)
	}
	if out, errs, code := s.lab("fork", "--checkpoint", "none", "--", "true"); code != 1 || !strings.Contains(errs, "none") {
		t.Errorf("%d: %s, %s", code, out, errs)
	}
	file := filepath.Join(t.TempDir(), "state.db")
	if out, errs, code := s.lab("save", file, "--checkpoint", "filled"); code != 0 || !strings.HasPrefix(out, "Saved ") {
		t.Fatal(out, errs)
	}
	loaded := startLab(t, "--etcd-snapshot", file)
	for name, client := range map[string]kubernetes.Interface{"the fork": s.foreground(), "the loaded server": loaded.client} {
		_, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "deleted", metav1.GetOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// foreground starts a fork that runs until its signal at the end of the test, and returns a client of it.
func (s *labServer) foreground() kubernetes.Interface {
	s.t.Helper()
	p := command(s.t, kubectl.Name, "--kubeconfig", s.kubeconfig, "fork")
	stdout, err := p.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	launch(s.t, p)
	buffer := make([]byte, 4096)
	n, err := stdout.Read(buffer)
	if err != nil {
		s.t.Fatal(err, p.stderr.String())
	}
	file := strings.TrimSpace(string(buffer[:n]))
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := p.Process.Signal(os.Interrupt); err != nil {
			s.t.Error(err)
		}
		if err := p.Wait(); err != nil {
			s.t.Error(err, p.stderr.String())
		}
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			s.t.Errorf("the fork leaves %s: %v", file, err)
		}
	})
	return kubernetes.NewForConfigOrDie(config)
}
