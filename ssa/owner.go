package ssa

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fieldsV1 is the only supported fieldsType.
const fieldsV1 = "FieldsV1"

// owner is one entry of managedFields.
type owner struct {
	manager     string
	operation   metav1.ManagedFieldsOperationType
	apiVersion  string
	subresource string
	time        *metav1.Time
	fields      Set
	// raw is the encoding of fields, or nil if it is not known.
	raw *metav1.FieldsV1
	// decoded is where fields come from, or nil if they were computed.
	decoded *decodedSet
	// view is the version in which the fields are owned; reconcile sets it.
	view *view
}

// ownerKey distinguishes the owners of an object. The version does not distinguish owners with operation
// Apply.
type ownerKey struct {
	manager, subresource, apiVersion string
	operation                        metav1.ManagedFieldsOperationType
}

func (o *owner) key() ownerKey {
	k := ownerKey{manager: o.manager, subresource: o.subresource, operation: o.operation}
	if o.operation != metav1.ManagedFieldsOperationApply {
		k.apiVersion = o.apiVersion
	}
	return k
}

// isSame reports whether o and p are the same owner.
func (o *owner) isSame(p *owner) bool { return o.key() == p.key() }

// id orders owners that are otherwise equal.
func (o *owner) id() string {
	e := metav1.ManagedFieldsEntry{Manager: o.manager, Operation: o.operation, APIVersion: o.apiVersion, Subresource: o.subresource}
	if o.operation == metav1.ManagedFieldsOperationApply {
		e.APIVersion = ""
	}
	id, _ := json.Marshal(e) // encoding strings does not fail
	return string(id)
}

func (o *owner) seconds() int64 {
	if o.time == nil {
		return 0
	}
	return o.time.Unix()
}

// setFields replaces the fields of o.
func (o *owner) setFields(fields Set) { o.fields, o.raw, o.decoded = fields, nil, nil }

// removeChanged removes the changed fields.
func (o *owner) removeChanged(difference Set) {
	if rest, changed := minus(o.fields, difference); changed {
		o.setFields(rest)
	}
}

// owners are the entries of an object.
type owners []owner

func (os owners) find(o *owner) *owner {
	for i := range os {
		if os[i].isSame(o) {
			return &os[i]
		}
	}
	return nil
}

// byKey returns the indexes of the owners.
func (os owners) byKey() map[ownerKey]int {
	at := make(map[ownerKey]int, len(os))
	for i := range os {
		at[os[i].key()] = i
	}
	return at
}

// withoutEmpty removes owners without fields.
func (os owners) withoutEmpty() owners {
	return slices.DeleteFunc(os, func(o owner) bool { return len(o.fields) == 0 })
}

// order puts owners in the order in which a write goes through them. kube-apiserver has them in a map, so that the versions of other owners
// have a random order in the requests that a conversion webhook gets. The result of the write does not depend on it.
func (w *Write) order(os owners) {
	if w.Shuffle != nil {
		os.shuffle(w.Shuffle)
	}
}

func (os owners) shuffle(shuffle func(n int, swap func(i, j int))) {
	shuffle(len(os), func(i, j int) { os[i], os[j] = os[j], os[i] })
}

// decodeOwners decodes managedFields. Of several entries of one owner the last one counts.
func decodeOwners(entries []metav1.ManagedFieldsEntry, cache *setCache) (owners, error) {
	os := make(owners, 0, len(entries)+1)
	var at map[ownerKey]int
	if len(entries) > maxLinearItems {
		at = make(map[ownerKey]int, len(entries))
	}
	for i := range entries {
		o, err := decodeEntry(i, &entries[i], cache)
		if err != nil {
			return nil, err
		}
		if at != nil {
			if j, ok := at[o.key()]; ok {
				os[j] = o
				continue
			}
			at[o.key()] = len(os)
		} else if existing := os.find(&o); existing != nil {
			*existing = o
			continue
		}
		os = append(os, o)
	}
	return os, nil
}

func decodeEntry(i int, e *metav1.ManagedFieldsEntry, cache *setCache) (owner, error) {
	o := owner{
		manager: e.Manager, operation: e.Operation, apiVersion: e.APIVersion,
		subresource: e.Subresource, time: e.Time,
	}
	switch {
	case e.Operation != metav1.ManagedFieldsOperationApply && e.Operation != metav1.ManagedFieldsOperationUpdate:
		return o, errorf("operation must be `Apply` or `Update`")
	case e.APIVersion == "":
		return o, errorf("apiVersion must not be empty")
	case e.FieldsType == "":
		return o, errorf("missing fieldsType in managed fields entry %d", i)
	case e.FieldsType != fieldsV1:
		return o, errorf("invalid fieldsType %q in managed fields entry %d", e.FieldsType, i)
	case e.Time != nil && (e.Time.UTC().Year() < 0 || e.Time.UTC().Year() > 9999):
		return o, errorf("time of managed fields entry %d cannot be written", i)
	case e.FieldsV1 == nil:
		return o, nil
	}
	var err error
	if o.decoded, err = cache.decode(e.FieldsV1.GetRawString()); err != nil {
		return o, errorf("error decoding set: %w", err)
	}
	o.fields = o.decoded.fields
	if o.decoded.exact {
		o.raw = e.FieldsV1
	}
	return o, nil
}

// encode encodes managedFields in canonical order: operation Apply before Update, then by time.
func (os owners) encode() []metav1.ManagedFieldsEntry {
	if len(os) == 0 {
		return nil
	}
	slices.SortFunc(os, func(a, b owner) int {
		if c := strings.Compare(string(a.operation), string(b.operation)); c != 0 {
			return c
		}
		if c := a.seconds() - b.seconds(); c != 0 {
			return int(c)
		}
		if c := strings.Compare(a.manager, b.manager); c != 0 {
			return c
		}
		if c := strings.Compare(a.apiVersion, b.apiVersion); c != 0 {
			return c
		}
		return strings.Compare(a.subresource, b.subresource)
	})
	out := make([]metav1.ManagedFieldsEntry, len(os))
	for i := range os {
		out[i] = os[i].entry()
	}
	return out
}

func (o *owner) entry() metav1.ManagedFieldsEntry {
	raw := o.raw
	if raw == nil {
		raw = &metav1.FieldsV1{}
		raw.SetRawBytes(o.fields.appendJSON(make([]byte, 0, 256)))
	}
	return metav1.ManagedFieldsEntry{
		Manager: o.manager, Operation: o.operation, APIVersion: o.apiVersion, Time: o.time,
		FieldsType: fieldsV1, FieldsV1: raw, Subresource: o.subresource,
	}
}

// entryTime truncates a time to the precision of managedFields.
func entryTime(now time.Time) *metav1.Time {
	return &metav1.Time{Time: now.UTC().Truncate(time.Second)}
}

// ancientChanges is the manager name of merged entries.
const ancientChanges = "ancient-changes"

// maxUpdateOwners is the maximum number of owners with operation Update.
const maxUpdateOwners = 10

// capped merges the oldest Update owners of each version until their number is within the limit.
func (os owners) capped() owners {
	type aged struct {
		index int
		id    string
	}
	var old []aged
	for i := range os {
		if os[i].operation != metav1.ManagedFieldsOperationApply {
			old = append(old, aged{index: i})
		}
	}
	over := len(old) - maxUpdateOwners
	if over <= 0 {
		return os
	}
	for i := range old {
		old[i].id = os[old[i].index].id()
	}
	slices.SortFunc(old, func(a, b aged) int {
		if c := os[a.index].seconds() - os[b.index].seconds(); c != 0 {
			return int(c)
		}
		return strings.Compare(a.id, b.id)
	})
	m := newMerging(os)
	first := map[string]int{}
	for _, o := range old {
		if over == 0 {
			break
		}
		version := os[o.index].apiVersion
		if oldest, ok := first[version]; ok {
			m.merge(oldest, o.index)
			over--
		} else {
			first[version] = o.index
		}
	}
	return m.result()
}

// merging merges owners into the ancient changes of their versions.
type merging struct {
	os owners
	at map[ownerKey]int
	// gone are the owners that were merged into another one; fields are the fields that each of the
	// others gets.
	gone   []bool
	fields map[int][]Set
}

func newMerging(os owners) *merging {
	return &merging{os: os, at: os.byKey(), gone: make([]bool, len(os)), fields: map[int][]Set{}}
}

// merge merges owner i into the ancient changes of its version. If there are none yet, the oldest owner
// of the version becomes them.
func (m *merging) merge(oldest, i int) {
	o := &m.os[i]
	ancient := owner{manager: ancientChanges, operation: metav1.ManagedFieldsOperationUpdate, apiVersion: o.apiVersion}
	into, exists := m.at[ancient.key()]
	if !exists {
		into = oldest
		m.os[into].manager, m.os[into].subresource = ancientChanges, ""
		m.at[ancient.key()] = into
	}
	m.fields[into] = append(m.fields[into], o.fields)
	m.os[into].time = o.time
	m.gone[i] = true
	if into == i {
		delete(m.at, ancient.key())
	}
}

// result returns the remaining owners with their fields.
func (m *merging) result() owners {
	kept := m.os[:0]
	for i, o := range m.os {
		if m.gone[i] {
			continue
		}
		if more := m.fields[i]; len(more) > 0 {
			o.setFields(unionAll(append(more, o.fields)))
		}
		kept = append(kept, o)
	}
	return kept
}

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
