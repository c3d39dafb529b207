package storage

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// story is what a cursor tells, as text: "a=1 -b", with "all:" before what is
// everything.
func story(t *testing.T, u *Cursor) string {
	t.Helper()
	if err := u.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	steps, all := u.Next()
	var words []string
	if all {
		words = append(words, "all:")
	}
	for _, s := range steps {
		if s.Gone {
			words = append(words, "-"+s.Item.Key())
		} else {
			words = append(words, s.Item.Key()+"="+value(t, s.Item))
		}
	}
	return strings.Join(words, " ")
}

// A cursor sees every write of its store that was acknowledged before, without
// anybody waiting for the watch.
func TestCursor(t *testing.T) {
	_, c := start(t, Options{})
	a := create(t, c, "ns/a", "1")
	u := c.Cursor()
	if got := story(t, u); got != "all: ns/a=1" {
		t.Errorf("at first: %s", got)
	}
	if u.Behind() {
		t.Error("behind without a change")
	}
	for i := range 20 {
		b := create(t, c, "ns/b", fmt.Sprint(i))
		a = update(t, c, a, fmt.Sprint(i+2))
		if !u.Behind() {
			t.Error("not behind after a write")
		}
		if got, want := story(t, u), fmt.Sprintf("ns/b=%d ns/a=%d", i, i+2); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		remove(t, c, b)
		if got := story(t, u); got != "-ns/b" {
			t.Errorf("after a deletion: %s", got)
		}
	}
	if got := story(t, u); got != "" {
		t.Errorf("without a change: %s", got)
	}
}

// Where the window does not reach back, a cursor begins anew.
func TestCursorBeginsAnew(t *testing.T) {
	now := time.Now()
	_, c := start(t, Options{Now: func() time.Time { return now }})
	u := c.Cursor()
	story(t, u)
	create(t, c, "ns/a", "1")
	b := create(t, c, "ns/b", "2")
	list(t, c, ListOptions{}) // the cache has it
	now = now.Add(time.Hour)
	update(t, c, b, "3")
	list(t, c, ListOptions{}) // the cache has it
	now = now.Add(time.Hour)
	create(t, c, "ns/c", "4")
	if got := story(t, u); got != "all: ns/a=1 ns/b=3 ns/c=4" {
		t.Errorf("got %s", got)
	}
}

func TestCreateAll(t *testing.T) {
	s, c := start(t, Options{})
	u := c.Cursor()
	batch := func(keys ...string) (out []New) {
		for _, key := range keys {
			out = append(out, New{In: c, Key: key, Object: configMap(key, "v")})
		}
		return out
	}
	if err := s.CreateAll(t.Context(), batch("ns/a", "ns/b")); err != nil {
		t.Fatal(err)
	}
	if got := story(t, u); got != "all: ns/a=v ns/b=v" {
		t.Errorf("got %s", got)
	}
	if err := s.CreateAll(t.Context(), batch("ns/c", "ns/b")); !errors.Is(err, ErrExists) {
		t.Errorf("got %v", err)
	}
	if l := list(t, c, ListOptions{}); len(l.Items) != 2 {
		t.Errorf("all or nothing: %v", keys(l))
	}
	var many []string
	for i := range MaxBatch {
		many = append(many, fmt.Sprintf("many/%d", i))
	}
	if err := s.CreateAll(t.Context(), batch(many...)); err != nil {
		t.Error(err)
	}
}
