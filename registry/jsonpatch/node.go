package jsonpatch

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/miniapiserver/miniapiserver/internal/jsonscan"
	"github.com/miniapiserver/miniapiserver/quickjson"
)

// node is a value in a document: text that nobody has looked into, an object or an
// array. A nil node is a null of the document, or nothing; the null of a patch is
// text. json-patch keeps them apart in tests.
type node struct {
	raw     jsonscan.Value
	members map[string]*node // of an object that was looked into
	items   *list            // of such an array
}

// nodeOf returns the node of a value in a document.
func nodeOf(v jsonscan.Value) *node {
	if v.IsNull() {
		return nil
	}
	return &node{raw: v}
}

// isText reports whether nobody has looked into a node.
func (n *node) isText() bool { return n.members == nil && n.items == nil }

func (n *node) isNull() bool { return n.isText() && n.raw.IsNull() }

// open looks into a node, and reports whether it is an object or an array.
func (n *node) open() bool {
	switch {
	case !n.isText():
	case n.raw.IsObject():
		n.members = map[string]*node{}
		for m := n.raw.Parts(); m.Next(); {
			n.members[jsonscan.Unquote(m.Key())] = nodeOf(m.Value())
		}
	case n.raw.IsArray():
		n.items = &list{}
		for e := n.raw.Parts(); e.Next(); {
			n.items.insert(n.items.length, nodeOf(e.Value()))
		}
	default:
		return false
	}
	return true
}

// get returns the member of a name, or nil; of an array that was looked into, the
// item of an index.
func (n *node) get(key string) (*node, error) {
	if n.items == nil {
		return n.members[key], nil
	}
	at, err := strconv.Atoi(key)
	if err == nil {
		at, err = index(at, n.items.length)
	}
	if err != nil {
		return nil, err
	}
	return n.items.get(at), nil
}

// set replaces the member of a name or the item of an index that is there.
func (n *node) set(key string, value *node) {
	if n.items == nil {
		n.members[key] = value
		return
	}
	at, err := strconv.Atoi(key)
	if err == nil {
		at, err = index(at, n.items.length)
	}
	if err == nil {
		n.items.set(at, value)
	}
}

// add sets a member, or inserts an item before the one of an index.
func (n *node) add(key string, value *node) error {
	if n.items == nil {
		n.members[key] = value
		return nil
	}
	if key == "-" {
		n.items.insert(n.items.length, value)
		return nil
	}
	at, err := strconv.Atoi(key)
	if err != nil {
		return fmt.Errorf("value was not a proper array index: '%s': %w", key, err)
	}
	if at, err = index(at, n.items.length+1); err != nil {
		return err
	}
	n.items.insert(at, value)
	return nil
}

// remove takes a member or an item away.
func (n *node) remove(key string) error {
	if n.items == nil {
		if _, ok := n.members[key]; !ok {
			//lint:ignore ST1005 json-patch's words
			return fmt.Errorf("Unable to remove nonexistent key: %s: %w", key, errMissing)
		}
		delete(n.members, key)
		return nil
	}
	at, err := strconv.Atoi(key)
	if err == nil {
		at, err = index(at, n.items.length)
	}
	if err != nil {
		return err
	}
	n.items.remove(at)
	return nil
}

// index checks an index among a number of items. Negative ones count from the end.
func index(at, length int) (int, error) {
	if at >= length || at < -length {
		//lint:ignore ST1005 json-patch's words
		return 0, fmt.Errorf("Unable to access invalid index: %d: %w", at, errInvalidIndex)
	}
	if at < 0 {
		at += length
	}
	return at, nil
}

// equal reports whether two nodes are the same value. Strings and numbers are
// compared as they are written.
func (n *node) equal(other *node) bool {
	if n == nil || other == nil {
		return n == other
	}
	if !n.open() {
		return other.isText() && bytes.Equal(n.raw.Bytes(), other.raw.Bytes())
	}
	if !other.open() || (n.items == nil) != (other.items == nil) {
		return false
	}
	if n.items == nil {
		return maps.EqualFunc(n.members, other.members, (*node).equal)
	}
	return n.items.equal(other.items)
}

// copy returns a copy of a node, and the length of its text.
func (n *node) copy() (copied *node, size int) {
	switch {
	case n == nil:
		return nil, 0
	case n.isText():
		return &node{raw: n.raw}, len(n.raw.Bytes())
	}
	text := n.append(nil)
	return &node{raw: jsonscan.ParseValid(text)}, len(text)
}

// append appends the JSON of a node, with the members of objects that were looked
// into in the order of their names.
func (n *node) append(dst []byte) []byte {
	switch {
	case n == nil:
		return append(dst, "null"...)
	case n.items != nil:
		return n.items.append(dst)
	case n.members == nil:
		return append(dst, n.raw.Bytes()...)
	}
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(n.members)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(quickjson.AppendString(dst, name), ':')
		dst = n.members[name].append(dst)
	}
	return append(dst, '}')
}
