// Package jsonpatch applies JSON patches (RFC 6902) with the results and the
// messages of kube-apiserver, for clients that send one and for admission, which
// makes them.
//
// The library that kube-apiserver uses, json-patch 4, decodes each level of a
// document that a path leads through, encodes what is copied or compared, and moves
// an array with each insertion. A patch of a few hundred kilobytes keeps it busy for
// minutes. Here a patch costs no more than its length and that of the document, and
// what its copies add:
//
//   - node.go: a part of the document is looked into once, and only if a path leads
//     there.
//   - list.go: arrays are kept in pieces.
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

// Errors that those of Apply wrap, as those of json-patch do.
var (
	// ErrTestFailed is the error of a test operation that fails.
	ErrTestFailed   = errors.New("test failed")
	errMissing      = errors.New("missing value")
	errInvalidIndex = errors.New("invalid index referenced")
)

// Patch is a JSON patch. It is safe for concurrent use.
type Patch struct{ operations []operation }

// operation is one of a patch.
type operation struct {
	op         string
	path, from pointer
	// value is nil where there is none.
	value *jsonscan.Value
}

// pointer is a field of an operation that says where a value is. err is set if it
// is missing or no string.
type pointer struct {
	string
	err error
}

// Decode reads a patch, which must be within the bounds of a document. Whether its
// operations make sense turns out when they are applied.
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

// checkForm looks whether a text is a list of objects. The names of its types show in
// messages.
func checkForm(data []byte) error {
	type Operation map[string]*json.RawMessage
	type Patch []Operation
	var p Patch
	return json.Unmarshal(data, &p)
}

// operationOf reads an operation, an object or null.
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

// pointerOf reads a string; missing is the error of null.
func pointerOf(v jsonscan.Value, missing error) (p pointer) {
	if v.IsNull() {
		p.err = missing
		return p
	}
	p.err = json.Unmarshal(v.Bytes(), &p.string)
	return p
}

// Len is how many operations the patch has.
func (p *Patch) Len() int { return len(p.operations) }

// Apply applies the patch to a document. What its copies add up to is at most
// limit bytes, and the result is within the bounds of an object.
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

// document is one that a patch is applied to.
type document struct {
	root *node
	// copied is how many bytes were copied, limit how many may be.
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

// find returns the object or array that a path leads into, and the name or index
// that it ends with; nil if there is none.
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

// unescaped returns the name that a part of a path stands for.
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
			return errors.New("replace operation value must be object or array: %!w(<nil>)") // so it reads there
		}
		d.root = value
		return nil
	}
	in, key := d.find(o.path.string)
	if in == nil {
		return fmt.Errorf("replace operation does not apply: doc is missing path: %s: %w", o.path.string, errMissing)
	}
	// In an object, what is not there is added.
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
	is, want := d.root, o.node()
	if o.path.string != "" {
		in, key := d.find(o.path.string)
		if in == nil {
			return fmt.Errorf("test operation does not apply: is missing path: %s: %w", o.path.string, errMissing)
		}
		var err error
		if is, err = in.get(key); err != nil {
			return fmt.Errorf("error in test for path: '%s': %w", o.path.string, err)
		}
	}
	if is == nil && (want == nil || want.isNull()) || is != nil && want != nil && is.equal(want) {
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

// node returns the value of an operation; nil if it has none.
func (o *operation) node() *node {
	if o.value == nil {
		return nil
	}
	return &node{raw: *o.value}
}
