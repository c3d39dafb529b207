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

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab/try"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/server"
)

// TestRewindUnderWriters goes back again and again while 20 clients create and change objects. A write that was acknowledged with
// a resourceVersion after that of the last rewind is there, one before it is not, and none fails but for a conflict with a rewind.
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
	name, value string
	rev         int64
}

const configMapPath = "/api/v1/namespaces/default/configmaps"

// writer creates ConfigMaps and changes the last one, until the context is done.
func writer(ctx context.Context, w *world, n int, acks *atomic.Int64) ([]acknowledged, error) {
	var all []acknowledged
	name := ""
	for i := 0; ctx.Err() == nil; i++ {
		value := strconv.Itoa(i)
		c := call{do: "PATCH " + configMapPath + "/" + name + " merge", body: `{"data":{"value":"` + value + `"}}`}
		if i%3 == 0 {
			name = fmt.Sprintf("w%d-%d", n, i)
			c = call{do: "POST " + configMapPath, body: `{"metadata":{"name":"` + name + `"},"data":{"value":"` + value + `"}}`}
		}
		a, err := w.send(context.WithoutCancel(ctx), c) // its answer matters
		if err != nil {
			return nil, err
		}
		switch {
		case a.code < 300:
		case a.code == http.StatusNotFound && i%3 != 0, a.code == http.StatusConflict:
			continue // a rewind came between
		default:
			return nil, fmt.Errorf("%s: %d %s", c.do, a.code, a.body)
		}
		var made struct{ Metadata metav1.ObjectMeta }
		if err := json.Unmarshal(a.body, &made); err != nil {
			return nil, err
		}
		rev, err := strconv.ParseInt(made.Metadata.ResourceVersion, 10, 64)
		if err != nil {
			return nil, err
		}
		acks.Add(1)
		all = append(all, acknowledged{name, value, rev})
	}
	return all, nil
}

func underWriters(t *testing.T, w *world) {
	w.do("POST "+configMapPath, `{"metadata":{"name":"before"}}`)
	w.do("POST "+group+"/checkpoints", `{"apiVersion":"lab.miniapiserver.io/v1alpha1","kind":"Checkpoint","metadata":{"name":"base"}}`)
	const writers, rewinds = 20, 10
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var running sync.WaitGroup
	var acks atomic.Int64
	written, failures := make([][]acknowledged, writers), make([]error, writers)
	for n := range writers {
		running.Go(func() { written[n], failures[n] = writer(ctx, w, n, &acks) })
	}
	enough := func(more int64) {
		t.Helper()
		want := acks.Load() + more
		eventually.True(t, "writes go on", func() bool { return acks.Load() >= want })
	}
	last, removed := int64(0), int64(0)
	for range rewinds {
		enough(100)
		began := time.Now()
		var r v1alpha1.Rewind
		const back = `{"apiVersion":"lab.miniapiserver.io/v1alpha1","kind":"Rewind","spec":{"checkpoint":"base"}}`
		if err := json.Unmarshal(w.do("POST "+group+"/rewinds", back).body, &r); err != nil {
			t.Fatal(err)
		}
		rev, err := strconv.ParseInt(r.Status.ResourceVersion, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		last, removed = rev, removed+r.Status.Removed
		t.Logf("rewind of %d objects in %v", r.Status.Removed, time.Since(began))
	}
	enough(100)
	stop()
	running.Wait()
	after, before := map[string]string{}, 0
	for n := range written {
		if failures[n] != nil {
			t.Errorf("writer %d: %v", n, failures[n])
		}
		for _, a := range written[n] {
			if a.rev > last {
				after[a.name] = a.value
			} else {
				before++
			}
		}
	}
	var list struct {
		Items []struct {
			Metadata metav1.ObjectMeta
			Data     map[string]string
		}
	}
	if err := json.Unmarshal(w.do("GET "+configMapPath, "").body, &list); err != nil {
		t.Fatal(err)
	}
	for _, item := range list.Items {
		name := item.Metadata.Name
		if name == "before" || name == "kube-root-ca.crt" {
			continue
		}
		want, found := after[name]
		if !found {
			t.Errorf("%s was acknowledged before the last rewind, and is there", name)
		} else if item.Data["value"] != want {
			t.Errorf("%s has the value %s, acknowledged was %s", name, item.Data["value"], want)
		}
		delete(after, name)
	}
	for name := range after {
		t.Errorf("%s was acknowledged after the last rewind, and is missing", name)
	}
	if before == 0 || removed == 0 {
		t.Errorf("%d writes before the last rewind, %d objects removed", before, removed)
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
