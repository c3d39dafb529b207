package bounds

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// YAML checks a YAML document that has aliases: expanded, it may be no larger
// than a body. Decoders limit how many aliases they expand, but not how long the
// result is: a long text with a short alias makes gigabytes of a small body. A
// document that cannot be parsed here is refused, for what is not understood
// cannot be measured.
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

// expandedSize returns about how long the text of a node is without aliases, or
// more than MaxBody. known has the sizes of the nodes that aliases refer to.
func expandedSize(n *yaml.Node, known map[*yaml.Node]int) int {
	if n.Kind == yaml.AliasNode {
		size, ok := known[n.Alias]
		if !ok {
			known[n.Alias] = MaxBody + 1 // should it contain itself
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
