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

// Variables of rules: the value and the old value.
const (
	self    = "self"
	oldSelf = "oldSelf"
)

// selfType is the CEL type name of the root object.
const selfType = "selfType"

// perCallLimit bounds the cost of one evaluation of one expression.
const perCallLimit = 1_000_000

// checkFrequency is the number of loop iterations after which an evaluation checks whether
// its request was cancelled.
const checkFrequency = 100

// rule is one of x-kubernetes-validations.
type rule struct {
	definition *apiextensionsv1.ValidationRule

	// program is the compiled rule, or err is why it does not compile; message and
	// messageErr are the same for messageExpression. All are nil for empty expressions.
	program, message cel.Program
	err, messageErr  *apicel.Error
	// cost and messageCost are the estimated maximum costs of one evaluation.
	cost, messageCost uint64
	// usesOldSelf: the rule is a transition rule.
	usesOldSelf bool
	// path is the compiled fieldPath: the path of the error below the value.
	path string
}

// hasOptionalOldSelf reports whether a transition rule also runs for new values.
func (r *rule) hasOptionalOldSelf() bool {
	return r.definition.OptionalOldSelf != nil && *r.definition.OptionalOldSelf
}

// rules are the compiled rules of a value and of the values inside it; nil if there are
// none.
type rules struct {
	node *node
	// hasObjectMeta: the value has apiVersion, kind and metadata.
	hasObjectMeta bool
	own           []rule
	err           error
	fields        map[string]*rules
	names         []string // sorted keys of fields
	values        *rules
	items         *rules
}

// newRules compiles the rules of a schema and of all schemas inside it.
func newRules(n *node, hasMeta bool) *rules {
	if !n.hasRules() {
		return nil
	}
	in, err := newCELScope(n, hasMeta, expression.Writer{})
	if err != nil {
		return &rules{node: n, hasObjectMeta: hasMeta, err: err}
	}
	return in.compile(n, hasMeta)
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

// celScope is the environment of the rules of a value: the type of the value, and the CEL
// environment with the types of the surrounding schema. t is nil if CEL cannot represent
// the type.
type celScope struct {
	t   *apicel.DeclType
	env *cel.Env
	// writer decides which functions the rules may call, and newEnv is the environment of new
	// rules, or nil if they may call all functions.
	writer expression.Writer
	newEnv *cel.Env
}

// maxPaths bounds the sum of the lengths of all field paths, which the CEL libraries keep.
// Without it a deep schema of a few megabytes with long names would need gigabytes. Real
// kinds need a thousandth.
const maxPaths = 16 << 20

var errTooDeep = errors.New("the schema is nested too deeply for validation rules")

// totalPathLength returns the sum of the path lengths of n and of all nodes below it; own
// is the path length of n.
func totalPathLength(n *node, own int) int {
	if n == nil || own > maxPaths {
		return own
	}
	sum := own + totalPathLength(n.items, own+len(".@idx")) + totalPathLength(n.values, own+len(".@elem"))
	for name, f := range n.fields {
		if sum > maxPaths {
			break
		}
		sum += totalPathLength(f, own+1+len(name))
	}
	return sum
}

// newCELScope returns the scope of a root schema, whose rules were written by a writer.
func newCELScope(n *node, hasMeta bool, writer expression.Writer) (celScope, error) {
	if totalPathLength(n, len(selfType)) > maxPaths {
		return celScope{}, errTooDeep
	}
	t := common.SchemaDeclType(newCELSchema(n), hasMeta)
	if t == nil {
		return celScope{}, nil
	}
	t = t.MaybeAssignTypeName(selfType)
	in := celScope{t: t, writer: writer}
	var err error
	if in.env, err = withTypes(expression.Library{}, t); err == nil && writer.New != (expression.Library{}) {
		in.newEnv, err = withTypes(writer.New, t)
	}
	return in, err
}

// withTypes returns the environment of a library with a type and the types inside it.
func withTypes(functions expression.Library, t *apicel.DeclType) (*cel.Env, error) {
	base := functions.Env()
	provider := apicel.NewDeclTypeProvider(t)
	provider.SetRecognizeKeywordAsFieldName(true)
	opts, err := provider.EnvOptions(base.CELTypeProvider())
	if err != nil {
		return nil, err
	}
	return base.Extend(opts...)
}

// with returns the scope of a type in the same environment.
func (in celScope) with(t *apicel.DeclType) celScope {
	in.t = t
	return in
}

// element returns the scope of list items or map values.
func (in celScope) element() celScope {
	if in.t == nil || in.t.ElemType == nil {
		return celScope{}
	}
	return in.with(in.t.ElemType)
}

// field returns the scope of a field. A field whose name cannot be written in CEL gets a
// scope of its own.
func (in celScope) field(name string, f *node) (celScope, error) {
	escaped, ok := apicel.Escape(name)
	if !ok {
		return newCELScope(f, f.embedded, in.writer)
	}
	if in.t != nil {
		if declared, ok := in.t.Fields[escaped]; ok {
			return in.with(declared.Type), nil
		}
	}
	return celScope{}, nil
}

// compile compiles the rules of n and of the nodes below it.
func (in celScope) compile(n *node, hasMeta bool) *rules {
	if !n.hasRules() {
		return nil
	}
	r := &rules{node: n, hasObjectMeta: hasMeta}
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
			continue // CEL cannot represent the type
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
		return nil // all rules are on types that CEL cannot represent
	}
	r.names = slices.Sorted(maps.Keys(r.fields))
	return r
}

// compileOwn compiles the rules of n itself.
func (in celScope) compileOwn(n *node) ([]rule, error) {
	out := make([]rule, 0, len(n.rules))
	for r, err := range in.compileEach(n) {
		if err != nil {
			return nil, err
		}
		out = append(out, *r)
	}
	return out, nil
}

// compileEach yields the compiled rules of n, up to the first error.
func (in celScope) compileEach(n *node) iter.Seq2[*rule, error] {
	return func(yield func(*rule, error) bool) {
		var envs ruleEnvs
		for i := range n.rules {
			r := &rule{definition: n.rules[i].definition}
			env, err := in.envFor(r, r.definition.Rule, &envs)
			var message *cel.Env
			if err == nil {
				message, err = in.envFor(r, r.definition.MessageExpression, &envs)
			}
			if err == nil {
				r.compile(env, message, in.t)
			}
			if r.program != nil && r.definition.FieldPath != "" {
				if path, err := pathBelow(r.definition.FieldPath, n); err == nil {
					r.path = path.String()
				}
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// ruleEnvs caches the environments of rules, by whether optionalOldSelf is set and whether the
// expression is new.
type ruleEnvs [2][2]*cel.Env

// envFor returns the CEL environment of an expression of a rule; envs caches environments.
func (in celScope) envFor(r *rule, text string, envs *ruleEnvs) (env *cel.Env, err error) {
	if in.t == nil {
		return nil, errors.New("failed to convert to declType for CEL validation rules")
	}
	celType := in.t.CelType()
	old, optional, isNew, base := celType, 0, 0, in.env
	if r.hasOptionalOldSelf() {
		old, optional = types.NewOptionalType(celType), 1
	}
	if in.newEnv != nil && in.writer.Library(text) != (expression.Library{}) {
		isNew, base = 1, in.newEnv
	}
	cached := &envs[optional][isNew]
	if *cached == nil {
		*cached, err = base.Extend(cel.Variable(self, celType), cel.Variable(oldSelf, old))
	}
	return *cached, err
}

// compile compiles a rule for values of type t, in the environments of the rule and of its message.
func (r *rule) compile(env, message *cel.Env, t *apicel.DeclType) {
	if strings.TrimSpace(r.definition.Rule) == "" {
		return
	}
	estimator := &library.CostEstimator{SizeEstimator: &sizeEstimator{t}}
	ast, issues := env.Compile(r.definition.Rule)
	switch {
	case issues != nil:
		r.err = invalidError("compilation failed: " + issues.String())
		return
	case ast.OutputType() != cel.BoolType:
		r.err = invalidError("cel expression must evaluate to a bool")
		return
	}
	for _, ref := range ast.NativeRep().ReferenceMap() {
		r.usesOldSelf = r.usesOldSelf || ref.Name == oldSelf
	}
	var fault string
	if r.program, r.cost, fault = buildProgram(env, ast, estimator); fault != "" {
		r.err = invalidError(fault)
		return
	}
	if r.definition.MessageExpression != "" {
		r.compileMessage(message, estimator)
	}
}

func (r *rule) compileMessage(env *cel.Env, estimator *library.CostEstimator) {
	ast, issues := env.Compile(r.definition.MessageExpression)
	switch {
	case issues != nil:
		r.messageErr = invalidError("messageExpression compilation failed: " + issues.String())
		return
	case ast.OutputType() != cel.StringType:
		r.messageErr = invalidError("messageExpression must evaluate to a string")
		return
	}
	var fault string
	if r.message, r.messageCost, fault = buildProgram(env, ast, estimator); fault != "" {
		r.messageErr = invalidError("messageExpression " + fault)
	}
}

func invalidError(detail string) *apicel.Error {
	return &apicel.Error{Type: apicel.ErrorTypeInvalid, Detail: detail}
}

// buildProgram returns a program and its estimated maximum cost.
func buildProgram(env *cel.Env, ast *cel.Ast, estimator *library.CostEstimator) (p cel.Program, cost uint64, fault string) {
	p, err := env.Program(ast, append(celbounds.Options(env),
		cel.CostLimit(perCallLimit), cel.CostTracking(estimator), cel.InterruptCheckFrequency(checkFrequency))...)
	if err != nil {
		return nil, 0, "program instantiation failed: " + err.Error()
	}
	bounds, err := env.EstimateCost(ast, estimator)
	if err != nil {
		return nil, 0, "cost estimation failed: " + err.Error()
	}
	return p, bounds.Max, ""
}

// sizeEstimator returns the maximum sizes of values from their declared types.
type sizeEstimator struct{ root *apicel.DeclType }

// EstimateSize implements the CostEstimator of cel-go.
func (s *sizeEstimator) EstimateSize(element estimate.AstNode) *estimate.SizeEstimate {
	path := element.Path()
	if len(path) == 0 {
		return nil
	}
	t := s.root
	for _, name := range path[1:] { // the first is the variable
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

// EstimateCallCost implements the CostEstimator of cel-go; library.CostEstimator estimates
// calls.
func (s *sizeEstimator) EstimateCallCost(string, string, *estimate.AstNode, []estimate.AstNode) *estimate.CallEstimate {
	return nil
}
