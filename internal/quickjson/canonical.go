package quickjson

import "bytes"

// Canonical reports whether data is an object of objects, such as a set of fields, in the form
// in which Append writes it.
func Canonical(data []byte) bool {
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	r := newReader(data)
	text, ok := r.objects((*scratch)[:0])
	*scratch = text
	return r.done() && ok && bytes.Equal(text, data)
}

// objects reads an object of objects, and appends its canonical form if its field names are
// sorted.
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
