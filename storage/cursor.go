package storage

import "context"

// Cursor tells what changed in a collection since it was last asked. It is for
// those who keep something that follows from the objects, such as an index of
// their own, and want it to be as new as the cache whenever they look at it; it
// needs no goroutine. Behind may be called from several goroutines, but not while
// Next is.
type Cursor struct {
	c    *Collection
	seen *state
}

// Cursor makes one that has seen nothing yet.
func (c *Collection) Cursor() *Cursor { return &Cursor{c: c} }

// Step is one change that a Cursor comes by: the new state of a key or, with
// Gone, its last one.
type Step struct {
	Item *Item
	Gone bool
}

// Behind tells whether there is something for Next to tell or for Wait to wait
// for. It costs next to nothing.
func (u *Cursor) Behind() bool {
	return u.c.current.Load() != u.seen || u.c.written.Load() > u.c.store.applied.current()
}

// Wait returns when the cache has all writes of the collection that were
// acknowledged through this store before the call. It may be called at any time.
func (u *Cursor) Wait(ctx context.Context) error {
	written := u.c.written.Load()
	if written <= u.c.store.applied.current() {
		return nil
	}
	return u.c.store.caughtUp(ctx, written)
}

// Next returns what changed in the cache since the last call, in order. With all
// set the steps are everything there is: what was there before is void.
func (u *Cursor) Next() (steps []Step, all bool) {
	u.c.mu.Lock()
	defer u.c.mu.Unlock()
	now := u.c.current.Load()
	if now == u.seen {
		return nil, false
	}
	before := u.seen
	u.seen = now
	if before == nil || before.rev < u.c.window.since {
		now.items.Scan(func(_ string, i *Item) bool {
			steps = append(steps, Step{Item: i})
			return true
		})
		return steps, true
	}
	for _, t := range u.c.window.after(before.rev) {
		steps = append(steps, Step{Item: t.item, Gone: t.deleted})
	}
	return steps, false
}
