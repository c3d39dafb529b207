package faults

import (
	"context"
	"fmt"
	"maps"
	"sort"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// event is a change, in the truth or as seen by a watcher.
type event struct {
	rev   int64
	key   string
	kind  string // ADDED, MODIFIED or DELETED
	value string // the last value if the object was deleted
}

// truth is etcd's history of the tests' objects.
type truth struct {
	client *clientv3.Client
	mu     sync.Mutex
	events []event
	last   map[string]string
	rev    int64 // the history is complete up to this revision
	err    error
}

const keyPrefix = "/registry/configmaps/" + namespace + "/"

// followTruth starts to read etcd's history from the first revision.
func followTruth(ctx context.Context, client *clientv3.Client) *truth {
	tr := &truth{client: client, last: map[string]string{}}
	watch := client.Watch(ctx, "\x00", clientv3.WithFromKey(), clientv3.WithRev(1))
	go func() {
		for resp := range watch {
			tr.take(resp)
		}
	}()
	return tr
}

func (tr *truth) take(resp clientv3.WatchResponse) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if err := resp.Err(); err != nil {
		tr.err = err
		return
	}
	for _, e := range resp.Events {
		tr.rev = e.Kv.ModRevision
		name, ours := strings.CutPrefix(string(e.Kv.Key), keyPrefix)
		if !ours || strings.HasPrefix(name, "kube") {
			continue
		}
		ev := event{rev: e.Kv.ModRevision, key: name}
		before, there := tr.last[ev.key]
		switch {
		case e.Type == clientv3.EventTypeDelete:
			ev.kind, ev.value = "DELETED", before
			delete(tr.last, ev.key)
		default:
			if ev.kind = "ADDED"; there {
				ev.kind = "MODIFIED"
			}
			if ev.value, tr.err = decode(e.Kv.Value); tr.err != nil {
				return
			}
			tr.last[ev.key] = ev.value
		}
		tr.events = append(tr.events, ev)
	}
}

func decode(value []byte) (string, error) {
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(value, nil, nil)
	if err != nil {
		return "", err
	}
	cm, ok := obj.(*corev1.ConfigMap)
	if !ok {
		return "", fmt.Errorf("%T where a ConfigMap should be", obj)
	}
	return cm.Data[valueKey], nil
}

// now returns all changes so far. It writes a last change to etcd to detect that it has received
// all previous ones.
func (tr *truth) now(t *testing.T) []event {
	t.Helper()
	var rev int64
	eventually(t, "etcd takes a last write", func(ctx context.Context) error {
		resp, err := tr.client.Put(ctx, "/other", "last")
		if err == nil {
			rev = resp.Header.Revision
		}
		return err
	})
	eventually(t, "the truth is known", func(context.Context) error {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		if tr.err != nil {
			t.Fatalf("etcd's history: %v", tr.err)
		}
		if tr.rev < rev {
			return fmt.Errorf("up to %d of %d", tr.rev, rev)
		}
		return nil
	})
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return append([]event(nil), tr.events...)
}

// check compares all responses to clients with the truth.
func (w *workload) check(events []event) {
	w.t.Helper()
	w.t.Log(w.summary(), "; ", len(events), "events")
	w.checkAnswers(events)
	w.checkSnapshots(events)
	w.checkLinearizable(events)
}

// checkAnswers checks that acknowledged writes and read values are in the truth at their revision,
// and that the truth contains no rejected or unrequested write.
func (w *workload) checkAnswers(events []event) {
	w.t.Helper()
	type version struct {
		key, value string
	}
	versions := map[int64]version{}
	for _, e := range events {
		if e.kind != "DELETED" {
			versions[e.rev] = version{e.key, e.value}
		}
	}
	asked := map[string]outcome{}
	for _, r := range w.records {
		if r.outcome == done && r.verb != remove && r.verb != listed && versions[r.rev] != (version{r.key, r.value}) {
			w.t.Errorf("%s answered %s=%s at %d, which is %v in etcd", r.verb, r.key, r.value, r.rev, versions[r.rev])
		}
		if r.verb == create || r.verb == update {
			asked[r.value] = r.outcome
		}
	}
	for _, v := range versions {
		if o := asked[v.value]; o != done && o != unknown {
			w.t.Errorf("%s=%s is in etcd, and was answered with %q", v.key, v.value, o)
		}
	}
}

// checkSnapshots checks that each list is the complete state at its revision.
func (w *workload) checkSnapshots(events []event) {
	w.t.Helper()
	snapshots := append([]snapshot(nil), w.snapshots...)
	sort.Slice(snapshots, func(i, j int) bool { return snapshots[i].rev < snapshots[j].rev })
	state := map[string]string{}
	for _, s := range snapshots {
		for len(events) > 0 && events[0].rev <= s.rev {
			e := events[0]
			if events = events[1:]; e.kind == "DELETED" {
				delete(state, e.key)
			} else {
				state[e.key] = e.value
			}
		}
		if !maps.Equal(state, s.values) {
			w.t.Errorf("a list at %d (paged: %v) shows %v, etcd had %v", s.rev, s.paged, s.values, state)
		}
	}
}
