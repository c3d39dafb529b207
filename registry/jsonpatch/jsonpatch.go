// Package jsonpatch applies JSON patches (RFC 6902) as kube-apiserver does, for
// clients that send one and for admission, which makes them.
//
// kube-apiserver uses an older release of the library that is used here. The
// older one has no bound for what copies add up to but a variable of the package,
// so that the newer one is made to behave like it.
package jsonpatch

import (
	"encoding/json"
	"fmt"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

// ErrTestFailed is what Apply fails with when a test of the patch does.
var ErrTestFailed = jsonpatch.ErrTestFailed

// Patch is a JSON patch. It is safe for concurrent use.
type Patch struct {
	operations jsonpatch.Patch
	replaced   map[string]bool // paths of a replace that became an add
}

// Decode reads a patch. Whether its operations make sense turns out when they
// are applied.
func Decode(data []byte) (*Patch, error) {
	var ops []struct{ Op, Path string }
	if err := json.Unmarshal(data, &ops); err != nil {
		return nil, err
	}
	// Not DecodePatch, which refuses more than is to be refused at this point.
	p := &Patch{replaced: map[string]bool{}}
	if err := json.Unmarshal(data, &p.operations); err != nil {
		return nil, err
	}
	null, add := json.RawMessage("null"), json.RawMessage(`"add"`)
	for i, op := range p.operations {
		if _, ok := op["value"]; !ok && op != nil {
			op["value"] = &null
		}
		if ops[i].Op == "replace" && namesMember(ops[i].Path) {
			op["op"], p.replaced[ops[i].Path] = &add, true
		}
	}
	return p, nil
}

// Len is how many operations the patch has.
func (p *Patch) Len() int { return len(p.operations) }

// namesMember tells whether a path can only lead to the member of an object: it
// ends in no number. A replace of such a path adds what is not there, as it does
// on kube-apiserver, where an add is the same as a replace for what is there.
func namesMember(path string) bool {
	last := path[strings.LastIndexByte(path, '/')+1:]
	return last != "" && last != "-" && strings.Trim(last, "-0123456789") != ""
}

// Apply applies the patch to a document. What its copies add up to is at most
// limit bytes.
func (p *Patch) Apply(doc []byte, limit int64) ([]byte, error) {
	options := jsonpatch.NewApplyOptions()
	options.AccumulatedCopySizeLimit = limit
	out, err := p.operations.ApplyWithOptions(doc, options)
	if err != nil {
		return nil, &applyError{p.worded(err.Error()), err}
	}
	return out, nil
}

// applyError is an error in kube-apiserver's words.
type applyError struct {
	message string
	err     error
}

// Error returns the message.
func (e *applyError) Error() string { return e.message }

// Unwrap returns the library's error.
func (e *applyError) Unwrap() error { return e.err }

// worded is a message as the older release has it, of an add that was sent as a
// replace for example.
func (p *Patch) worded(message string) string {
	for path := range p.replaced {
		switch {
		case strings.HasPrefix(message, fmt.Sprintf("add operation does not apply: doc is missing path: \"%s\": ", path)):
			return fmt.Sprintf("replace operation does not apply: doc is missing path: %s: %v", path, jsonpatch.ErrMissing)
		case strings.HasPrefix(message, fmt.Sprintf("error in add for path: '%s': ", path)):
			return fmt.Sprintf("replace operation does not apply: doc is missing key: %s: %v", path, jsonpatch.ErrMissing)
		}
	}
	const missing = "nable to remove nonexistent key: "
	if strings.HasPrefix(message, "error in move ") {
		message = strings.Replace(message, ": unable to get nonexistent key: ", ": U"+missing, 1)
	}
	return strings.Replace(message, ": u"+missing, ": U"+missing, 1)
}
