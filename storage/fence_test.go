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

// TestFences creates objects with fences that exist and that do not.
func TestFences(t *testing.T) {
	onBothEtcds(t, func(t *testing.T, s *Store, c *Collection) {
		if wasMissing, err := s.PutFence(t.Context(), "put"); err != nil || !wasMissing {
			t.Fatal(wasMissing, err)
		}
		if wasMissing, err := s.PutFence(t.Context(), "put"); err != nil || wasMissing {
			t.Fatal("the fence is written twice:", wasMissing, err)
		}
		changed, gone := mustCreate(t, c, "p/changed", ""), mustCreate(t, c, "p/gone", "")
		if _, err := c.Update(t.Context(), changed, configMap("p/changed", ""), "updated"); err != nil { // the value is the same
			t.Fatal(err)
		}
		if _, err := c.Delete(t.Context(), gone, "deleted", "deleted too"); err != nil {
			t.Fatal(err)
		}
		// Writes that fail write no fence.
		if _, err := c.Update(t.Context(), changed, configMap("p/changed", "1"), "conflict"); !errors.As(err, new(*ConflictError)) {
			t.Fatal(err)
		}
		if _, err := c.Delete(t.Context(), gone, "conflict"); !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
		mustCreate(t, c, "a/taken", "")
		for name, tt := range map[string]struct {
			key    string
			fences []string
			want   error
		}{
			"none":          {"a/1", nil, nil},
			"missing":       {"a/2", []string{"missing"}, nil},
			"both missing":  {"a/3", []string{"missing", "conflict"}, nil},
			"put":           {"a/4", []string{"put"}, ErrFenced},
			"updated":       {"a/5", []string{"updated"}, ErrFenced},
			"deleted":       {"a/6", []string{"deleted"}, ErrFenced},
			"second":        {"a/7", []string{"missing", "deleted too"}, ErrFenced},
			"taken":         {"a/taken", []string{"missing"}, ErrExists},
			"taken, fenced": {"a/taken", []string{"put"}, ErrExists},
		} {
			if _, err := c.Create(t.Context(), tt.key, configMap(tt.key, ""), tt.fences...); !errors.Is(err, tt.want) {
				t.Errorf("%s: %v, want %v", name, err, tt.want)
			}
			if _, err := c.Get(t.Context(), tt.key, Read{}); errors.Is(err, ErrNotFound) != (tt.want == ErrFenced) {
				t.Errorf("%s: the object is there: %v", name, err)
			}
		}
		if _, err := c.Create(t.Context(), "a/x", configMap("a/x", ""), "1", "2", "3"); err == nil {
			t.Error("three fences are accepted")
		}
	})
}

// TestFenceOrder creates objects until there is a fence, which each kind of write puts. A list after
// the write has all objects that were created.
func TestFenceOrder(t *testing.T) {
	onBothEtcds(t, func(t *testing.T, s *Store, c *Collection) {
		for round := range 60 {
			fence := fmt.Sprint(round)
			parent := mustCreate(t, c, "p/"+fence, "")
			var created atomic.Int64
			var wg sync.WaitGroup
			for w := range 4 {
				wg.Go(func() {
					for n := 0; ; n++ {
						key := fmt.Sprintf("r%d/%d-%d", round, w, n)
						_, err := c.Create(context.WithoutCancel(t.Context()), key, configMap(key, ""), fence)
						if errors.Is(err, ErrFenced) {
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
			var err error
			switch round % 3 {
			case 0:
				_, err = s.PutFence(t.Context(), fence)
			case 1:
				_, err = c.Update(t.Context(), parent, configMap(parent.Key(), "changed"), fence)
			default:
				_, err = c.Delete(t.Context(), parent, fence)
			}
			if err != nil {
				t.Error(err)
			}
			seen := len(mustList(t, c, ListOptions{Prefix: fmt.Sprintf("r%d/", round)}).Items)
			wg.Wait()
			if all := created.Load(); int64(seen) != all {
				t.Fatalf("round %d: a list after the fence has %d of %d objects", round, seen, all)
			}
		}
	})
}
