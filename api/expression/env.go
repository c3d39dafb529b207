package expression

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/mutation"

	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// Names of the variables of expressions.
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

// variablesType is the CEL type of the object variables, whose fields are the declared
// variables.
const variablesType = "kubernetes.variables"

// envOptions selects an environment of admission.
type envOptions struct {
	params, authorizer, patches bool
	library                     Library
}

// environments has the environment of each selection, which is built at its first use.
var environments = sync.OnceValue(func() map[envOptions]func() (*cel.Env, error) {
	made := map[envOptions]func() (*cel.Env, error){}
	libraries := []Library{{}}
	for m := kubeversion.Oldest().Previous(); !kubeversion.Binary().Before(m); m.Minor++ {
		libraries = append(libraries, NewExpressions(m))
	}
	for n := range 8 {
		for _, l := range libraries {
			o := envOptions{params: n&1 != 0, authorizer: n&2 != 0, patches: n&4 != 0, library: l}
			made[o] = sync.OnceValues(o.build)
		}
	}
	return made
})

func (o envOptions) build() (*cel.Env, error) {
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
	set, err := extend(o.library.set(), vars, namespace, request)
	if err == nil && o.patches {
		// This is a second step, since declared types would replace the resolver.
		set, err = extend(set, []cel.EnvOption{common.ResolverEnvOption(&mutation.DynamicTypeResolver{}), library.JSONPatch()})
	}
	if err != nil {
		return nil, fmt.Errorf("environment of expressions: %w", err)
	}
	return o.library.of(set), nil
}

// withVariables adds the variables of a compiler to an environment, also variables that
// are declared later.
func withVariables(env *cel.Env, declared map[string]*cel.Type) (*cel.Env, error) {
	return env.Extend(
		cel.CustomTypeProvider(&variableTypes{Provider: env.CELTypeProvider(), declared: declared}),
		cel.Variable(Variables, cel.ObjectType(variablesType)),
	)
}

// variableTypes adds variablesType to the types of an environment.
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

// declaredAs returns the static type of a variable with result type t: scalars, lists and
// maps have their type, all others the dynamic type.
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
