package server

import (
	"net"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
)

// faultServer is a server with faults, and a client that they hit.
type faultServer struct {
	t                                *testing.T
	server                           *Server
	faults, faultsOfVictim, requests dynamic.ResourceInterface
	client                           *kubernetes.Clientset
}

func startFaultServer(t *testing.T) *faultServer {
	s, c := startLabServer(t, Options{Lab: Lab{SecondPort: -1}})
	config := s.RESTConfig()
	config.UserAgent = "victim/1"
	config.Dial = (&net.Dialer{}).DialContext // connections of its own
	eventually.Succeeds(t, "the objects of the namespace default", func() error {
		_, err := c.CoreV1().ConfigMaps("default").Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		return err
	})
	return &faultServer{t, s, labResource(t, s.RESTConfig(), "faults"), labResource(t, config, "faults"),
		labResource(t, s.RESTConfig(), "requests"), kubernetes.NewForConfigOrDie(config)}
}

// with creates a fault whose spec is YAML, for requests of the client, calls f, and deletes it. It returns how often the fault was
// injected.
func (s *faultServer) with(spec string, f func()) int64 {
	s.t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(spec), &content); err != nil {
		s.t.Fatal(err)
	}
	match, _ := content["match"].(map[string]any)
	if match == nil {
		match = map[string]any{}
	}
	match["userAgents"], content["match"] = []any{"victim/*"}, match
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "lab.miniapiserver.io/v1alpha1", "kind": "Fault",
		"metadata": map[string]any{"generateName": "fault-"}, "spec": content}}
	created, err := s.faults.Create(s.t.Context(), obj, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	f()
	var injected int64
	eventually.True(s.t, "the counts of the fault", func() bool {
		now, err := s.faults.Get(s.t.Context(), created.GetName(), metav1.GetOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		injected, _, _ = unstructured.NestedInt64(now.Object, "status", "injected")
		return injected > 0
	})
	if err := s.faults.Delete(s.t.Context(), created.GetName(), metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
	return injected
}

func (s *faultServer) get(name string) (*corev1.ConfigMap, error) {
	return s.client.CoreV1().ConfigMaps("default").Get(s.t.Context(), name, metav1.GetOptions{})
}

// TestFaults checks that a client sees of each fault what it sees of a real server in that state.
func TestFaults(t *testing.T) {
	s := startFaultServer(t)
	maps := s.client.CoreV1().ConfigMaps("default")
	createConfigMap(t, s.client, "a")
	for spec, is := range map[string]func(error) bool{
		"inject: {error: {code: 404}}":                                      apierrors.IsNotFound,
		"inject: {error: {code: 409}}":                                      apierrors.IsConflict,
		"inject: {error: {code: 410}}":                                      apierrors.IsResourceExpired,
		"inject: {error: {code: 500}}":                                      apierrors.IsInternalError,
		"inject: {error: {code: 503}}":                                      apierrors.IsServiceUnavailable,
		"inject: {error: {code: 504}}":                                      apierrors.IsTimeout,
		"inject: {error: {code: 403, message: not today}}":                  func(err error) bool { return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "not today") },
		"inject: {lose: Request}":                                           func(err error) bool { return err != nil && apierrors.ReasonForError(err) == "" },
		"{match: {verbs: [get], names: [a]}, inject: {error: {code: 401}}}": apierrors.IsUnauthorized,
	} {
		s.with(spec, func() {
			if _, err := s.get("a"); !is(err) {
				t.Errorf("%s: %v", spec, err)
			}
		})
	}
	if _, err := s.get("a"); err != nil {
		t.Errorf("without a fault: %v", err)
	}
	s.with("inject: {error: {code: 504}}", func() {
		const limit = 300 * time.Millisecond
		began := time.Now()
		err := s.client.CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/default/configmaps/a").Param("timeout", limit.String()).Do(t.Context()).Error()
		if took := time.Since(began); !apierrors.IsTimeout(err) || took < limit {
			t.Errorf("after %v: %v", took, err)
		}
	})
	n := s.with("inject: {error: {code: 429, retryAfterSeconds: 1}}\nwhen: {times: 1}", func() {
		if _, err := s.get("a"); err != nil {
			t.Errorf("client-go does not try again: %v", err)
		}
	})
	if n != 1 {
		t.Errorf("injected %d times", n)
	}
	s.with("inject: {lose: Response}\nmatch: {verbs: [create]}", func() {
		_, err := maps.Create(t.Context(), configMapNamed("lost"), metav1.CreateOptions{})
		if err == nil || apierrors.ReasonForError(err) != "" {
			t.Errorf("a lost response: %v", err)
		}
	})
	if _, err := s.get("lost"); err != nil {
		t.Errorf("the request whose response was lost had no effect: %v", err)
	}
	s.with("inject: {conflict: {}}\nwhen: {times: 1}", func() {
		a, err := s.get("a")
		if err != nil {
			t.Fatal(err)
		}
		a.Data = map[string]string{"x": "y"}
		if _, err := maps.Update(t.Context(), a, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("an update with another writer: %v", err)
		}
		if _, err := maps.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"data":{"x":"z"}}`), metav1.PatchOptions{}); err != nil {
			t.Errorf("a patch after the fault: %v", err)
		}
	})
	s.with("inject: {delay: {min: 50ms}}", func() {
		begin := time.Now()
		if _, err := s.get("a"); err != nil || time.Since(begin) < 50*time.Millisecond {
			t.Errorf("a delayed get took %v: %v", time.Since(begin), err)
		}
	})
	list, err := maps.List(t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil || list.Continue == "" {
		t.Fatal(list, err)
	}
	createConfigMap(t, s.client, "later")
	s.with("inject: {compact: {}}\nwhen: {times: 1}", func() {
		if _, err := maps.List(t.Context(), metav1.ListOptions{Limit: 1, Continue: list.Continue}); !apierrors.IsResourceExpired(err) {
			t.Errorf("a continue token from before the compaction: %v", err)
		}
	})
}

func configMapNamed(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// TestWatchFaults checks what happens to watches.
func TestWatchFaults(t *testing.T) {
	s := startFaultServer(t)
	createConfigMap(t, s.client, "a")
	begin := func() watch.Interface {
		w, err := s.client.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Stop)
		return w
	}
	s.with("inject: {watch: {close: {afterEvents: 1}}}", func() {
		w := begin()
		if e := next(t, w); e.Type != watch.Added {
			t.Errorf("the first event is %v", e)
		}
		if e := next(t, w); e.Type != "" {
			t.Errorf("after the end: %v", e)
		}
	})
	s.with("inject: {watch: {expire: {}}}", func() {
		if e := next(t, begin()); e.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
			t.Errorf("an expired watch: %v", e)
		}
	})
	for _, spec := range []string{"inject: {watch: {freeze: 100ms}}", "inject: {watch: {delay: 100ms}}"} {
		s.with(spec, func() {
			started := time.Now()
			if e := next(t, begin()); e.Type != watch.Added || time.Since(started) < 100*time.Millisecond {
				t.Errorf("%s: %v after %v", spec, e, time.Since(started))
			}
		})
	}
}

// next returns the next event of a watch; the zero value at its end.
func next(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	select {
	case e := <-w.ResultChan():
		return e
	case <-time.After(20 * time.Second):
		t.Fatal("no event came")
		return watch.Event{}
	}
}

// TestWhen checks which of the requests are hit, that this follows from the seed, and that the author is not locked out.
func TestWhen(t *testing.T) {
	s := startFaultServer(t)
	createConfigMap(t, s.client, "a")
	outcomes := func(when string) string {
		var b strings.Builder
		s.with("inject: {error: {code: 404}}\nmatch: {resources: [configmaps]}\nwhen: "+when, func() {
			for range 40 {
				if _, err := s.get("a"); err != nil {
					b.WriteByte('x')
				} else {
					b.WriteByte('.')
				}
			}
		})
		return b.String()
	}
	if got := outcomes("{skip: 2, times: 3}"); got != "..xxx"+strings.Repeat(".", 35) {
		t.Errorf("skip and times: %s", got)
	}
	one, again, other := outcomes("{percent: 50, seed: 7}"), outcomes("{percent: 50, seed: 7}"), outcomes("{percent: 50, seed: 8}")
	if one != again || one == other || strings.Count(one, "x") < 8 || strings.Count(one, "x") > 32 {
		t.Errorf("a half of the requests: %s, again %s, with another seed %s", one, again, other)
	}
	s.with("inject: {error: {code: 503}}", func() {
		if _, err := s.faultsOfVictim.List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Errorf("the lab is locked: %v", err)
		}
		_, _ = s.get("a")
	})
}

// TestWrongFaults checks that a Fault which makes no sense is refused with the path of the field.
func TestWrongFaults(t *testing.T) {
	s := startFaultServer(t)
	for spec, path := range map[string]string{
		"{}":                           "spec.inject",
		"inject: {error: {code: 200}}": "spec.inject.error.code",
		"inject: {error: {code: 500}, lose: Request}":     "spec.inject",
		"inject: {lose: Everything}":                      "spec.inject.lose",
		"inject: {delay: {min: fast}}":                    "spec.inject.delay.min",
		"inject: {delay: {min: 2s, max: 1s}}":             "spec.inject.delay.max",
		"inject: {watch: {}}":                             "spec.inject.watch",
		"{when: {percent: 200}, inject: {conflict: {}}}":  "spec.when.percent",
		"{when: {per: Day}, inject: {conflict: {}}}":      "spec.when.per",
		"{match: {verbs: [eat]}, inject: {conflict: {}}}": "spec.match.verbs[0]",
		"{inject: {conflict: {}}, more: 1}":               "unknown field",
		"inject: {watch: {freeze: 1s, delay: 1s}}":        "spec.inject.watch",
		"inject: {stale: {age: 1s}, lag: 1s}":             "spec.inject",
		"inject: {shuffle: {}, conflict: {}}":             "spec.inject",
		"inject: {shuffle: {more: 1}}":                    "unknown field",
		"inject: {stale: {}}":                             "spec.inject.stale.age",
		"inject: {stale: {age: 10m}}":                     "spec.inject.stale.age",
		"inject: {lag: 0s}":                               "spec.inject.lag",
		"inject: {lag: -1s}":                              "spec.inject.lag",
		"{match: {users: [jane]}, inject: {lag: 1s}}":     "spec.match.users",
		"{when: {times: 1}, inject: {lag: 1s}}":           "spec.when",

		"{match: {verbs: [get, create]}, inject: {stale: {age: 1s}}}":      "spec.match.verbs[1]",
		"{match: {verbs: [get]}, inject: {watch: {expire: {}}}}":           "spec.match.verbs[0]",
		"{match: {verbs: [delete]}, inject: {conflict: {}}}":               "spec.match.verbs[0]",
		"{match: {verbs: [patch, get]}, inject: {shuffle: {}}}":            "spec.match.verbs[1]",
		"{match: {servers: [third]}, inject: {error: {code: 500}}}":        "spec.match.servers[0]",
		"{match: {servers: [first]}, when: {skip: -1}, inject: {lag: 1s}}": "spec.when.skip",
	} {
		var content map[string]any
		if err := yaml.Unmarshal([]byte(spec), &content); err != nil {
			t.Fatal(err)
		}
		obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "lab.miniapiserver.io/v1alpha1", "kind": "Fault",
			"metadata": map[string]any{"name": "wrong"}, "spec": content}}
		_, err := s.faults.Create(t.Context(), obj, metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %s", spec, err, path)
		}
	}
}
