package storage

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// contents returns the values of all objects by key.
func contents(t testing.TB, c *Collection) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, i := range mustList(t, c, ListOptions{}).Items {
		out[i.Key()] = configMapValue(t, i)
	}
	return out
}

func mustMark(t testing.TB, s *Store) *Mark {
	t.Helper()
	m, err := s.Mark(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// rewindTo makes the content of the store that of a mark, and returns the differences.
func rewindTo(t testing.TB, s *Store, m *Mark) []Difference {
	t.Helper()
	now, release, err := s.HoldWrites(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	differences := m.Differences(now, nil)
	if _, err := s.Rewrite(t.Context(), []Rewrite{{Differences: differences}}); err != nil {
		t.Fatal(err)
	}
	return differences
}

// TestRewrite checks that a store goes back to a mark, with ordinary events, at newer revisions, and that a mark made from etcd's
// history is the same state.
func TestRewrite(t *testing.T) {
	s, c := startStore(t, Options{})
	changed, deleted := mustCreate(t, c, "a/changed", "1"), mustCreate(t, c, "a/deleted", "1")
	mustCreate(t, c, "a/same", "1")
	m := mustMark(t, s)
	if objects, bytes := m.Size(); objects != 3 || bytes == 0 {
		t.Errorf("the mark has %d objects of %d bytes", objects, bytes)
	}
	last := mustUpdate(t, c, changed, "2")
	mustDelete(t, c, deleted)
	mustCreate(t, c, "b/new", "1")
	w := mustWatch(t, c, WatchOptions{})
	if d := rewindTo(t, s, m); len(d) != 3 {
		t.Errorf("differences %v", d)
	}
	if got, want := contents(t, c), (map[string]string{"a/changed": "1", "a/deleted": "1", "a/same": "1"}); !maps.Equal(got, want) {
		t.Errorf("content %v", got)
	}
	if got, want := describeEvents(t, nextEvents(t, w, 3)), "~a/changed=1 +a/deleted=1 -b/new=1 "; got != want {
		t.Errorf("events %s, want %s", got, want)
	}
	if i, err := c.Get(t.Context(), "a/changed", Read{}); err != nil || i.Revision() <= last.Revision() {
		t.Errorf("%v, %v", i, err)
	}
	if _, err := c.Update(t.Context(), last, configMap("a/changed", "3")); !errors.As(err, new(*ConflictError)) {
		t.Errorf("an update of a state from before: %v", err)
	}
	at, err := s.MarkAt(t.Context(), last.Revision())
	if err != nil {
		t.Fatal(err)
	}
	rewindTo(t, s, at)
	if got, want := contents(t, c), (map[string]string{"a/changed": "2", "a/deleted": "1", "a/same": "1"}); !maps.Equal(got, want) {
		t.Errorf("at the revision of the update: %v", got)
	}
	if d := at.Differences(mustMark(t, s), nil); len(d) != 0 {
		t.Errorf("differences after it: %v", d)
	}
	if _, err := s.MarkAt(t.Context(), 1<<40); !errors.As(err, new(*FutureRevisionError)) {
		t.Errorf("a mark of the future: %v", err)
	}
}

// TestRewriteHistories plays random histories with marks against a model.
func TestRewriteHistories(t *testing.T) {
	s, c := startStore(t, Options{})
	rapid.Check(t, func(rt *rapid.T) {
		rewindTo(t, s, &Mark{})
		type mark struct {
			*Mark
			content map[string]string
		}
		var marks []mark
		model := map[string]string{}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			key := "a/" + strconv.Itoa(rapid.IntRange(0, 9).Draw(rt, "key"))
			switch value := rapid.StringMatching("[a-c]").Draw(rt, "value"); rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0, 1:
				if item, err := c.Get(t.Context(), key, Read{}); err == nil {
					mustUpdate(t, c, item, value)
				} else {
					mustCreate(t, c, key, value)
				}
				model[key] = value
			case 2:
				if item, err := c.Get(t.Context(), key, Read{}); err == nil {
					mustDelete(t, c, item)
				}
				delete(model, key)
			case 3:
				marks = append(marks, mark{mustMark(t, s), maps.Clone(model)})
			default:
				if len(marks) > 0 {
					m := marks[rapid.IntRange(0, len(marks)-1).Draw(rt, "mark")]
					rewindTo(t, s, m.Mark)
					model = maps.Clone(m.content)
				}
			}
			if got := contents(t, c); !maps.Equal(got, model) {
				rt.Fatalf("content %v, want %v", got, model)
			}
		}
	})
}

// undoValue returns the revision to which a Rewrite would be undone; empty if there is none.
func undoValue(t testing.TB, s *Store) string {
	t.Helper()
	value, _, err := s.readUndo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// startBeforeRewrite returns a store with a mark of 300 objects, all of which are deleted.
func startBeforeRewrite(t *testing.T, dir string) (*Store, *Collection, *Mark) {
	t.Helper()
	s, c := startStore(t, Options{Dir: dir})
	for n := range 300 {
		mustCreate(t, c, fmt.Sprintf("a/%03d", n), "1")
	}
	m := mustMark(t, s)
	for _, i := range mustList(t, c, ListOptions{}).Items {
		mustDelete(t, c, i)
	}
	mustCreate(t, c, "a/later", "1")
	return s, c, m
}

// TestUndoInterruptedRewrite checks that a start undoes a rewrite in the middle of which the process ended, and only such a one.
func TestUndoInterruptedRewrite(t *testing.T) {
	dir := t.TempDir()
	s, c, m := startBeforeRewrite(t, dir)
	rewindTo(t, s, m)
	if value := undoValue(t, s); value != "" {
		t.Errorf("after a rewrite: %s", value)
	}
	before := contents(t, c)
	// As if the process ended after the first of several transactions.
	if _, err := s.client.Put(t.Context(), s.opts.Prefix+undoKey, strconv.FormatInt(s.applied.rev.Load(), 10)); err != nil {
		t.Fatal(err)
	}
	mustDelete(t, c, mustList(t, c, ListOptions{Key: "a/000"}).Items[0])
	mustCreate(t, c, "a/half", "1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, c = startStore(t, Options{Dir: dir})
	if got := contents(t, c); !maps.Equal(got, before) {
		t.Errorf("%d objects after the start, want %d", len(got), len(before))
	}
	if value := undoValue(t, s); value != "" {
		t.Errorf("after the start: %s", value)
	}
}

// TestUndoFailedRewrite has another server change a key of the last transaction of a rewrite. What the rewrite wrote is undone before
// the next write, the change of the other server stays, and a start undoes nothing.
func TestUndoFailedRewrite(t *testing.T) {
	dir := t.TempDir()
	s, c, m := startBeforeRewrite(t, dir)
	now, release, err := s.HoldWrites(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.Put(t.Context(), s.opts.Prefix+"/configmaps/a/299", "other"); err != nil {
		t.Fatal(err)
	}
	_, err = s.Rewrite(t.Context(), []Rewrite{{Differences: m.Differences(now, nil)}})
	if !errors.Is(err, ErrOtherWriter) {
		t.Errorf("the rewrite: %v", err)
	}
	release()
	mustCreate(t, c, "a/after", "1")
	for range 2 {
		keys := listedKeys(mustList(t, c, ListOptions{}))
		if fmt.Sprint(keys) != "[a/299 a/after a/later]" {
			t.Errorf("keys %v", keys)
		}
		if value := undoValue(t, s); value != "" {
			t.Errorf("to undo: %s", value)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s, c = startStore(t, Options{Dir: dir})
	}
}

// BenchmarkMark measures a mark of 10,000 objects, and going back over 100 differences.
func BenchmarkMark(b *testing.B) {
	s, c := startStore(b, Options{})
	for n := range 10000 {
		mustCreate(b, c, fmt.Sprintf("a/%05d", n), "1")
	}
	b.Run("mark", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.currentMark()
		}
	})
	b.Run("rewind", func(b *testing.B) {
		m := mustMark(b, s)
		for b.Loop() {
			b.StopTimer()
			for _, i := range mustList(b, c, ListOptions{}).Items[:100] {
				mustUpdate(b, c, i, "2")
			}
			b.StartTimer()
			rewindTo(b, s, m)
		}
	})
}

// TestBeforeRewrite checks that a write which follows from the state before a Rewrite fails, and that others do not.
func TestBeforeRewrite(t *testing.T) {
	s, c := startStore(t, Options{})
	m := mustMark(t, s)
	outdated := s.BeforeRewrite(t.Context())
	if _, err := c.Create(outdated, "a/before", configMap("a/before", "1")); err != nil || s.IsRewritten(outdated) {
		t.Errorf("before the rewrite: %v", err)
	}
	rewindTo(t, s, m)
	for name, fails := range map[string]bool{"outdated": true, "present": false, "other": false} {
		ctx := t.Context()
		switch name {
		case "outdated":
			ctx = outdated
		case "present":
			ctx = s.BeforeRewrite(ctx)
		}
		if _, err := c.Create(ctx, "a/"+name, configMap("a/"+name, "1")); errors.Is(err, ErrRewritten) != fails || (err != nil) != fails || s.IsRewritten(ctx) != fails {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := contents(t, c); len(got) != 2 {
		t.Errorf("the store has %v", got)
	}
}
