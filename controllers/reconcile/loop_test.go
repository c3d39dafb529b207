package reconcile

import (
	"context"
	"testing"
)

// TestPanics checks that every part of a controller is retried after a panic.
func TestPanics(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	synced, added := 0, 0
	l := &Loop[string]{
		BaseConfig: BaseConfig{}.Complete(), Name: "panics",
		Sync: func(_ context.Context, key string) (Result, error) {
			if synced++; synced == 1 {
				panic("while working")
			}
			cancel()
			return Done, nil
		},
		ExtraSource: func(_ context.Context, queue Adder[string]) {
			if added++; added == 1 {
				panic("while looking for work")
			}
			queue.Add("key")
		},
	}
	l.Run(ctx)
	if synced != 2 || added != 2 {
		t.Errorf("synced %d times, and called extraSource %d times", synced, added)
	}
	err := ForEachParallel([]int{1, 2, 3}, func(n int) error {
		if n == 2 {
			panic("in parallel")
		}
		return nil
	})
	if err == nil {
		t.Error("a panic in forEachParallel returned no error")
	}
}
