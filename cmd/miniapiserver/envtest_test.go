package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/envtest"
	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/server"
)

// TestEnvtestPrograms checks that the programs are where setup-envtest looks for them, and that
// the directory in the cache is the default.
func TestEnvtestPrograms(t *testing.T) {
	temp := t.TempDir()
	platform := runtime.GOOS + "-" + runtime.GOARCH
	served := envtest.Version(server.Version().GitVersion)
	for _, tt := range []struct {
		args    []string
		dir     string // in temp, without the release
		release string
	}{
		{nil, "cache/miniapiserver/envtest/k8s", served},
		{[]string{"--bin-dir", filepath.Join(temp, "bin")}, "bin/k8s", served},
		{[]string{"--bin-dir", filepath.Join(temp, "bin"), "--version", "v1.37.99"}, "bin/k8s", "1.37.99"},
		{[]string{"--version", "1.37"}, "cache/miniapiserver/envtest/k8s", served},
		{[]string{"--version", "v1.34"}, "cache/miniapiserver/envtest/k8s", "1.34.0"},
		{[]string{"--version", "1.35.4"}, "cache/miniapiserver/envtest/k8s", "1.35.4"},
		{[]string{"--controllers", "*,-namespace"}, "cache/miniapiserver/envtest-all+-namespace/k8s", served},
		{[]string{"--controllers", "*", "--bin-dir", filepath.Join(temp, "bin")}, "bin/k8s", served},
	} {
		p := command(t, append([]string{"envtest"}, tt.args...)...)
		p.Env = append(p.Env, "XDG_CACHE_HOME="+filepath.Join(temp, "cache"), "HOME="+temp)
		out, err := p.Output()
		if err != nil {
			t.Fatalf("%v: %v: %s", tt.args, err, p.stderr.String())
		}
		dir := strings.TrimSuffix(string(out), "\n")
		if want := filepath.Join(temp, tt.dir, tt.release+"-"+platform); dir != want && runtime.GOOS == "linux" {
			t.Errorf("%v: the directory is %s, want %s", tt.args, dir, want)
		}
		version := exec.CommandContext(t.Context(), filepath.Join(dir, "kube-apiserver"), "--version")
		version.Env = p.Env
		if out, err := version.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "Kubernetes v"+tt.release+"+miniapiserver") {
			t.Errorf("%v: kube-apiserver --version: %s, %v", tt.args, out, err)
		}
		for _, name := range []string{"kube-apiserver", "etcd", "kubectl", "kubectl-lab", "kubectl_complete-lab"} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode()&0o111 == 0 {
				t.Errorf("%s is no program: %v", name, err)
			}
		}
	}
}

// TestEnvtestErrors checks that an error is one line that names the flag.
func TestEnvtestErrors(t *testing.T) {
	for args, want := range map[string]string{
		"--controllers x":       `--controllers: "x" is none of bootstrap-signer-controller, `,
		"--version 1.20.0":      "--version: emulation version 1.20 is not between 1.34 and 1.37",
		"--version 1.38":        "--version: emulation version 1.38 is not between 1.34 and 1.37",
		"--version latest":      `--version: "latest" is not a version such as 1.37.`,
		"--version 1":           `--version: "1" is not a version such as 1.37.`,
		"--version 1.35.x":      `--version: "1.35.x" is not a version such as 1.37.`,
		"--version 1.35.":       `--version: "1.35." is not a version such as 1.37.`,
		"--version 1.37.0-rc.1": `--version: "1.37.0-rc.1" is not a version such as 1.37.`,
		"--version vv1.36.0":    `--version: "vv1.36.0" is not a version such as 1.37.`,
		"--bindir x":            "unknown flag: --bindir (see --help)",
		"x":                     `takes flags and no arguments, got "x" (see --help)`,
	} {
		var out, errs strings.Builder
		if status := runMiniapiserver(append([]string{"envtest"}, strings.Fields(args)...), &out, &errs); status != 1 || out.Len() > 0 {
			t.Errorf("%s: exit status %d, output %q", args, status, out.String())
		}
		if got := errs.String(); !strings.HasPrefix(got, "miniapiserver envtest: "+want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

// TestEnvtestControllers checks that the kube-apiserver of --controllers ends namespaces and deletes the objects of deleted
// owners.
func TestEnvtestControllers(t *testing.T) {
	write := command(t, "envtest", "--bin-dir", t.TempDir(), "--controllers", "namespace,garbagecollector")
	assets, err := write.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, write.stderr.String())
	}
	_, etcd := startEtcd(t)
	_, client, _ := startKubeAPIServerOf(t, filepath.Join(strings.TrimSpace(string(assets)), asKubeAPIServer), etcd)
	ctx, namespaces, maps := t.Context(), client.CoreV1().Namespaces(), client.CoreV1().ConfigMaps("shop")
	if _, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	owner, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reference := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}
	for _, o := range []metav1.ObjectMeta{{Name: "owned", OwnerReferences: []metav1.OwnerReference{reference}}, {Name: "other"}} {
		if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: o}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := maps.Delete(ctx, owner.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the object of the deleted owner is deleted", func() bool {
		_, err := maps.Get(ctx, "owned", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if err := namespaces.Delete(ctx, "shop", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the namespace is deleted", func() bool {
		_, err := namespaces.Get(ctx, "shop", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}
