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
// An item holds the stored value and caches what is expensive to compute and small: labels,
// fields and encodings, each computed on first use. The decoded object is several times
// larger than the value, so the item holds it by a weak pointer only: concurrent users share
// it, and it is decoded again after a garbage collection freed it. The same holds for large encodings,
// and for most encodings of a large collection.
type Item struct {
	config *itemConfig
	key    string
	rev    int64
	value  []byte

	signature   atomic.Uint64                // LabelSignature with the bit signatureComputed set; 0 until Labels was first called
	health      atomic.Pointer[CorruptError] // nil until the value was decoded, then notCorrupt or the decoding error
	hasDefaults atomic.Bool                  // SetHasDefaults was called
	meta        atomic.Pointer[itemMeta]
	encodings   atomic.Pointer[itemEncoding]
	mu          sync.Mutex // guards object and the computation of the cached fields above
	object      weak.Pointer[decodedObject]
}

// itemConfig is the configuration that all items of a collection share.
type itemConfig struct {
	CollectionConfig
	path    string             // prefix of the keys in etcd
	onError func(*Item, error) // logs a value that cannot be decoded
	isLarge atomic.Bool        // the collection is larger than keptBytes
}

// decodedObject wraps an object so that a weak pointer can point to it.
type decodedObject struct{ api.Object }

// itemMeta is the cached metadata of a decoded object. It is empty if the object cannot be
// decoded.
type itemMeta struct {
	labels, fields Pairs
	hasFields      bool
}

// itemEncoding is an element of the linked list of an item's encodings.
type itemEncoding struct {
	slot  *Slot
	data  []byte
	large weak.Pointer[largeEncoding] // in place of data
	next  *itemEncoding
}

// largeEncoding wraps an encoding so that a weak pointer can point to it.
type largeEncoding struct{ data []byte }

// atRevision returns a copy of the item with another revision. A deletion uses it: its item is
// the last state with the revision of the deletion.
func (i *Item) atRevision(rev int64) *Item {
	copied := &Item{config: i.config, key: i.key, rev: rev, value: i.value}
	copied.meta.Store(i.meta.Load())
	copied.signature.Store(i.signature.Load())
	copied.health.Store(i.health.Load())
	copied.hasDefaults.Store(i.hasDefaults.Load())
	return copied
}

// notCorrupt is the health of items whose value can be decoded.
var notCorrupt = new(CorruptError)

// Corrupt returns the decoding error of the item's value, or nil.
func (i *Item) Corrupt() *CorruptError {
	h := i.health.Load()
	if h == nil {
		_, _ = i.Object() // it sets i.health
		h = i.health.Load()
	}
	if h == notCorrupt {
		return nil
	}
	return h
}

// knownCorrupt returns the decoding error of the item's value if that was decoded already, else
// nil.
func (i *Item) knownCorrupt() *CorruptError {
	if h := i.health.Load(); h != notCorrupt {
		return h
	}
	return nil
}

// Key returns the item's key in its collection: "namespace/name" or "name".
func (i *Item) Key() string { return i.key }

// Namespace returns the part of the key before the slash, or "".
func (i *Item) Namespace() string {
	if n := strings.IndexByte(i.key, '/'); n >= 0 {
		return i.key[:n]
	}
	return ""
}

// Name returns the part of the key after the namespace.
func (i *Item) Name() string { return i.key[strings.IndexByte(i.key, '/')+1:] }

// Revision returns the etcd revision that created this version: its resourceVersion.
func (i *Item) Revision() int64 { return i.rev }

// ResourceVersion returns the revision as clients see it.
func (i *Item) ResourceVersion() string { return strconv.FormatInt(i.rev, 10) }

// Value returns the stored value, decrypted if it can be. It must not be changed.
func (i *Item) Value() []byte { return i.value }

// HasDefaults reports whether the value is known to have all defaults of the object: decoding adds none.
func (i *Item) HasDefaults() bool { return i.hasDefaults.Load() }

// SetHasDefaults says that the value has all defaults of the object.
func (i *Item) SetHasDefaults() { i.hasDefaults.Store(true) }

// Object returns the decoded object with its resourceVersion. It is shared and must not be
// changed.
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
	if h != nil && h != notCorrupt {
		return nil, h
	}
	obj, err := i.decodeValue(h == nil)
	if err != nil {
		isSealed := i.config.Transformer == nil && isEncrypted(i.value)
		if isSealed {
			err = ErrNotDecrypted
		}
		corrupt := i.corruptError(err, isSealed)
		i.health.Store(corrupt)
		i.config.onError(i, err)
		return nil, corrupt
	}
	i.health.Store(notCorrupt)
	obj.SetResourceVersion(strconv.FormatInt(i.rev, 10))
	d := &decodedObject{obj}
	i.object = weak.Make(d)
	return d.Object, nil
}

// decodeValue decodes the value. If check is true, nothing is known of its content.
func (i *Item) decodeValue(check bool) (api.Object, error) {
	if check && i.config.CheckValue != nil {
		if err := i.config.CheckValue(i.value); err != nil {
			return nil, err
		}
	}
	obj, err := i.config.Decode(i.value)
	if err == nil && check && i.config.Check != nil {
		err = i.config.Check(obj)
	}
	return obj, err
}

// corruptError returns the error of an item that cannot be decoded or, if isEncrypted is set, not
// even be decrypted.
func (i *Item) corruptError(err error, isEncrypted bool) *CorruptError {
	return &CorruptError{Path: i.config.path + i.key, Key: "/" + i.config.Prefix + "/" + i.key, Revision: i.rev,
		Encrypted: isEncrypted, Err: err}
}

// UnusableError returns the error of an item that is decodable, but useless to a reader because of err.
func (i *Item) UnusableError(err error) *CorruptError { return i.corruptError(err, false) }

// Labels returns the labels of the object.
func (i *Item) Labels() Pairs {
	if m := i.meta.Load(); m != nil {
		return m.labels
	}
	return i.computeMeta(false).labels
}

// Fields returns the selectable fields of the object.
func (i *Item) Fields() Pairs {
	if i.config.Fields == nil {
		return ""
	}
	if m := i.meta.Load(); m != nil && m.hasFields {
		return m.fields
	}
	return i.computeMeta(true).fields
}

// Field returns a selectable field of the object. It reads an indexed field from the value, so that selection by it does not
// decode the object, nor keep its other fields.
func (i *Item) Field(name string) string {
	if m := i.meta.Load(); m != nil && m.hasFields {
		return m.fields.Get(name)
	}
	if text, ok := i.storedField(name); ok {
		return text
	}
	return i.Fields().Get(name)
}

// storedField reads a field from the value. It reports false if the object has to be decoded.
func (i *Item) storedField(name string) (string, bool) {
	if i.config.StoredField == nil {
		return "", false
	}
	text, ok := i.config.StoredField(i.value, name)
	return string(text), ok
}

func (i *Item) computeMeta(fields bool) *itemMeta {
	i.mu.Lock()
	defer i.mu.Unlock()
	if m := i.meta.Load(); m != nil && (m.hasFields || !fields) {
		return m
	}
	m := &itemMeta{hasFields: fields}
	var labels map[string]string
	if obj, err := i.decode(); err == nil {
		labels = obj.GetLabels()
		m.labels = PairsOf(labels)
		if fields {
			m.fields = PairsOf(i.config.Fields(obj))
		}
	}
	i.signature.Store(LabelSignature(labels) | signatureComputed)
	i.meta.Store(m)
	return m
}

// signatureComputed is the bit of Item.signature that marks it as computed.
const signatureComputed = 1 << 63

// LabelSignature returns a Bloom filter of the labels, with two bits for each. A set of
// labels can contain another only if its signature has all bits of the other's.
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

// MayHaveLabels returns false if the item certainly lacks some label of the signature. It
// reads the item alone, while Labels follows pointers.
func (i *Item) MayHaveLabels(signature uint64) bool {
	s := i.signature.Load()
	return s&signature == signature || s&signatureComputed == 0
}

// Slot identifies one form in which items are encoded: a representation of one
// version of a kind. An item holds at most one encoding for each Slot. Slots are
// compared by identity, so that two owners never read each other's encodings, even
// if they encode the same version of different definitions of a kind.
type Slot struct{ _ byte } // not empty: distinct empty values may share an address

// NewSlot returns a Slot that differs from all others.
func NewSlot() *Slot { return &Slot{} }

// Encoding returns the item's encoding in slot. The first call computes it with encode,
// which must not call methods of the item, and caches it. The returned bytes must not be changed.
func (i *Item) Encoding(slot *Slot, encode func(api.Object) ([]byte, error)) ([]byte, error) {
	if data := i.CachedEncoding(slot); data != nil {
		return data, nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if data := i.CachedEncoding(slot); data != nil {
		return data, nil
	}
	obj, err := i.decode()
	if err != nil {
		return nil, err
	}
	data, err := encode(obj)
	if err != nil {
		return nil, err
	}
	return i.storeEncoding(slot, data), nil
}

const (
	// smallEncoding is the size up to which an encoding is cached for as long as the item lives. Larger ones may
	// be megabytes for each object, in each of several forms.
	smallEncoding = 64 << 10
	// keptBytes is the size of the values of a collection up to which that is so. In a larger one only encodings of up to
	// tinyEncoding bytes are, such as the cells of a table row: others would take more memory than the values.
	keptBytes    = 64 << 20
	tinyEncoding = 512
)

// storeEncoding caches an encoding in slot, which has none; i.mu is held. It returns the encoding without room
// for more.
func (i *Item) storeEncoding(slot *Slot, data []byte) []byte {
	data = data[:len(data):len(data)]
	e := &itemEncoding{slot: slot}
	if i.Keeps(len(data)) {
		e.data, e.next = data, i.encodings.Load()
	} else {
		e.large, e.next = weak.Make(&largeEncoding{data}), i.encodings.Load().without(slot)
	}
	i.encodings.Store(e)
	return data
}

// Keeps reports whether an encoding of a size is cached for as long as the item lives, and not only while it is in use.
func (i *Item) Keeps(size int) bool {
	return size <= tinyEncoding || size <= smallEncoding && !i.config.isLarge.Load()
}

// without returns the list without the element of a slot, whose encoding was freed.
func (e *itemEncoding) without(slot *Slot) *itemEncoding {
	switch {
	case e == nil:
		return nil
	case e.slot == slot:
		return e.next
	}
	copied := *e
	copied.next = e.next.without(slot)
	return &copied
}

// CachedEncoding returns the cached encoding in slot, or nil.
func (i *Item) CachedEncoding(slot *Slot) []byte {
	e := i.encodings.Load()
	for e != nil && e.slot != slot {
		e = e.next
	}
	switch {
	case e == nil:
		return nil
	case e.data != nil:
		return e.data
	}
	if large := e.large.Value(); large != nil {
		return large.data
	}
	return nil // a garbage collection freed it
}

// CacheEncoding caches an encoding in slot, unless slot has one already, and returns the encoding
// of slot.
func (i *Item) CacheEncoding(slot *Slot, data []byte) []byte {
	i.mu.Lock()
	defer i.mu.Unlock()
	if cached := i.CachedEncoding(slot); cached != nil {
		return cached
	}
	return i.storeEncoding(slot, data)
}

// PrefetchEncodings reads both ends of each item's cached encoding in slot or, if it has none, of its
// value. The encodings are in cold memory behind pointers; reading many in a row overlaps
// the cache misses that a caller would otherwise take one after the other.
//
//go:noinline
func PrefetchEncodings(items []*Item, slot *Slot) (sum byte) {
	for _, i := range items {
		data := i.CachedEncoding(slot)
		if data == nil {
			data = i.value
		}
		if len(data) > 0 {
			sum ^= data[0] ^ data[len(data)-1]
		}
	}
	return sum
}

// dropEncodings drops the cached encodings to save memory.
func (i *Item) dropEncodings() { i.encodings.Store(nil) }

// dropLarge drops the cached encodings that an item of a large collection does not keep.
func (i *Item) dropLarge() {
	var kept *itemEncoding
	for e := i.encodings.Load(); e != nil; e = e.next {
		if e.data != nil && i.Keeps(len(e.data)) {
			kept = &itemEncoding{slot: e.slot, data: e.data, next: kept}
		}
	}
	i.encodings.Store(kept)
}
