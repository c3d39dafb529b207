package server

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

func (c *clockTest) clocks() dynamic.ResourceInterface {
	return dynamic.NewForConfigOrDie(c.server.LocalConfig()).Resource(v1alpha1.GroupVersion.WithResource("clocks"))
}

// patch patches the Clock.
func (c *clockTest) patch(spec string) (*unstructured.Unstructured, error) {
	return c.clocks().Patch(c.Context(), "server", types.MergePatchType, fmt.Appendf(nil, `{"spec":%s}`, spec), metav1.PatchOptions{})
}

// at returns a field of a Clock that is a time.
func (c *clockTest) at(obj *unstructured.Unstructured, path ...string) time.Time {
	c.Helper()
	text, _, _ := unstructured.NestedString(obj.Object, path...)
	at, err := time.Parse(metav1.RFC3339Micro, text)
	c.must(strings.Join(path, "."), err)
	return at
}

// TestClock checks the verbs of the kind Clock, that it moves the time of the server, and what is refused.
func TestClock(t *testing.T) {
	c := startClockTest(t, Options{})
	obj, err := c.clocks().Get(t.Context(), "server", metav1.GetOptions{})
	c.must("the clock", err)
	if now, wall := c.at(obj, "status", "now"), c.at(obj, "status", "realTime"); wall.Sub(now).Abs() > time.Second || time.Since(now) > time.Minute {
		t.Errorf("it shows %v at %v", now, wall)
	}
	list, err := c.clocks().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("a list has %d: %v", len(list.Items), err)
	}
	table, err := c.client.CoreV1().RESTClient().Get().AbsPath("/apis", v1alpha1.GroupVersion.String(), "clocks").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil || !bytes.Contains(table, []byte(`["server","real time",""`)) {
		t.Errorf("the table is %s: %v", table, err)
	}
	w, err := c.clocks().Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	c.must("a watch", err)
	defer w.Stop()

	obj, err = c.patch(`{"offset":"24h"}`)
	c.must("24 h", err)
	if ahead := time.Until(c.at(obj, "status", "now")); ahead < 24*time.Hour-time.Minute || ahead > 24*time.Hour {
		t.Errorf("the answer is %v ahead", ahead)
	}
	if event := <-w.ResultChan(); event.Object.(*unstructured.Unstructured).Object["spec"].(map[string]any)["offset"] != "24h" {
		t.Errorf("the watch has %v", event.Object)
	}
	cm, err := c.client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "tomorrow"}, Data: map[string]string{"k": "v"}}, metav1.CreateOptions{})
	c.must("an object", err)
	for _, at := range []time.Time{cm.CreationTimestamp.Time, cm.ManagedFields[0].Time.Time} {
		if ahead := time.Until(at); ahead < 23*time.Hour || ahead > 24*time.Hour {
			t.Errorf("a stamp is %v ahead", ahead)
		}
	}
	for spec, part := range map[string]string{
		`{"offset":"23h"}`:                                 "does not go back",
		`{"offset":"-1h"}`:                                 "does not go back",
		`{"frozenAt":"2020-01-01T00:00:00.000000Z"}`:       "does not go back",
		`{"offset":"a day"}`:                               "must be a duration",
		`{"offset":"1000000h"}`:                            "at most ten years",
		`{"offset":"999999999999999999h"}`:                 "must be a duration",
		`{"frozenAt":"2126-01-01T00:00:00.000000Z"}`:       "at most ten years",
		`{"frozenAt":"yesterday"}`:                         "parsing time",
		`{"offset":24}`:                                    "offset",
		`{"offset":"` + strings.Repeat("9", 10000) + `h"}`: "must be a duration",
		`[]`: "spec",
		`{"offset":"1h","frozenAt":"2020-01-01T00:00:00.000000Z"}`: "does not go back",
	} {
		if _, err := c.patch(spec); !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), part) {
			t.Errorf("%.60s: %v", spec, err)
		}
	}
	if ahead := time.Until(c.server.Lab().Clock().Now()); ahead > 24*time.Hour || ahead < 23*time.Hour {
		t.Errorf("after refusals it is %v ahead", ahead)
	}
	_, err = c.patch(`{"offset":null}`)
	c.must("a reset", err)
	if ahead := time.Until(c.server.Lab().Clock().Now()).Abs(); ahead > time.Minute {
		t.Errorf("after the reset it is %v ahead", ahead)
	}
}

// TestClockVerbs checks that there is one Clock, which clients can neither create nor delete.
func TestClockVerbs(t *testing.T) {
	c := startClockTest(t, Options{})
	other := &unstructured.Unstructured{Object: map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Clock",
		"metadata": map[string]any{"name": "other"}, "spec": map[string]any{"offset": "1h"}}}
	_, err := c.clocks().Create(t.Context(), other, metav1.CreateOptions{})
	if !apierrors.IsMethodNotSupported(err) {
		t.Errorf("create: %v", err)
	}
	if err := c.clocks().Delete(t.Context(), "server", metav1.DeleteOptions{}); !apierrors.IsMethodNotSupported(err) {
		t.Errorf("delete: %v", err)
	}
	if err := c.clocks().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); !apierrors.IsMethodNotSupported(err) {
		t.Errorf("deletecollection: %v", err)
	}
	_, err = c.clocks().Get(t.Context(), "other", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("get: %v", err)
	}
	other.SetResourceVersion("1")
	if _, err = c.clocks().Update(t.Context(), other, metav1.UpdateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("update: %v", err)
	}
	other.SetResourceVersion("")
	if _, err = c.clocks().Apply(t.Context(), "other", other, metav1.ApplyOptions{FieldManager: "m"}); !apierrors.IsNotFound(err) {
		t.Errorf("apply: %v", err)
	}
	other.SetName("server")
	if _, err = c.clocks().Apply(t.Context(), "server", other, metav1.ApplyOptions{FieldManager: "m", DryRun: []string{"All"}}); err != nil {
		t.Errorf("apply as a dry run: %v", err)
	}
	if ahead := time.Until(c.server.Lab().Clock().Now()); ahead > time.Minute {
		t.Errorf("a dry run has moved the clock: it is %v ahead", ahead)
	}
	if _, err = c.clocks().Apply(t.Context(), "server", other, metav1.ApplyOptions{FieldManager: "m"}); err != nil {
		t.Errorf("apply: %v", err)
	}
	if ahead := time.Until(c.server.Lab().Clock().Now()); ahead < 59*time.Minute {
		t.Errorf("after an apply it is %v ahead", ahead)
	}
}

// TestFrozenClock checks that stamps are equal while the clock stands, that it can be advanced, and that it runs again.
func TestFrozenClock(t *testing.T) {
	c := startClockTest(t, Options{})
	clock := c.server.Lab().Clock()
	c.advance(time.Hour)
	c.must("freeze", clock.Freeze(t.Context()))
	at := clock.Now()
	names := []string{"a", "b", "c"}
	for _, name := range names {
		createConfigMap(t, c.client, name)
		second := time.Now().Truncate(time.Second) // which stamps have: by the wall clock the next one would differ
		eventually.True(t, "the next second", func() bool { return time.Now().Truncate(time.Second).After(second) })
	}
	for _, name := range names {
		cm, err := c.client.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
		c.must("the object", err)
		if !cm.CreationTimestamp.Time.Equal(at.Truncate(time.Second)) {
			t.Errorf("%s is of %v, not %v", name, cm.CreationTimestamp, at)
		}
	}
	c.must("freeze", clock.Freeze(t.Context()))
	c.advance(time.Hour)
	if got := clock.Now(); !got.Equal(at.Add(time.Hour).Truncate(time.Microsecond)) && !got.Equal(at.Add(time.Hour)) {
		t.Errorf("an hour after %v it shows %v", at, got)
	}
	_, err := c.patch(`{"frozenAt":null}`)
	c.must("run", err)
	before := clock.Now()
	eventually.True(t, "the clock runs", func() bool { return clock.Now().After(before) })
	if _, err := c.patch(`{"frozenAt":"` + time.Now().Add(2*time.Hour-5*time.Second).UTC().Format(metav1.RFC3339Micro) + `"}`); err != nil {
		t.Errorf("a time that has just passed: %v", err)
	}
	if clock.Now().Before(before) {
		t.Error("the clock went back")
	}
	c.must("reset", clock.Reset(t.Context()))
	if ahead := time.Until(clock.Now()).Abs(); ahead > time.Second {
		t.Errorf("after the reset it is %v ahead", ahead)
	}
	if err := clock.Advance(t.Context(), -time.Second); err == nil {
		t.Error("the clock advances to the past")
	}
}

// TestNoClock checks that a server without a lab has no Clock.
func TestNoClock(t *testing.T) {
	s, _ := startWithClient(t, Options{})
	if s.clock != nil || s.Lab() != nil {
		t.Error("there is a clock")
	}
	_, err := discovery.NewDiscoveryClientForConfigOrDie(s.RESTConfig()).ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
	if !apierrors.IsNotFound(err) {
		t.Errorf("discovery: %v", err)
	}
}

// TestForkedClock checks that a fork begins with the clock of its origin, and that each then has its own.
func TestForkedClock(t *testing.T) {
	c := startClockTest(t, Options{})
	c.advance(time.Hour)
	fork, err := c.server.Fork(t.Context(), ForkOptions{})
	c.must("fork", err)
	stopAtEnd(t, fork)
	if ahead := time.Until(fork.Lab().Clock().Now()); ahead < 59*time.Minute {
		t.Errorf("the clock of the fork is %v ahead", ahead)
	}
	c.must("moving the clock of the fork", fork.Lab().Clock().Advance(t.Context(), time.Hour))
	if ahead := time.Until(c.server.Lab().Clock().Now()); ahead > time.Hour {
		t.Errorf("the clock of the origin is %v ahead", ahead)
	}
}

// TestClockOfOlderEvents checks that Events which a server finds in its data expire by its clock too.
func TestClockOfOlderEvents(t *testing.T) {
	o := Options{Dir: t.TempDir()}
	o.Lab.Enabled = true
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	first := &clockTest{T: t, server: s, client: kubernetes.NewForConfigOrDie(s.LocalConfig())}
	createEvent(first, "old")
	first.must("stop", s.Stop(context.WithoutCancel(t.Context())))
	c := startClockTest(t, o)
	c.advance(58 * time.Minute)
	if eventIsGone(c, "old") {
		t.Error("the event is gone after 58 minutes")
	}
	c.advance(5 * time.Minute) // etcd's lease lasts a minute longer than the Event
	if !eventIsGone(c, "old") {
		t.Error("the event is there after 63 minutes")
	}
}

// TestExpiryOrder checks for random Events and bootstrap tokens, and a random number of moves, that all are deleted in the order in which
// they fall due, whoever deletes them, and that informers see that.
func TestExpiryOrder(t *testing.T) {
	c := startClockTest(t, Options{})
	factory := informers.NewSharedInformerFactory(c.client, 0)
	var mu sync.Mutex
	var deleted []string
	follow := func(informer cache.SharedIndexInformer) {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
			if d, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = d.Obj
			}
			mu.Lock()
			defer mu.Unlock()
			deleted = append(deleted, obj.(metav1.Object).GetName())
		}})
		c.must("a handler", err)
	}
	follow(factory.Core().V1().Events().Informer())
	follow(factory.Core().V1().Secrets().Informer())
	ctx, cancel := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer cancel()
	factory.WaitForCacheSync(ctx.Done())
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		now := c.server.Lab().Clock().Now()
		due := map[string]time.Time{}
		for i := range rapid.IntRange(1, 6).Draw(r, "objects") {
			if rapid.Bool().Draw(r, "event") {
				name := fmt.Sprintf("e%d-%d", round, i)
				createEvent(c, name)
				due[name] = c.server.Lab().Clock().Now().Add(time.Hour)
				c.advance(time.Duration(rapid.IntRange(2, 60).Draw(r, "pause")) * time.Second)
				continue
			}
			id, lifetime := fmt.Sprintf("%03d%03d", round%1000, i), time.Duration(rapid.IntRange(500, 7000).Draw(r, "seconds"))*time.Second
			due["bootstrap-token-"+id] = c.server.Lab().Clock().Now().Add(lifetime).Truncate(time.Second)
			bootstrapTokenFor(c, id, lifetime)
		}
		for end := now.Add(3 * time.Hour); c.server.Lab().Clock().Now().Before(end); {
			c.advance(time.Duration(rapid.IntRange(900, 9000).Draw(r, "advance")) * time.Second)
		}
		var got []string
		eventually.True(t, "all deletions", func() bool {
			mu.Lock()
			defer mu.Unlock()
			got = slices.Clone(deleted)
			return len(deleted) >= len(due)
		})
		mu.Lock()
		deleted = nil
		mu.Unlock()
		// Informers of two kinds have no common order: that of each kind is what they tell.
		for _, prefix := range []string{"e", "b"} {
			of := slices.DeleteFunc(slices.Clone(got), func(name string) bool { return !strings.HasPrefix(name, prefix) })
			if !slices.IsSortedFunc(of, func(a, b string) int { return due[a].Compare(due[b]) }) {
				r.Fatalf("deleted %v, due %v", of, due)
			}
		}
	})
}

// TestExpiryOrderOfKinds checks by the revisions of their deletions that an Event is deleted before a bootstrap token which expires later,
// and after one that expires sooner, in one move.
func TestExpiryOrderOfKinds(t *testing.T) {
	c := startClockTest(t, Options{})
	events, err := c.client.CoreV1().Events("default").Watch(t.Context(), metav1.ListOptions{})
	c.must("a watch", err)
	defer events.Stop()
	secrets, err := c.client.CoreV1().Secrets("kube-system").Watch(t.Context(), metav1.ListOptions{})
	c.must("a watch", err)
	defer secrets.Stop()
	// deletion returns the revision of the next deletion.
	deletion := func(w watch.Interface) (rev int64) {
		for event := range w.ResultChan() {
			if event.Type == watch.Deleted {
				_, err := fmt.Sscan(event.Object.(metav1.Object).GetResourceVersion(), &rev)
				c.must("a revision", err)
				return rev
			}
		}
		t.Fatal("the watch ended")
		return 0
	}
	bootstrapTokenFor(c, "000001", 30*time.Minute)
	createEvent(c, "e")
	bootstrapTokenFor(c, "000002", 2*time.Hour)
	c.advance(3 * time.Hour)
	revisions := []int64{deletion(secrets), deletion(events), deletion(secrets)}
	if !slices.IsSorted(revisions) {
		t.Errorf("a token of 30 minutes, an Event of an hour and a token of two hours were deleted at %v", revisions)
	}
}

// TestClockOfAudit checks that audit events have the time of the clock, and tables ages by it.
func TestClockOfAudit(t *testing.T) {
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, resources: [{resources: [configmaps]}]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startClockTest(t, Options{Audit: Audit{PolicyFile: policy, Log: AuditLog{Path: log}}})
	c.advance(365 * 24 * time.Hour)
	createConfigMap(t, c.client, "next-year")
	want := c.server.Lab().Clock().Now().UTC().Format("2006-01-02T15:")
	eventually.True(t, "an audit event", func() bool {
		data, err := os.ReadFile(log)
		return err == nil && bytes.Contains(data, []byte(`"requestReceivedTimestamp":"`+want)) && bytes.Contains(data, []byte(`"stageTimestamp":"`+want))
	})
	c.advance(2 * time.Hour)
	table, err := c.client.CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/default/configmaps/next-year").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil || !bytes.Contains(table, []byte(`"120m"`)) {
		t.Errorf("the table has another age than 120m: %s, %v", table, err)
	}
}
