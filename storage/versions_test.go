package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"pgregory.net/rapid"
)

// eachEtcd runs a test with a store on an embedded etcd, and with one on an external etcd.
func eachEtcd(t *testing.T, test func(t *testing.T, s *Store, c *Collection)) {
	t.Run("embedded", func(t *testing.T) {
		s, c := startStore(t, Options{})
		test(t, s, c)
	})
	t.Run("external", func(t *testing.T) {
		s, c := startStore(t, Options{Servers: []string{startExternalEtcd(t)}})
		test(t, s, c)
	})
}

// describeVersions returns versions in words, with revisions relative to the first one of the test.
func describeVersions(t testing.TB, versions []Version, first int64) string {
	t.Helper()
	var out []string
	for _, v := range versions {
		text := fmt.Sprint(v.Revision - first)
		switch {
		case v.Deleted && v.Item == nil:
			text += " deleted"
		case v.Created:
			text += " created " + configMapValue(t, v.Item)
		default:
			text += " " + configMapValue(t, v.Item)
		}
		if v.Item != nil && (v.Item.Revision() != v.Revision || v.Item.Key() != v.Key) {
			t.Errorf("revision %d of %s has the item %d of %s", v.Revision, v.Key, v.Item.Revision(), v.Item.Key())
		}
		if v.Previous != nil {
			text += " after " + configMapValue(t, v.Previous)
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

func compactTo(t testing.TB, s *Store, rev int64) {
	t.Helper()
	if _, err := s.client.Compact(t.Context(), rev, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	s.noteCompaction(rev)
}

// TestKeyHistory reads the history of a key that was deleted and created again, among writes of others, with all limits, and after
// compactions.
func TestKeyHistory(t *testing.T) {
	eachEtcd(t, func(t *testing.T, s *Store, c *Collection) {
		other := mustCreate(t, c, "a/x2", "other")
		first := other.Revision()
		for _, generation := range []string{"a", "b"} {
			i := mustCreate(t, c, "a/x", generation+"1") // 1, 5
			i = mustUpdate(t, c, i, generation+"2")      // 2, 6
			other = mustUpdate(t, c, other, generation)  // 3, 7
			mustDelete(t, c, i)                          // 4, 8
		}
		i := mustCreate(t, c, "a/x", "c1") // 9
		mustUpdate(t, c, other, "end")     // 10
		i = mustUpdate(t, c, i, "c2")      // 11
		const all = "11 c2 after c1; 9 created c1; 8 deleted after b2; 6 b2 after b1; 5 created b1; " +
			"4 deleted after a2; 2 a2 after a1; 1 created a1"
		parts := strings.Split(all, "; ")
		check := func(o HistoryOptions, want ...string) {
			t.Helper()
			got, err := c.History(t.Context(), "a/x", o)
			if text := describeVersions(t, got, first); text != strings.Join(want, "; ") || err != nil {
				t.Errorf("%+v: %v\n got %s\nwant %s", o, err, text, strings.Join(want, "; "))
			}
		}
		check(HistoryOptions{}, parts...)
		for limit := 1; limit <= 9; limit++ {
			check(HistoryOptions{Limit: limit}, parts[:min(limit, len(parts))]...)
		}
		check(HistoryOptions{Before: first + 9}, parts[2:]...)
		check(HistoryOptions{Before: first + 8}, parts[3:]...)
		check(HistoryOptions{Before: first + 5}, parts[5:]...)
		check(HistoryOptions{Before: first + 1})
		check(HistoryOptions{Before: 1})
		check(HistoryOptions{Before: first + 1<<40}, parts...)
		check(HistoryOptions{After: first + 4}, parts[:5]...)
		check(HistoryOptions{After: first + 5}, parts[:4]...)
		check(HistoryOptions{After: first + 8}, parts[:2]...)
		check(HistoryOptions{After: first + 2, Before: first + 7}, parts[3:6]...)
		check(HistoryOptions{After: first + 11})
		if got, err := c.History(t.Context(), "a/none", HistoryOptions{}); len(got) != 0 || err != nil {
			t.Errorf("a key that never existed: %v, %v", got, err)
		}
		compactTo(t, s, first+3) // a2 was the value then
		check(HistoryOptions{}, slices.Concat(parts[:6], []string{"2 a2"})...)
		compactTo(t, s, first+8) // there was none then
		check(HistoryOptions{}, parts[:2]...)
		compactTo(t, s, first+10)
		check(HistoryOptions{}, parts[:2]...)
		compactTo(t, s, i.Revision())
		check(HistoryOptions{}, "11 c2")
		mustDelete(t, c, i)
		check(HistoryOptions{}, "12 deleted after c2", "11 c2")
		compactTo(t, s, first+12)
		check(HistoryOptions{})
	})
}

// TestHistoryOfRandomWrites compares the history with a list of all writes.
func TestHistoryOfRandomWrites(t *testing.T) {
	eachEtcd(t, func(t *testing.T, s *Store, c *Collection) {
		keys := []string{"n/a", "n/aa", "n/b"}
		current := map[string]*Item{}
		all := map[string][]string{}
		values := 0
		rounds := 6
		rapid.Check(t, func(rt *rapid.T) {
			if rounds--; rounds < 0 {
				return // the histories become longer with each
			}
			for range rapid.IntRange(1, 25).Draw(rt, "writes") {
				key := rapid.SampledFrom(keys).Draw(rt, "key")
				values++
				value := fmt.Sprint("v", values)
				switch old := current[key]; {
				case old == nil:
					current[key] = mustCreate(t, c, key, value)
					all[key] = append(all[key], fmt.Sprint(current[key].Revision(), " created ", value))
				case rapid.Bool().Draw(rt, "delete"):
					gone := mustDelete(t, c, old)
					all[key] = append(all[key], fmt.Sprint(gone.Revision(), " deleted after ", configMapValue(t, old)))
					delete(current, key)
				default:
					current[key] = mustUpdate(t, c, old, value)
					all[key] = append(all[key], fmt.Sprint(current[key].Revision(), " ", value, " after ", configMapValue(t, old)))
				}
			}
			for _, key := range keys {
				got, err := c.History(t.Context(), key, HistoryOptions{})
				want := slices.Clone(all[key])
				slices.Reverse(want)
				if text := describeVersions(t, got, 0); text != strings.Join(want, "; ") || err != nil {
					rt.Fatalf("%s: %v\n got %s\nwant %s", key, err, text, strings.Join(want, "; "))
				}
			}
		})
	})
}

// TestHistoryIsDecrypted reads the history of an encrypted key, whose first value is encrypted by another key, and the last by one that
// is missing.
func TestHistoryIsDecrypted(t *testing.T) {
	s, c, cipher := startEncrypted(t, Options{})
	i := mustCreate(t, c, "a/x", "1")
	cipher.version.Store(1)
	i = mustUpdate(t, c, i, "2")
	first := i.Revision() - 1
	got, err := c.History(t.Context(), "a/x", HistoryOptions{})
	if text := describeVersions(t, got, first); text != "1 2 after 1; 0 created 1" || err != nil {
		t.Errorf("%s, %v", text, err)
	}
	recent, err := s.Recent(t.Context(), HistoryOptions{})
	if text := describeVersions(t, recent, first); text != "1 2 after 1; 0 created 1" || err != nil {
		t.Errorf("%s, %v", text, err)
	}
	cipher.fault.Store(&errTestCipher)
	got, err = c.History(t.Context(), "a/x", HistoryOptions{Limit: 1})
	if err != nil || len(got) != 1 || got[0].Item.Corrupt() == nil || !got[0].Item.Corrupt().Encrypted {
		t.Errorf("a value that cannot be decrypted: %+v, %v", got, err)
	}
}

// TestHistoryIsBounded checks that a result ends when its values are large.
func TestHistoryIsBounded(t *testing.T) {
	s, c := startStore(t, Options{})
	large := strings.Repeat("x", 1<<20)
	i := mustCreate(t, c, "a/x", large)
	for n := range 40 {
		i = mustUpdate(t, c, i, fmt.Sprint(n, large))
	}
	got, err := c.History(t.Context(), "a/x", HistoryOptions{})
	if err != nil || len(got) != maxHistoryBytes>>20 {
		t.Errorf("%d versions of a megabyte, %v", len(got), err)
	}
	recent, err := s.Recent(t.Context(), HistoryOptions{})
	if err != nil || len(recent) != maxHistoryBytes>>20 {
		t.Errorf("%d recent versions of a megabyte, %v", len(recent), err)
	}
}

// TestHistoryEnds checks the errors of reads that cannot be answered.
func TestHistoryEnds(t *testing.T) {
	s, c := startStore(t, Options{})
	mustCreate(t, c, "a/x", "1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.History(ctx, "a/y", HistoryOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if _, err := NewStore(Options{}).Recent(t.Context(), HistoryOptions{}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("not connected: %v", err)
	}
	c.Close()
	if _, err := c.History(t.Context(), "a/x", HistoryOptions{}); !errors.Is(err, ErrRemoved) {
		t.Errorf("a removed collection: %v", err)
	}
	if got, err := s.Recent(t.Context(), HistoryOptions{}); len(got) != 0 || err != nil {
		t.Errorf("keys of no collection: %v, %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.History(t.Context(), "a/x", HistoryOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if _, err := s.Recent(t.Context(), HistoryOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}
