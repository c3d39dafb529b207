package handlers

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/parser"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/sharding"

	"github.com/miniapiserver/miniapiserver/request"
)

// A shard selector is a CEL expression such as
//
//	shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')
//
// or several of these calls on one field, joined by ||. It is never evaluated: its syntax tree
// gives the ranges.

// Limits of a shard selector, in bytes and in ranges. Every object is compared with every range.
const (
	maxShardSelector = 16 << 10
	maxShardRanges   = 128
)

// Bounds of hashes: the number of their digits, and the end of all ranges.
const (
	hashDigits = 16
	hashEnd    = "0x10000000000000000"
)

var shardFields = []string{"object.metadata.uid", "object.metadata.namespace"}

// parseShardSelector parses the option shardSelector.
func parseShardSelector(text string) (sharding.Selector, error) {
	if len(text) > maxShardSelector {
		return nil, fmt.Errorf("longer than %d bytes", maxShardSelector)
	}
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("empty shard selector is not allowed; omit the parameter for unfiltered lists")
	}
	p, err := parser.NewParser(parser.Macros())
	if err != nil {
		return nil, err
	}
	tree, faults := p.Parse(common.NewTextSource(strings.TrimSpace(text)))
	if list := faults.GetErrors(); len(list) > 0 {
		return nil, fmt.Errorf("CEL parse error: %s", list[0].Message)
	}
	ranges, err := appendShardRanges(nil, tree.Expr())
	if err != nil {
		return nil, err
	}
	for _, r := range ranges {
		if r.Key != ranges[0].Key {
			return nil, fmt.Errorf("all shard ranges must use the same field, got %q and %q", ranges[0].Key, r.Key)
		}
	}
	return sharding.NewSelector(ranges...), nil
}

// appendShardRanges appends the ranges of an expression.
func appendShardRanges(ranges []sharding.ShardRangeRequirement, e ast.Expr) ([]sharding.ShardRangeRequirement, error) {
	if e.Kind() != ast.CallKind {
		return nil, fmt.Errorf("unexpected expression kind %v; expected shardRange() call or || operator", e.Kind())
	}
	call := e.AsCall()
	switch {
	case call.FunctionName() == operators.LogicalOr:
		var err error
		for _, arg := range call.Args() {
			if ranges, err = appendShardRanges(ranges, arg); err != nil {
				return nil, err
			}
		}
		return ranges, nil
	case call.FunctionName() != "shardRange" || call.IsMemberFunction():
		return nil, fmt.Errorf("unsupported function %q; only shardRange() and || are allowed", call.FunctionName())
	case len(ranges) == maxShardRanges:
		return nil, fmt.Errorf("more than %d ranges", maxShardRanges)
	}
	r, err := shardRange(call.Args())
	return append(ranges, r), err
}

// shardRange returns the range of a call of shardRange.
func shardRange(args []ast.Expr) (r sharding.ShardRangeRequirement, err error) {
	if len(args) != 3 {
		return r, fmt.Errorf("shardRange() requires exactly 3 arguments, got %d", len(args))
	}
	if r.Key, err = fieldPath(args[0]); err != nil {
		return r, fmt.Errorf("shardRange() first argument: %w", err)
	}
	if !slices.Contains(shardFields, r.Key) {
		return r, fmt.Errorf("unsupported field path %q; supported: %s", r.Key, strings.Join(shardFields, ", "))
	}
	if r.Start, err = shardBound(args[1], "hexStart"); err != nil {
		return r, err
	}
	if r.End, err = shardBound(args[2], "hexEnd"); err != nil {
		return r, err
	}
	if !sharding.HexLess(r.Start, r.End) {
		return r, fmt.Errorf("shard range start %s must be less than end %s", r.Start, r.End)
	}
	return r, nil
}

// fieldPath returns the path of a chain of selections.
func fieldPath(e ast.Expr) (string, error) {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent(), nil
	case ast.SelectKind:
		operand, err := fieldPath(e.AsSelect().Operand())
		return operand + "." + e.AsSelect().FieldName(), err
	}
	return "", fmt.Errorf("expected field path (e.g. object.metadata.uid), got expression kind %v", e.Kind())
}

// shardBound returns a bound of a range. All bounds but the end of all ranges have the digits of a
// hash, so that texts compare like numbers.
func shardBound(e ast.Expr, name string) (string, error) {
	if e.Kind() != ast.LiteralKind {
		return "", fmt.Errorf("%s must be a string literal (e.g. '0xff'), got expression kind %v", name, e.Kind())
	}
	text, ok := e.AsLiteral().Value().(string)
	if !ok {
		return "", fmt.Errorf("%s must be a string literal, got %T", name, e.AsLiteral().Value())
	}
	digits, ok := strings.CutPrefix(text, "0x")
	switch {
	case !ok:
		return "", fmt.Errorf("%s must have '0x' prefix, got %q", name, text)
	case strings.Trim(digits, "0123456789abcdef") != "":
		return "", fmt.Errorf("%s: %q has characters that are not hexadecimal digits", name, text)
	case len(digits) != hashDigits && text != hashEnd:
		return "", fmt.Errorf("%s must be a 0x-prefixed %d-digit hex value or '%s', got %q", name, hashDigits, hashEnd, text)
	}
	return text, nil
}

// countedShard is a selector that counts the objects that it does not select.
type countedShard struct {
	sharding.Selector
	outside prometheus.Counter
}

// countShard returns a selector that counts the objects that watches do not get because of it.
func (m *metrics) countShard(i *request.Info, s sharding.Selector) sharding.Selector {
	return countedShard{s, m.sizes.outsideOfShards.WithLabelValues(i.Group, i.Resource)}
}

// Matches implements sharding.Selector.
func (s countedShard) Matches(obj runtime.Object) (bool, error) {
	ok, err := s.Selector.Matches(obj)
	if err == nil && !ok {
		s.outside.Inc()
	}
	return ok, err
}

// countShardedWatch counts a watch until the returned function is called.
func (m *metrics) countShardedWatch(i *request.Info) func() {
	watches := m.sizes.shardedWatches.WithLabelValues(i.Group, i.Resource)
	watches.Inc()
	return watches.Dec
}
