package request

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
)

func TestWarnings(t *testing.T) {
	s := &Scope{}
	for _, w := range []string{"b", "a", "b"} {
		s.Warn(w)
	}
	if got := s.Warnings(); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("got %q", got)
	}
}

func TestWarnConcurrently(t *testing.T) {
	s := &Scope{}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			s.Warn(fmt.Sprint(i % 5))
			s.Warnings()
		})
	}
	wg.Wait()
	if got := s.Warnings(); len(got) != 5 {
		t.Errorf("got %q", got)
	}
}

func TestFrom(t *testing.T) {
	s := &Scope{ID: "x"}
	if got := From(With(context.Background(), s)); got != s {
		t.Errorf("got %p, want %p", got, s)
	}
	if got := From(context.Background()); got == nil || got.ID != "" {
		t.Errorf("without a scope: got %+v", got)
	}
}
