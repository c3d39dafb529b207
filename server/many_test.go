package server

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
)

// startMany starts many servers that end with the test.
func startMany(t *testing.T, o ManyOptions) *Many {
	t.Helper()
	m, err := StartMany(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := m.Stop(ctx); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(m.KubeconfigFile); o.Server.Dir == "" && !os.IsNotExist(err) {
			t.Errorf("files are left: %v", err)
		}
	})
	return m
}

// clientOfMany returns the administrator's client for the server of a context in the kubeconfig file.
func clientOfMany(t *testing.T, m *Many, name string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: m.KubeconfigFile},
		&clientcmd.ConfigOverrides{CurrentContext: name}).ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	return kubernetes.NewForConfigOrDie(config)
}

func putConfigMap(t *testing.T, c kubernetes.Interface, name string) {
	t.Helper()
	_, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// TestManyServers checks that each of many servers has its own objects, that it stops when it has no requests, and
// that its objects are there again at the next start, with and without a data directory.
func TestManyServers(t *testing.T) {
	for name, dir := range map[string]string{"ephemeral": "", "kept": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			m := startMany(t, ManyOptions{Server: Options{Dir: dir}, Count: 3, Idle: 10 * time.Millisecond})
			one, two := clientOfMany(t, m, "1"), clientOfMany(t, m, "2")
			putConfigMap(t, one, "a")
			if _, err := two.CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("the object of another server: %v", err)
			}
			eventually.True(t, "the servers stop", func() bool { return m.Running() == 0 })
			if _, err := one.CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
				t.Errorf("after another start: %v", err)
			}
			if _, err := os.Stat(filepath.Join(m.dir, "servers", "3")); !os.IsNotExist(err) {
				t.Errorf("a server that nobody asked for has a directory: %v", err)
			}
		})
	}
}

// TestManyRunning checks that a server with an open watch runs on, and that a server without requests makes room
// for another one.
func TestManyRunning(t *testing.T) {
	m := startMany(t, ManyOptions{Count: 3, Idle: time.Hour, Running: 1})
	one, two := clientOfMany(t, m, "1"), clientOfMany(t, m, "2")
	w, err := one.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // the client waits as Retry-After says
	defer cancel()
	if _, err := two.CoreV1().Namespaces().List(ctx, metav1.ListOptions{}); err == nil {
		t.Error("two servers run")
	}
	putConfigMap(t, one, "a")
	if e := <-w.ResultChan(); e.Object == nil {
		t.Error("the watch ended")
	}
	w.Stop()
	eventually.Succeeds(t, "another server starts", func() error {
		_, err := two.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
		return err
	})
	if n := m.Running(); n != 1 {
		t.Errorf("%d servers run", n)
	}
}

// TestManyPaths checks that no path but that of a server reaches one, and that the servers ask who the client is.
func TestManyPaths(t *testing.T) {
	m := startMany(t, ManyOptions{Count: 2})
	ca, err := os.ReadFile(filepath.Join(m.dir, "pki", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(&rest.Config{Host: m.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	for path, want := range map[string]int{
		"/": 404, "/api": 404, "/servers": 404, "/servers/": 404, "/servers/0/api": 404, "/servers/3/api": 404,
		"/servers/01/api": 404, "/servers/+1/api": 404, "/servers/1%2f../readyz": 403, "/servers/pki/ca.key": 404,
		"/servers/1/readyz": 200, "/servers/1/api/v1/secrets": 403, "/servers/1": 403,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, response.StatusCode, want)
		}
	}
}

// TestStopManyWithWatch checks that an open watch does not delay the end of the servers.
func TestStopManyWithWatch(t *testing.T) {
	m := startMany(t, ManyOptions{Count: 1})
	w, err := clientOfMany(t, m, "1").CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range w.ResultChan() {
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := m.Stop(ctx); err != nil {
		t.Error(err)
	}
	<-ended
}

// TestManyPanic checks that a start that panics fails the request that waits for it, and that the next one tries again.
func TestManyPanic(t *testing.T) {
	m := startMany(t, ManyOptions{Count: 1})
	one := &manyMember{}
	m.mu.Lock()
	m.members["1"] = one
	m.change(one, func() { panic("for the test") })
	m.running++
	m.mu.Unlock()
	if _, err := m.acquire(t.Context(), "1"); err == nil || !strings.Contains(err.Error(), "for the test") {
		t.Fatalf("after a panic: %v", err)
	}
	if n := m.Running(); n != 0 {
		t.Errorf("%d servers run after a panic", n)
	}
	if _, err := m.acquire(t.Context(), "1"); err != nil {
		t.Fatal(err)
	}
	m.release("1")
}
