package representation

import (
	"slices"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/storage"
)

// InTableOrder sorts the items of a list into the order of the rows of a Table, if the resource
// has such an order. Each page is sorted by itself.
func (v *View) InTableOrder(items []*storage.Item) (Encodables, error) {
	order := v.codec.table.Order
	if v.as != asTable || order == nil {
		return storedItems(items), nil
	}
	objects := make(map[*storage.Item]api.Object, len(items))
	for _, i := range items {
		obj, err := i.Object()
		if err != nil {
			return nil, err
		}
		objects[i] = obj
	}
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b *storage.Item) int { return order(objects[a], objects[b]) })
	return storedItems(items), nil
}
