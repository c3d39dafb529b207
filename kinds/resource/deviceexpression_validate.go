package resource

import (
	"errors"
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/ext"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apicel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/celbounds"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// The variable of expressions, and its fields.
const (
	deviceVariable   = "device"
	attributesField  = "attributes"
	capacityField    = "capacity"
	driverField      = "driver"
	multiAllocField  = "allowMultipleAllocations"
	maxNamesOfDevice = resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice
)

// Rules validates the kinds of the group under the feature gates of a server.
type Rules struct {
	consumableCapacity, fractionalCapacity, listAttributes bool
	// statusParts means that parts of a claim's status require permissions of their own.
	statusParts bool
	// devices returns the environment of new expressions about a device.
	devices func() (*deviceEnv, error)
}

// NewRules returns the rules under gates. New expressions may call some functions.
func NewRules(gates features.Gates, functions expression.Library) *Rules {
	r := &Rules{
		consumableCapacity: gates.Enabled(features.DRAConsumableCapacity),
		fractionalCapacity: gates.Enabled(features.DRAFractionalCapacityRange),
		listAttributes:     gates.Enabled(features.DRAListTypeAttributes),
		statusParts:        gates.Enabled(features.DRAResourceClaimGranularStatusAuthorization),
	}
	r.devices = sync.OnceValues(func() (*deviceEnv, error) { return r.newDeviceEnv(functions) })
	return r
}

// deviceEnv is the CEL environment of expressions about a device. It estimates the sizes of the
// device's parts from their declared types.
type deviceEnv struct {
	*cel.Env
	device, attribute *apicel.DeclType
}

func (r *Rules) newDeviceEnv(functions expression.Library) (*deviceEnv, error) {
	text := func(limit int64) *apicel.DeclType { return bounded(apicel.StringType, limit) }
	byDomain := func(value *apicel.DeclType) *apicel.DeclType {
		byName := apicel.NewMapType(text(resourcev1.DeviceMaxIDLength), value, maxNamesOfDevice)
		return apicel.NewMapType(text(resourcev1.DeviceMaxDomainLength), byName, maxNamesOfDevice)
	}
	attribute := bounded(apicel.AnyType, resourcev1.DeviceAttributeMaxValueLength)
	if r.listAttributes {
		attribute = bounded(apicel.DynType, max(resourcev1.DeviceAttributeMaxValueLength, resourcev1.ResourceSliceMaxAttributeValuesPerDevice))
	}
	fields := map[string]*apicel.DeclField{}
	declare := func(name string, t *apicel.DeclType) { fields[name] = apicel.NewDeclField(name, t, true, nil, nil) }
	declare(driverField, text(resourcev1.DriverNameMaxLength))
	declare(attributesField, byDomain(attribute))
	declare(capacityField, byDomain(apicel.QuantityDeclType))
	if r.consumableCapacity {
		declare(multiAllocField, bounded(apicel.BoolType, 1))
	}
	device := apicel.NewObjectType("kubernetes.DRADevice", fields)

	env := functions.Env()
	options, err := apicel.NewDeclTypeProvider(device).EnvOptions(env.CELTypeProvider())
	if err != nil {
		return nil, fmt.Errorf("types of devices: %w", err)
	}
	options = append(options, ext.Bindings(ext.BindingsVersion(0)), cel.Variable(deviceVariable, device.CelType()))
	if r.listAttributes {
		options = append(options, library.IncludesOption())
	}
	if env, err = env.Extend(options...); err != nil {
		return nil, fmt.Errorf("environment of device expressions: %w", err)
	}
	return &deviceEnv{env, device, attribute}, nil
}

// bounded returns a type whose values have at most limit elements.
func bounded(t *apicel.DeclType, limit int64) *apicel.DeclType {
	limited := *t
	limited.MaxElements = limit
	return &limited
}

// selectorExpression validates the expression of a selector.
func (r *Rules) selectorExpression(at *validation.Path, text string) {
	r.deviceExpression(at, text, resourcev1.CELSelectorExpressionMaxCost, func(e *deviceEnv, t *cel.Type) string {
		if t.IsExactType(cel.BoolType) || t.IsExactType(e.attribute.CelType()) {
			return ""
		}
		return fmt.Sprintf("must evaluate to %v or the unknown type, not %v", cel.BoolType, t)
	})
}

// derivedExpression validates the expression of a derived attribute and returns its estimated cost.
func (r *Rules) derivedExpression(at *validation.Path, text string) uint64 {
	return r.deviceExpression(at, text, resourcev1.DeviceClaimDerivedAttributeCELMaxCost, func(_ *deviceEnv, t *cel.Type) string {
		const scalar = "must evaluate to a primitive scalar (string, integer, boolean, semver)"
		switch {
		case isScalar(t):
			return ""
		case !r.listAttributes:
			return fmt.Sprintf(scalar+", not %v", t)
		case t.Kind() == cel.ListKind && isScalar(t.Parameters()[0]):
			return ""
		}
		return fmt.Sprintf(scalar+" or a list of these scalars, not %v", t)
	})
}

func isScalar(t *cel.Type) bool {
	for _, scalar := range []*cel.Type{cel.BoolType, cel.IntType, cel.StringType, cel.AnyType, cel.DynType, apicel.SemverType} {
		if t.IsExactType(scalar) {
			return true
		}
	}
	return false
}

// deviceExpression validates an expression about a device and returns its estimated cost. The function
// wrongType describes what is wrong with the type of the expression's value.
func (r *Rules) deviceExpression(at *validation.Path, text string, limit uint64, wrongType func(*deviceEnv, *cel.Type) string) uint64 {
	if len(text) > resourcev1.CELSelectorExpressionMaxLength {
		at.TooLong(resourcev1.CELSelectorExpressionMaxLength)
		return 0
	}
	internal := func(problem string, err error) uint64 {
		at.Add(field.InternalError(at.ToField(), errors.New(problem+": "+err.Error())))
		return 0
	}
	env, err := r.devices()
	if err != nil {
		return internal("unexpected error loading CEL environment", err)
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		at.Invalid(text, "compilation failed: "+issues.String())
		return 0
	}
	if wrong := wrongType(env, checked.OutputType()); wrong != "" {
		at.Invalid(text, wrong)
		return 0
	}
	if _, err := env.Program(checked, celbounds.Quantities()); err != nil {
		return internal("program instantiation failed", err)
	}
	cost, err := env.EstimateCost(checked, &library.CostEstimator{SizeEstimator: env})
	if err != nil {
		return internal("cost estimation failed", err)
	}
	if cost.Max > limit {
		at.Forbidden("too complex, exceeds cost limit")
	}
	return cost.Max
}

// EstimateSize implements the CostEstimator of cel-go.
func (e *deviceEnv) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	path := element.Path()
	if len(path) == 0 || path[0] != deviceVariable {
		return nil
	}
	t := e.device
	for _, name := range path[1:] {
		f, isField := t.Fields[name]
		switch {
		case name == "@items" || name == "@values":
			t = t.ElemType
		case name == "@keys":
			t = t.KeyType
		case isField:
			t = f.Type
		case t.ElemType == e.attribute:
			t = e.attribute // whatever the name of the attribute
		default:
			return nil
		}
		if t == nil {
			return nil
		}
	}
	return &checker.SizeEstimate{Max: uint64(t.MaxElements)}
}

// EstimateCallCost implements the CostEstimator of cel-go; library.CostEstimator estimates
// calls.
func (*deviceEnv) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}
