package representation

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/internal/jsonscan"
	"github.com/miniapiserver/miniapiserver/registry/jsonpatch"
	"github.com/miniapiserver/miniapiserver/registry/strategicpatch"
)

// maxPatchOperations bounds a JSON patch.
const maxPatchOperations = 10000

// Patch is the body of a PATCH, read.
type Patch struct {
	// apply applies it to the JSON of an object. Nil: merge applies it.
	apply func(ctx context.Context, old []byte) ([]byte, error)
	// merge applies it to the JSON of an object of the type of obj, and sets obj to
	// the result. It returns the fields that the type does not have.
	merge func(ctx context.Context, old []byte, obj api.Object) (unknown []error, err error)
	// strict are the faults that only strict field validation minds.
	strict []error
	// shown is how messages show what led to an object that does not fit; nil
	// means by that object.
	shown func() string
}

// PatchParser returns the function that parses patches of a type; nil if the type is not
// served. Apply configurations are not patches in this sense.
func PatchParser(kind types.PatchType) func(data []byte) (*Patch, error) {
	switch kind {
	case types.JSONPatchType:
		return parseJSONPatch
	case types.MergePatchType:
		return parseMergePatch
	case types.StrategicMergePatchType:
		return parseStrategicMergePatch
	}
	return nil
}

func errPatch(err error) error {
	return apierrors.NewBadRequest("error decoding patch: " + err.Error())
}

// jsonPatchOp has the name that messages about the form of a patch show.
type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

func parseJSONPatch(data []byte) (*Patch, error) {
	b, err := openBody(FormatJSON, data)
	if err != nil {
		return nil, errPatch(err)
	}
	var ops []jsonPatchOp
	strict, err := kjson.UnmarshalStrict(b.data, &ops)
	if err != nil {
		return nil, errPatch(err)
	}
	for i, err := range strict {
		strict[i] = fmt.Errorf("json patch %w", err)
	}
	if len(ops) > maxPatchOperations {
		return nil, errTooLarge("The allowed maximum operations in a JSON patch is %d, got %d", maxPatchOperations, len(ops))
	}
	decoded, err := jsonpatch.Decode(data)
	if err != nil {
		return nil, errPatch(err)
	}
	apply := func(ctx context.Context, old []byte) ([]byte, error) {
		out, err := decoded.Apply(ctx, old, bounds.MaxBody)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, errUnprocessable(err)
		}
		return out, nil
	}
	return &Patch{apply: apply, strict: strict}, nil
}

// errUnprocessable is the answer to a patch that does not fit the object.
func errUnprocessable(err error) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
}

func parseMergePatch(data []byte) (*Patch, error) {
	b, err := openBody(FormatJSON, data)
	if err != nil {
		return nil, errPatch(err)
	}
	var changes map[string]any
	strict, err := kjson.UnmarshalStrict(b.data, &changes)
	if err != nil {
		return nil, errPatch(err)
	}
	if changes == nil {
		return nil, apierrors.NewBadRequest("Invalid JSON Patch")
	}
	apply := func(_ context.Context, old []byte) ([]byte, error) {
		return mergeJSON(make([]byte, 0, len(old)+len(b.data)), jsonscan.ParseValid(old), jsonscan.ParseValid(b.data)), nil
	}
	return &Patch{apply: apply, strict: strict}, nil
}

func parseStrategicMergePatch(data []byte) (*Patch, error) {
	b, err := openBody(FormatJSON, data)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	var changes map[string]any
	strict, err := kjson.UnmarshalStrict(b.data, &changes)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	merge := func(ctx context.Context, old []byte, obj api.Object) ([]error, error) {
		var original map[string]any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(old, &original); err != nil {
			return nil, err
		}
		merged, err := strategicpatch.Apply(ctx, original, changes, obj)
		if err != nil {
			return nil, errStrategicMerge(err)
		}
		if err := checkMerged(merged); err != nil {
			return nil, err
		}
		if err := bounds.MergedQuantities(b.data, merged, obj); err != nil {
			return nil, errUnfit(fmt.Sprint(changes), err)
		}
		err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(merged, obj, true)
		if unknown, ok := runtime.AsStrictDecodingError(err); ok {
			return unknown.Errors(), nil
		}
		if err != nil {
			return nil, errUnfit(fmt.Sprint(changes), err)
		}
		return nil, nil
	}
	return &Patch{merge: merge, strict: strict, shown: func() string { return fmt.Sprint(changes) }}, nil
}

// errStrategicMerge is the answer to a strategic merge patch that cannot be applied.
func errStrategicMerge(err error) error {
	switch err {
	case mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList,
		mergepatch.ErrBadPatchFormatForRetainKeys, mergepatch.ErrBadPatchFormatForSetElementOrderList,
		mergepatch.ErrUnsupportedStrategicMergePatchFormat:
		return apierrors.NewBadRequest(err.Error())
	case mergepatch.ErrNoListOfLists, mergepatch.ErrPatchContentNotMatchRetainKeys:
		return errUnprocessable(err)
	case strategicpatch.ErrTooMuchWork:
		return errTooLarge("%v", err)
	}
	if errors.Is(err, strategicpatch.ErrUnmergeable) {
		return apierrors.NewBadRequest(err.Error())
	}
	return err
}

// errUnfit is the answer to a patch that led to something that does not fit the
// kind; shown is the patch, or what it led to.
func errUnfit(shown string, err error) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
		field.Invalid(field.NewPath("patch"), shown, err.Error())})
}
