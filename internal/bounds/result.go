package bounds

import (
	"bytes"
	"fmt"
)

// maxResult is how long the JSON of an object may become by patches, webhooks and
// policies. It is more than any object that can be stored, and keeps a row of
// policies that each double an object from using up the memory.
const maxResult = 4 * MaxBody

func errResult() error {
	return &Error{fmt.Sprintf("exceeded max object size of %d", maxResult)}
}

// Result checks the JSON of an object that was made from another one.
func Result(text []byte) error {
	if len(text) > maxResult {
		return errResult()
	}
	return JSON(text)
}

// Value checks decoded JSON that was made from an object, as Result does for its
// text. Values that share memory count each time.
func Value(content map[string]any) error {
	size := 0
	return value(content, 1, MaxDepth+managedDepth, &size)
}

// value adds the approximate length of the JSON of v, which stands at a depth, to
// size.
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

// WebhookResponse checks the answer of a webhook, which may be JSON, YAML or protobuf
// whatever was asked for. The JSON in it is not checked: a JSON decoder stops
// before its stack is too large, and the objects in the answer are checked one by
// one when they are taken out.
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
