package validation

// maxSearched is the length up to which a list is searched: that is as fast as a map, and allocates
// nothing.
const maxSearched = 16

// Index finds the elements of a list by a key. Its zero value is an empty list.
type Index[T any, K comparable] struct {
	list []T
	key  func(*T) K
	// first has the index of the first element of each key; it is made for a long list when it is first
	// used.
	first map[K]int
}

// IndexOf returns an index of a list, which must not change.
func IndexOf[T any, K comparable](list []T, key func(*T) K) Index[T, K] {
	return Index[T, K]{list: list, key: key}
}

// First returns the first element with the key k, or nil if there is none.
func (x *Index[T, K]) First(k K) *T {
	if len(x.list) <= maxSearched {
		for i := range x.list {
			if x.key(&x.list[i]) == k {
				return &x.list[i]
			}
		}
		return nil
	}
	if x.first == nil {
		x.first = make(map[K]int, len(x.list))
		for i := range x.list {
			if k := x.key(&x.list[i]); !x.has(k) {
				x.first[k] = i
			}
		}
	}
	if i, ok := x.first[k]; ok {
		return &x.list[i]
	}
	return nil
}

func (x *Index[T, K]) has(k K) bool {
	_, ok := x.first[k]
	return ok
}

// Has reports whether an element has the key k.
func (x *Index[T, K]) Has(k K) bool { return x.First(k) != nil }
