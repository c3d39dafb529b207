// Package jsonpatch applies JSON patches (RFC 6902) with the results and the messages of
// kube-apiserver, for patches that clients and admission webhooks send.
//
// The library that kube-apiserver uses, json-patch 4, decodes each level of a document on
// the path of an operation, encodes the values that it copies or compares, and moves the
// items of an array with each insertion. A patch of a few hundred kilobytes keeps it busy
// for minutes. Here the cost of a patch is proportional to its length, the length of the
// document, and the size of its copies:
//
//   - node.go: a value of the document is parsed once, and only if a path leads through it.
//   - list.go: arrays are stored in pieces.
package jsonpatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/internal/jsonscan"
)

// Errors that the errors of Apply wrap, like those of json-patch.
var (
	// ErrTestFailed is the error of a failed test operation.
	ErrTestFailed   = errors.New("test failed")
	errMissing      = errors.New("missing value")
	errInvalidIndex = errors.New("invalid index referenced")
)

// Patch is a JSON patch. It is safe for concurrent use.
type Patch struct{ operations []operation }

// operation is one operation of a patch.
type operation struct {
	op         string
	path, from pointer
	// value is nil if the operation has none.
	value *jsonscan.Value
}

// pointer is the field path or from of an operation. err is set if the field is missing or
// not a string.
type pointer struct {
	string
	err error
}

// Decode parses a patch, which must be within the limits of package bounds. It does not
// check whether the operations are valid; Apply does.
func Decode(data []byte) (*Patch, error) {
	if err := bounds.JSON(data); err != nil {
		return nil, err
	}
	if err := checkForm(data); err != nil {
		return nil, err
	}
	p := &Patch{}
	list := jsonscan.ParseValid(data)
	if list.IsNull() {
		return p, nil
	}
	for element := list.Parts(); element.Next(); {
		p.operations = append(p.operations, operationOf(element.Value()))
	}
	return p, nil
}

// checkForm checks that a text is a list of objects. The names of its types appear in error
// messages.
func checkForm(data []byte) error {
	type Operation map[string]*json.RawMessage
	type Patch []Operation
	var p Patch
	return json.Unmarshal(data, &p)
}

// operationOf parses an operation, an object or null.
func operationOf(v jsonscan.Value) operation {
	o := operation{op: "unknown", path: pointer{err: errNoPath}, from: pointer{err: errNoFrom}}
	if v.IsNull() {
		return o
	}
	for m := v.Parts(); m.Next(); {
		value := m.Value()
		switch jsonscan.Unquote(m.Key()) {
		case "op":
			o.op = "unknown"
			if op := pointerOf(value, errMissing); op.err == nil {
				o.op = op.string
			}
		case "path":
			o.path = pointerOf(value, errNoPath)
		case "from":
			o.from = pointerOf(value, errNoFrom)
		case "value":
			o.value = &value
		}
	}
	return o
}

// pointerOf parses a string; missing is the error for null.
func pointerOf(v jsonscan.Value, missing error) (p pointer) {
	if v.IsNull() {
		p.err = missing
		return p
	}
	p.err = json.Unmarshal(v.Bytes(), &p.string)
	return p
}

// Len returns the number of operations.
func (p *Patch) Len() int { return len(p.operations) }

// Apply applies the patch to a document. The total size of its copies may be at most limit
// bytes, and the result must be within the limits of package bounds.
func (p *Patch) Apply(ctx context.Context, doc []byte, limit int64) ([]byte, error) {
	v, err := jsonscan.Parse(doc)
	if err != nil {
		return nil, err
	}
	d := &document{root: &node{raw: v}, limit: limit}
	if !d.root.open() {
		return nil, errors.New("the document is neither an object nor an array")
	}
	for i := range p.operations {
		const often = 64
		if i%often == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := d.do(&p.operations[i]); err != nil {
			return nil, err
		}
	}
	out := d.root.append(nil)
	return out, bounds.Result(out)
}

// document is the document that a patch is applied to.
type document struct {
	root *node
	// copied is the number of bytes copied so far, and limit its maximum.
	copied, limit int64
}

func (d *document) do(o *operation) error {
	switch o.op {
	case "add":
		return d.add(o)
	case "remove":
		return d.remove(o)
	case "replace":
		return d.replace(o)
	case "move":
		return d.move(o)
	case "test":
		return d.test(o)
	case "copy":
		return d.copy(o)
	}
	//lint:ignore ST1005 json-patch's words
	return fmt.Errorf("Unexpected kind: %s", o.op)
}

// find returns the object or array that has the last segment of a path, and that segment;
// nil if it does not exist.
func (d *document) find(path string) (in *node, key string) {
	parts := strings.Split(path, "/")
	if len(parts) < 2 {
		return nil, ""
	}
	in = d.root
	for _, part := range parts[1 : len(parts)-1] {
		next, err := in.get(unescaped(part))
		if err != nil || next == nil || !next.open() {
			return nil, ""
		}
		in = next
	}
	return in, unescaped(parts[len(parts)-1])
}

// unescaped returns the name that a segment of a path encodes.
func unescaped(part string) string {
	if strings.IndexByte(part, '~') < 0 {
		return part
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
}

func (d *document) add(o *operation) error {
	if o.path.err != nil {
		return fmt.Errorf("add operation failed to decode path: %w", errMissing)
	}
	in, key := d.find(o.path.string)
	if in == nil {
		return fmt.Errorf("add operation does not apply: doc is missing path: \"%s\": %w", o.path.string, errMissing)
	}
	if err := in.add(key, o.node()); err != nil {
		return fmt.Errorf("error in add for path: '%s': %w", o.path.string, err)
	}
	return nil
}

func (d *document) remove(o *operation) error {
	if o.path.err != nil {
		return fmt.Errorf("remove operation failed to decode path: %w", errMissing)
	}
	in, key := d.find(o.path.string)
	if in == nil {
		return fmt.Errorf("remove operation does not apply: doc is missing path: \"%s\": %w", o.path.string, errMissing)
	}
	if err := in.remove(key); err != nil {
		return fmt.Errorf("error in remove for path: '%s': %w", o.path.string, err)
	}
	return nil
}

func (d *document) replace(o *operation) error {
	if o.path.err != nil {
		return fmt.Errorf("replace operation failed to decode path: %w", o.path.err)
	}
	if o.path.string == "" {
		value := o.node()
		if value == nil || !value.open() {
			return errors.New("replace operation value must be object or array: %!w(<nil>)") // json-patch's message
		}
		d.root = value
		return nil
	}
	in, key := d.find(o.path.string)
	if in == nil {
		return fmt.Errorf("replace operation does not apply: doc is missing path: %s: %w", o.path.string, errMissing)
	}
	// A missing member of an object is added.
	if _, err := in.get(key); err != nil {
		return fmt.Errorf("replace operation does not apply: doc is missing key: %s: %w", o.path.string, errMissing)
	}
	in.set(key, o.node())
	return nil
}

func (d *document) move(o *operation) error {
	if o.from.err != nil {
		return fmt.Errorf("move operation failed to decode from: %w", o.from.err)
	}
	in, key := d.find(o.from.string)
	if in == nil {
		return fmt.Errorf("move operation does not apply: doc is missing from path: %s: %w", o.from.string, errMissing)
	}
	value, err := in.get(key)
	if err == nil {
		err = in.remove(key)
	}
	if err != nil {
		return fmt.Errorf("error in move for path: '%s': %w", key, err)
	}
	if o.path.err != nil {
		return fmt.Errorf("move operation failed to decode path: %w", o.path.err)
	}
	if in, key = d.find(o.path.string); in == nil {
		return fmt.Errorf("move operation does not apply: doc is missing destination path: %s: %w", o.path.string, errMissing)
	}
	if err := in.add(key, value); err != nil {
		return fmt.Errorf("error in move for path: '%s': %w", o.path.string, err)
	}
	return nil
}

func (d *document) test(o *operation) error {
	if o.path.err != nil {
		return fmt.Errorf("test operation failed to decode path: %w", o.path.err)
	}
	got, want := d.root, o.node()
	if o.path.string != "" {
		in, key := d.find(o.path.string)
		if in == nil {
			return fmt.Errorf("test operation does not apply: is missing path: %s: %w", o.path.string, errMissing)
		}
		var err error
		if got, err = in.get(key); err != nil {
			return fmt.Errorf("error in test for path: '%s': %w", o.path.string, err)
		}
	}
	if got == nil && (want == nil || want.isNull()) || got != nil && want != nil && got.equal(want) {
		return nil
	}
	return fmt.Errorf("testing value %s failed: %w", o.path.string, ErrTestFailed)
}

func (d *document) copy(o *operation) error {
	if o.from.err != nil {
		return fmt.Errorf("copy operation failed to decode from: %w", o.from.err)
	}
	in, key := d.find(o.from.string)
	if in == nil {
		return fmt.Errorf("copy operation does not apply: doc is missing from path: %s: %w", o.from.string, errMissing)
	}
	value, err := in.get(key)
	if err != nil {
		return fmt.Errorf("error in copy for from: '%s': %w", o.from.string, err)
	}
	if o.path.err != nil {
		return fmt.Errorf("copy operation failed to decode path: %w", errMissing)
	}
	if in, key = d.find(o.path.string); in == nil {
		return fmt.Errorf("copy operation does not apply: doc is missing destination path: %s: %w", o.path.string, errMissing)
	}
	value, size := value.copy()
	if d.copied += int64(size); d.copied > d.limit {
		//lint:ignore ST1005 json-patch's words
		return fmt.Errorf("Unable to complete the copy, the accumulated size increase of copy is %d, exceeding the limit %d", d.copied, d.limit)
	}
	if err := in.add(key, value); err != nil {
		return fmt.Errorf("error while adding value during copy: %w", err)
	}
	return nil
}

var (
	errNoPath = fmt.Errorf("operation missing path field: %w", errMissing)
	errNoFrom = fmt.Errorf("operation, missing from field: %w", errMissing)
)

// node returns the value of an operation, or nil.
func (o *operation) node() *node {
	if o.value == nil {
		return nil
	}
	return &node{raw: *o.value}
}
