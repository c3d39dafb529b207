package quickjson

import "bytes"

// Canonical tells of an object of objects, as sets of fields are, that is surely
// the very text that Append writes of what ReadPlain reads of it.
func Canonical(data []byte) bool {
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	r := newReader(data)
	text, ok := r.objects((*scratch)[:0])
	*scratch = text
	return r.done() && ok && bytes.Equal(text, data)
}

// objects reads an object of objects, and appends how it is written if the names of
// its fields are in order.
func (r *reader) objects(dst []byte) ([]byte, bool) {
	if r.Next() != '{' {
		return dst, false
	}
	dst = append(dst, '{')
	last, first := "", true
	ok := r.Members(func(str quoted) bool {
		name, ok := r.name(str)
		if !ok {
			return false
		}
		if !first {
			if name <= last {
				return false
			}
			dst = append(dst, ',')
		}
		last, first = name, false
		dst, ok = r.objects(append(AppendString(dst, name), ':'))
		return ok
	})
	return append(dst, '}'), ok
}
