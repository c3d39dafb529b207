package jsonpatch

import "slices"

// longestPiece is the length above which a piece of a list is split.
const longestPiece = 1024

// list is an array in pieces, so that an insertion moves only the items of one piece.
type list struct {
	pieces [][]*node
	length int
}

// find returns the piece of an item, and the item's index in it. The index after the last
// item is the end of the last piece.
func (l *list) find(at int) (piece, in int) {
	for piece = range l.pieces {
		if n := len(l.pieces[piece]); at < n || piece == len(l.pieces)-1 {
			return piece, at
		} else {
			at -= n
		}
	}
	return 0, 0
}

func (l *list) get(at int) *node {
	piece, in := l.find(at)
	return l.pieces[piece][in]
}

func (l *list) set(at int, value *node) {
	piece, in := l.find(at)
	l.pieces[piece][in] = value
}

func (l *list) insert(at int, value *node) {
	if len(l.pieces) == 0 {
		l.pieces = append(l.pieces, nil)
	}
	piece, in := len(l.pieces)-1, len(l.pieces[len(l.pieces)-1])
	if at < l.length {
		piece, in = l.find(at)
	}
	l.length++
	p := slices.Insert(l.pieces[piece], in, value)
	l.pieces[piece] = p
	if len(p) <= longestPiece {
		return
	}
	if in == len(p)-1 { // an append starts a new piece and leaves the old one full
		l.pieces[piece] = p[:in]
		l.pieces = slices.Insert(l.pieces, piece+1, []*node{value})
		return
	}
	half := len(p) / 2
	l.pieces[piece] = p[:half:half]
	l.pieces = slices.Insert(l.pieces, piece+1, slices.Clone(p[half:]))
}

func (l *list) remove(at int) {
	piece, in := l.find(at)
	l.length--
	l.pieces[piece] = slices.Delete(l.pieces[piece], in, in+1)
	if len(l.pieces[piece]) == 0 {
		l.pieces = slices.Delete(l.pieces, piece, piece+1)
	}
}

// each calls f with each item until f returns false.
func (l *list) each(f func(*node) bool) {
	for _, piece := range l.pieces {
		for _, n := range piece {
			if !f(n) {
				return
			}
		}
	}
}

func (l *list) equal(other *list) bool {
	if l.length != other.length {
		return false
	}
	piece, in, same := 0, 0, true
	l.each(func(n *node) bool {
		if in == len(other.pieces[piece]) {
			piece, in = piece+1, 0
		}
		same = n.equal(other.pieces[piece][in])
		in++
		return same
	})
	return same
}

func (l *list) append(dst []byte) []byte {
	dst = append(dst, '[')
	first := true
	l.each(func(n *node) bool {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = n.append(dst)
		return true
	})
	return append(dst, ']')
}
