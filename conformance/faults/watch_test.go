package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// watcher receives all changes through one server, and resumes when a watch ends.
type watcher struct {
	t  *testing.T
	tg *target
	// restless makes it end its watches after a short time.
	restless bool
	// mayExpire reports that history may be compacted before the watcher receives it.
	mayExpire bool

	mu      sync.Mutex
	events  []event
	since   int64 // events are complete after this revision,
	rev     int64 // up to this one
	expired int
	begun   int
}

// watchFrom starts a watcher for all changes after rev.
func (w *watcher) watchFrom(ctx context.Context, rev int64, wg *sync.WaitGroup) {
	w.since, w.rev = rev, rev
	wg.Go(func() {
		for ctx.Err() == nil {
			if err := w.watchOnce(ctx); err != nil {
				select {
				case <-time.After(20 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		}
	})
}

// watchOnce runs one watch from the revision at which the previous one ended.
func (w *watcher) watchOnce(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if w.restless {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(50+rand.IntN(400))*time.Millisecond)
		defer cancel()
	}
	w.mu.Lock()
	path := fmt.Sprint(collection, "?watch=1&allowWatchBookmarks=true&resourceVersion=", w.rev)
	w.begun++
	w.mu.Unlock()
	resp, err := w.tg.open(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		if resp.StatusCode < http.StatusInternalServerError {
			w.t.Errorf("a watch was answered with %s", resp.Status)
		}
		return fmt.Errorf("%s", resp.Status)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if err := w.addEvent(ctx, lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// addEvent adds one event.
func (w *watcher) addEvent(ctx context.Context, line []byte) error {
	var e struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return err // truncated event
	}
	if e.Type == "ERROR" {
		return w.handleError(ctx, e.Object)
	}
	var o object
	if err := json.Unmarshal(e.Object, &o); err != nil {
		w.t.Error(err)
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	rev := o.Metadata.rev()
	if rev < w.rev || rev == w.rev && e.Type != "BOOKMARK" {
		w.t.Errorf("%s at %d after %d", e.Type, rev, w.rev)
	}
	w.rev = rev
	if e.Type != "BOOKMARK" && !strings.HasPrefix(o.Metadata.Name, "kube") {
		w.events = append(w.events, event{rev, o.Metadata.Name, e.Type, o.Data[valueKey]})
	}
	return nil
}

// handleError accepts an expired revision, but only if history may be compacted; clients list again
// then.
func (w *watcher) handleError(ctx context.Context, object []byte) error {
	var status metav1.Status
	if err := json.Unmarshal(object, &status); err != nil {
		return err
	}
	if status.Code != http.StatusGone || status.Reason != metav1.StatusReasonExpired {
		if status.Code < http.StatusInternalServerError {
			w.t.Errorf("a watch ended with %s", object)
		}
		return fmt.Errorf("%s", status.Message)
	}
	if !w.mayExpire {
		w.t.Errorf("a watch from %d ended with %s, and nothing was compacted", w.rev, status.Message)
	}
	a := w.tg.do(ctx, http.MethodGet, collection+"?limit=1", nil)
	var l list
	if a.code != http.StatusOK || json.Unmarshal(a.body, &l) != nil {
		return fmt.Errorf("listing again: %d %w", a.code, a.err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if rev := l.Metadata.rev(); rev > w.rev {
		w.events, w.since, w.rev = nil, rev, rev
	}
	w.expired++
	return nil
}

// check waits until the watcher has received the last event of the truth, and compares: no event is
// missing, duplicate or out of order.
func (w *watcher) check(t *testing.T, name string, truth []event) {
	t.Helper()
	if len(truth) == 0 {
		t.Fatal("nothing happened")
	}
	last := truth[len(truth)-1].rev
	eventually(t, fmt.Sprintf("watcher %s sees revision %d", name, last), func(context.Context) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.rev < last {
			return fmt.Errorf("it is at %d", w.rev)
		}
		return nil
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	var want []event
	for _, e := range truth {
		if e.rev > w.since {
			want = append(want, e)
		}
	}
	t.Logf("watcher %s: %d events in %d watches, %d of them expired", name, len(w.events), w.begun, w.expired)
	for n := range min(len(want), len(w.events)) {
		if want[n] != w.events[n] {
			t.Fatalf("watcher %s: event %d is %v, want %v", name, n, w.events[n], want[n])
		}
	}
	if len(want) != len(w.events) {
		t.Errorf("watcher %s saw %d events, want %d", name, len(w.events), len(want))
	}
}

// revisionOf returns the current revision of a target.
func revisionOf(t *testing.T, tg *target) int64 {
	t.Helper()
	var rev int64
	eventually(t, "the revision is known", func(ctx context.Context) error {
		a := tg.do(ctx, http.MethodGet, collection+"?limit=1", nil)
		var l list
		if err := json.Unmarshal(a.body, &l); err != nil || a.code != http.StatusOK {
			return fmt.Errorf("%d %s", a.code, a.body)
		}
		var err error
		rev, err = strconv.ParseInt(l.Metadata.ResourceVersion, 10, 64)
		return err
	})
	return rev
}
