package storage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// onBothEtcds runs a test on an embedded and on an external etcd, whose transactions are made
// differently.
func onBothEtcds(t *testing.T, test func(t *testing.T, s *Store, c *Collection)) {
	t.Run("embedded", func(t *testing.T) {
		s, c := startStore(t, Options{})
		test(t, s, c)
	})
	t.Run("external", func(t *testing.T) {
		s, c := startStore(t, Options{Servers: []string{startExternalEtcd(t)}})
		test(t, s, c)
	})
}

// TestGuards creates objects with guards that hold and that do not.
func TestGuards(t *testing.T) {
	onBothEtcds(t, func(t *testing.T, s *Store, c *Collection) {
		changed, gone := mustCreate(t, c, "p/changed", ""), mustCreate(t, c, "p/gone", "")
		current := mustUpdate(t, c, changed, "1")
		mustDelete(t, c, gone)
		mustCreate(t, c, "a/taken", "")
		if wasMissing, err := s.PutFence(t.Context(), "there"); err != nil || !wasMissing {
			t.Fatal(wasMissing, err)
		}
		if wasMissing, err := s.PutFence(t.Context(), "there"); err != nil || wasMissing {
			t.Fatal("the fence is written twice:", wasMissing, err)
		}
		holds, fails := c.Unchanged("p/changed", current.Revision()), c.Unchanged("p/changed", changed.Revision())
		for name, tt := range map[string]struct {
			key    string
			guards []Guard
			want   error
		}{
			"none":             {"a/1", nil, nil},
			"unchanged":        {"a/2", []Guard{holds}, nil},
			"changed":          {"a/3", []Guard{fails}, ErrGuard},
			"gone":             {"a/4", []Guard{c.Unchanged("p/gone", gone.Revision())}, ErrGuard},
			"no fence":         {"a/5", []Guard{s.NoFence("missing")}, nil},
			"fence":            {"a/6", []Guard{s.NoFence("there")}, ErrGuard},
			"both hold":        {"a/7", []Guard{s.NoFence("missing"), holds}, nil},
			"second fails":     {"a/8", []Guard{s.NoFence("missing"), fails}, ErrGuard},
			"taken":            {"a/taken", []Guard{holds}, ErrExists},
			"taken, and fails": {"a/taken", []Guard{fails}, ErrExists},
			"taken, no guards": {"a/taken", nil, ErrExists},
		} {
			if _, err := c.Create(t.Context(), tt.key, configMap(tt.key, ""), tt.guards...); !errors.Is(err, tt.want) {
				t.Errorf("%s: %v, want %v", name, err, tt.want)
			}
			if _, err := c.Get(t.Context(), tt.key, Read{}); errors.Is(err, ErrNotFound) != (tt.want == ErrGuard) {
				t.Errorf("%s: the object is there: %v", name, err)
			}
		}
		if _, err := c.Create(t.Context(), "a/x", configMap("a/x", ""), holds, holds, holds); err == nil {
			t.Error("three guards are accepted")
		}
		other, _ := startStore(t, Options{})
		if _, err := c.Create(t.Context(), "a/x", configMap("a/x", ""), other.NoFence("x")); err == nil {
			t.Error("a guard of another store is accepted")
		}
	})
}

// TestGuardOrder creates objects while their parent is changed, or a fence is put. Each object is
// older than the change, so a list after the change has all of them.
func TestGuardOrder(t *testing.T) {
	onBothEtcds(t, func(t *testing.T, s *Store, c *Collection) {
		for round := range 40 {
			parent := mustCreate(t, c, fmt.Sprint("p/", round), "")
			fence := fmt.Sprint(round)
			guard := c.Unchanged(parent.Key(), parent.Revision())
			if round%2 == 1 {
				guard = s.NoFence(fence)
			}
			var created atomic.Int64
			var wg sync.WaitGroup
			for w := range 4 {
				wg.Go(func() {
					for n := 0; ; n++ {
						key := fmt.Sprintf("r%d/%d-%d", round, w, n)
						_, err := c.Create(context.WithoutCancel(t.Context()), key, configMap(key, ""), guard)
						if errors.Is(err, ErrGuard) {
							return
						}
						if err != nil {
							t.Error(err)
							return
						}
						created.Add(1)
					}
				})
			}
			for created.Load() == 0 {
				mustList(t, c, ListOptions{})
			}
			if round%2 == 1 {
				if _, err := s.PutFence(t.Context(), fence); err != nil {
					t.Error(err)
				}
			} else {
				mustUpdate(t, c, parent, "changed")
			}
			seen := len(mustList(t, c, ListOptions{Prefix: fmt.Sprintf("r%d/", round)}).Items)
			wg.Wait()
			if all := created.Load(); int64(seen) != all {
				t.Fatalf("round %d: a list after the change has %d of %d objects", round, seen, all)
			}
		}
	})
}
