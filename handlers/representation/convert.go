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

// If a webhook converts the objects of a kind, items are converted before they are encoded:
// many in one call, and without holding a lock. The encoding of a converted object is cached
// with the item, so that all readers and watchers of the item share one conversion.

// maxUncached is the maximum size of the converted objects of a response that are too large to be
// cached with their items.
const maxUncached = 128 << 20

// convertedItem is an item in the version of a request.
type convertedItem struct {
	item   *storage.Item
	object api.Object // nil if only json is known
	json   []byte     // cached JSON of the object
}

// Encoding implements Encodable.
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

// ResourceVersion implements Encodable.
func (r *convertedItem) ResourceVersion() string { return r.item.ResourceVersion() }

// decoded returns the converted object, decoded from its JSON if necessary.
func (r *convertedItem) decoded() (api.Object, error) {
	if r.object == nil {
		u := &untyped.Object{}
		if err := u.UnmarshalJSON(r.json); err != nil {
			return nil, fmt.Errorf("decode a converted object: %w", err)
		}
		r.object = u
	}
	return r.object, nil
}

type convertedItems []convertedItem

func (r convertedItems) len() int           { return len(r) }
func (r convertedItems) at(i int) Encodable { return &r[i] }

// Encodables returns items in the version of a request, converted by the webhook if necessary.
func (c *Codec) Encodables(ctx context.Context, t registry.Target, items []*storage.Item) (Encodables, error) {
	if !t.Resource.Storage.ConvertsRemotely {
		return storedItems(items), nil
	}
	out := make(convertedItems, len(items))
	var missing []*storage.Item
	var positions []int // of the missing items
	for i, item := range items {
		out[i] = convertedItem{item: item, json: item.CachedEncoding(c.jsonSlot)}
		if out[i].json == nil {
			missing, positions = append(missing, item), append(positions, i)
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
		if out[positions[0]].json = missing[0].CachedEncoding(c.jsonSlot); out[positions[0]].json != nil {
			return out, nil
		}
	}
	discard, uncached := len(missing) > registry.MaxConversionBatch, 0
	for len(missing) > 0 {
		n := min(len(missing), registry.MaxConversionBatch)
		objects, err := t.Objects(ctx, missing[:n]...)
		if err != nil {
			return nil, err
		}
		for i, position := range positions[:n] {
			if err := out[position].setObject(objects[i], c, discard); err != nil {
				return nil, err
			}
			if out[position].item.CachedEncoding(c.jsonSlot) == nil {
				uncached += len(out[position].json)
			}
			if uncached > maxUncached {
				return nil, fmt.Errorf("the objects converted to %s are larger than %d bytes together", c.version.GroupVersion, maxUncached)
			}
		}
		missing, positions = missing[n:], positions[n:]
	}
	return out, nil
}

// setObject caches the JSON of the converted object, and sets the object unless discard is true:
// it is several times as large as its JSON, which most clients want.
func (r *convertedItem) setObject(obj api.Object, c *Codec, discard bool) (err error) {
	r.object = obj
	r.json, err = r.Encoding(c.jsonSlot, c.toJSON)
	if discard {
		r.object = nil
	}
	return err
}

// ObjectsForSelection returns a function that converts items to the version of a request, to
// which its selectors refer; nil if the stored objects serve for selection.
func (c *Codec) ObjectsForSelection(t registry.Target) func(context.Context, []*storage.Item) ([]api.Object, error) {
	if !t.Resource.Storage.ConvertsRemotely {
		return nil
	}
	return func(ctx context.Context, items []*storage.Item) ([]api.Object, error) {
		encodables, err := c.Encodables(ctx, t, items)
		if err != nil {
			return nil, err
		}
		converted := encodables.(convertedItems)
		out := make([]api.Object, len(items))
		for i := range converted {
			if out[i], err = converted[i].decoded(); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

// IsKept reports whether the conversion of an item to the version of a request is kept with it.
func (c *Codec) IsKept(item *storage.Item) bool { return item.CachedEncoding(c.jsonSlot) != nil }

// Encodable returns an item in the version of a request.
func (c *Codec) Encodable(ctx context.Context, t registry.Target, item *storage.Item) (Encodable, error) {
	if !t.Resource.Storage.ConvertsRemotely {
		return item, nil
	}
	encodables, err := c.Encodables(ctx, t, []*storage.Item{item})
	if err != nil {
		return nil, err
	}
	return encodables.at(0), nil
}

// Converted is Encodable with a conversion of its own: a get asks the webhook anew, as in
// kube-apiserver, so that it shows what the webhook answers now.
func (c *Codec) Converted(ctx context.Context, t registry.Target, item *storage.Item) (Encodable, error) {
	if !t.Resource.Storage.ConvertsRemotely {
		return item, nil
	}
	stored, err := item.Object()
	if err != nil {
		return nil, err
	}
	all, err := t.Objects(ctx, item)
	if err != nil {
		return nil, err
	}
	if all[0] == stored { // it has the version of the request
		return c.Encodable(ctx, t, item)
	}
	return Unstored{Object: all[0]}, nil
}

// conversions are the conversions of single items in progress: all watches of an item need the
// same one at the same time.
type conversions struct {
	mu      sync.Mutex
	running map[conversionKey]chan struct{} // closed at the end of the conversion
}

type conversionKey struct {
	item *storage.Item
	slot *storage.Slot
}

// join waits until no other request converts the item. The caller may then convert it, and calls
// done afterwards.
func (c *conversions) join(ctx context.Context, key conversionKey) (done func(), err error) {
	for {
		c.mu.Lock()
		ended := c.running[key]
		if ended == nil {
			if c.running == nil {
				c.running = map[conversionKey]chan struct{}{}
			}
			own := make(chan struct{})
			c.running[key] = own
			c.mu.Unlock()
			return func() {
				c.mu.Lock()
				delete(c.running, key)
				c.mu.Unlock()
				close(own)
			}, nil
		}
		c.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
