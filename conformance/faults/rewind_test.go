package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/server"
)

// rewound is a server that goes back, and clients that create objects meanwhile.
type rewound struct {
	t  *testing.T
	tg *target
	r  *rand.Rand

	round   int
	stop    context.CancelFunc
	running sync.WaitGroup
	acks    atomic.Int64

	mu      sync.Mutex
	created map[string]int64 // the revisions of acknowledged creations
}

const (
	rewindsPath = "/apis/lab.miniapiserver.io/v1alpha1/rewinds"
	// rewoundObjects are the objects that differ. With their size a rewind has some 8 transactions.
	rewoundObjects = 320
	rewoundSize    = 25_000
	creators       = 10
)

// rewindOf is a Rewind and its answer.
type rewindOf struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   metadata          `json:"metadata"`
	Spec       map[string]string `json:"spec"`
}

// ask sends a request that must succeed, and succeeds soon.
func (w *rewound) ask(method, path string, body, into any) {
	w.t.Helper()
	eventually(w.t, method+" "+path, func(ctx context.Context) error {
		a := w.tg.do(ctx, method, path, body)
		if a.code >= http.StatusInternalServerError || a.err != nil {
			return fmt.Errorf("%d %.200s %w", a.code, a.body, a.err)
		}
		if a.code >= http.StatusBadRequest && a.code != http.StatusConflict {
			w.t.Fatalf("%s %s: %d %.200s", method, path, a.code, a.body)
		}
		if into == nil {
			return nil
		}
		return json.Unmarshal(a.body, into)
	})
}

// fill gives all objects a value.
func (w *rewound) fill(method, value string) {
	w.t.Helper()
	var wg sync.WaitGroup
	for c := range creators {
		wg.Go(func() {
			for n := c; n < rewoundObjects; n += creators {
				o := newObject(fmt.Sprintf("back-%03d", n), value)
				o.Data["size"] = strings.Repeat("x", rewoundSize)
				path := collection
				if method == http.MethodPut {
					path += "/" + o.Metadata.Name
				}
				w.ask(method, path, o, nil)
			}
		})
	}
	wg.Wait()
}

// work creates objects until ctx ends, and notes the acknowledged ones. No name is used twice.
func (w *rewound) work() {
	ctx, stop := context.WithCancel(w.t.Context())
	w.stop, w.created = stop, map[string]int64{}
	w.round++
	for c := range creators {
		w.running.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				name := fmt.Sprintf("new-%d-%d-%d", w.round, c, n)
				a := w.create(ctx, name)
				var o object
				if a.code != http.StatusCreated || json.Unmarshal(a.body, &o) != nil {
					wait(ctx, 20*time.Millisecond)
					continue
				}
				w.mu.Lock()
				w.created[name] = o.Metadata.rev()
				w.mu.Unlock()
				w.acks.Add(1)
			}
		})
	}
}

// create sends a request that ends in time, and after ctx.
func (w *rewound) create(ctx context.Context, name string) answer {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout+3*time.Second)
	defer cancel()
	a := w.tg.do(ctx, http.MethodPost, collection, newObject(name, "1"))
	if a.err != nil && !w.tg.mortal.Load() {
		w.t.Errorf("creating %s: %v", name, a.err)
	}
	return a
}

func (w *rewound) rest() {
	w.stop()
	w.running.Wait()
}

// moreWrites waits until some writes are acknowledged.
func (w *rewound) moreWrites() {
	w.t.Helper()
	want := w.acks.Load() + 3*creators
	eventually(w.t, "writes are acknowledged", func(context.Context) error {
		if now := w.acks.Load(); now < want {
			return fmt.Errorf("%d of %d", now, want)
		}
		return nil
	})
}

// interrupt begins to go back, and calls fault in the middle, when the rewind has written some objects. It returns the status of the
// answer, once there is one.
func (w *rewound) interrupt(to string, fault func()) int {
	w.t.Helper()
	answers := make(chan answer, 1)
	go func() {
		body := rewindOf{"lab.miniapiserver.io/v1alpha1", "Rewind", metadata{Name: "back"}, map[string]string{"resourceVersion": to}}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		answers <- w.tg.do(ctx, http.MethodPost, rewindsPath, body)
	}()
	first := fmt.Sprintf("%s/back-%03d", collection, w.r.IntN(rewoundObjects/2)) // chooses how far it comes
	for {
		var o object
		a := w.tg.do(w.t.Context(), http.MethodGet, first+"?resourceVersion=0", nil)
		if a.code == http.StatusOK && json.Unmarshal(a.body, &o) == nil && o.Data[valueKey] == "then" {
			break
		}
		select {
		case a := <-answers:
			w.t.Fatalf("the rewind does not begin: %d %.300s %v", a.code, a.body, a.err)
		case <-time.After(time.Millisecond):
		}
	}
	fault()
	return (<-answers).code
}

// check checks that the rewind is complete or undone, that acknowledged writes from after it are there, and those from before it only
// if it is undone. It returns whether it is complete.
func (w *rewound) check(what string) bool {
	w.t.Helper()
	var l list
	w.ask(http.MethodGet, collection, nil, &l)
	values, there := map[string]int{}, map[string]bool{}
	first, last := int64(0), int64(0)
	for _, o := range l.Items {
		switch name := o.Metadata.Name; {
		case strings.HasPrefix(name, "back-"):
			values[o.Data[valueKey]]++
			last = max(last, o.Metadata.rev())
			if first == 0 || o.Metadata.rev() < first {
				first = o.Metadata.rev()
			}
		default:
			there[name] = true
		}
	}
	complete := values["then"] == rewoundObjects
	if !complete && values["now"] != rewoundObjects {
		w.t.Errorf("%s: the rewind is neither complete nor undone: %v", what, values)
	}
	lost, survived := 0, 0
	for name, rev := range w.created {
		switch {
		case (!complete || rev > last) && !there[name]:
			lost++
		case complete && rev < first && there[name]:
			survived++
		}
	}
	if lost+survived > 0 {
		w.t.Errorf("%s: of %d acknowledged writes %d are lost, and %d survive the rewind", what, len(w.created), lost, survived)
	}
	return complete
}

// startRewound fills the server, and returns the revision before the objects changed.
func startRewound(t *testing.T, tg *target, seed uint64) (w *rewound, to string) {
	t.Helper()
	w = &rewound{t: t, tg: tg, r: rand.New(rand.NewPCG(seed, seed))}
	createNamespace(t, tg)
	w.fill(http.MethodPost, "then")
	to = fmt.Sprint(revisionOf(t, tg))
	w.fill(http.MethodPut, "now")
	return w, to
}

// TestRewindBesideFaults goes back while clients write, and has a fault of etcd in the middle of it. Afterwards the rewind is complete or
// undone, also after another start, and no write is lost that was acknowledged after it, or although it was undone.
func TestRewindBesideFaults(t *testing.T) {
	t.Parallel()
	const seed = 51
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		rewindOnSlowDisk(t, seed)
	})
	t.Run("members", func(t *testing.T) {
		t.Parallel()
		rewindBesideMembers(t, seed)
	})
}

// rewindOnSlowDisk kills a server in the middle of a rewind, and stops its disk in the middle of another one.
func rewindOnSlowDisk(t *testing.T, seed uint64) {
	o := server.Options{Dir: t.TempDir(), Limits: server.Limits{RequestTimeout: requestTimeout}, Lab: server.Lab{Enabled: true}}
	tg := mortalTarget()
	p, disk := startAdjustable(t, roleSlowServer, o, tg)
	defer func() { p.kill() }()
	w, to := startRewound(t, tg, seed)
	again := func() {
		p.kill()
		p, disk = startAdjustable(t, roleSlowServer, o, tg)
	}
	const slow = 30 * time.Millisecond
	for range factor() {
		w.work()
		w.moreWrites()
		disk.set(slow)
		w.interrupt(to, p.kill)
		w.rest()
		p, disk = startAdjustable(t, roleSlowServer, o, tg)
		if w.check("killed") {
			t.Error("killed: the rewind is complete, and was to be interrupted")
		}

		w.work()
		w.moreWrites()
		disk.set(slow)
		if code := w.interrupt(to, func() { disk.set(stalled) }); code < http.StatusInternalServerError {
			t.Errorf("the disk stopped, and the rewind was answered with %d", code)
		}
		disk.set(0)
		w.moreWrites() // without a start
		w.rest()
		complete := w.check("after a disk that stopped")
		again()
		if w.check("after a disk that stopped, and a start") != complete {
			t.Errorf("complete: %v before the start, %v after it", complete, !complete)
		}
		w.fill(http.MethodPut, "now")
	}
}

// rewindBesideMembers has faults of the members of etcd in the middle of rewinds.
func rewindBesideMembers(t *testing.T, seed uint64) {
	c := startCluster(t, 3, 0)
	n := c.network()
	_, tg := startServer(t, server.Options{Etcd: server.Etcd{Servers: n.endpoints()},
		Limits: server.Limits{RequestTimeout: requestTimeout}, Lab: server.Lab{Enabled: true}})
	w, to := startRewound(t, tg, seed)
	for range factor() {
		for _, f := range []struct {
			name  string
			begin func()
		}{
			{"the leader is killed", func() { leader, _ := c.leader(); c.kill(leader) }},
			{"there is no quorum", func() {
				for _, m := range c.members[1:] {
					c.pause(m)
				}
			}},
			{"etcd is cut off", func() { n.set(closing, 0) }},
		} {
			w.work()
			w.moreWrites()
			n.set(passing, time.Millisecond)
			code := w.interrupt(to, f.begin)
			c.heal()
			n.set(passing, 0)
			w.moreWrites()
			w.rest()
			t.Logf("%s: the answer is %d, complete: %v", f.name, code, w.check(f.name))
			w.fill(http.MethodPut, "now")
		}
	}
}
