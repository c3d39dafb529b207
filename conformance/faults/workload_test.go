package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// verb is the kind of a request.
type verb string

const (
	create verb = "create"
	update verb = "update"
	remove verb = "delete"
	get    verb = "get"
	cached verb = "get cached" // GET with resourceVersion=0
	listed verb = "list"       // the result of a list for one key
)

// outcome is the outcome of a request as the client observed it.
type outcome string

const (
	done     outcome = "done"
	exists   outcome = "exists"
	missing  outcome = "not found"
	conflict outcome = "conflict"
	unknown  outcome = "unknown"
	refused  outcome = "refused" // by a Fault of the lab, before it had an effect
)

// record is one request on one key with its response.
type record struct {
	verb       verb
	key        string
	expect     string // value that the write requires; empty for any
	value      string // value that was written or read
	rev        int64  // revision of the object in the response
	outcome    outcome
	began, end int64
	// rewritten is true if another writer has written the object with the expected value, which makes for a conflict.
	rewritten bool
}

// snapshot is a list, or all pages of one, at a revision.
type snapshot struct {
	rev    int64
	values map[string]string
	paged  bool
}

// workload is the clients and their records.
type workload struct {
	t       *testing.T
	targets []*target
	keys    []string
	// bound is the time limit of responses.
	bound time.Duration
	began time.Time

	serial   atomic.Int64
	failures atomic.Int64

	mu        sync.Mutex
	records   []record
	snapshots []snapshot
}

// requestTimeout is the one of the servers; clients wait slightly longer.
const requestTimeout = 1500 * time.Millisecond

func newWorkload(t *testing.T, keys int, targets ...*target) *workload {
	w := &workload{t: t, targets: targets, bound: requestTimeout + 3*time.Second, began: time.Now()}
	for n := range keys {
		w.keys = append(w.keys, fmt.Sprintf("k%02d", n))
	}
	return w
}

// run runs clients on each target, and one that lists and one that reads page by page, until ctx is
// done.
func (w *workload) run(ctx context.Context, clients int) *sync.WaitGroup {
	wg := &sync.WaitGroup{}
	for n, tg := range w.targets {
		for c := range clients {
			r := rand.New(rand.NewPCG(uint64(n), uint64(c)))
			w.loop(ctx, wg, func() bool { return w.request(ctx, tg, r) })
		}
		r := rand.New(rand.NewPCG(uint64(n), math.MaxUint64))
		w.loop(ctx, wg, func() bool { return w.list(ctx, tg, r) })
		w.loop(ctx, wg, func() bool { return w.pages(ctx, tg) })
	}
	return wg
}

// loop calls f repeatedly, with a delay after failures.
func (w *workload) loop(ctx context.Context, wg *sync.WaitGroup, f func() bool) {
	const pace, slow = 4 * time.Millisecond, 60 * time.Millisecond
	wg.Go(func() {
		for ctx.Err() == nil {
			pause := pace
			if !f() {
				pause = slow
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	})
}

func (w *workload) now() int64 { return int64(time.Since(w.began)) }

// ask sends a request and checks that the response is allowed and in time.
func (w *workload) ask(tg *target, method, path string, body any) answer {
	// A request in progress completes even if the run ends.
	ctx, cancel := context.WithTimeout(context.Background(), w.bound)
	defer cancel()
	a := tg.do(ctx, method, path, body)
	if a.err != nil && !tg.mortal.Load() {
		w.t.Errorf("%s %s: %v", method, path, a.err)
	}
	if a.code == 0 || a.code >= http.StatusInternalServerError {
		w.failures.Add(1)
	}
	return a
}

// request sends one random request on one key.
func (w *workload) request(ctx context.Context, tg *target, r *rand.Rand) bool {
	key := w.keys[r.IntN(len(w.keys))]
	switch n := r.IntN(100); {
	case n < 25:
		return w.read(tg, get, key).outcome != unknown
	case n < 35:
		return w.read(tg, cached, key).outcome != unknown
	case n < 60:
		return w.write(tg, record{verb: create, key: key}, "")
	case n < 70: // without precondition
		return w.write(tg, record{verb: update, key: key}, "")
	case n < 75:
		return w.write(tg, record{verb: remove, key: key}, "")
	}
	seen := w.read(tg, get, key)
	if seen.outcome != done {
		return seen.outcome != unknown
	}
	verb := update
	if r.IntN(3) == 0 {
		verb = remove
	}
	return w.write(tg, record{verb: verb, key: key, expect: seen.value}, fmt.Sprint(seen.rev))
}

func (w *workload) read(tg *target, verb verb, key string) record {
	path := collection + "/" + key
	if verb == cached {
		path += "?resourceVersion=0"
	}
	rec := record{verb: verb, key: key, began: w.now()}
	a := w.ask(tg, http.MethodGet, path, nil)
	rec.end = w.now()
	var o object
	switch {
	case a.code == http.StatusOK && json.Unmarshal(a.body, &o) == nil:
		rec.outcome, rec.value, rec.rev = done, o.Data[valueKey], o.Metadata.rev()
	case a.code == http.StatusNotFound:
		rec.outcome = missing
	case a.isRefused():
		rec.outcome = refused
	default:
		rec.outcome = unknown
		w.expectFailure(tg, a)
	}
	w.add(rec)
	return rec
}

// write sends the change that rec describes, with the precondition that the object is at revision
// rev unless that is empty.
func (w *workload) write(tg *target, rec record, rev string) bool {
	method, path := http.MethodPut, collection+"/"+rec.key
	rec.value = fmt.Sprint(w.serial.Add(1))
	o := newObject(rec.key, rec.value)
	o.Metadata.ResourceVersion = rev
	var body any = o
	switch rec.verb {
	case create:
		method, path = http.MethodPost, collection
	case remove:
		method, rec.value = http.MethodDelete, ""
		options := metav1.DeleteOptions{}
		if rev != "" {
			options.Preconditions = &metav1.Preconditions{ResourceVersion: &rev}
		}
		body = options
	}
	rec.began = w.now()
	a := w.ask(tg, method, path, body)
	rec.end = w.now()
	switch {
	case a.code == http.StatusOK, a.code == http.StatusCreated:
		rec.outcome = done
		if rec.verb != remove {
			var written object
			if err := json.Unmarshal(a.body, &written); err != nil || written.Data[valueKey] != rec.value {
				w.t.Errorf("%s of %s=%s answered with %s", rec.verb, rec.key, rec.value, a.body)
			}
			rec.rev = written.Metadata.rev()
		}
	case a.isRefused():
		rec.outcome = refused
	case a.status.Reason == metav1.StatusReasonAlreadyExists:
		rec.outcome = exists
	case a.status.Reason == metav1.StatusReasonConflict:
		rec.outcome = conflict
	case a.status.Reason == metav1.StatusReasonNotFound:
		rec.outcome = missing
	default:
		rec.outcome, rec.end = unknown, math.MaxInt64
		w.expectFailure(tg, a)
	}
	w.add(rec)
	return rec.outcome != unknown
}

// expectFailure checks that a failure is one of those with unknown outcome.
func (w *workload) expectFailure(tg *target, a answer) {
	if a.code < http.StatusInternalServerError && !(a.code == 0 && tg.mortal.Load()) && !a.isRefused() {
		w.t.Errorf("answered with %d %s %v", a.code, a.body, a.err)
	}
}

func (w *workload) add(rec record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.records = append(w.records, rec)
}

// list lists all objects and records the result for each key.
func (w *workload) list(ctx context.Context, tg *target, r *rand.Rand) bool {
	path, fresh := collection, true
	if r.IntN(4) == 0 {
		path, fresh = collection+"?resourceVersion=0", false
	}
	began := w.now()
	a := w.ask(tg, http.MethodGet, path, nil)
	end := w.now()
	var l list
	if a.code != http.StatusOK || json.Unmarshal(a.body, &l) != nil {
		w.expectFailure(tg, a)
		return false
	}
	s := snapshot{rev: l.Metadata.rev(), values: map[string]string{}}
	s.addPage(w.t, l)
	for _, key := range w.keys {
		if value := s.values[key]; fresh && value != "" {
			w.add(record{verb: listed, key: key, value: value, outcome: done, began: began, end: end})
		} else if fresh {
			w.add(record{verb: listed, key: key, outcome: missing, began: began, end: end})
		}
	}
	w.keep(s)
	return true
}

// addPage adds a page to a snapshot.
func (s *snapshot) addPage(t *testing.T, l list) {
	if l.Metadata.rev() != s.rev {
		t.Errorf("a page is at %s, the first one was at %d", l.Metadata.ResourceVersion, s.rev)
	}
	for _, o := range l.Items {
		if !strings.HasPrefix(o.Metadata.Name, "k") || strings.HasPrefix(o.Metadata.Name, "kube") {
			continue // an object of another test
		}
		if _, ok := s.values[o.Metadata.Name]; ok {
			t.Errorf("%s is on two pages", o.Metadata.Name)
		}
		s.values[o.Metadata.Name] = o.Data[valueKey]
	}
}

// pages lists all objects page by page.
func (w *workload) pages(ctx context.Context, tg *target) bool {
	s := snapshot{rev: -1, paged: true, values: map[string]string{}}
	for token := ""; ; {
		a := w.ask(tg, http.MethodGet, collection+"?limit=3&continue="+token, nil)
		if a.code == http.StatusGone && a.status.Reason == metav1.StatusReasonExpired {
			return true // compacted
		}
		var l list
		if a.code != http.StatusOK || json.Unmarshal(a.body, &l) != nil {
			w.expectFailure(tg, a)
			return false
		}
		if s.rev < 0 {
			s.rev = l.Metadata.rev()
		}
		s.addPage(w.t, l)
		if token = l.Metadata.Continue; token == "" {
			w.keep(s)
			return true
		}
	}
}

func (w *workload) keep(s snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.snapshots = append(w.snapshots, s)
}

// summary describes the number and kinds of requests.
func (w *workload) summary() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts := map[string]int{}
	for _, r := range w.records {
		counts[fmt.Sprint(r.verb, " ", r.outcome)]++
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprint(k, ": ", counts[k]))
	}
	return fmt.Sprintf("%d snapshots, %d failures; %s", len(w.snapshots), w.failures.Load(), strings.Join(parts, ", "))
}
