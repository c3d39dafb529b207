package expression

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/version"
	apicel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/mutation"
)

// Names of what expressions refer to.
const (
	Object                    = "object"
	OldObject                 = "oldObject"
	Request                   = "request"
	NamespaceObject           = "namespaceObject"
	Params                    = "params"
	Variables                 = "variables"
	Authorizer                = "authorizer"
	RequestResourceAuthorizer = "authorizer.requestResource"
)

// variablesType is the type of variables. Its fields are those of a compiler.
const variablesType = "kubernetes.variables"

// Base is the language with its functions, and nothing to refer to.
func Base() *environment.EnvSet {
	// The version before is what a cluster could be rolled back to. Everything
	// that 1.36 knows is older.
	return environment.MustBaseEnvSet(version.MajorMinor(1, 35))
}

// options choose among the environments of admission.
type options struct{ params, authorizer, patches bool }

// environments are made when they are first needed, and never changed.
var environments = sync.OnceValue(func() map[options]func() (*cel.Env, error) {
	made := map[options]func() (*cel.Env, error){}
	for n := range 8 {
		o := options{params: n&1 != 0, authorizer: n&2 != 0, patches: n&4 != 0}
		made[o] = sync.OnceValues(o.make)
	}
	return made
})

func (o options) make() (*cel.Env, error) {
	request, namespace := requestType(), namespaceType()
	vars := []cel.EnvOption{
		cel.Variable(Object, cel.DynType),
		cel.Variable(OldObject, cel.DynType),
		cel.Variable(NamespaceObject, namespace.CelType()),
		cel.Variable(Request, request.CelType()),
	}
	if o.params {
		vars = append(vars, cel.Variable(Params, cel.DynType))
	}
	if o.authorizer {
		vars = append(vars, cel.Variable(Authorizer, library.AuthorizerType), cel.Variable(RequestResourceAuthorizer, library.ResourceCheckType))
	}
	always := version.MajorMinor(1, 0)
	set, err := Base().Extend(environment.VersionedOptions{IntroducedVersion: always, EnvOptions: vars, DeclTypes: []*apicel.DeclType{namespace, request}})
	if err == nil && o.patches {
		// On its own, since declared types take the place of the resolver.
		set, err = set.Extend(environment.VersionedOptions{IntroducedVersion: always, EnvOptions: []cel.EnvOption{
			common.ResolverEnvOption(&mutation.DynamicTypeResolver{}), library.JSONPatch(),
		}})
	}
	if err != nil {
		return nil, fmt.Errorf("environment of expressions: %w", err)
	}
	return set.StoredExpressionsEnv(), nil
}

// withVariables adds the variables of a compiler to an environment. Those that
// are declared later are found too.
func withVariables(env *cel.Env, declared map[string]*cel.Type) (*cel.Env, error) {
	return env.Extend(
		cel.CustomTypeProvider(&variableTypes{Provider: env.CELTypeProvider(), declared: declared}),
		cel.Variable(Variables, cel.ObjectType(variablesType)),
	)
}

// variableTypes adds the type of variables to those of an environment.
type variableTypes struct {
	types.Provider
	declared map[string]*cel.Type
}

// FindStructType finds a type by its name.
func (v *variableTypes) FindStructType(name string) (*types.Type, bool) {
	if name == variablesType {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return v.Provider.FindStructType(name)
}

// FindStructFieldType finds the type of a field of a type.
func (v *variableTypes) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if name == variablesType {
		t, ok := v.declared[field]
		return &types.FieldType{Type: t}, ok
	}
	return v.Provider.FindStructFieldType(name, field)
}

// FindStructFieldNames finds the fields of a type.
func (v *variableTypes) FindStructFieldNames(name string) ([]string, bool) {
	if name != variablesType {
		return v.Provider.FindStructFieldNames(name)
	}
	var names []string
	for n := range v.declared {
		names = append(names, n)
	}
	return names, true
}

// declaredAs is the type that others see of a variable that comes to t: of
// scalars, lists and maps what they are, of everything else only at run time.
func declaredAs(t *cel.Type) *cel.Type {
	if t == nil {
		return cel.DynType
	}
	switch t.Kind() {
	case types.AnyKind, types.BoolKind, types.BytesKind, types.DoubleKind, types.DurationKind, types.IntKind,
		types.NullTypeKind, types.StringKind, types.TimestampKind, types.UintKind:
		if len(t.Parameters()) == 0 {
			return t
		}
	case types.ListKind:
		return cel.ListType(declaredAs(t.Parameters()[0]))
	case types.MapKind:
		return cel.MapType(declaredAs(t.Parameters()[0]), declaredAs(t.Parameters()[1]))
	}
	return cel.DynType
}
