package storage

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// checks returns the number of checks of a collection with a result.
func checks(t *testing.T, s *Store, resource, status string) string {
	t.Helper()
	for line := range strings.Lines(shownMetrics(t, s)) {
		if n, ok := strings.CutPrefix(line, fmt.Sprintf("apiserver_storage_consistency_checks_total group= resource=%s status=%s ", resource, status)); ok {
			return strings.TrimSpace(n)
		}
	}
	return "0"
}

// TestCacheChecks checks that a cache that differs from etcd is found and filled again, and that others pass.
func TestCacheChecks(t *testing.T) {
	for name, tamper := range map[string]func(c *Collection, item *Item){
		"an object is missing": func(c *Collection, item *Item) { c.working.remove(item.key) },
		"an object is left": func(c *Collection, item *Item) {
			c.working.set(&Item{config: item.config, key: "n/z", rev: item.rev, value: item.value})
		},
		"an object is not the last": func(c *Collection, item *Item) { c.working.set(item.atRevision(item.rev - 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, Options{})
			cfg, below := configMaps(), configMaps()
			cfg.Resource, below.Resource, below.Prefix = "maps", "below", "configmaps/below"
			c, err := s.Collection(cfg)
			if err != nil {
				t.Fatal(err)
			}
			nested, err := s.Collection(below)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			mustCreate(t, nested, "n/x", "1")
			mustCreate(t, c, "n/a", "1")
			last := mustCreate(t, c, "n/b", "1")
			mustList(t, c, ListOptions{}) // the cache has them
			s.checkCaches(t.Context())
			for _, resource := range []string{"maps", "below"} {
				if got := checks(t, s, resource, checkSucceeded); got != "1" {
					t.Fatalf("%s: %s checks passed", resource, got)
				}
			}
			w := mustWatch(t, c, WatchOptions{})
			c.mu.Lock()
			tamper(c, last)
			c.current.Store(c.working.copy())
			c.mu.Unlock()
			s.checkCaches(t.Context())
			if failed, passed := checks(t, s, "maps", checkFailed), checks(t, s, "below", checkSucceeded); failed != "1" || passed != "2" {
				t.Errorf("%s checks failed, %s passed", failed, passed)
			}
			var compacted *CompactedError
			if _, err := w.Next(t.Context()); !errors.As(err, &compacted) {
				t.Errorf("a watch of the wrong cache: %v", err)
			}
			if got := listedKeys(mustList(t, c, ListOptions{})); !slices.Equal(got, []string{"n/a", "n/b"}) {
				t.Errorf("got %v", got)
			}
			s.checkCaches(t.Context())
			if got := checks(t, s, "maps", checkSucceeded); got != "2" {
				t.Errorf("%s checks passed", got)
			}
		})
	}
}

// TestCacheCheckWithoutHistory checks that a cache is not judged by a revision that etcd no longer has.
func TestCacheCheckWithoutHistory(t *testing.T) {
	s, c := startStore(t, Options{})
	item := mustCreate(t, c, "n/a", "1")
	mustList(t, c, ListOptions{})
	for range 3 { // of somebody else
		if _, err := s.client.Put(t.Context(), "/other", "1"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.client.Compact(t.Context(), item.Revision()+2); err != nil {
		t.Fatal(err)
	}
	s.applied.rev.Store(item.Revision()) // as if the watch had stopped there
	s.checkCaches(t.Context())
	if got := checks(t, s, "", checkBroken); got != "1" {
		t.Errorf("%s checks failed to read", got)
	}
}

// TestCacheChecksRun checks that the checks run by themselves.
func TestCacheChecksRun(t *testing.T) {
	s, _ := startStore(t, Options{CheckInterval: time.Millisecond})
	deadline := time.Now().Add(time.Minute)
	for checks(t, s, "", checkSucceeded) == "0" {
		if time.Now().After(deadline) {
			t.Fatal("no check")
		}
		time.Sleep(time.Millisecond)
	}
}

// TestDispatchDuration checks that each event that a watch takes is measured, and the state at its start is not.
func TestDispatchDuration(t *testing.T) {
	s, c := startStore(t, Options{})
	mustCreate(t, c, "n/a", "1")
	w := mustWatch(t, c, WatchOptions{Initial: true})
	for taken := 0; taken < 3; {
		if taken == 1 {
			mustCreate(t, c, "n/b", "1")
			mustCreate(t, c, "n/c", "1")
		}
		events, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		taken += len(events)
	}
	if want := "apiserver_watch_events_dispatch_duration_seconds group= resource= stage=total 2\n"; !strings.Contains(shownMetrics(t, s), want) {
		t.Errorf("no %s in %s", want, shownMetrics(t, s))
	}
}
