package quickjson

import "bytes"

// Canonical tells of an object of objects, as sets of fields are, that is surely
// the very text that Append writes of what ReadPlain reads of it.
func Canonical(data []byte) bool {
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	r := reading(data)
	text, ok := r.objects((*scratch)[:0], 1)
	*scratch = text
	return r.done() && ok && bytes.Equal(text, data)
}

// objects reads an object of objects, and appends how it is written if the names of
// its fields are in order.
func (r *reader) objects(dst []byte, depth int) ([]byte, bool) {
	if r.next() != '{' {
		return dst, false
	}
	dst = append(dst, '{')
	last, first := "", true
	ok := r.members(depth, func(text []byte) bool {
		name := r.name(text)
		if !first {
			if name <= last {
				return false
			}
			dst = append(dst, ',')
		}
		last, first = name, false
		var ok bool
		dst, ok = r.objects(append(AppendString(dst, name), ':'), depth+1)
		return ok
	})
	return append(dst, '}'), ok
}
