package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab/try"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/server"
)

// TestRewindUnderWriters goes back again and again while 50 clients create, change and delete objects, and 20 informers of client-go
// follow. A write that was acknowledged with a resourceVersion after that of the last rewind is there, one before it is not, and none
// fails but for a conflict with a rewind. Each informer is notified of every change once, and ends with what a fresh list has.
func TestRewindUnderWriters(t *testing.T) {
	for name, o := range map[string]server.Options{"embedded": {}, "external": {Etcd: server.Etcd{Servers: []string{externalEtcd(t)}}}} {
		t.Run(name, func(t *testing.T) {
			o.Lab.Enabled = true
			underWriters(t, start(t, o))
		})
	}
}

// acknowledged is a write that the server acknowledged.
type acknowledged struct {
	path, value string
	rev         int64
}

// writtenKind is a kind whose objects the writers write.
type writtenKind struct{ apiVersion, kind, resource, path string }

var writtenKinds = []writtenKind{
	{"v1", "ConfigMap", "configmaps", "/api/v1/namespaces/default/configmaps"},
	{"v1", "Secret", "secrets", "/api/v1/namespaces/default/secrets"},
	{"rbac.authorization.k8s.io/v1", "Role", "roles", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"},
	{"example.org/v1", "Robot", "robots", "/apis/example.org/v1/namespaces/default/robots"},
}

// creation returns the request that creates an object with a value.
func (k writtenKind) creation(name, value string) call {
	const body = `{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"labels":{"value":%q}}}`
	return call{do: "POST " + k.path, body: fmt.Sprintf(body, k.apiVersion, k.kind, name, value)}
}

// writer writes objects of a kind.
type writer struct {
	*world
	n    int
	kind writtenKind
	acks *atomic.Int64
	// acknowledged are the acknowledged creations and changes.
	acknowledged []acknowledged
}

// kept is the name of an object from before the checkpoint, which the writer deletes and rewinds restore.
func (w *writer) kept() string { return fmt.Sprint("kept", w.n) }

// run creates an object, changes it, and deletes the one from before the checkpoint, again and again until the context is done.
func (w *writer) run(ctx context.Context) error {
	name := ""
	for i := 0; ctx.Err() == nil; i++ {
		value := strconv.Itoa(i)
		c := call{do: "PATCH " + w.kind.path + "/" + name + " merge", body: `{"metadata":{"labels":{"value":"` + value + `"}}}`}
		switch i % 4 {
		case 0:
			name = fmt.Sprintf("w%d-%d", w.n, i)
			c = w.kind.creation(name, value)
		case 3:
			c = call{do: "DELETE " + w.kind.path + "/" + w.kept()}
		}
		a, err := w.send(context.WithoutCancel(ctx), c) // its answer matters
		if err != nil {
			return err
		}
		switch {
		case a.code < 300:
		case a.code == http.StatusNotFound && i%4 != 0, a.code == http.StatusConflict:
			continue // a rewind came between, or the object is deleted already
		default:
			return fmt.Errorf("%s: %d %s", c.do, a.code, a.body)
		}
		w.acks.Add(1)
		if i%4 == 3 {
			continue
		}
		var made struct{ Metadata metav1.ObjectMeta }
		if err := json.Unmarshal(a.body, &made); err != nil {
			return err
		}
		rev, err := strconv.ParseInt(made.Metadata.ResourceVersion, 10, 64)
		if err != nil {
			return err
		}
		w.acknowledged = append(w.acknowledged, acknowledged{w.kind.path + "/" + name, value, rev})
	}
	return nil
}

func underWriters(t *testing.T, w *world) {
	w.do("POST "+cluster[0].path, cluster[0].body)
	var resources []schema.GroupVersionResource
	for _, k := range writtenKinds {
		w.until("the kind "+k.kind, k.path)
		resources = append(resources, schema.FromAPIVersionAndKind(k.apiVersion, k.kind).GroupVersion().WithResource(k.resource))
	}
	const count, rewinds = 50, 5
	var acks atomic.Int64
	writers := make([]*writer, count)
	for n := range writers {
		wr := &writer{world: w, n: n, kind: writtenKinds[n%len(writtenKinds)], acks: &acks}
		c := wr.kind.creation(wr.kept(), "kept")
		w.do(c.do, c.body)
		writers[n] = wr
	}
	w.do("POST "+group+"/checkpoints", `{"apiVersion":"lab.miniapiserver.io/v1alpha1","kind":"Checkpoint","metadata":{"name":"base"}}`)
	observers := w.startObservers(resources...)
	if len(observers) != 20 {
		t.Fatalf("%d informers", len(observers))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var running sync.WaitGroup
	for _, wr := range writers {
		running.Go(func() {
			if err := wr.run(ctx); err != nil {
				t.Errorf("writer %d: %v", wr.n, err)
			}
		})
	}
	defer running.Wait()
	defer stop()
	enough := func() {
		t.Helper()
		want := acks.Load() + 4*count
		eventually.True(t, "writes go on", func() bool { return acks.Load() >= want })
	}
	last := int64(0)
	for range rewinds {
		enough()
		last = w.rewindUnderWriters()
	}
	enough()
	stop()
	running.Wait()
	w.checkAcknowledged(writers, last)
	w.checkObservers(observers)
}

// rewindUnderWriters goes back to the checkpoint, and returns the revision of the last write.
func (w *world) rewindUnderWriters() int64 {
	w.t.Helper()
	began := time.Now()
	var r v1alpha1.Rewind
	const back = `{"apiVersion":"lab.miniapiserver.io/v1alpha1","kind":"Rewind","spec":{"checkpoint":"base"}}`
	if err := json.Unmarshal(w.do("POST "+group+"/rewinds", back).body, &r); err != nil {
		w.t.Fatal(err)
	}
	rev, err := strconv.ParseInt(r.Status.ResourceVersion, 10, 64)
	if err != nil {
		w.t.Fatal(err)
	}
	if r.Status.Removed == 0 || r.Status.Restored == 0 {
		w.t.Errorf("the rewind removed %d objects and restored %d", r.Status.Removed, r.Status.Restored)
	}
	w.t.Logf("rewind: %d objects removed, %d restored, in %v", r.Status.Removed, r.Status.Restored, time.Since(began))
	return rev
}

// checkAcknowledged checks that the objects are those that were acknowledged after the last rewind.
func (w *world) checkAcknowledged(writers []*writer, last int64) {
	w.t.Helper()
	after, before := map[string]string{}, 0
	for _, wr := range writers {
		for _, a := range wr.acknowledged {
			if a.rev > last {
				after[a.path] = a.value
			} else {
				before++
			}
		}
	}
	if before == 0 || len(after) == 0 {
		w.t.Errorf("%d writes before the last rewind, %d objects after it", before, len(after))
	}
	for _, k := range writtenKinds {
		var list struct {
			Items []struct{ Metadata metav1.ObjectMeta }
		}
		if err := json.Unmarshal(w.do("GET "+k.path, "").body, &list); err != nil {
			w.t.Fatal(err)
		}
		for _, item := range list.Items {
			path, value := k.path+"/"+item.Metadata.Name, item.Metadata.Labels["value"]
			if value == "" || value == "kept" {
				continue
			}
			if want, found := after[path]; !found {
				w.t.Errorf("%s was acknowledged before the last rewind, and is there", path)
			} else if value != want {
				w.t.Errorf("%s has the value %s, acknowledged was %s", path, value, want)
			}
			delete(after, path)
		}
	}
	for path := range after {
		w.t.Errorf("%s was acknowledged after the last rewind, and is missing", path)
	}
}

// TestRewindWhileNamespacesEnd goes back while the server empties a namespace, and while it removes the objects of a kind whose
// definition is deleted: no restored object is deleted afterwards.
func TestRewindWhileNamespacesEnd(t *testing.T) {
	w := startLab(t)
	w.do("POST "+cluster[0].path, cluster[0].body)
	w.do("POST /api/v1/namespaces", `{"metadata":{"name":"shop"}}`)
	robots := "/apis/example.org/v1/namespaces/default/robots"
	w.until("the kind Robot", robots)
	const objects = 100
	for i := range objects {
		w.do("POST /api/v1/namespaces/shop/configmaps", fmt.Sprintf(`{"metadata":{"name":"c%d"}}`, i))
		w.do("POST "+robots, fmt.Sprintf(`{"apiVersion":"example.org/v1","kind":"Robot","metadata":{"name":"r%d"}}`, i))
	}
	count := func() [2]int {
		return [2]int{w.count("/api/v1/namespaces/shop/configmaps"), w.count(robots)}
	}
	if _, err := try.Begin(t.Context(), w.s.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	want := count()
	mark, err := w.s.Lab().Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		w.do("DELETE /api/v1/namespaces/shop", "")
		w.do("DELETE "+cluster[0].path+"/robots.example.org", "")
		eventually.True(t, "the deletion goes on", func() bool {
			left := w.call(call{do: "GET /api/v1/namespaces/shop/configmaps"})
			return w.lengthOf(left) < want[0]
		})
		if err := w.s.Lab().Rewind(t.Context(), mark); err != nil {
			t.Fatal(err)
		}
		if _, err := try.Begin(t.Context(), w.s.RESTConfig()); err != nil {
			t.Fatal(err)
		}
		if got := count(); got != want {
			t.Fatalf("%v objects are there after the rewind, want %v", got, want)
		}
	}
}

// count returns the number of objects of a list.
func (w *world) count(path string) int {
	w.t.Helper()
	return w.lengthOf(w.do("GET "+path, ""))
}

func (w *world) lengthOf(a *answer) int {
	w.t.Helper()
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(a.body, &list); err != nil {
		w.t.Fatal(err)
	}
	return len(list.Items)
}
