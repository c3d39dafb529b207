package lab

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/server"
)

// TestStorm checks that a lab with little memory stays in it, whatever arrives: it drops the oldest requests, and other requests go on.
func TestStorm(t *testing.T) {
	const memory, clients, total = 4 << 20, 8, 20000
	w := start(t, server.Options{Lab: server.Lab{Enabled: true, Memory: memory}})
	w.do("POST /api/v1/namespaces", `{"metadata":{"name":"a"}}`)
	first := w.do("GET "+configs, "").id
	w.request(first)
	var left atomic.Int64
	left.Store(total)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for n := 0; left.Add(-1) >= 0; n++ {
				c := call{do: "GET " + configs}
				if n%10 == 0 {
					c = call{do: "PUT " + configs + fmt.Sprintf("/c%d", i), body: config(fmt.Sprintf("c%d", i), fmt.Sprintf(`"labels":{"n":"%d"}`, n))}
				}
				if a, err := w.send(t.Context(), c); err != nil || a.code >= 300 && a.code != http.StatusNotFound {
					t.Errorf("%v %+v", err, a)
					return
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		wg.Wait()
		close(ended)
	}()
	for running := true; running; { // requests of others, and of the lab itself, meanwhile
		select {
		case <-ended:
			running = false
		default:
			begin := time.Now()
			w.do("GET /api/v1/namespaces/a", "")
			w.do("GET "+requests+"?limit=10", "")
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("requests in the storm took %v", took)
			}
		}
	}
	last := w.do("GET /api/v1/namespaces/a", "").id
	w.request(last)
	if a := w.call(call{do: "GET " + requests + "/" + first}); a.code != http.StatusNotFound {
		t.Errorf("the first request is still there: %d", a.code)
	}
	list := w.do("GET "+requests, "")
	kept := w.list("")
	if len(list.body) > memory || len(kept) < 500 || len(kept) > memory/900 {
		t.Errorf("%d requests in %d bytes", len(kept), len(list.body))
	}
	if !slices.ContainsFunc(kept, func(r v1alpha1.Request) bool { return r.Name == last }) {
		t.Error("the last request is missing")
	}
	t.Logf("%d requests in %d bytes", len(kept), len(list.body))
}

// TestLargeBodies checks that of megabyte bodies a digest and the differences are kept.
func TestLargeBodies(t *testing.T) {
	const memory = 4 << 20
	w := start(t, server.Options{Lab: server.Lab{Enabled: true, Memory: memory}})
	w.do("POST /api/v1/namespaces", `{"metadata":{"name":"a"}}`)
	large := strings.Repeat("grossgross", 90<<10)
	var ids []string
	body := func(n int) string {
		return fmt.Sprintf(`{"metadata":{"name":"large"},"data":{"n":"%d","large":%q},"bogus":1}`, n, large)
	}
	ids = append(ids, w.do("POST "+configs, body(0)).id)
	for n := range 5 {
		w.request(ids[len(ids)-1])
		ids = append(ids, w.do("PUT "+configs+"/large", body(n+1)).id)
	}
	w.request(ids[len(ids)-1]) // of large requests that wait together only the newest has its differences
	patched := w.do("PATCH "+configs+"/large merge", `{"data":{"more":"`+large[:80<<10]+`"}}`).id
	for _, id := range append(ids, patched) {
		r := w.request(id)
		if r.Spec.BodyDigest == "" || r.Spec.Patch != "" || r.Spec.BodyBytes < 80<<10 || len(r.Status.Changes) == 0 {
			t.Errorf("%s of %d bytes has the digest %q, a patch of %d bytes and %d changes", r.Spec.Verb, r.Spec.BodyBytes, r.Spec.BodyDigest,
				len(r.Spec.Patch), len(r.Status.Changes))
		}
		for _, c := range r.Status.Changes {
			if len(c.Before)+len(c.After) > 4<<10 {
				t.Errorf("the change of %s has %d bytes", c.Path, len(c.Before)+len(c.After))
			}
		}
	}
	if n := len(w.do("GET "+requests, "").body); n > memory/4 {
		t.Errorf("the list has %d bytes", n)
	}
	// Many at once: every request is kept or dropped as a whole, and the server goes on.
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 10 {
				if a, err := w.send(t.Context(), call{do: "PUT " + configs + fmt.Sprintf("/large%d", i), body: strings.Replace(body(i), `"large"`, fmt.Sprintf(`"large%d"`, i), 1)}); err != nil || a.code >= 300 && a.code != http.StatusNotFound {
					t.Errorf("%v %+v", err, a)
				}
			}
		})
	}
	wg.Wait()
	w.request(w.do("GET /version", "").id)
}

// TestHostile checks that hostile input to the group is refused, and harms nothing.
func TestHostile(t *testing.T) {
	w := startLab(t)
	id := w.do("GET /version", "").id
	w.request(id)
	long := strings.Repeat("x", 500<<10)
	for _, c := range []struct {
		path string
		code int
	}{
		{requests + "?fieldSelector=" + "user%3D" + long, 200},
		{requests + "?fieldSelector=" + strings.Repeat("user%3Dx,", 50000) + "user%3Dx", 200},
		{requests + "?fieldSelector=" + long, 400},
		{requests + "?labelSelector=" + long + "%3D1", 400},
		{changes + "?fieldSelector=object%3D" + long, 400},
		{changes + "?fieldSelector=object%3D" + strings.Repeat("a%2F", 100000), 400},
		{changes + "?fieldSelector=object%3D..%2F..%2Fx", 400},
		{changes + "?fieldSelector=object%3Dsecrets%2F..%2F..%2Fx", 400},
		{changes + "?fieldSelector=object%3Dconfigmaps%2Fa%2F..", 400},
		{changes + "?fieldSelector=object%3Dconfigmaps%2Fa%2F%00", 200},
		{changes + "?fieldSelector=object%3D", 400},
		{changes + "?fieldSelector=object%3Dconfigmaps", 400},
		{changes + "?fieldSelector=object%3Drequests.lab.miniapiserver.io%2Fx", 400},
		{changes + "?fieldSelector=metadata.name%3D" + long, 200},
		{changes + "?limit=99999999999", 200},
		{changes + "?limit=-1", 200},
		{changes + "/" + strings.Repeat("9", 30), 404},
		{changes + "/-1", 404},
		{changes + "/1.1.1", 404},
		{changes + "/0", 404},
		{requests + "/" + strings.Repeat("x", 10000), 404},
		{requests + "/..%2F..%2Fx", 404},
		{requests + "/%00", 404},
		{requests + "?continue=" + url.QueryEscape(long), 400},
		{requests + "?resourceVersion=-1", 400},
		{requests + "?limit=-1", 200},
	} {
		a := w.call(call{do: "GET " + c.path})
		if a.code != c.code || len(a.body) > 2<<20 {
			t.Errorf("GET %.80s: %d %.300s", c.path, a.code, a.body)
		}
		if len(c.path) < 200<<10 || a.id == "" {
			continue
		}
		if r := w.request(a.id); len(r.Spec.URI) > 4096 || len(r.Status.Message) > 8192 || len(r.Status.Why) > 1024 {
			t.Errorf("the request has %d bytes of a URI, %d of a message", len(r.Spec.URI), len(r.Status.Message))
		}
	}
	for _, id := range []string{"../../x", "a/b", "<script>", strings.Repeat("y", 500), "..", ".", "é"} {
		a := w.call(call{do: "GET /version", header: map[string]string{"Audit-Id": id, "User-Agent": "<img src=x onerror=alert(1)>"}})
		if a.code != http.StatusOK {
			t.Errorf("Audit-Id %q: %d", id, a.code)
		}
	}
	// Two requests with one ID are two Requests.
	for range 2 {
		w.call(call{do: "GET /version", header: map[string]string{"Audit-Id": "mine", "User-Agent": "twice"}})
	}
	eventually.True(t, "both requests", func() bool { return len(w.list("?fieldSelector=userAgent%3Dtwice")) == 2 })
}

// TestManyWatches checks that thousands of watches of requests neither stop the server nor feed themselves: a watch of requests is
// a request.
func TestManyWatches(t *testing.T) {
	const watches = 2000
	w := start(t, server.Options{Lab: server.Lab{Enabled: true, Memory: 8 << 20}})
	var wg sync.WaitGroup
	var events atomic.Int64
	for range 8 {
		wg.Go(func() {
			for range watches / 8 {
				wg.Go(func() {
					a, err := w.send(t.Context(), call{do: "GET " + requests + "?watch=1&timeoutSeconds=8&fieldSelector=objectName%3Dmarked"})
					if err != nil || a.code != http.StatusOK && a.code != http.StatusTooManyRequests {
						t.Errorf("%v %.200s", err, a.body)
						return
					}
					events.Add(int64(strings.Count(string(a.body), `"type":"ADDED"`)))
				})
			}
		})
	}
	eventually.True(t, "watches", func() bool {
		return len(w.list("?fieldSelector=verb%3Dwatch,resource%3Drequests,phase%3DRunning")) > 100
	})
	begin := time.Now()
	w.call(call{do: "GET " + configs + "/marked"})
	w.do("GET /api/v1/namespaces", "")
	t.Logf("a request among the watches took %v", time.Since(begin))
	wg.Wait()
	if events.Load() == 0 {
		t.Error("no watch saw the marked request")
	}
	w.request(w.do("GET /version", "").id)
}
