package custom

import (
	"math"

	"k8s.io/client-go/util/jsonpath"
)

// The paths of printer columns can be expensive: ".." visits every value of an object, a second
// ".." visits them once for each level above them, and ['a','a'] doubles everything that follows.
// kube-apiserver has no limit. Here, the cells of a row that exceed one of these limits are empty.
const (
	// maxRowCost is the number of values that the paths of a row may visit, by an estimate.
	maxRowCost = 4 << 20
	// maxRowText is the length of the texts in a row.
	maxRowText = 1 << 20
)

// A row is computed when an object is written only if it has few columns with paths that visit
// nothing twice. See api.Table.
const maxColumnsOnWrite = 32

// pathCost describes the cost of a path.
type pathCost struct {
	// steps is the number of values that a path of nothing but names and indexes visits.
	steps int
	// copies is the product of the lengths of all unions.
	copies int
	// fans is the number of steps that visit several values; recursions is the number of ".." among
	// them, and wildcards that of ".." and ".*".
	fans, recursions, wildcards int
	// ranges reports whether the path contains a range, for which the library keeps state in the
	// parsed path.
	ranges bool
}

// costOf returns the cost of a parsed path.
func costOf(p *jsonpath.Parser) pathCost {
	c := pathCost{copies: 1}
	c.add(p.Root)
	return c
}

func (c *pathCost) add(n jsonpath.Node) {
	if n.Type() != jsonpath.NodeList {
		c.steps++
	}
	switch n := n.(type) {
	case *jsonpath.ListNode:
		if n == nil {
			return
		}
		for _, part := range n.Nodes {
			c.add(part)
		}
	case *jsonpath.UnionNode:
		c.copies = product(c.copies, max(len(n.Nodes), 1))
		for _, part := range n.Nodes {
			c.add(part)
		}
	case *jsonpath.FilterNode:
		c.fans++
		c.add(n.Left)
		c.add(n.Right)
	case *jsonpath.RecursiveNode:
		c.fans++
		c.wildcards++
		c.recursions++
	case *jsonpath.WildcardNode:
		c.fans++
		c.wildcards++
	case *jsonpath.ArrayNode:
		c.fans++
	case *jsonpath.IdentifierNode:
		c.ranges = true
	}
}

// onWrite reports whether the path is cheap enough for every write.
func (c *pathCost) onWrite() bool { return c.recursions == 0 && c.copies == 1 && !c.ranges }

// of returns an upper bound of the number of values that the path visits in an object. Without
// "..", a step visits each value at most once; with it, once for each level above the value.
func (c *pathCost) of(o *objectSize) int {
	cost := product(c.steps, c.copies)
	if c.fans == 0 {
		return cost
	}
	o.measure()
	values := o.values
	if c.wildcards > 0 {
		values += o.characters // which these steps visit as well
	}
	cost = product(cost, values)
	for range c.recursions - 1 {
		cost = product(cost, o.depth)
	}
	return cost
}

// product returns a*b, or the largest int if that is larger.
func product(a, b int) int {
	if b != 0 && a > math.MaxInt/b {
		return math.MaxInt
	}
	return a * b
}

// objectSize is the size of an object, which is measured at most once.
type objectSize struct {
	content any
	// values is the number of values, characters that of the bytes of texts, and depth that of
	// levels.
	values, characters, depth int
}

func (o *objectSize) measure() {
	if o.values == 0 {
		o.add(o.content, 1)
	}
}

func (o *objectSize) add(v any, depth int) {
	o.values++
	o.depth = max(o.depth, depth)
	switch v := v.(type) {
	case string:
		o.characters += len(v)
	case []any:
		for _, item := range v {
			o.add(item, depth+1)
		}
	case map[string]any:
		for _, field := range v {
			o.add(field, depth+1)
		}
	}
}
