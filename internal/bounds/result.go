package bounds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// MaxObject is the default of the maximum size of an object, with everything that defaults,
// conversion, patches and admission add: three times the size of a request that etcd accepts by
// default.
const MaxObject = 3 * (3 << 20 / 2)

// maxResult is the maximum length of the JSON of an object after a patch, before the limit of its
// resource applies.
const maxResult = 4 * MaxBody

func errObject(limit int, field string) error {
	if field == "" {
		return &Error{fmt.Sprintf("exceeded max object size of %d", limit)}
	}
	return &Error{fmt.Sprintf("exceeded max object size of %d, most of it in %s", limit, field)}
}

// Result checks the JSON of an object that a patch produced.
func Result(text []byte) error { return Object(text, maxResult) }

// Object checks the JSON of an object of at most limit bytes that a patch, a webhook or a policy
// produced. The error names the field that contains most of the object.
func Object(text []byte, limit int) error {
	if len(text) > limit {
		return errObject(limit, largestField(text))
	}
	return JSON(text)
}

// Value is Object for decoded JSON. Values that share memory are counted each time.
func Value(content map[string]any, limit int) error {
	c := counter{limit: limit, depth: MaxDepth + managedDepth}
	return c.value(content, 1)
}

// counter adds up the approximate length of the JSON of a value.
type counter struct{ size, limit, depth int }

// value adds the length of v, a value at a depth.
func (c *counter) value(v any, depth int) error {
	const punctuation = 4
	c.size += punctuation
	if s, ok := v.(string); ok {
		c.size += len(s)
	}
	if c.size > c.limit {
		return errObject(c.limit, "")
	}
	switch v := v.(type) {
	case map[string]any:
		if depth > c.depth {
			return errDepth()
		}
		for name, field := range v {
			c.size += len(name)
			if err := c.value(field, depth+1); err != nil {
				return within(name, err)
			}
		}
	case []any:
		if depth > c.depth {
			return errDepth()
		}
		for _, item := range v {
			if err := c.value(item, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// within adds the top field to an error, in which the size or the depth was exceeded.
func within(field string, err error) error {
	if e, ok := err.(*fieldError); ok {
		return &fieldError{field + "." + e.field, e.err}
	}
	return &fieldError{field, err}
}

// fieldError is an error in a field.
type fieldError struct {
	field string
	err   error
}

// Error implements error.
func (e *fieldError) Error() string { return e.field + ": " + e.err.Error() }

// Unwrap returns the Error of the field.
func (e *fieldError) Unwrap() error { return e.err }

// largestField returns the path of the field that contains most of a JSON object, or "".
func largestField(text []byte) (path string) {
	const levels = 8
	for range levels {
		var members map[string]json.RawMessage
		if json.Unmarshal(text, &members) != nil {
			break
		}
		largest := ""
		for name, value := range members {
			if len(value) > len(members[largest]) || largest == "" {
				largest = name
			}
		}
		if len(members[largest]) < len(text)/2 {
			break
		}
		if path != "" {
			path += "."
		}
		path, text = path+largest, members[largest]
	}
	return path
}

// TextSize returns the approximate length of the JSON of decoded JSON.
func TextSize(content map[string]any) int {
	c := counter{limit: math.MaxInt, depth: math.MaxInt}
	_ = c.value(content, 1) // without limits
	return c.size
}

// DecodedSize returns the approximate memory, in bytes, of the values into which a JSON text is
// decoded without a Go type. It is more than that for strings that contain brackets and commas.
func DecodedSize(text []byte) int {
	const container, value = 64, 24
	containers, values := counts(text)
	return len(text) + container*containers + value*values
}

// WebhookResponse checks the response of a webhook, which may be JSON, YAML or protobuf
// whatever was requested. It checks only the nesting of JSON: the objects in the response are
// checked when they are decoded.
func WebhookResponse(data []byte) error {
	const envelope = "k8s\x00"
	if message, ok := bytes.CutPrefix(data, []byte(envelope)); ok {
		return Proto(message)
	}
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] == '{' {
		return Depth(text)
	}
	return YAML(data)
}
