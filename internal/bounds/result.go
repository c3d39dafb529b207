package bounds

import (
	"bytes"
	"fmt"
)

// maxResult is the maximum length of the JSON of an object after patches, webhooks and
// policies. It exceeds the size of any object that can be stored, and prevents a sequence
// of policies that each double an object from exhausting the memory.
const maxResult = 4 * MaxBody

func errResult() error {
	return &Error{fmt.Sprintf("exceeded max object size of %d", maxResult)}
}

// Result checks the JSON of an object that a patch, a webhook or a policy produced.
func Result(text []byte) error {
	if len(text) > maxResult {
		return errResult()
	}
	return JSON(text)
}

// Value is Result for decoded JSON. Values that share memory are counted each time.
func Value(content map[string]any) error {
	size := 0
	return value(content, 1, MaxDepth+managedDepth, &size)
}

// value adds the approximate length of the JSON of v, a value at a depth, to size.
func value(v any, depth, most int, size *int) error {
	const punctuation = 4
	*size += punctuation
	if *size > maxResult {
		return errResult()
	}
	switch v := v.(type) {
	case string:
		*size += len(v)
	case map[string]any:
		if depth > most {
			return errDepth()
		}
		for name, field := range v {
			*size += len(name)
			if err := value(field, depth+1, most, size); err != nil {
				return err
			}
		}
	case []any:
		if depth > most {
			return errDepth()
		}
		for _, item := range v {
			if err := value(item, depth+1, most, size); err != nil {
				return err
			}
		}
	}
	return nil
}

// WebhookResponse checks the response of a webhook, which may be JSON, YAML or protobuf
// whatever was requested. It does not check JSON, whose decoder limits its own stack; the
// objects in the response are checked when they are decoded.
func WebhookResponse(data []byte) error {
	const envelope = "k8s\x00"
	if message, ok := bytes.CutPrefix(data, []byte(envelope)); ok {
		return Proto(message)
	}
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] == '{' {
		return nil
	}
	return YAML(data)
}
