package storage

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/miniapiserver/miniapiserver/api"
)

// Item is one version of one key. It is immutable and safe for concurrent use.
//
// It keeps the stored value and what is expensive to make and cheap to hold:
// labels, fields and encodings, each made when it is first asked for. The
// decoded object, several times as large as its value, is only held by a weak
// pointer: it stays shared among those who use it at a time, and is decoded
// again when it is asked for after a garbage collection took it.
type Item struct {
	of    *kind
	key   string
	rev   int64
	value []byte

	signature atomic.Uint64                // of the labels; 0 until they were asked for
	health    atomic.Pointer[CorruptError] // nil until the value was decoded, then sound or what is wrong with it
	meta      atomic.Pointer[meta]
	encodings atomic.Pointer[encoding]
	mu        sync.Mutex // guards object, and the making of what the fields above hold
	object    weak.Pointer[decoded]
}

// kind is what all items of a collection share.
type kind struct {
	CollectionConfig
	path    string             // of the keys in etcd
	onError func(*Item, error) // told of values that cannot be decoded
}

// decoded is an object on its own, for a weak pointer to point to.
type decoded struct{ api.Object }

// meta is what is kept of a decoded object; an item that cannot be decoded has
// an empty one.
type meta struct {
	labels, fields map[string]string
	hasFields      bool
}

// encoding is an element of the list of an item's encodings.
type encoding struct {
	slot *Slot
	data []byte
	next *encoding
}

// at returns what the item was as of another revision: the last state of a
// deleted key, as of its deletion.
func (i *Item) at(rev int64) *Item {
	n := &Item{of: i.of, key: i.key, rev: rev, value: i.value}
	n.meta.Store(i.meta.Load())
	n.signature.Store(i.signature.Load())
	n.health.Store(i.health.Load())
	return n
}

// sound is the health of items whose value can be decoded.
var sound = new(CorruptError)

// Corrupt returns why the value of the item cannot be decoded; nil if it can.
func (i *Item) Corrupt() *CorruptError {
	h := i.health.Load()
	if h == nil {
		i.mu.Lock()
		_, _ = i.decode() // it notes what it finds
		i.mu.Unlock()
		h = i.health.Load()
	}
	if h == sound {
		return nil
	}
	return h
}

// spoilt is Corrupt as far as it is known without decoding the value.
func (i *Item) spoilt() *CorruptError {
	if h := i.health.Load(); h != sound {
		return h
	}
	return nil
}

// Key is the item's key in its collection: "namespace/name" or "name".
func (i *Item) Key() string { return i.key }

// Namespace is the part of the key before the slash, if there is one.
func (i *Item) Namespace() string {
	if n := strings.IndexByte(i.key, '/'); n >= 0 {
		return i.key[:n]
	}
	return ""
}

// Name is the part of the key after the namespace.
func (i *Item) Name() string { return i.key[strings.IndexByte(i.key, '/')+1:] }

// Revision is the revision of etcd that made this version: its resourceVersion.
func (i *Item) Revision() int64 { return i.rev }

// Value is what is stored. It must not be changed.
func (i *Item) Value() []byte { return i.value }

// Object returns the decoded object with its resourceVersion. It is shared and
// must not be changed.
func (i *Item) Object() (api.Object, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.decode()
}

// decode returns the object; i.mu is held.
func (i *Item) decode() (api.Object, error) {
	if d := i.object.Value(); d != nil {
		return d.Object, nil
	}
	h := i.health.Load()
	if h != nil && h != sound {
		return nil, h
	}
	obj, err := i.of.Decode(i.value)
	if err == nil && h == nil && i.of.Check != nil {
		err = i.of.Check(obj)
	}
	if err != nil {
		corrupt := &CorruptError{Path: i.of.path + i.key, Key: "/" + i.of.Prefix + "/" + i.key, Revision: i.rev, Err: err}
		i.health.Store(corrupt)
		i.of.onError(i, err)
		return nil, corrupt
	}
	i.health.Store(sound)
	obj.SetResourceVersion(strconv.FormatInt(i.rev, 10))
	d := &decoded{obj}
	i.object = weak.Make(d)
	return d.Object, nil
}

// Labels are those of the object. They must not be changed.
func (i *Item) Labels() map[string]string {
	if m := i.meta.Load(); m != nil {
		return m.labels
	}
	return i.makeMeta(false).labels
}

// Fields are the selectable fields of the object. They must not be changed.
func (i *Item) Fields() map[string]string {
	if i.of.Fields == nil {
		return nil
	}
	if m := i.meta.Load(); m != nil && m.hasFields {
		return m.fields
	}
	return i.makeMeta(true).fields
}

func (i *Item) makeMeta(fields bool) *meta {
	i.mu.Lock()
	defer i.mu.Unlock()
	if m := i.meta.Load(); m != nil && (m.hasFields || !fields) {
		return m
	}
	m := &meta{hasFields: fields}
	if obj, err := i.decode(); err == nil {
		m.labels = obj.GetLabels()
		if fields {
			m.fields = i.of.Fields(obj)
		}
	}
	i.signature.Store(LabelSignature(m.labels) | known)
	i.meta.Store(m)
	return m
}

// known is the bit of a signature that is set once it was made.
const known = 1 << 63

// LabelSignature has two bits for each label, chosen by its key and value. A set
// of labels can be part of another only if its signature is.
func LabelSignature(labels map[string]string) uint64 {
	var bits uint64
	for k, v := range labels {
		const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
		h := uint64(offset)
		for i := range len(k) {
			h = (h ^ uint64(k[i])) * prime
		}
		h = (h ^ '=') * prime
		for i := range len(v) {
			h = (h ^ uint64(v[i])) * prime
		}
		bits |= 1<<(h>>32%63) | 1<<(h>>40%63)
	}
	return bits
}

// MayHaveLabels is false if the item cannot have all labels of a signature. It
// looks at the item alone, where Labels follows pointers.
func (i *Item) MayHaveLabels(signature uint64) bool {
	s := i.signature.Load()
	return s&signature == signature || s&known == 0
}

// Slot identifies one form in which items are encoded: a representation of one
// version of a kind. An item holds at most one encoding for each Slot. Slots are
// compared by identity, so that two owners never read each other's encodings, even
// if they encode the same version of different definitions of a kind.
type Slot struct{ _ byte } // not empty: distinct empty values may share an address

// NewSlot returns a Slot that differs from all others.
func NewSlot() *Slot { return &Slot{} }

// Encoding returns the encoding in slot. The first call makes it from the object
// with encode, and the item keeps it; encode must not call methods of the item. The
// returned bytes must not be changed.
func (i *Item) Encoding(slot *Slot, encode func(api.Object) ([]byte, error)) ([]byte, error) {
	if e := i.find(slot); e != nil {
		return e.data, nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if e := i.find(slot); e != nil {
		return e.data, nil
	}
	obj, err := i.decode()
	if err != nil {
		return nil, err
	}
	data, err := encode(obj)
	if err != nil {
		return nil, err
	}
	data = data[:len(data):len(data)]
	i.encodings.Store(&encoding{slot: slot, data: data, next: i.encodings.Load()})
	return data, nil
}

// Kept returns the encoding that the item holds in slot, or nil.
func (i *Item) Kept(slot *Slot) []byte {
	if e := i.find(slot); e != nil {
		return e.data
	}
	return nil
}

// Keep stores an encoding that was made elsewhere in slot, unless the slot holds
// one already, and returns the one that the slot holds.
func (i *Item) Keep(slot *Slot, data []byte) []byte {
	i.mu.Lock()
	defer i.mu.Unlock()
	if e := i.find(slot); e != nil {
		return e.data
	}
	data = data[:len(data):len(data)]
	i.encodings.Store(&encoding{slot: slot, data: data, next: i.encodings.Load()})
	return data
}

// Touch reads both ends of the encoding that each item holds in slot or, if it holds
// none, of its value. The caller will read the items one after the other; they are
// in cold memory behind pointers, and waiting for many at once takes no longer than
// waiting for one.
//
//go:noinline
func Touch(items []*Item, slot *Slot) (sum byte) {
	for _, i := range items {
		data := i.value
		if e := i.find(slot); e != nil {
			data = e.data
		}
		if len(data) > 0 {
			sum ^= data[0] ^ data[len(data)-1]
		}
	}
	return sum
}

// forgetEncodings gives back the memory of encodings. They are made again when
// they are asked for.
func (i *Item) forgetEncodings() { i.encodings.Store(nil) }

func (i *Item) find(slot *Slot) *encoding {
	e := i.encodings.Load()
	for e != nil && e.slot != slot {
		e = e.next
	}
	return e
}

// size is about how much memory the item holds, with an encoding or two.
func (i *Item) size() int64 { return 3*int64(len(i.value)) + int64(len(i.key)) + 128 }
