package ssa

import (
	"sync"
	"sync/atomic"
)

// decodedSet is a decoded fieldsV1.
type decodedSet struct {
	fields Set
	// exact reports that the text is the canonical encoding of fields.
	exact bool
	// agrees is a version whose schema fields are known to agree with; nil if none is known.
	agrees atomic.Pointer[view]
}

// setCache holds the Sets of recently decoded texts, because a manager that writes an object
// again, or writes many objects alike, owns the same fields each time. The texts are in two
// generations: when the recent one is full, it replaces the older one. The cache is no lru.Cache, because the
// bytes of the texts are bounded and not their number: a text may be 8 KB long. The zero value is empty.
type setCache struct {
	mu            sync.Mutex
	recent, older map[string]*decodedSet
	bytes         int // total size of the texts in recent
}

// Limits of a setCache in bytes of text. A Set takes about five times the memory of its text.
const (
	maxGeneration = 32 << 10
	maxCachedText = 8 << 10
)

// decode returns the Set of a text. It is safe for concurrent use. A nil cache holds nothing.
func (c *setCache) decode(text string) (*decodedSet, error) {
	if c != nil {
		c.mu.Lock()
		s := c.recent[text]
		if s == nil && c.older[text] != nil {
			s = c.older[text]
			c.add(text, s)
		}
		c.mu.Unlock()
		if s != nil {
			return s, nil
		}
	}
	s := &decodedSet{}
	var err error
	if s.fields, s.exact, err = parseSet(text); err != nil {
		return nil, err
	}
	if c == nil || len(text) > maxCachedText {
		return s, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.recent[text]; other != nil {
		return other, nil // another request has decoded it meanwhile
	}
	c.add(text, s)
	return s, nil
}

// add adds a text to the recent generation; c.mu is held.
func (c *setCache) add(text string, s *decodedSet) {
	if c.recent == nil || c.bytes+len(text) > maxGeneration {
		c.recent, c.older, c.bytes = map[string]*decodedSet{}, c.recent, 0
	}
	c.recent[text] = s
	c.bytes += len(text)
}
