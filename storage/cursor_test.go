package storage

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// describeSteps returns the steps of a cursor as text: "a=1 -b", with "all:" before a complete
// content.
func describeSteps(t *testing.T, u *Cursor) string {
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
		if s.Deleted {
			words = append(words, "-"+s.Item.Key())
		} else {
			words = append(words, s.Item.Key()+"="+configMapValue(t, s.Item))
		}
	}
	return strings.Join(words, " ")
}

// TestCursor checks that a cursor returns every write that was acknowledged through its store,
// even before the watch has delivered it.
func TestCursor(t *testing.T) {
	_, c := startStore(t, Options{})
	a := mustCreate(t, c, "ns/a", "1")
	u := c.Cursor()
	if got := describeSteps(t, u); got != "all: ns/a=1" {
		t.Errorf("at first: %s", got)
	}
	if u.Behind() {
		t.Error("behind without a change")
	}
	for i := range 20 {
		b := mustCreate(t, c, "ns/b", fmt.Sprint(i))
		a = mustUpdate(t, c, a, fmt.Sprint(i+2))
		if !u.Behind() {
			t.Error("not behind after a write")
		}
		if got, want := describeSteps(t, u), fmt.Sprintf("ns/b=%d ns/a=%d", i, i+2); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		mustDelete(t, c, b)
		if got := describeSteps(t, u); got != "-ns/b" {
			t.Errorf("after a deletion: %s", got)
		}
	}
	if got := describeSteps(t, u); got != "" {
		t.Errorf("without a change: %s", got)
	}
}

// TestCursorBeginsAnew checks that a cursor returns the complete content if the window does
// not reach back to its last use.
func TestCursorBeginsAnew(t *testing.T) {
	now := time.Now()
	_, c := startStore(t, Options{Now: func() time.Time { return now }})
	u := c.Cursor()
	describeSteps(t, u)
	mustCreate(t, c, "ns/a", "1")
	b := mustCreate(t, c, "ns/b", "2")
	mustList(t, c, ListOptions{}) // waits for the cache
	now = now.Add(time.Hour)
	mustUpdate(t, c, b, "3")
	mustList(t, c, ListOptions{}) // waits for the cache
	now = now.Add(time.Hour)
	mustCreate(t, c, "ns/c", "4")
	if got := describeSteps(t, u); got != "all: ns/a=1 ns/b=3 ns/c=4" {
		t.Errorf("got %s", got)
	}
}

func TestCreateAll(t *testing.T) {
	s, c := startStore(t, Options{})
	u := c.Cursor()
	batch := func(keys ...string) (out []NewObject) {
		for _, key := range keys {
			out = append(out, NewObject{In: c, Key: key, Object: configMap(key, "v")})
		}
		return out
	}
	if err := s.CreateAll(t.Context(), batch("ns/a", "ns/b")); err != nil {
		t.Fatal(err)
	}
	if got := describeSteps(t, u); got != "all: ns/a=v ns/b=v" {
		t.Errorf("got %s", got)
	}
	if err := s.CreateAll(t.Context(), batch("ns/c", "ns/b")); !errors.Is(err, ErrExists) {
		t.Errorf("got %v", err)
	}
	if l := mustList(t, c, ListOptions{}); len(l.Items) != 2 {
		t.Errorf("all or nothing: %v", listedKeys(l))
	}
	var many []string
	for i := range MaxBatch {
		many = append(many, fmt.Sprintf("many/%d", i))
	}
	if err := s.CreateAll(t.Context(), batch(many...)); err != nil {
		t.Error(err)
	}
}

// TestIsEmpty checks that a collection is not empty as soon as a write is acknowledged, even before
// the watch has delivered it, and is empty again after its last object was deleted.
func TestIsEmpty(t *testing.T) {
	_, c := startStore(t, Options{})
	u := c.Cursor()
	if !c.IsEmpty() {
		t.Error("a new collection is not empty")
	}
	for i := range 20 {
		a := mustCreate(t, c, "ns/a", fmt.Sprint(i))
		if c.IsEmpty() {
			t.Fatal("empty after a create")
		}
		if _, err := c.Delete(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if err := u.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !c.IsEmpty() {
			t.Fatal("not empty after the deletion")
		}
	}
}
