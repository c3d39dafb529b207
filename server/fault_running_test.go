package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab"
)

// inject creates a Fault for the victim, and returns what removes it, which the end of the test does too.
func (s *faultServer) inject(f lab.Fault) (remove func()) {
	s.t.Helper()
	if f.Inject.Lag == "" && f.Match.UserAgents == nil {
		f.Match.UserAgents = []string{"victim/*"}
	}
	remove, err := s.server.Lab().Inject(s.t.Context(), f)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(remove)
	return remove
}

// watchFrom begins a watch of the ConfigMaps at the present state.
func (s *faultServer) watchFrom(o metav1.ListOptions) watch.Interface {
	s.t.Helper()
	list, err := s.client.CoreV1().ConfigMaps("default").List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	o.ResourceVersion = list.ResourceVersion
	w, err := s.client.CoreV1().ConfigMaps("default").Watch(s.t.Context(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(w.Stop)
	return w
}

// sendsNothing checks that a watch sends nothing for a while.
func sendsNothing(t *testing.T, w watch.Interface) {
	t.Helper()
	select {
	case e := <-w.ResultChan():
		t.Errorf("it sent %v", e)
	case <-time.After(100 * time.Millisecond):
	}
}

// TestFaultsEndRunningWatches checks that a Fault ends a watch that is idle when it is created, as the real server would.
func TestFaultsEndRunningWatches(t *testing.T) {
	s := startFaultServer(t)
	others := kubernetes.NewForConfigOrDie(s.server.RESTConfig()).CoreV1().ConfigMaps("default")
	bystander, err := others.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer bystander.Stop()
	next(t, bystander) // kube-root-ca.crt
	expired := func(e watch.Event) bool {
		return e.Type == watch.Error && apierrors.IsResourceExpired(apierrors.FromObject(e.Object))
	}
	broken := func(e watch.Event) bool {
		return e.Type == watch.Error && !apierrors.IsResourceExpired(apierrors.FromObject(e.Object))
	}
	ended := func(e watch.Event) bool { return e.Type == "" }
	for name, c := range map[string]struct {
		inject lab.Injection
		want   func(watch.Event) bool
	}{
		"close":      {lab.CloseWatch(0), ended},
		"expire":     {lab.ExpireWatch(), expired},
		"error 410":  {lab.Error(http.StatusGone), expired},
		"error 503":  {lab.Error(http.StatusServiceUnavailable), broken}, // HTTP/2 resets the stream
		"request":    {lab.Lose(lab.TheRequest), broken},
		"connection": {lab.Lose(lab.TheConnection), ended}, // client-go takes a closed connection for the end
	} {
		w := s.watchFrom(metav1.ListOptions{})
		remove := s.inject(lab.Fault{Match: lab.Match{Verbs: []string{"watch"}}, Inject: c.inject})
		if e := next(t, w); !c.want(e) {
			t.Errorf("%s: %v", name, e)
		}
		remove()
		w = s.watchFrom(metav1.ListOptions{})
		createConfigMap(t, s.client, "after-"+strings.ReplaceAll(name, " ", "-"))
		if e := next(t, w); e.Type != watch.Added {
			t.Errorf("%s: the next watch: %v", name, e)
		}
		w.Stop()
		if e := next(t, bystander); e.Type != watch.Added {
			t.Errorf("%s: another client: %v", name, e)
		}
	}
	w := s.watchFrom(metav1.ListOptions{})
	s.inject(lab.Fault{Inject: lab.CloseWatch(2)})
	for i, want := range []watch.EventType{watch.Added, watch.Added, ""} {
		if i < 2 {
			createConfigMap(t, s.client, "closing-"+string(rune('a'+i)))
		}
		if e := next(t, w); e.Type != want {
			t.Errorf("event %d of a watch that is to close after two: %v", i, e)
		}
	}
}

// TestFaultsHoldRunningWatches checks that a running watch is held up while a Fault exists, and gets what it missed afterwards.
func TestFaultsHoldRunningWatches(t *testing.T) {
	s := startFaultServer(t)
	for name, inject := range map[string]lab.Injection{
		"freeze": lab.FreezeWatch(time.Hour), "delay": lab.DelayWatch(time.Hour), "stale": lab.Stale(5 * time.Minute),
	} {
		w := s.watchFrom(metav1.ListOptions{})
		remove := s.inject(lab.Fault{Match: lab.Match{Verbs: []string{"watch"}}, Inject: inject})
		missed := []string{name + "-1", name + "-2", name + "-3"}
		for _, m := range missed {
			createConfigMap(t, s.client, m)
		}
		sendsNothing(t, w)
		remove()
		for _, m := range missed {
			if e := next(t, w); e.Type != watch.Added || e.Object.(*corev1.ConfigMap).Name != m {
				t.Errorf("%s: after the fault: %v, want %s", name, e, m)
			}
		}
	}
	w := s.watchFrom(metav1.ListOptions{})
	s.inject(lab.Fault{Inject: lab.FreezeWatch(200 * time.Millisecond)})
	began := time.Now()
	createConfigMap(t, s.client, "thaws")
	if e := next(t, w); e.Type != watch.Added || time.Since(began) < 100*time.Millisecond {
		t.Errorf("a short freeze: %v after %v", e, time.Since(began))
	}
}

// TestInformerUnderFaults checks that client-go's informer has every object after its watch was frozen, expired, cut and closed.
func TestInformerUnderFaults(t *testing.T) {
	s := startFaultServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	factory := informers.NewSharedInformerFactoryWithOptions(s.client, 0, informers.WithNamespace("default"))
	lister := factory.Core().V1().ConfigMaps().Lister().ConfigMaps("default")
	factory.Start(ctx.Done())
	t.Cleanup(factory.Shutdown)
	t.Cleanup(cancel)
	factory.WaitForCacheSync(ctx.Done())
	running := s.runningWatches()
	for name, inject := range map[string]lab.Injection{
		"freeze": lab.FreezeWatch(time.Hour), "expire": lab.ExpireWatch(), "connection": lab.Lose(lab.TheConnection),
		"error": lab.Error(http.StatusServiceUnavailable), "close": lab.CloseWatch(0), "stale": lab.Stale(time.Minute),
	} {
		eventually.True(t, "a watch of the informer", func() bool { return s.runningWatches() >= running })
		remove := s.inject(lab.Fault{Match: lab.Match{Verbs: []string{"watch"}}, When: lab.When{Times: 1}, Inject: inject})
		other := kubernetes.NewForConfigOrDie(s.server.RESTConfig())
		createConfigMap(t, other, "missed-"+name)
		if name == "freeze" || name == "stale" {
			time.Sleep(50 * time.Millisecond) // for an event that should not come
			if _, err := lister.Get("missed-" + name); !apierrors.IsNotFound(err) {
				t.Errorf("%s: the informer has the object: %v", name, err)
			}
			remove()
		}
		eventually.Succeeds(t, name+": the informer", func() error {
			_, err := lister.Get("missed-" + name)
			return err
		})
		remove()
	}
	all, err := lister.List(labels.Everything())
	list, err2 := s.client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err = errors.Join(err, err2); err != nil || len(all) != len(list.Items) {
		t.Errorf("the informer has %d objects, the server %d: %v", len(all), len(list.Items), err)
	}
}

// runningWatches returns the number of watches of the victim that run.
func (s *faultServer) runningWatches() (n int) {
	list, err := s.requests.List(s.t.Context(), metav1.ListOptions{FieldSelector: "phase=Running,verb=watch,userAgent=victim/1"})
	if err != nil {
		s.t.Fatal(err)
	}
	return len(list.Items)
}

// TestNoBookmarks checks that watches have no bookmarks while a Fault exists.
func TestNoBookmarks(t *testing.T) {
	s := startFaultServer(t)
	remove := s.inject(lab.Fault{Inject: lab.NoBookmarks()})
	seconds := int64(3) // a bookmark is sent two seconds before the end
	withBookmarks := func() (n int) {
		w := s.watchFrom(metav1.ListOptions{AllowWatchBookmarks: true, TimeoutSeconds: &seconds})
		for e := range w.ResultChan() {
			if e.Type == watch.Bookmark {
				n++
			}
		}
		return n
	}
	if n := withBookmarks(); n != 0 {
		t.Errorf("%d bookmarks under the fault", n)
	}
	remove()
	if n := withBookmarks(); n == 0 {
		t.Error("no bookmark after the fault")
	}
}
