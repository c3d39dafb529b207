package registry

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/storage"
)

// A conversion webhook may change labels and selectable fields. Selectors apply to the
// version of the request, so items are converted before they are selected. Each item
// caches the labels and fields that it has in a version.

// selectableAttributes are the labels and fields by which an object is selected.
type selectableAttributes struct {
	Labels labels.Set `json:"labels,omitempty"`
	Fields fields.Set `json:"fields,omitempty"`
}

// attributeSlots has a cache slot for the attributes of items in each version of a kind.
type attributeSlots struct{ slots sync.Map } // *api.Resource -> *storage.Slot

func (s *attributeSlots) forForm(form *api.Resource) *storage.Slot {
	if slot, ok := s.slots.Load(form); ok {
		return slot.(*storage.Slot)
	}
	slot, _ := s.slots.LoadOrStore(form, storage.NewSlot())
	return slot.(*storage.Slot)
}

// dropResource drops the slots of a resource that is no longer served.
func (s *attributeSlots) dropResource(res *api.Resource) {
	for _, form := range res.Forms() {
		s.slots.Delete(form)
	}
}

// convertedSelector selects items by their labels and fields in the version of a target. It
// is not safe for concurrent use.
type convertedSelector struct {
	Selection
	target     Target
	slot       *storage.Slot
	attributes map[*storage.Item]selectableAttributes
}

// prepare looks up or computes the attributes of items, before matches is called with them.
func (c *convertedSelector) prepare(ctx context.Context, items []*storage.Item) error {
	c.attributes = make(map[*storage.Item]selectableAttributes, len(items))
	var missing []*storage.Item
	for _, item := range items {
		if item.Corrupt() != nil {
			continue // it cannot be decoded, so it has no attributes
		}
		var a selectableAttributes
		if data := item.CachedEncoding(c.slot); data == nil || json.Unmarshal(data, &a) != nil {
			missing = append(missing, item)
			continue
		}
		c.attributes[item] = a
	}
	for some := range slices.Chunk(missing, MaxConversionBatch) {
		if err := c.convertAttributes(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// convertAttributes converts items and caches their attributes.
func (c *convertedSelector) convertAttributes(ctx context.Context, items []*storage.Item) error {
	objects, err := c.objects(ctx, items)
	if err != nil {
		return err
	}
	for i, obj := range objects {
		a := selectableAttributes{Labels: obj.GetLabels()}
		if of := c.target.Resource.Selectable; of != nil {
			a.Fields = of(obj)
		}
		c.attributes[items[i]] = a
		data, err := json.Marshal(a)
		if err != nil {
			return err
		}
		items[i].CacheEncoding(c.slot, data)
	}
	return nil
}

func (c *convertedSelector) objects(ctx context.Context, items []*storage.Item) ([]api.Object, error) {
	if c.Objects != nil {
		return c.Objects(ctx, items)
	}
	return c.target.Objects(ctx, items...)
}

// matches reports whether a prepared item is selected.
func (c *convertedSelector) matches(item *storage.Item) bool {
	a, ok := c.attributes[item]
	if !ok || !c.isInShard(item) {
		return false
	}
	if c.Labels != nil && !c.Labels.Matches(a.Labels) {
		return false
	}
	return c.Fields == nil || c.Fields.Matches(convertedFields{itemFields{item}, a.Fields})
}

// convertedFields are the selectable fields of an item in another version.
type convertedFields struct {
	itemFields
	values fields.Set
}

// Has reports whether objects can be selected by the field.
func (f convertedFields) Has(field string) bool {
	return f.values.Has(field) || f.itemFields.Has(field)
}

// Get returns the value of the field.
func (f convertedFields) Get(field string) string {
	if f.values.Has(field) {
		return f.values.Get(field)
	}
	return f.itemFields.Get(field)
}

// Numbers of objects in one call of a conversion webhook. A list with a limit starts with
// small calls, so that it converts few objects beyond the page. The calls grow if few
// objects are selected.
const (
	minConversionBatch = 50
	// MaxConversionBatch is the maximum number of objects in one call, and of uncached
	// converted objects in memory.
	MaxConversionBatch = 500
)

// listConverted is List for a selection that needs conversion. All its reads are of one
// revision.
func (r *Registry) listConverted(ctx context.Context, t Target, o ListOptions, s scope) (*storage.List, error) {
	part := storage.ListOptions{Read: o.Read, Prefix: s.prefix, Key: s.key, After: o.After, Verify: o.Verify}
	if o.Limit > 0 {
		part.Limit = min(max(o.Limit, minConversionBatch), MaxConversionBatch)
	}
	c := &convertedSelector{Selection: o.Selection, target: t, slot: r.selectors.forForm(t.Resource)}
	page := &storage.List{}
	for {
		list, err := r.collection(t.Resource).List(ctx, part)
		if err != nil {
			return nil, r.listError(t, err)
		}
		page.Revision = list.Revision
		full, err := c.appendMatches(ctx, page, list, o.Limit)
		if err != nil {
			return nil, err
		}
		if full || list.Next == "" {
			return page, nil
		}
		part.Read, part.After = storage.Read{Match: storage.Exact, Revision: list.Revision}, list.Next
		part.Limit = min(2*part.Limit, MaxConversionBatch)
	}
}

// appendMatches appends the selected items of part to page, and reports whether the page is
// full. It then sets Next if any item may follow, without converting more items to find
// out.
func (c *convertedSelector) appendMatches(ctx context.Context, page, part *storage.List, limit int64) (full bool, err error) {
	for items := range slices.Chunk(part.Items, MaxConversionBatch) {
		if err := c.prepare(ctx, items); err != nil {
			return false, err
		}
		for _, item := range items {
			if !c.matches(item) {
				continue
			}
			if limit > 0 && int64(len(page.Items)) == limit {
				last := page.Items[len(page.Items)-1]
				page.Next, page.Remaining = last.Key(), -1
				return true, nil
			}
			page.Items = append(page.Items, item)
		}
	}
	if full = limit > 0 && int64(len(page.Items)) == limit; full && part.Next != "" {
		page.Next, page.Remaining = part.Next, -1
	}
	return full, nil
}
