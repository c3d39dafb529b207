package representation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	patcherrors "k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/internal/jsonscan"
	"github.com/miniapiserver/miniapiserver/internal/patch/jsonpatch"
	"github.com/miniapiserver/miniapiserver/internal/patch/mergepatch"
	"github.com/miniapiserver/miniapiserver/internal/patch/strategicpatch"
)

// maxPatchOperations bounds a JSON patch.
const maxPatchOperations = 10000

// Patch is a parsed patch.
type Patch struct {
	// apply applies the patch to the JSON of an object; nil if merge does.
	apply func(ctx context.Context, old []byte) ([]byte, error)
	// merge applies the patch to the JSON of an object of the type of obj, and sets obj to the
	// result, whose JSON may have at most limit bytes. It returns the fields that the type does not
	// have.
	merge func(ctx context.Context, old []byte, obj api.Object, limit int) (unknown []error, err error)
	// strict are the faults that field validation decides about.
	strict []error
	// text returns the patch as messages about its result show it; nil if they show the
	// result.
	text func() string
}

// PatchParser returns the function that parses patches of a type; nil if the type is not
// served. Apply configurations are not patches in this sense.
func PatchParser(kind types.PatchType) func(data []byte, fieldValidation string) (*Patch, error) {
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

// CheckPatchSyntax returns an error unless a patch is JSON. A client sees this error even if there is no
// object to patch, and others only if there is one.
func CheckPatchSyntax(data []byte) error {
	if !json.Valid(data) {
		return apierrors.NewBadRequest("invalid JSON patch")
	}
	return nil
}

// openPatch opens a patch in JSON.
func openPatch(data []byte) (body, error) {
	b, err := openBody(FormatJSON, data)
	if err != nil {
		return b, errPatch(err)
	}
	return b, nil
}

// errMalformedPatch is errPatch with the Go type that kube-apiserver names in its message.
func errMalformedPatch(err error) error {
	return errPatch(errors.New(strings.ReplaceAll(err.Error(), "representation.jsonPatchOp", "handlers.jsonPatchOp")))
}

// jsonPatchOp is an operation of a JSON patch. Messages about malformed patches contain its
// name, in the package of kube-apiserver (errMalformedPatch).
type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// parseJSONPatch parses a JSON patch (RFC 6902).
func parseJSONPatch(data []byte, fieldValidation string) (*Patch, error) {
	b, err := openPatch(data)
	if err != nil {
		return nil, err
	}
	var strict []error
	if fieldValidation != metav1.FieldValidationIgnore {
		var ops []jsonPatchOp
		if strict, err = kjson.UnmarshalStrict(b.data, &ops); err != nil {
			return nil, errMalformedPatch(err)
		}
		for i, err := range strict {
			strict[i] = fmt.Errorf("json patch %w", err)
		}
	}
	decoded, err := jsonpatch.Decode(data)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if decoded.Len() > maxPatchOperations {
		return nil, errTooLarge("The allowed maximum operations in a JSON patch is %d, got %d", maxPatchOperations, decoded.Len())
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

// errUnprocessable returns the error of a patch that cannot be applied to the object. As in kube-apiserver, the client does not learn
// why.
func errUnprocessable(err error) error {
	status := apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	return &unsaidError{status, err}
}

// unsaidError is the error of a response that does not say why.
type unsaidError struct {
	*apierrors.StatusError
	why error
}

// Unwrap returns the error that the client gets.
func (e *unsaidError) Unwrap() error { return e.StatusError }

// Unsaid returns the reason of an error if the response does not have it; else "".
func Unsaid(err error) string {
	var unsaid *unsaidError
	if errors.As(err, &unsaid) {
		return unsaid.why.Error()
	}
	return ""
}

// parseMergePatch parses a merge patch (RFC 7386).
func parseMergePatch(data []byte, fieldValidation string) (*Patch, error) {
	b, err := openPatch(data)
	if err != nil {
		return nil, err
	}
	if root := jsonscan.ParseValid(b.data); fieldValidation == metav1.FieldValidationIgnore && !root.IsObject() {
		if !root.IsArray() {
			return nil, apierrors.NewBadRequest("Invalid JSON Patch")
		}
		// An array replaces the object, and is then not an object of the kind.
		return &Patch{apply: func(context.Context, []byte) ([]byte, error) { return mergepatch.Prune(b.data), nil }}, nil
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
		return mergepatch.Apply(old, b.data), nil
	}
	return &Patch{apply: apply, strict: strict}, nil
}

// parseStrategicMergePatch parses a strategic merge patch.
func parseStrategicMergePatch(data []byte, _ string) (*Patch, error) {
	b, err := openPatch(data)
	if err != nil {
		return nil, err
	}
	var changes map[string]any
	strict, err := kjson.UnmarshalStrict(b.data, &changes)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	merge := func(ctx context.Context, old []byte, obj api.Object, limit int) ([]error, error) {
		var original map[string]any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(old, &original); err != nil {
			return nil, err
		}
		merged, err := strategicpatch.Apply(ctx, original, changes, obj)
		if err != nil {
			return nil, errStrategicMerge(err)
		}
		if err := checkMerged(merged, limit); err != nil {
			return nil, err
		}
		if err := bounds.ContentInto(b.data, merged, func() any { return obj }); err != nil {
			return nil, errInvalidResult(fmt.Sprint(changes), err)
		}
		err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(merged, obj, true)
		if unknown, ok := runtime.AsStrictDecodingError(err); ok {
			return unknown.Errors(), nil
		}
		if err != nil {
			return nil, errInvalidResult(fmt.Sprint(changes), err)
		}
		return nil, nil
	}
	return &Patch{merge: merge, strict: strict, text: func() string { return fmt.Sprint(changes) }}, nil
}

// errStrategicMerge returns the error of a strategic merge patch that cannot be applied.
func errStrategicMerge(err error) error {
	switch err {
	case patcherrors.ErrBadJSONDoc, patcherrors.ErrBadPatchFormatForPrimitiveList,
		patcherrors.ErrBadPatchFormatForRetainKeys, patcherrors.ErrBadPatchFormatForSetElementOrderList,
		patcherrors.ErrUnsupportedStrategicMergePatchFormat:
		return apierrors.NewBadRequest(err.Error())
	case patcherrors.ErrNoListOfLists, patcherrors.ErrPatchContentNotMatchRetainKeys:
		return errUnprocessable(err)
	case strategicpatch.ErrTooMuchWork:
		return errTooLarge("%v", err)
	}
	if errors.Is(err, strategicpatch.ErrUnmergeable) {
		return apierrors.NewBadRequest(err.Error())
	}
	return err
}

// errInvalidResult returns the error of a patch whose result is not an object of the kind. text
// is the patch or its result.
func errInvalidResult(text string, err error) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
		field.Invalid(field.NewPath("patch"), text, err.Error())})
}
