package jsonpatch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// node is a value of a document. It is decoded one level at a time, when an
// operation leads through it. Nil is null.
type node struct {
	raw    []byte // as long as the value is not open
	isOpen bool
	// An open node has one of these; the array if object is nil.
	object map[string]*node
	array  []*node
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *node) UnmarshalJSON(data []byte) error {
	n.raw = bytes.Clone(data)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (n *node) MarshalJSON() ([]byte, error) {
	switch {
	case !n.isOpen:
		return n.raw, nil
	case n.object != nil:
		return json.Marshal(n.object)
	}
	return json.Marshal(n.array)
}

// open decodes a level, and reports whether the node is an object or an array.
func (n *node) open() bool {
	if n == nil || n.isOpen {
		return n != nil
	}
	var err error
	switch raw := bytes.TrimLeft(n.raw, " \t\r\n"); {
	case bytes.HasPrefix(raw, []byte("{")):
		err = json.Unmarshal(raw, &n.object)
	case bytes.HasPrefix(raw, []byte("[")):
		err = json.Unmarshal(raw, &n.array)
	default:
		return false
	}
	if err == nil {
		n.isOpen, n.raw = true, nil
	}
	return n.isOpen
}

// get returns a member or an element of an open node. A member that is absent is
// null.
func (n *node) get(key string) (*node, error) {
	if n.object != nil {
		return n.object[key], nil
	}
	i, err := n.index(key, len(n.array))
	if err != nil {
		return nil, err
	}
	return n.array[i], nil
}

// set replaces what get returns.
func (n *node) set(key string, value *node) error {
	if n.object != nil {
		n.object[key] = value
		return nil
	}
	i, err := n.index(key, len(n.array))
	if err == nil {
		n.array[i] = value
	}
	return err
}

// add sets a member, or inserts an element.
func (n *node) add(key string, value *node) error {
	switch {
	case n.object != nil:
		n.object[key] = value
		return nil
	case key == "-":
		n.array = append(n.array, value)
		return nil
	}
	if _, err := strconv.Atoi(key); err != nil {
		return fmt.Errorf("value was not a proper array index: '%s': %w", key, err)
	}
	i, err := n.index(key, len(n.array)+1)
	if err == nil {
		n.array = slices.Insert(n.array, i, value)
	}
	return err
}

// remove takes away a member or an element.
func (n *node) remove(key string) error {
	if n.object != nil {
		if _, ok := n.object[key]; !ok {
			return fmt.Errorf("Unable to remove nonexistent key: %s: %w", key, errMissing)
		}
		delete(n.object, key)
		return nil
	}
	i, err := n.index(key, len(n.array))
	if err == nil {
		n.array = slices.Delete(n.array, i, i+1)
	}
	return err
}

// index reads an index below length. A negative one counts from the end.
func (n *node) index(key string, length int) (int, error) {
	i, err := strconv.Atoi(key)
	if err != nil {
		return 0, err
	}
	if i >= length || i < -length {
		return 0, fmt.Errorf("Unable to access invalid index: %d: %w", i, errInvalidIndex)
	}
	if i < 0 {
		i += length
	}
	return i, nil
}

// equal compares two values. Numbers and strings are equal if they are written
// in the same way.
func (n *node) equal(o *node) bool {
	if n == nil || o == nil {
		return n == o
	}
	nOpen, oOpen := n.open(), o.open()
	switch {
	case nOpen != oOpen, (n.object == nil) != (o.object == nil):
		return false
	case !nOpen:
		return bytes.Equal(bytes.TrimSpace(n.raw), bytes.TrimSpace(o.raw))
	case n.object != nil:
		return maps.EqualFunc(n.object, o.object, (*node).equal)
	}
	return slices.EqualFunc(n.array, o.array, (*node).equal)
}
