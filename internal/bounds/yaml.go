package bounds

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// YAML checks that a YAML document is not larger than MaxBody with its aliases expanded.
// Decoders limit the number of aliases that they expand but not the size of the result, so
// that a small body with many aliases of a long text would become gigabytes. A document
// that cannot be parsed here is refused.
func YAML(text []byte) error {
	if bytes.IndexByte(text, '*') < 0 {
		return nil
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return err
	}
	if expandedSize(&document, map[*yaml.Node]int{}) > max(MaxBody, len(text)) {
		return &Error{fmt.Sprintf("yaml: the document is too large with its aliases replaced, limit is %d", MaxBody)}
	}
	return nil
}

// expandedSize returns the approximate length of a node's text without aliases, or more
// than MaxBody. known has the sizes of aliased nodes.
func expandedSize(n *yaml.Node, known map[*yaml.Node]int) int {
	if n.Kind == yaml.AliasNode {
		size, ok := known[n.Alias]
		if !ok {
			known[n.Alias] = MaxBody + 1 // for a node that contains itself
			size = expandedSize(n.Alias, known)
			known[n.Alias] = size
		}
		return size
	}
	size := len(n.Value) + 1
	for _, child := range n.Content {
		if size += expandedSize(child, known); size > MaxBody {
			break
		}
	}
	return size
}
