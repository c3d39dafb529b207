package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	celmutation "k8s.io/apiserver/pkg/cel/mutation"
	"k8s.io/apiserver/pkg/cel/mutation/dynamic"
	kjson "sigs.k8s.io/json"

	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/internal/celbounds"
	"github.com/miniapiserver/miniapiserver/internal/patch/jsonpatch"
)

// maxCopiedBytes is the maximum total size of values copied by a patch.
const maxCopiedBytes = 3 << 20

// applyPatches applies the JSON patch that an expression returns. If a test operation fails, the
// object stays unchanged.
func applyPatches(ctx context.Context, t *target, change ref.Val) (runtime.Object, error) {
	patch, err := newPatch(change, t.Attributes.Resource.ObjectLimit())
	if err != nil {
		return nil, err
	}
	is, err := t.As(t.form)
	if err != nil {
		return nil, err
	}
	before, err := json.Marshal(is)
	if err != nil {
		return nil, fmt.Errorf("failed to create JSON patch: %w", err)
	}
	after, err := patch.Apply(ctx, before, maxCopiedBytes)
	switch {
	case errors.Is(err, jsonpatch.ErrTestFailed):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("JSON Patch: %w", err)
	}
	if err := bounds.Object(after, t.Attributes.Resource.ObjectLimit()); err != nil {
		return nil, fmt.Errorf("JSON Patch: %w", err)
	}
	decoder := match.PatchDecoder{Kinds: t.kinds, Decode: decodeStrict, Invalid: errPatched}
	obj, err := decoder.Patched(t.Request, t.form, after)
	var conversion match.ConversionError
	if errors.As(err, &conversion) {
		return nil, apierrors.NewInternalError(fmt.Errorf("failed to convert object: %w", err))
	}
	return obj, err
}

// decodeStrict decodes an object and refuses unknown and duplicate fields.
func decodeStrict(data []byte, into runtime.Object) error {
	if err := bounds.JSONInto(data, into); err != nil {
		return err
	}
	strict, err := kjson.UnmarshalStrict(data, into)
	if err == nil && len(strict) > 0 {
		err = runtime.NewStrictDecodingError(strict)
	}
	return err
}

// errPatched returns the error of a patched object that cannot be decoded.
func errPatched(err error) error {
	var limit *bounds.Error
	if errors.As(err, &limit) {
		return fmt.Errorf("JSON Patch: %w", err)
	}
	return apierrors.NewInternalError(err)
}

// newPatch converts a list of JSONPatch values to a JSON patch of at most about limit bytes.
func newPatch(v ref.Val, limit int) (*jsonpatch.Patch, error) {
	list, ok := v.(traits.Lister)
	if !ok {
		return nil, errors.New("type mismatch: JSONPatchType.expression should evaluate to array")
	}
	if err := celbounds.CheckSize(list, limit); err != nil {
		return nil, fmt.Errorf("JSONPatchType.expression: %w", err)
	}
	var ops []patchOperation
	for it := list.Iterator(); it.HasNext() == types.True; {
		op, err := newPatchOperation(it.Next())
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	text, err := json.Marshal(ops)
	if err != nil {
		return nil, err
	}
	return jsonpatch.Decode(text)
}

// patchOperation is one operation of a JSON patch. An empty Value is omitted, unlike null.
type patchOperation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	From  string          `json:"from,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

func newPatchOperation(v ref.Val) (op patchOperation, err error) {
	native, err := v.ConvertToNative(reflect.TypeFor[*celmutation.JSONPatchVal]())
	if err != nil {
		return op, fmt.Errorf("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch: %w", err)
	}
	from, ok := native.(*celmutation.JSONPatchVal)
	if !ok {
		return op, fmt.Errorf("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch, got element of %T", native)
	}
	op = patchOperation{Op: from.Op, Path: from.Path, From: from.From}
	if from.Val == nil {
		return op, nil
	}
	if obj, ok := from.Val.(*dynamic.ObjectVal); ok {
		if err := obj.CheckTypeNamesMatchFieldPathNames(); err != nil {
			return op, fmt.Errorf("type mismatch: %w", err)
		}
	}
	const notMarshalable = "JSONPath valueExpression evaluated to a type that could not marshal to JSON: %w"
	value, err := from.Val.ConvertToNative(reflect.TypeFor[*structpb.Value]())
	if err != nil {
		return op, fmt.Errorf(notMarshalable, err)
	}
	if op.Value, err = json.Marshal(value); err != nil {
		return op, fmt.Errorf(notMarshalable, err)
	}
	return op, nil
}
