package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/kinds"
)

const unsafely = "?ignoreStoreReadErrorWithClusterBreakingPotential=true"

// broken is a server with raw access to its API.
type broken struct {
	*testing.T
	s      *Server
	http   *http.Client
	client *kubernetes.Clientset
}

func startBroken(t *testing.T, o Options) *broken {
	t.Helper()
	s := run(t, o)
	c, err := rest.HTTPClientFor(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return &broken{t, s, c, clientOf(t, s.RESTConfig())}
}

// do sends a request, and returns the code and the Status of the response, if it has one.
func (b *broken) do(method, path string) (int, metav1.Status) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, b.s.RESTConfig().Host+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	resp, err := b.http.Do(r)
	if err != nil {
		b.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatalf("%s %s: %v", method, path, err)
	}
	var status metav1.Status
	_ = json.Unmarshal(data, &status) // an object is no Status
	return resp.StatusCode, status
}

// stored is the path and the key of an object.
type stored struct{ list, object, key string }

// everyStored returns an object of each stored resource.
func (b *broken) everyStored(name string) []stored {
	var out []stored
	for _, r := range kinds.All() {
		if r.Virtual != nil || r.Storage.Prefix == "" {
			continue
		}
		v := r.Versions[0]
		p := "/apis/" + v.Group + "/" + v.Version
		if v.Group == "" {
			p = "/api/" + v.Version
		}
		key := "/registry/" + r.Storage.Prefix + "/"
		if r.Namespaced {
			p, key = p+"/namespaces/default", key+"default/"
		}
		p += "/" + r.Name
		if code, _ := b.do(http.MethodGet, p+"?limit=1"); code == http.StatusNotFound {
			continue // not served by default
		}
		out = append(out, stored{p, p + "/" + name, key + name})
	}
	return out
}

func (b *broken) put(key, value string) {
	b.Helper()
	if _, err := b.s.store.Client().Put(b.Context(), key, value); err != nil {
		b.Fatal(err)
	}
}

// TestStartWithUnreadableObjects checks that a server whose storage has an undecodable
// object of every kind becomes ready and works. Lists of these kinds fail with an error
// that names the object, until it is deleted.
func TestStartWithUnreadableObjects(t *testing.T) {
	dir := t.TempDir()
	var all []stored
	t.Run("before", func(t *testing.T) {
		b := startBroken(t, Options{Dir: dir})
		all = b.everyStored("broken")
		for i, at := range all {
			b.put(at.key, []string{"garbage", "k8s\x00\xff\xff", "k8s\x00\n\x00\x12\x00"}[i%3])
		}
		b.put("/registry/namespaces/kube-public", "garbage") // no client may delete it otherwise
	})
	b := startBroken(t, Options{Dir: dir})
	b.eventually("the server is ready", func() error {
		r, err := b.http.Get(b.s.RESTConfig().Host + "/readyz")
		if err != nil {
			return err
		}
		defer r.Body.Close()
		if data, err := io.ReadAll(r.Body); err != nil || r.StatusCode != http.StatusOK {
			return fmt.Errorf("%d %s (%v)", r.StatusCode, data, err)
		}
		return nil
	})
	if len(all) < 50 {
		t.Errorf("only %d kinds are stored", len(all))
	}
	for _, at := range all {
		code, status := b.do(http.MethodGet, at.list)
		if code != http.StatusInternalServerError || status.Reason != metav1.StatusReasonStoreReadError || status.Details == nil || len(status.Details.Causes) == 0 ||
			!strings.HasSuffix(status.Message, " from the storage: "+status.Details.Causes[0].Message+others(len(status.Details.Causes)-1)) ||
			!slices.ContainsFunc(status.Details.Causes, func(c metav1.StatusCause) bool {
				return c.Type == metav1.CauseTypeUnexpectedServerResponse && c.Field == at.key && strings.Contains(c.Message, "corrupt object")
			}) {
			t.Errorf("list %s: %d %+v", at.list, code, status)
		}
		if code, status = b.do(http.MethodGet, at.object); code != http.StatusInternalServerError || !strings.Contains(status.Message, "corrupt object") {
			t.Errorf("get %s: %d %+v", at.object, code, status)
		}
		if code, status = b.do(http.MethodDelete, at.list); code != http.StatusInternalServerError && code != http.StatusMethodNotAllowed {
			t.Errorf("delete %s: %d %+v", at.list, code, status)
		}
		if code, status = b.do(http.MethodDelete, at.object); code != http.StatusInternalServerError && code != http.StatusMethodNotAllowed {
			t.Errorf("delete %s: %d %+v", at.object, code, status)
		}
	}
	for _, path := range []string{"/openapi/v2", "/openapi/v3", "/apis", "/api/v1"} {
		if code, status := b.do(http.MethodGet, path); code != http.StatusOK {
			t.Errorf("%s: %d %v", path, code, status)
		}
	}
	// While policies or webhook configurations are undecodable, writes are refused.
	if code, _ := b.do(http.MethodDelete, "/api/v1/namespaces/default/configmaps/broken"+unsafely); code != http.StatusInternalServerError {
		t.Errorf("a write without policies: %d", code)
	}
	slices.SortStableFunc(all, func(a, b stored) int { return order(a) - order(b) })
	for _, at := range all {
		if code, status := b.do(http.MethodDelete, at.object+unsafely); code != http.StatusOK {
			t.Errorf("unsafe delete of %s: %d %+v", at.object, code, status)
		}
	}
	if code, status := b.do(http.MethodDelete, "/api/v1/namespaces/kube-public"+unsafely); code != http.StatusOK {
		t.Errorf("unsafe delete of kube-public: %d %+v", code, status)
	}
	for _, at := range all {
		if code, status := b.do(http.MethodGet, at.list); code != http.StatusOK {
			t.Errorf("list %s after the deletion: %d %+v", at.list, code, status)
		}
		if code, status := b.do(http.MethodDelete, at.object+unsafely); code != http.StatusNotFound {
			t.Errorf("unsafe delete of %s after its deletion: %d %+v", at.object, code, status)
		}
	}
	b.works()
}

// others returns the end of the message about n other objects than the first.
func others(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}

// order puts the kinds that decide about all writes first.
func order(at stored) int {
	switch {
	case strings.Contains(at.list, "admissionpolic"):
		return 0
	case strings.Contains(at.list, "admissionregistration"):
		return 1
	}
	return 2
}

// works checks that a pod can be created in a new namespace and deleted with it.
func (b *broken) works() {
	b.Helper()
	ctx := b.Context()
	ns, err := b.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "work-"}}, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	b.eventually("a pod is created", func() error {
		_, err := b.client.CoreV1().Pods(ns.Name).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	if err := b.client.CoreV1().Namespaces().Delete(ctx, ns.Name, metav1.DeleteOptions{}); err != nil {
		b.Fatal(err)
	}
	b.eventually("the namespace is deleted", func() error {
		_, err := b.client.CoreV1().Namespaces().Get(ctx, ns.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the namespace still exists (%v)", err)
	})
}

// eventually waits until f succeeds.
func (b *broken) eventually(what string, f func() error) {
	b.Helper()
	eventually.Succeeds(b, what, f)
}
