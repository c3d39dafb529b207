package representation

import (
	"context"
	"fmt"
	"sync"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Where another server converts objects between the versions of their kind,
// items are converted before they are shown: many with one call, and without
// holding what others wait for. What comes of it is kept with the item, so that
// each is converted once for all who read or watch it.

// convertedItem is an item in the version of a request.
type convertedItem struct {
	item *storage.Item
	// object is what was made of it; json, where that was made before, what is
	// kept of it.
	object api.Object
	json   []byte
}

// Encoding implements subject.
func (r *convertedItem) Encoding(slot *storage.Slot, encode func(api.Object) ([]byte, error)) ([]byte, error) {
	if data := r.item.CachedEncoding(slot); data != nil {
		return data, nil
	}
	obj, err := r.decoded()
	if err != nil {
		return nil, err
	}
	data, err := encode(obj)
	if err != nil {
		return nil, err
	}
	return r.item.CacheEncoding(slot, data), nil
}

func (r *convertedItem) decoded() (api.Object, error) {
	if r.object == nil {
		u := &untyped.Object{}
		if err := u.UnmarshalJSON(r.json); err != nil {
			return nil, fmt.Errorf("decode what was converted: %w", err)
		}
		r.object = u
	}
	return r.object, nil
}

type convertedItems []convertedItem

func (r convertedItems) len() int           { return len(r) }
func (r convertedItems) at(i int) Encodable { return &r[i] }

// Encodables are items as t's version has them.
func (c *Codec) Encodables(ctx context.Context, t registry.Target, items []*storage.Item) (Encodables, error) {
	if !t.Resource.Storage.ConvertsRemotely {
		return storedItems(items), nil
	}
	out := make(convertedItems, len(items))
	var missing []*storage.Item
	var places []int
	for i, item := range items {
		out[i] = convertedItem{item: item, json: item.CachedEncoding(c.jsonSlot)}
		if out[i].json == nil {
			missing, places = append(missing, item), append(places, i)
		}
	}
	switch len(missing) {
	case 0:
		return out, nil
	case 1:
		done, err := c.codecs.conversions.join(ctx, conversionKey{missing[0], c.jsonSlot})
		if err != nil {
			return nil, err
		}
		defer done()
		if out[places[0]].json = missing[0].CachedEncoding(c.jsonSlot); out[places[0]].json != nil {
			return out, nil
		}
	}
	many := len(missing) > registry.MaxConversionBatch
	for len(missing) > 0 {
		n := min(len(missing), registry.MaxConversionBatch)
		objects, err := t.Objects(ctx, missing[:n]...)
		if err != nil {
			return nil, err
		}
		for i, place := range places[:n] {
			if err := out[place].become(objects[i], c, many); err != nil {
				return nil, err
			}
		}
		missing, places = missing[n:], places[n:]
	}
	return out, nil
}

// become takes what was made of the item. Among many, the object is not held: it
// is several times as large as its encoding, which most want.
func (r *convertedItem) become(obj api.Object, c *Codec, many bool) (err error) {
	r.object = obj
	r.json, err = r.Encoding(c.jsonSlot, c.toJSON)
	if many {
		r.object = nil
	}
	return err
}

// SelectionObjects gives items as the version of a request has them, by which they are
// selected; nil where they are so by what is stored.
func (c *Codec) SelectionObjects(t registry.Target) func(context.Context, []*storage.Item) ([]api.Object, error) {
	if !t.Resource.Storage.ConvertsRemotely {
		return nil
	}
	return func(ctx context.Context, items []*storage.Item) ([]api.Object, error) {
		all, err := c.Encodables(ctx, t, items)
		if err != nil {
			return nil, err
		}
		converted := all.(convertedItems)
		out := make([]api.Object, len(items))
		for i := range converted {
			if out[i], err = converted[i].decoded(); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

// Encodable is one item as t's version has it.
func (c *Codec) Encodable(ctx context.Context, t registry.Target, item *storage.Item) (Encodable, error) {
	if !t.Resource.Storage.ConvertsRemotely {
		return item, nil
	}
	all, err := c.Encodables(ctx, t, []*storage.Item{item})
	if err != nil {
		return nil, err
	}
	return all.at(0), nil
}

// conversions are those of single items that are under way: of an event, many
// who watch want the same at the same time.
type conversions struct {
	mu  sync.Mutex
	all map[conversionKey]chan struct{}
}

type conversionKey struct {
	item *storage.Item
	slot *storage.Slot
}

// join waits until nobody else converts what key names. The caller may then do
// so, and calls done after it.
func (c *conversions) join(ctx context.Context, key conversionKey) (done func(), err error) {
	for {
		c.mu.Lock()
		other := c.all[key]
		if other == nil {
			if c.all == nil {
				c.all = map[conversionKey]chan struct{}{}
			}
			own := make(chan struct{})
			c.all[key] = own
			c.mu.Unlock()
			return func() {
				c.mu.Lock()
				delete(c.all, key)
				c.mu.Unlock()
				close(own)
			}, nil
		}
		c.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// convertAll has the items of events that arrived together converted with one
// call.
func (c *Codec) convertAll(ctx context.Context, t registry.Target, events []storage.Event) error {
	if !t.Resource.Storage.ConvertsRemotely {
		return nil
	}
	items := make([]*storage.Item, 0, len(events))
	for i := range events {
		if events[i].Type != storage.Bookmark && events[i].Item.Corrupt() == nil {
			items = append(items, events[i].Item)
		}
	}
	if _, err := c.Encodables(ctx, t, items); err != nil {
		return &ConversionError{err}
	}
	return nil
}
