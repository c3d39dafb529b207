package request

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
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

// TestManyWarnings checks that a request with very many faults keeps only as many warnings as a
// response shows, and enough for the response to be truncated.
func TestManyWarnings(t *testing.T) {
	for name, length := range map[string]int{"short": 1, "long": 10 * WarningsEach} {
		s := &Scope{}
		for i := range 3 * WarningsTotal {
			s.Warn(strings.Repeat(string(rune(0x10000+i)), length))
		}
		shown := 0
		for _, text := range s.Warnings() {
			shown += min(utf8.RuneCountInString(text), WarningsEach)
		}
		if shown <= WarningsTotal || shown > WarningsTotal+WarningsEach {
			t.Errorf("%s: %d characters are kept for a response of %d", name, shown, WarningsTotal)
		}
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
