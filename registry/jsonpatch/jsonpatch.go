// Package jsonpatch applies JSON patches (RFC 6902) as kube-apiserver does, for
// requests and for admission webhooks and policies, which answer with patches.
//
// kube-apiserver's library is more lenient than the RFC: a member that is absent
// reads as null, so that it can be copied, replaced and tested; a negative index
// counts from the end of an array; what stands before a path's first slash is
// ignored.
package jsonpatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrTestFailed is what Apply fails with when a test of the patch does.
var ErrTestFailed = errors.New("test failed")

var (
	errMissing      = errors.New("missing value")
	errInvalidIndex = errors.New("invalid index referenced")
)

// Patch is a JSON patch. It is safe for concurrent use.
type Patch []Operation

// Operation is one operation of a patch. Its members are still encoded.
type Operation map[string]*json.RawMessage

// Decode reads a patch. Whether its operations make sense turns out when they
// are applied.
func Decode(data []byte) (Patch, error) {
	var p Patch
	err := json.Unmarshal(data, &p)
	return p, err
}

// Apply applies the patch to a document. The values that it copies have at most
// limit bytes in all.
func (p Patch) Apply(doc []byte, limit int64) ([]byte, error) {
	d := &document{limit: limit}
	if err := json.Unmarshal(doc, &d.root); err != nil {
		return nil, err
	}
	for _, op := range p {
		if err := d.apply(op); err != nil {
			return nil, err
		}
	}
	return json.Marshal(d.root)
}

// text returns a member that must be a string.
func (o Operation) text(member string) (string, error) {
	raw := o[member]
	if raw == nil {
		return "", fmt.Errorf("operation missing %s field: %w", member, errMissing)
	}
	var s string
	err := json.Unmarshal(*raw, &s)
	return s, err
}

// kind returns the name of the operation.
func (o Operation) kind() string {
	s, err := o.text("op")
	if err != nil {
		return "unknown"
	}
	return s
}

// value returns a new node for the member value; null if there is none.
func (o Operation) value() *node {
	if raw := o["value"]; raw != nil {
		return &node{raw: *raw}
	}
	return nil
}

// document is a document to which operations are applied.
type document struct {
	root          *node
	copied, limit int64
}

func (d *document) apply(op Operation) error {
	kind := op.kind()
	switch kind {
	case "add", "remove", "replace", "move", "test", "copy":
	default:
		return fmt.Errorf("Unexpected kind: %s", kind)
	}
	path, err := op.text("path")
	if err != nil {
		return fmt.Errorf("%s operation failed to decode path: %w", kind, err)
	}
	switch kind {
	case "add":
		return d.add(path, op.value())
	case "remove":
		return d.remove(path)
	case "replace":
		return d.replace(path, op.value())
	case "test":
		return d.test(path, op.value())
	}
	from, err := op.text("from")
	if err != nil {
		return fmt.Errorf("%s operation failed to decode from: %w", kind, err)
	}
	if kind == "move" {
		return d.move(from, path)
	}
	return d.copy(from, path)
}

// unescape decodes a part of a path.
var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// find returns the container that the last part of path is in, and that part; nil
// if there is none.
func (d *document) find(path string) (*node, string) {
	parts := strings.Split(path, "/")
	if len(parts) < 2 {
		return nil, ""
	}
	last := len(parts) - 1
	at := d.root
	for _, part := range parts[1:last] {
		if !at.open() {
			return nil, ""
		}
		next, err := at.get(unescape.Replace(part))
		if err != nil {
			return nil, ""
		}
		at = next
	}
	if !at.open() {
		return nil, ""
	}
	return at, unescape.Replace(parts[last])
}

func (d *document) add(path string, value *node) error {
	in, key := d.find(path)
	if in == nil {
		return fmt.Errorf("add operation does not apply: doc is missing path: \"%s\": %w", path, errMissing)
	}
	if err := in.add(key, value); err != nil {
		return fmt.Errorf("error in add for path: '%s': %w", path, err)
	}
	return nil
}

func (d *document) remove(path string) error {
	in, key := d.find(path)
	if in == nil {
		return fmt.Errorf("remove operation does not apply: doc is missing path: \"%s\": %w", path, errMissing)
	}
	if err := in.remove(key); err != nil {
		return fmt.Errorf("error in remove for path: '%s': %w", path, err)
	}
	return nil
}

func (d *document) replace(path string, value *node) error {
	if path == "" {
		if !value.open() {
			return errors.New("replace operation value must be object or array")
		}
		d.root = value
		return nil
	}
	in, key := d.find(path)
	if in == nil {
		return fmt.Errorf("replace operation does not apply: doc is missing path: %s: %w", path, errMissing)
	}
	if _, err := in.get(key); err != nil {
		return fmt.Errorf("replace operation does not apply: doc is missing key: %s: %w", path, errMissing)
	}
	return in.set(key, value)
}

func (d *document) test(path string, value *node) error {
	at := d.root
	if path != "" {
		in, key := d.find(path)
		if in == nil {
			return fmt.Errorf("test operation does not apply: is missing path: %s: %w", path, errMissing)
		}
		var err error
		if at, err = in.get(key); err != nil {
			return fmt.Errorf("error in test for path: '%s': %w", path, err)
		}
	}
	if !at.equal(value) {
		return fmt.Errorf("testing value %s failed: %w", path, ErrTestFailed)
	}
	return nil
}

func (d *document) move(from, path string) error {
	in, key := d.find(from)
	if in == nil {
		return fmt.Errorf("move operation does not apply: doc is missing from path: %s: %w", from, errMissing)
	}
	value, err := in.get(key)
	if err == nil {
		err = in.remove(key)
	}
	if err != nil {
		return fmt.Errorf("error in move for path: '%s': %w", key, err)
	}
	if in, key = d.find(path); in == nil {
		return fmt.Errorf("move operation does not apply: doc is missing destination path: %s: %w", path, errMissing)
	}
	if err := in.add(key, value); err != nil {
		return fmt.Errorf("error in move for path: '%s': %w", path, err)
	}
	return nil
}

func (d *document) copy(from, path string) error {
	in, key := d.find(from)
	if in == nil {
		return fmt.Errorf("copy operation does not apply: doc is missing from path: %s: %w", from, errMissing)
	}
	value, err := in.get(key)
	if err != nil {
		return fmt.Errorf("error in copy for from: '%s': %w", from, err)
	}
	if in, key = d.find(path); in == nil {
		return fmt.Errorf("copy operation does not apply: doc is missing destination path: %s: %w", path, errMissing)
	}
	if value != nil {
		raw, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("error while performing deep copy: %w", err)
		}
		value = &node{raw: raw}
		d.copied += int64(len(raw))
	}
	if d.copied > d.limit {
		return fmt.Errorf("Unable to complete the copy, the accumulated size increase of copy is %d, exceeding the limit %d", d.copied, d.limit)
	}
	if err := in.add(key, value); err != nil {
		return fmt.Errorf("error while adding value during copy: %w", err)
	}
	return nil
}
