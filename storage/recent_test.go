package storage

import (
	"fmt"
	"strings"
	"testing"
)

// TestRecent reads the newest versions of all collections, and the versions of single revisions.
func TestRecent(t *testing.T) {
	eachEtcd(t, func(t *testing.T, s *Store, c *Collection) {
		cfg := configMaps()
		cfg.Prefix = "others/deep"
		others, err := s.Collection(cfg)
		if err != nil {
			t.Fatal(err)
		}
		x := mustCreate(t, c, "a/x", "x1")
		first := x.Revision()
		y := mustCreate(t, others, "y", "y1")
		if _, err := s.SetValue(t.Context(), "elsewhere", 0, []byte("no object")); err != nil {
			t.Fatal(err)
		}
		mustUpdate(t, c, x, "x2") // 3
		mustDelete(t, others, y)  // 4
		y = mustCreate(t, others, "y", "y2")
		const all = "5 created y2; 4 deleted after y1; 3 x2 after x1; 1 created y1; 0 created x1"
		parts := strings.Split(all, "; ")
		check := func(o HistoryOptions, want ...string) {
			t.Helper()
			got, err := s.Recent(t.Context(), o)
			if text := describeVersions(t, got, first); text != strings.Join(want, "; ") || err != nil {
				t.Errorf("%+v: %v\n got %s\nwant %s", o, err, text, strings.Join(want, "; "))
			}
		}
		check(HistoryOptions{}, parts...)
		for limit := 1; limit < 6; limit++ {
			check(HistoryOptions{Limit: limit}, parts[:min(limit, len(parts))]...)
		}
		check(HistoryOptions{Before: first + 4}, parts[2:]...)
		check(HistoryOptions{After: first + 1}, parts[:3]...)
		check(HistoryOptions{Before: first + 4, After: first + 1}, parts[2])
		checkAt := func(rev int64, want string) {
			t.Helper()
			got, err := s.WrittenAt(t.Context(), rev)
			if text := describeVersions(t, got, first); text != want || err != nil {
				t.Errorf("at %d: %v\n got %s\nwant %s", rev-first, err, text, want)
			}
		}
		for _, rev := range []int64{-1, 0, first - 1, first + 2, first + 6, first + 1<<40} {
			checkAt(rev, "")
		}
		checkAt(first+5, parts[0])
		checkAt(first+4, parts[1])
		checkAt(first+3, parts[2])
		checkAt(first, parts[4])
		if got, _ := s.WrittenAt(t.Context(), first+1); len(got) != 1 || got[0].Prefix != "others/deep" ||
			got[0].Key != "y" || got[0].Together != 1 {
			t.Errorf("got %+v", got)
		}
		compactTo(t, s, first+4)
		check(HistoryOptions{}, parts[0])
		checkAt(first+3, "3 x2")      // it is still there
		checkAt(first+4, "4 deleted") // etcd keeps it, because the compaction goes up to there
		checkAt(first, "")
		_ = y
	})
}

// TestRecentOfMany reads few of many versions, in more steps than one.
func TestRecentOfMany(t *testing.T) {
	eachEtcd(t, func(t *testing.T, s *Store, c *Collection) {
		i := mustCreate(t, c, "a/x", "0")
		for n := range 60 {
			i = mustUpdate(t, c, i, fmt.Sprint(n+1))
		}
		for range 40 { // revisions without a version
			if err := s.RemoveValue(t.Context(), "none"); err != nil {
				t.Fatal(err)
			}
			if _, err := s.client.Put(t.Context(), s.opts.Prefix+"/none", ""); err != nil {
				t.Fatal(err)
			}
		}
		for limit := 1; limit < 70; limit += 17 {
			got, err := s.Recent(t.Context(), HistoryOptions{Limit: limit})
			if err != nil || len(got) != min(limit, 61) || got[0].Revision != i.Revision() ||
				got[len(got)-1].Revision != i.Revision()-int64(len(got))+1 {
				t.Errorf("limit %d: %d versions, %v", limit, len(got), err)
			}
		}
	})
}

// TestPositions checks the positions of objects that one transaction creates.
func TestPositions(t *testing.T) {
	eachEtcd(t, func(t *testing.T, s *Store, c *Collection) {
		var batch []NewObject
		for _, key := range []string{"n/c", "n/a", "n/b"} {
			batch = append(batch, NewObject{In: c, Key: key, Object: configMap(key, key)})
		}
		if err := s.CreateAll(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		got, err := s.Recent(t.Context(), HistoryOptions{Limit: 1}) // a transaction is not divided
		if err != nil || len(got) != 3 {
			t.Fatalf("%d versions, %v", len(got), err)
		}
		for i, n := range batch {
			if v := got[i]; v.Key != n.Key || v.Position != i || v.Together != 3 || !v.Created {
				t.Errorf("got %+v", v)
			}
			own, err := c.History(t.Context(), n.Key, HistoryOptions{})
			if err != nil || len(own) != 1 {
				t.Fatal(own, err)
			}
			if s.embedded != nil && (own[0].Position != i || own[0].Together != 3) || s.embedded == nil && own[0].Together != 0 {
				t.Errorf("in its own history: %+v", own[0])
			}
		}
		at, err := s.WrittenAt(t.Context(), got[0].Revision)
		if err != nil || len(at) != 3 || at[2].Key != "n/b" {
			t.Errorf("%+v, %v", at, err)
		}
	})
}

// TestRecentAfterCommit reads the newest versions when etcd's file has what its buffer had, and also after the next write.
func TestRecentAfterCommit(t *testing.T) {
	s, c := startStore(t, Options{})
	i := mustCreate(t, c, "a/x", "1")
	first := i.Revision()
	check := func(when, want string) {
		t.Helper()
		got, err := s.Recent(t.Context(), HistoryOptions{})
		if text := describeVersions(t, got, first); text != want || err != nil {
			t.Errorf("%s: %v\n got %s\nwant %s", when, err, text, want)
		}
		at, err := s.WrittenAt(t.Context(), first)
		if text := describeVersions(t, at, first); text != "0 created 1" || err != nil || at[0].Together != 1 {
			t.Errorf("%s: at the first: %s, %v", when, text, err)
		}
	}
	check("before", "0 created 1")
	for n := range 3 {
		s.embedded.server.Backend().ForceCommit()
		mustRecent(t, s) // etcd makes a copy of its buffer
		i = mustUpdate(t, c, i, fmt.Sprint(n+2))
		mustRecent(t, s)
		s.embedded.server.Backend().ForceCommit()
		if got := mustRecent(t, s); len(got) != n+2 {
			t.Errorf("%d versions after %d writes", len(got), n+2)
		}
	}
	s.embedded.server.Backend().ForceCommit()
	check("at the end", "3 4 after 3; 2 3 after 2; 1 2 after 1; 0 created 1")
	own, err := c.History(t.Context(), "a/x", HistoryOptions{})
	if err != nil || len(own) != 4 || own[3].Together != 1 || own[3].Position != 0 {
		t.Errorf("%+v, %v", own, err)
	}
}

func mustRecent(t *testing.T, s *Store) []Version {
	t.Helper()
	got, err := s.Recent(t.Context(), HistoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}
