package resource

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"

	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// celDeviceType is the CEL type of the variable device of selector expressions.
const celDeviceType = "DRADevice"

// deviceExpressions returns the CEL environment of new device selectors.
type deviceExpressions func() (*cel.Env, error)

// newDeviceExpressions returns the environment in which expressions may call some functions.
func newDeviceExpressions(functions expression.Library) deviceExpressions {
	return sync.OnceValues(func() (*cel.Env, error) {
		return functions.Env().Extend(
			ext.Bindings(ext.BindingsVersion(0)),
			func(e *cel.Env) (*cel.Env, error) {
				return cel.CustomTypeProvider(&deviceTypes{e.CELTypeProvider()})(e)
			},
			cel.Variable("device", cel.ObjectType(celDeviceType)),
		)
	})
}

// rules validates an expression.
func (e deviceExpressions) rules(at *validation.Path, text string) {
	env, err := e()
	if err != nil {
		at.Invalid(text, "compilation failed: "+err.Error())
		return
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		at.Invalid(text, "compilation failed: "+issues.String())
		return
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		at.Invalid(text, fmt.Sprintf("must evaluate to %v or the unknown type, not %v", cel.BoolType, t))
	}
}

// deviceTypes adds celDeviceType to the types of an environment.
type deviceTypes struct{ types.Provider }

// FindStructType finds a type by its name.
func (d *deviceTypes) FindStructType(name string) (*types.Type, bool) {
	if name == celDeviceType {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return d.Provider.FindStructType(name)
}

// FindStructFieldType finds the type of a field of a type.
func (d *deviceTypes) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if name == celDeviceType {
		t, ok := deviceFields()[field]
		return &types.FieldType{Type: t}, ok
	}
	return d.Provider.FindStructFieldType(name, field)
}

func deviceFields() map[string]*cel.Type {
	byDomain := cel.MapType(cel.StringType, cel.MapType(cel.StringType, cel.DynType))
	return map[string]*cel.Type{
		"driver": cel.StringType, "allowMultipleAllocations": cel.BoolType,
		"attributes": byDomain, "capacity": byDomain,
	}
}
