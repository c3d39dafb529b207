package authn

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	expr "github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/internal/celbounds"
	"github.com/miniapiserver/miniapiserver/request"
)

// expressions compiles the CEL expressions of an AuthenticationConfiguration. The variable claims
// is a map of untyped values; the variable user has the fields of a TokenReview's user info.
type expressions struct {
	claims, user func() (*cel.Env, error)
}

// newExpressions returns a compiler whose environments are built on first use.
func newExpressions() *expressions {
	return &expressions{
		claims: sync.OnceValues(func() (*cel.Env, error) {
			return expr.NewEnv([]cel.EnvOption{cel.Variable("claims", cel.MapType(cel.StringType, cel.DynType))})
		}),
		user: sync.OnceValues(func() (*cel.Env, error) {
			user := expr.UserInfoType()
			return expr.NewEnv([]cel.EnvOption{cel.Variable("user", user.CelType())}, user)
		}),
	}
}

// celUser returns the value of the variable user.
func celUser(u *request.User) map[string]any {
	groups, extra := u.Groups, u.Extra
	if groups == nil {
		groups = []string{}
	}
	if extra == nil {
		extra = map[string][]string{}
	}
	return map[string]any{"username": u.Name, "uid": u.UID, "groups": groups, "extra": extra}
}

// expression is a compiled expression.
type expression struct {
	text    string
	program cel.Program
	tree    *ast.AST
}

// costLimit is the CEL cost limit of one evaluation.
const costLimit = 10_000_000

// compileExpression compiles text, whose result must have one of the given types; no types allow
// any.
func compileExpression(env func() (*cel.Env, error), text string, results ...*cel.Type) (*expression, error) {
	e, err := env()
	if err != nil {
		return nil, fmt.Errorf("unexpected error loading CEL environment: %w", err)
	}
	tree, issues := e.Compile(text)
	if issues != nil && issues.Err() != nil {
		return nil, fmt.Errorf("compilation failed: %s", issues.String())
	}
	if err := checkResultType(tree.OutputType(), results); err != nil {
		return nil, err
	}
	program, err := e.Program(tree, append(celbounds.Options(e), cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost),
		cel.CostLimit(costLimit))...)
	if err != nil {
		return nil, fmt.Errorf("program instantiation failed: %w", err)
	}
	return &expression{text: text, program: program, tree: tree.NativeRep()}, nil
}

func checkResultType(is *cel.Type, results []*cel.Type) error {
	for _, result := range results {
		if is.IsExactType(result) {
			return nil
		}
	}
	switch len(results) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("must evaluate to %v", results[0])
	}
	return fmt.Errorf("must evaluate to one of %v", results)
}

// value evaluates the expression with one variable set.
func (e *expression) value(variable string, v any) (ref.Val, error) {
	result, _, err := e.program.Eval(map[string]any{variable: v})
	if err != nil {
		return nil, fmt.Errorf("expression '%s' resulted in error: %w", e.text, err)
	}
	return result, nil
}

// holds reports whether the expression evaluates to true.
func (e *expression) holds(variable string, v any) (bool, error) {
	result, err := e.value(variable, v)
	if err != nil {
		return false, err
	}
	return result == types.True, nil
}

// usesClaim reports whether the expression selects a claim by `claims.name` or `claims.?name`.
func (e *expression) usesClaim(claim string) bool {
	found := false
	ast.PostOrderVisit(e.tree.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		switch x.Kind() {
		case ast.SelectKind:
			s := x.AsSelect()
			found = found || s.FieldName() == claim && isClaims(s.Operand())
		case ast.CallKind:
			c := x.AsCall()
			if c.FunctionName() == "_?._" && len(c.Args()) == 2 && isClaims(c.Args()[0]) && c.Args()[1].Kind() == ast.LiteralKind {
				found = found || c.Args()[1].AsLiteral().Value() == claim
			}
		}
	}))
	return found
}

func isClaims(x ast.Expr) bool { return x.Kind() == ast.IdentKind && x.AsIdent() == "claims" }

// stringList converts a string or a list of strings. Null, the empty string and empty elements are
// dropped.
func stringList(v ref.Val) ([]string, error) {
	switch v := v.(type) {
	case types.String:
		if v == "" {
			return nil, nil
		}
		return []string{string(v)}, nil
	case types.Null:
		return nil, nil
	case traits.Lister:
		var out []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			item := it.Next()
			s, ok := item.(types.String)
			if !ok {
				return nil, fmt.Errorf("expression must return a string or a list of strings, got a list with %s", item.Type().TypeName())
			}
			if s != "" {
				out = append(out, string(s))
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("expression must return a string or a list of strings, got %s", v.Type().TypeName())
}

// evalString evaluates the expression, whose result must be a string.
func (e *expression) evalString(claims map[string]any) (string, error) {
	v, err := e.value("claims", claims)
	if err != nil {
		return "", err
	}
	s, ok := v.(types.String)
	if !ok {
		return "", fmt.Errorf("claim expression must return a string, got %s", v.Type().TypeName())
	}
	return string(s), nil
}
