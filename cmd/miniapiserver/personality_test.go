package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/internal/porttest"
	"github.com/miniapiserver/miniapiserver/server"
)

// commandAs returns the command called by another name.
func commandAs(t *testing.T, name string, args ...string) *process {
	t.Helper()
	p := command(t, args...)
	p.Args[0] = filepath.Join("bin", name)
	return p
}

// waitFor waits until a process responds with 200 at a URL, whatever its certificate is.
func waitFor(t *testing.T, p *process, url string) {
	t.Helper()
	waitWith(t, p, &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}, url)
}

// waitWith waits until a process responds with 200 to a client. If it does not, the test ends
// with the last response and the output of the process.
func waitWith(t *testing.T, p *process, client *http.Client, url string) {
	t.Helper()
	const patience = 30 * time.Second
	var last string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		response, err := client.Get(url)
		if err != nil {
			last = err.Error()
			continue
		}
		body, _ := io.ReadAll(response.Body) // for the message only
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return
		}
		last = fmt.Sprintf("%s: %s", response.Status, body)
	}
	_ = p.Process.Kill() // so that its output is complete
	_ = p.Wait()
	t.Fatalf("%s: %s\n%s", url, last, p.stderr.String())
}

// launch starts a process, and stops it at the end of the test unless the test does.
func launch(t *testing.T, p *process) {
	t.Helper()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Kill() // it may have ended by itself
			_ = p.Wait()
		}
	})
}

// terminate sends SIGTERM and checks that the process ends soon, with status 0.
func terminate(t *testing.T, p *process) {
	t.Helper()
	began := time.Now()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil || time.Since(began) > 5*time.Second {
		t.Errorf("%s ends with %v after %v: %s", p.Args[0], err, time.Since(began), p.stderr.String())
	}
}

// startEtcd starts etcd with the flags of envtest and returns its URL.
func startEtcd(t *testing.T) (*process, string) {
	t.Helper()
	url := fmt.Sprintf("http://127.0.0.1:%d", porttest.Free(t))
	p := commandAs(t, "etcd", "--data-dir="+t.TempDir(), "--unsafe-no-fsync=true", "--listen-client-urls="+url,
		"--advertise-client-urls="+url, fmt.Sprintf("--listen-peer-urls=http://127.0.0.1:%d", porttest.Free(t)))
	launch(t, p)
	waitFor(t, p, url+"/health")
	return p, url
}

// startKubeAPIServer starts kube-apiserver with the flags of envtest, and returns the
// process, a client and its directory of certificates.
func startKubeAPIServer(t *testing.T, etcd string, more ...string) (*process, *kubernetes.Clientset, string) {
	t.Helper()
	return startKubeAPIServerOf(t, os.Args[0], etcd, more...)
}

// startKubeAPIServerOf does the same with the file of a program.
func startKubeAPIServerOf(t *testing.T, program, etcd string, more ...string) (*process, *kubernetes.Clientset, string) {
	t.Helper()
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	signer, tokens := filepath.Join(dir, "sa-signer.key"), filepath.Join(dir, "tokens.csv")
	for file, data := range map[string][]byte{
		signer: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}),
		tokens: []byte("secret,admin,1,system:masters\n"),
	} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	certDir, port := filepath.Join(dir, "certs"), porttest.Free(t)
	url := fmt.Sprintf("https://127.0.0.1:%d", port)
	args := append([]string{
		"--allow-privileged=true", "--authorization-mode=RBAC", "--bind-address=127.0.0.1", "--cert-dir=" + certDir,
		"--disable-admission-plugins=ServiceAccount", "--etcd-servers=" + etcd, fmt.Sprintf("--secure-port=%d", port),
		"--service-account-issuer=" + url + "/", "--service-account-key-file=" + signer, "--service-account-signing-key-file=" + signer,
		"--service-cluster-ip-range=10.0.0.0/24", "--token-auth-file=" + tokens,
	}, more...)
	p := commandAs(t, "kube-apiserver", args...)
	p.Path = program
	launch(t, p)
	waitFor(t, p, url+"/readyz")
	client, err := kubernetes.NewForConfig(&rest.Config{Host: url, BearerToken: "secret",
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(certDir, "apiserver.crt")}})
	if err != nil {
		t.Fatal(err)
	}
	return p, client, certDir
}

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestPair checks that kube-apiserver and etcd serve the API together, that
// kube-apiserver writes nothing but its certificate, runs no controllers, and starts
// again on the same data.
func TestPair(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	etcd, url := startEtcd(t)
	for range 2 {
		p, client, certDir := startKubeAPIServer(t, url)
		if _, err := client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
		if files := filesIn(t, certDir); !slices.Equal(files, []string{"apiserver.crt", "apiserver.key"}) {
			t.Errorf("in --cert-dir: %q", files)
		}
		if files := filesIn(t, p.Dir); len(files) > 0 {
			t.Errorf("in the working directory: %q", files)
		}
		config, err := client.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		} else if err == nil && len(config.Data) > 0 {
			t.Errorf("certificates in memory are published: %v", config.Data)
		}
		terminate(t, p)
		if p.stdout != nil {
			t.Error("it prints to stdout")
		}
	}
	terminate(t, etcd)
	if files := filesIn(t, tmp); len(files) > 3 { // directories of the test
		t.Errorf("in TMPDIR: %q", files)
	}
}

// TestControllersVariable checks that the environment variable turns on controllers,
// which otherwise do not run.
func TestControllersVariable(t *testing.T) {
	_, url := startEtcd(t)
	none, client, _ := startKubeAPIServer(t, url)
	if list, err := client.CoreV1().ServiceAccounts("default").List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Errorf("got %v, %v", list, err)
	}
	terminate(t, none)
	t.Setenv(controllersVariable, "serviceaccount")
	_, client, _ = startKubeAPIServer(t, url)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		_, err := client.CoreV1().ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{})
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// TestPairWithCertificates checks that etcd serves only clients with a certificate, and is
// probed on another port, as kubeadm runs it, and that kube-apiserver reaches it.
func TestPairWithCertificates(t *testing.T) {
	dir := t.TempDir()
	other, _ := start(t, "--data-dir", dir, "--secure-port", "0") // makes certificates
	if code := stop(t, other, syscall.SIGTERM); code != 0 {
		t.Fatalf("status %d", code)
	}
	in := func(name string) string { return filepath.Join(dir, "pki", name) }
	client, peer := fmt.Sprintf("https://127.0.0.1:%d", porttest.Free(t)), fmt.Sprintf("https://127.0.0.1:%d", porttest.Free(t))
	metrics := fmt.Sprintf("http://127.0.0.1:%d", porttest.Free(t))
	etcd := commandAs(t, "etcd", "--name=node", "--data-dir="+t.TempDir(), "--snapshot-count=10000", "--feature-gates=InitialCorruptCheck=true",
		"--listen-client-urls="+client, "--advertise-client-urls="+client, "--listen-metrics-urls="+metrics,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=node="+peer,
		"--cert-file="+in("apiserver.crt"), "--key-file="+in("apiserver.key"), "--trusted-ca-file="+in("ca.crt"), "--client-cert-auth=true",
		"--peer-cert-file="+in("apiserver.crt"), "--peer-key-file="+in("apiserver.key"), "--peer-trusted-ca-file="+in("ca.crt"), "--peer-client-cert-auth=true",
		"--enable-grpc-gateway=false") // which would present the serving certificate as a client
	launch(t, etcd)
	waitFor(t, etcd, metrics+"/health")
	conn, err := tls.Dial("tcp", strings.TrimPrefix(client, "https://"), &tls.Config{InsecureSkipVerify: true})
	if err == nil {
		if _, err = conn.Write([]byte("GET /health HTTP/1.0\r\n\r\n")); err == nil {
			_, err = conn.Read(make([]byte, 1))
		}
		conn.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("a client without a certificate got %v", err)
	}
	p, c, _ := startKubeAPIServer(t, client, "--etcd-cafile="+in("ca.crt"), "--etcd-certfile="+in("admin.crt"), "--etcd-keyfile="+in("admin.key"))
	if _, err := c.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	terminate(t, p)
	terminate(t, etcd)
}

// TestEtcdWithGeneratedCertificates checks that etcd serves with certificates of its own.
func TestEtcdWithGeneratedCertificates(t *testing.T) {
	url := fmt.Sprintf("https://127.0.0.1:%d", porttest.Free(t))
	p := commandAs(t, "etcd", "--data-dir="+t.TempDir(), "--unsafe-no-fsync", "--auto-tls", "--peer-auto-tls", "--listen-client-urls="+url,
		"--advertise-client-urls="+url, fmt.Sprintf("--listen-peer-urls=https://127.0.0.1:%d", porttest.Free(t)),
		"--name=a", fmt.Sprintf("--initial-advertise-peer-urls=https://127.0.0.1:%d", 2380), "--initial-cluster=a=https://127.0.0.1:2380")
	launch(t, p)
	waitFor(t, p, url+"/health")
	terminate(t, p)
}

// TestPersonalityErrors checks that wrong flags are refused in one line that names them,
// with status 1.
func TestPersonalityErrors(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"kube-apiserver"}, "kube-apiserver: --etcd-servers: must be specified; "},
		{[]string{"kube-apiserver", "--insecure-port=1"}, "kube-apiserver: unknown flag: --insecure-port; the nearest is --secure-port (see --help)"},
		{[]string{"kube-apiserver", "--data-dir=x"}, "kube-apiserver: unknown flag: --data-dir"},
		{[]string{"kube-apiserver", "--goaway-chance=x"}, `kube-apiserver: invalid argument "x" for "--goaway-chance" flag: `},
		{[]string{"etcd", "--data-dri=x"}, "etcd: unknown flag: --data-dri; the nearest is --data-dir (see --help)"},
		{[]string{"etcd", "--snapshot-count=x"}, `etcd: invalid value "x" for flag -snapshot-count: parse error`},
		{[]string{"etcd", "--listen-client-urls=http://127.0.0.1:1"}, "etcd: --advertise-client-urls: must be given together with --listen-client-urls"},
		{[]string{"etcd", "grpc-proxy"}, `etcd: takes flags and no arguments, got "grpc-proxy" (see --help)`},
	} {
		p := commandAs(t, c.args[0], c.args[1:]...)
		out, err := p.Output()
		if err == nil || p.ProcessState.ExitCode() != 1 || len(out) > 0 {
			t.Errorf("%q: status %d, stdout %s", c.args, p.ProcessState.ExitCode(), out)
		}
		if got := p.stderr.String(); !strings.HasPrefix(got, c.want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%q: got %q\nwant %s", c.args, got, c.want)
		}
	}
}

// TestPersonalityHelp checks the help as envtest reads it, and the versions, under the
// name of the program and as a subcommand.
func TestPersonalityHelp(t *testing.T) {
	has := func(help []byte, flag string) bool {
		return regexp.MustCompile(`(?m)^\s*--` + flag + `\b`).Match(help)
	}
	output := func(p *exec.Cmd) []byte {
		p.Stderr = nil
		out, err := p.CombinedOutput()
		if err != nil {
			t.Errorf("%q: %v: %s", p.Args, err, out)
		}
		return out
	}
	for _, sub := range []bool{false, true} {
		as := func(name string, args ...string) []byte {
			if sub {
				return output(command(t, append([]string{name}, args...)...).Cmd)
			}
			return output(commandAs(t, name, args...).Cmd)
		}
		if help := as("kube-apiserver", "--help"); has(help, "insecure-port") || !has(help, "allow-privileged") || !has(help, "service-account-issuer") {
			t.Errorf("help of kube-apiserver: %s", help)
		}
		if help := as("etcd", "--help"); !has(help, "unsafe-no-fsync") || !has(help, "listen-peer-urls") {
			t.Errorf("help of etcd: %s", help)
		}
		if version := as("kube-apiserver", "--version"); !regexp.MustCompile(`^Kubernetes v1\.\d+\.\d+\S*\n$`).Match(version) {
			t.Errorf("version of kube-apiserver: %s", version)
		}
		if version := as("kube-apiserver", "--version=raw"); !strings.HasPrefix(string(version), "version.Info{") {
			t.Errorf("raw version of kube-apiserver: %s", version)
		}
		if version := as("kube-apiserver", "--version="+server.Version().GitVersion+".x", "--version"); !strings.HasSuffix(string(version), ".x\n") {
			t.Errorf("reported version of kube-apiserver: %s", version)
		}
		if version := as("etcd", "--version"); !strings.HasPrefix(string(version), "etcd Version: 3.") {
			t.Errorf("version of etcd: %s", version)
		}
	}
	if code := runAs([]string{"etcd", "--help"}, io.Discard, io.Discard); code != 0 {
		t.Errorf("status %d", code)
	}
}
