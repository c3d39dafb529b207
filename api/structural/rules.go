package structural

import (
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	estimate "github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apicel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/internal/celbounds"
)

// What rules refer to: the value that the schema is for, and what it was before.
const (
	self    = "self"
	oldSelf = "oldSelf"
)

// selfType is the name of the type of a whole object.
const selfType = "selfType"

// perCallLimit bounds the cost of one evaluation of one expression.
const perCallLimit = 1_000_000

// checkFrequency is after how many steps of a loop an evaluation looks whether
// its request is still there.
const checkFrequency = 100

// rule is one of x-kubernetes-validations.
type rule struct {
	said *apiextensionsv1.ValidationRule

	// program is what it is compiled to, or err what is wrong with it. Message and
	// messageErr are so for the expression of its message. All are nil where there
	// is no expression.
	program, message cel.Program
	err, messageErr  *apicel.Error
	// cost and messageCost are the most that evaluations may cost.
	cost, messageCost uint64
	// old: it compares with what was before.
	old bool
	// path is where below the value its fault is shown.
	path string
}

// optional tells of a rule that is evaluated even where there was nothing before.
func (r *rule) optional() bool { return r.said.OptionalOldSelf != nil && *r.said.OptionalOldSelf }

// rules are those of a value and of what is in it; nil where there are none.
type rules struct {
	node *node
	// whole: the value is an object with kind and metadata.
	whole  bool
	own    []rule
	err    error
	fields map[string]*rules
	names  []string // of fields, sorted
	values *rules
	items  *rules
}

// newRules compiles the rules of a schema and of all below it.
func newRules(n *node, whole bool) *rules {
	if !n.hasRules() {
		return nil
	}
	in, err := scopeOf(n, whole)
	if err != nil {
		return &rules{node: n, whole: whole, err: err}
	}
	return in.compile(n, whole)
}

func (n *node) hasRules() bool {
	if n == nil {
		return false
	}
	if len(n.rules) > 0 || n.items.hasRules() || n.values.hasRules() {
		return true
	}
	for _, f := range n.fields {
		if f.hasRules() {
			return true
		}
	}
	return false
}

// scope is what the rules about a value may refer to: its type, and the language
// with that type and those of the schema around it. A type of nil is one that
// expressions cannot see.
type scope struct {
	t   *apicel.DeclType
	env *cel.Env
}

// maxPaths bounds the paths of all that rules can refer to, together, which the
// libraries of types keep: some thousand times what real kinds have. Otherwise a
// schema of a few megabytes, deep and with long names, would need gigabytes.
const maxPaths = 16 << 20

var errTooDeep = errors.New("the schema is nested too deeply for validation rules")

// pathsOf is the length of the paths of n, whose own is given, and of all below it.
func pathsOf(n *node, own int) int {
	if n == nil || own > maxPaths {
		return own
	}
	sum := own + pathsOf(n.items, own+len(".@idx")) + pathsOf(n.values, own+len(".@elem"))
	for name, f := range n.fields {
		if sum > maxPaths {
			break
		}
		sum += pathsOf(f, own+1+len(name))
	}
	return sum
}

// scopeOf makes the scope of a schema that is not part of another one.
func scopeOf(n *node, whole bool) (scope, error) {
	if pathsOf(n, len(selfType)) > maxPaths {
		return scope{}, errTooDeep
	}
	t := common.SchemaDeclType(viewOf(n), whole)
	if t == nil {
		return scope{}, nil
	}
	t = t.MaybeAssignTypeName(selfType)
	base := expression.Base().StoredExpressionsEnv()
	provider := apicel.NewDeclTypeProvider(t)
	provider.SetRecognizeKeywordAsFieldName(true)
	opts, err := provider.EnvOptions(base.CELTypeProvider())
	if err != nil {
		return scope{}, err
	}
	env, err := base.Extend(opts...)
	return scope{t, env}, err
}

// element is the scope of items and values.
func (in scope) element() scope {
	if in.t == nil || in.t.ElemType == nil {
		return scope{}
	}
	return scope{in.t.ElemType, in.env}
}

// field is the scope of a field. One whose name cannot be written in an
// expression is on its own.
func (in scope) field(name string, f *node) (scope, error) {
	escaped, ok := apicel.Escape(name)
	if !ok {
		return scopeOf(f, f.embedded)
	}
	if in.t != nil {
		if declared, ok := in.t.Fields[escaped]; ok {
			return scope{declared.Type, in.env}, nil
		}
	}
	return scope{}, nil
}

// compile compiles the rules of n and of what is in it.
func (in scope) compile(n *node, whole bool) *rules {
	if !n.hasRules() {
		return nil
	}
	r := &rules{node: n, whole: whole}
	if len(n.rules) > 0 {
		r.own, r.err = in.compileOwn(n)
	}
	if n.items != nil {
		r.items = in.element().compile(n.items, n.items.embedded)
	}
	if n.values != nil {
		r.values = in.element().compile(n.values, n.values.embedded)
	}
	for name, f := range n.fields {
		if !f.hasRules() {
			continue
		}
		below, err := in.field(name, f)
		if below.t == nil && err == nil {
			continue // expressions cannot see it
		}
		if r.fields == nil {
			r.fields = map[string]*rules{}
		}
		if err != nil {
			r.fields[name] = &rules{node: f, err: err}
			continue
		}
		if part := below.compile(f, f.embedded); part != nil {
			r.fields[name] = part
		}
	}
	if len(n.rules) == 0 && r.items == nil && r.values == nil && len(r.fields) == 0 {
		return nil // there are rules, about what expressions cannot see
	}
	r.names = slices.Sorted(maps.Keys(r.fields))
	return r
}

// compileOwn compiles the rules about the value itself.
func (in scope) compileOwn(n *node) ([]rule, error) {
	out := make([]rule, 0, len(n.rules))
	for r, err := range in.each(n) {
		if err != nil {
			return nil, err
		}
		out = append(out, *r)
	}
	return out, nil
}

// each compiles one rule after the other, up to an error.
func (in scope) each(n *node) iter.Seq2[*rule, error] {
	return func(yield func(*rule, error) bool) {
		var envs [2]*cel.Env // the second is for rules for which there may be nothing before
		for i := range n.rules {
			r := &rule{said: n.rules[i].said}
			env, err := in.envFor(r, &envs)
			if err == nil {
				r.compile(env, in.t)
			}
			if r.program != nil && r.said.FieldPath != "" {
				if path, err := pathBelow(r.said.FieldPath, n); err == nil {
					r.path = path.String()
				}
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// envFor is the language for a rule; envs are those that were made.
func (in scope) envFor(r *rule, envs *[2]*cel.Env) (env *cel.Env, err error) {
	if in.t == nil {
		return nil, errors.New("failed to convert to declType for CEL validation rules")
	}
	is := in.t.CelType()
	was, at := is, 0
	if r.optional() {
		was, at = types.NewOptionalType(is), 1
	}
	if envs[at] == nil {
		envs[at], err = in.env.Extend(cel.Variable(self, is), cel.Variable(oldSelf, was))
	}
	return envs[at], err
}

// compile compiles a rule about values of a type.
func (r *rule) compile(env *cel.Env, t *apicel.DeclType) {
	if strings.TrimSpace(r.said.Rule) == "" {
		return
	}
	estimator := &library.CostEstimator{SizeEstimator: &sizes{t}}
	ast, issues := env.Compile(r.said.Rule)
	switch {
	case issues != nil:
		r.err = invalid("compilation failed: " + issues.String())
		return
	case ast.OutputType() != cel.BoolType:
		r.err = invalid("cel expression must evaluate to a bool")
		return
	}
	for _, ref := range ast.NativeRep().ReferenceMap() {
		r.old = r.old || ref.Name == oldSelf
	}
	var fault string
	if r.program, r.cost, fault = runnable(env, ast, estimator); fault != "" {
		r.err = invalid(fault)
		return
	}
	if r.said.MessageExpression != "" {
		r.compileMessage(env, estimator)
	}
}

func (r *rule) compileMessage(env *cel.Env, estimator *library.CostEstimator) {
	ast, issues := env.Compile(r.said.MessageExpression)
	switch {
	case issues != nil:
		r.messageErr = invalid("messageExpression compilation failed: " + issues.String())
		return
	case ast.OutputType() != cel.StringType:
		r.messageErr = invalid("messageExpression must evaluate to a string")
		return
	}
	var fault string
	if r.message, r.messageCost, fault = runnable(env, ast, estimator); fault != "" {
		r.messageErr = invalid("messageExpression " + fault)
	}
}

func invalid(detail string) *apicel.Error {
	return &apicel.Error{Type: apicel.ErrorTypeInvalid, Detail: detail}
}

// runnable makes a program, and estimates what it costs at most.
func runnable(env *cel.Env, ast *cel.Ast, estimator *library.CostEstimator) (p cel.Program, cost uint64, fault string) {
	p, err := env.Program(ast, cel.CostLimit(perCallLimit), cel.CostTracking(estimator), cel.InterruptCheckFrequency(checkFrequency), celbounds.Quantities())
	if err != nil {
		return nil, 0, "program instantiation failed: " + err.Error()
	}
	bounds, err := env.EstimateCost(ast, estimator)
	if err != nil {
		return nil, 0, "cost estimation failed: " + err.Error()
	}
	return p, bounds.Max, ""
}

// sizes tells how large values of a type can be.
type sizes struct{ root *apicel.DeclType }

// EstimateSize implements CostEstimator of the expression language.
func (s *sizes) EstimateSize(element estimate.AstNode) *estimate.SizeEstimate {
	path := element.Path()
	if len(path) == 0 {
		return nil
	}
	t := s.root
	for _, name := range path[1:] { // the first is the value itself
		switch name {
		case "@items", "@values":
			t = t.ElemType
		case "@keys":
			t = t.KeyType
		default:
			f, ok := t.Fields[name]
			if !ok {
				return nil
			}
			t = f.Type
		}
		if t == nil {
			return nil
		}
	}
	return &estimate.SizeEstimate{Max: uint64(t.MaxElements)}
}

// EstimateCallCost implements CostEstimator of the expression language: the libraries know.
func (s *sizes) EstimateCallCost(string, string, *estimate.AstNode, []estimate.AstNode) *estimate.CallEstimate {
	return nil
}
