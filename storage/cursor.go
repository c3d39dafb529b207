package storage

import "context"

// Cursor returns the changes of a collection since its last use. Owners of data derived from
// the objects, such as an index, use it to bring that data up to date whenever they read it,
// without a goroutine. Behind may be called concurrently, but not during Next.
type Cursor struct {
	c       *Collection
	follows bool // it returns the changes late, if the collection lags
	seen    *collectionState
}

// Cursor returns a Cursor that has returned no changes yet.
func (c *Collection) Cursor() *Cursor { return &Cursor{c: c} }

// FollowingCursor is Cursor for a part of the server that sees the changes late, if the collection lags.
func (c *Collection) FollowingCursor() *Cursor { return &Cursor{c: c, follows: true} }

// current returns the state that Next would bring the owner up to.
func (u *Cursor) current() *collectionState {
	if u.follows {
		return u.c.followed()
	}
	return u.c.current.Load()
}

// Step is one change that a Cursor returns: the new item of a key or, with Deleted, the last
// item of a deleted key.
type Step struct {
	Item    *Item
	Deleted bool
}

// Behind reports whether Next has changes to return or Wait has a write to wait for. It is
// two atomic loads.
func (u *Cursor) Behind() bool {
	return u.current() != u.seen || u.c.written.rev.Load() > u.c.store.applied.rev.Load()
}

// Wait returns when the cache has applied all writes of the collection that were
// acknowledged through this store before the call. It may be called concurrently.
func (u *Cursor) Wait(ctx context.Context) error {
	written := u.c.written.rev.Load()
	if written <= u.c.store.applied.rev.Load() {
		return nil
	}
	return u.c.store.caughtUp(ctx, written)
}

// Next returns the changes of the cache since the last call, in order. If all is set, the
// steps are the complete content of the collection and replace everything that was returned
// before.
func (u *Cursor) Next() (steps []Step, all bool) {
	now := u.current()
	if now == u.seen {
		return nil, false
	}
	u.c.mu.Lock()
	defer u.c.mu.Unlock()
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
		if t.rev > now.rev {
			break
		}
		steps = append(steps, Step{Item: t.item, Deleted: t.deleted})
	}
	return steps, false
}
