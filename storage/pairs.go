package storage

import "encoding/binary"

// Pairs are the entries of a map of strings in one string, which takes a fifth of the memory of a small map and nothing from
// the garbage collector: for each entry the lengths of its key and its value as varints, the key, and the value. Pairs
// implement labels.Labels and fields.Fields.
type Pairs string

// PairsOf returns the entries of a map.
func PairsOf(m map[string]string) Pairs {
	size := 0
	for k, v := range m {
		size += 2*binary.MaxVarintLen32 + len(k) + len(v)
	}
	b := make([]byte, 0, size)
	for k, v := range m {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(len(k))), uint64(len(v)))
		b = append(append(b, k...), v...)
	}
	return Pairs(b)
}

// Has reports whether there is an entry.
func (p Pairs) Has(key string) bool {
	_, ok := p.Lookup(key)
	return ok
}

// Get returns the value of an entry, or "" if there is none.
func (p Pairs) Get(key string) string {
	value, _ := p.Lookup(key)
	return value
}

// Lookup returns the value of an entry, and whether there is one.
func (p Pairs) Lookup(key string) (value string, ok bool) {
	for rest := string(p); rest != ""; {
		var k string
		if k, value, rest = cutPair(rest); k == key {
			return value, true
		}
	}
	return "", false
}

// cutPair returns the first entry of Pairs, and the others.
func cutPair(text string) (key, value, rest string) {
	k, text := cutLength(text)
	v, text := cutLength(text)
	return text[:k], text[k : k+v], text[k+v:]
}

// cutLength returns the varint at the beginning of a text, and what follows it.
func cutLength(text string) (length int, rest string) {
	for i, shift := 0, 0; ; i, shift = i+1, shift+7 {
		length |= int(text[i]&0x7f) << shift
		if text[i] < 0x80 {
			return length, text[i+1:]
		}
	}
}
