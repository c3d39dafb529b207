package handlers

import (
	"bytes"
	"errors"

	"go.yaml.in/yaml/v3"
)

// maxYAML is how large a YAML body may be once its aliases are replaced by what
// they stand for. Decoders bound how often they do that, but not how much comes
// of it: a long text with a short alias makes gigabytes of a small body.
const maxYAML = 8 * maxBody

var errYAMLAliases = errors.New("yaml: the document is too large with its aliases replaced")

// checkAliases refuses a YAML body whose aliases make it too large. What else is
// wrong with it is left for the decoder to say.
func checkAliases(data []byte) error {
	if bytes.IndexByte(data, '*') < 0 {
		return nil
	}
	var document yaml.Node
	if yaml.Unmarshal(data, &document) != nil {
		return nil
	}
	if expandedSize(&document, map[*yaml.Node]int{}) > maxYAML {
		return errYAMLAliases
	}
	return nil
}

// expandedSize is about how large a node is without aliases, or more than
// maxYAML. Known has the sizes of what aliases stand for, found once each.
func expandedSize(n *yaml.Node, known map[*yaml.Node]int) int {
	if n.Kind == yaml.AliasNode {
		size, ok := known[n.Alias]
		if !ok {
			known[n.Alias] = maxYAML + 1 // should it contain itself
			size = expandedSize(n.Alias, known)
			known[n.Alias] = size
		}
		return size
	}
	size := len(n.Value) + 1
	for _, child := range n.Content {
		if size += expandedSize(child, known); size > maxYAML {
			break
		}
	}
	return size
}
