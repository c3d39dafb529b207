package jsonpatch

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/miniapiserver/miniapiserver/internal/jsonscan"
	"github.com/miniapiserver/miniapiserver/internal/quickjson"
)

// node is a value of a document: unparsed text, or a parsed object or array. A nil node is
// a null of the document or a missing value, while a null of the patch is text; tests of
// json-patch distinguish them.
type node struct {
	raw     jsonscan.Value
	members map[string]*node // of a parsed object
	items   *list            // of a parsed array
}

// nodeOf returns the node of a value in a document.
func nodeOf(v jsonscan.Value) *node {
	if v.IsNull() {
		return nil
	}
	return &node{raw: v}
}

// isText reports whether the node is not parsed.
func (n *node) isText() bool { return n.members == nil && n.items == nil }

func (n *node) isNull() bool { return n.isText() && n.raw.IsNull() }

// open parses the node, and reports whether it is an object or an array.
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

// get returns the member with a name, or nil; for an array, the item at an index.
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

// set replaces an existing member or item.
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

// add sets a member, or inserts an item before an index.
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

// remove removes a member or an item.
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

// index checks an index into an array of a length. A negative index counts from the end.
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

// equal reports whether two nodes have the same value. Strings and numbers are compared as
// text.
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

// copy returns a copy of the node, and the length of its text.
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

// append appends the JSON of the node. The members of parsed objects are sorted by name.
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
