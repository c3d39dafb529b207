package handlers

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry/jsonpatch"
)

// maxPatchOperations bounds a JSON patch.
const maxPatchOperations = 10000

// patch is the body of a PATCH, read.
type patch struct {
	// apply applies it to the JSON of an object of type like.
	apply func(old []byte, like api.Object) ([]byte, error)
	// strict are the faults that only strict field validation minds.
	strict []error
	// shown is how messages show what led to an object that does not fit; nil
	// means by that object.
	shown func() string
}

// patchTypes are the patches that are served, with what reads each.
var patchTypes = map[types.PatchType]func(data []byte) (*patch, error){
	types.JSONPatchType:           parseJSONPatch,
	types.MergePatchType:          parseMergePatch,
	types.StrategicMergePatchType: parseStrategicMergePatch,
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

func parseJSONPatch(data []byte) (*patch, error) {
	var ops []jsonPatchOp
	strict, err := kjson.UnmarshalStrict(data, &ops)
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
	apply := func(old []byte, _ api.Object) ([]byte, error) {
		out, err := decoded.Apply(old, maxBody)
		if err != nil {
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
		}
		return out, nil
	}
	return &patch{apply: apply, strict: strict}, nil
}

func parseMergePatch(data []byte) (*patch, error) {
	var changes map[string]any
	strict, err := kjson.UnmarshalStrict(data, &changes)
	if err != nil {
		return nil, errPatch(err)
	}
	if changes == nil {
		return nil, apierrors.NewBadRequest("Invalid JSON Patch")
	}
	apply := func(old []byte, _ api.Object) ([]byte, error) {
		return mergeJSON(make([]byte, 0, len(old)+len(data)), old, data), nil
	}
	return &patch{apply: apply, strict: strict}, nil
}

func parseStrategicMergePatch(data []byte) (*patch, error) {
	var changes map[string]any
	strict, err := kjson.UnmarshalStrict(data, &changes)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	apply := func(old []byte, like api.Object) ([]byte, error) {
		out, err := strategicpatch.StrategicMergePatch(old, data, like)
		switch {
		case errors.Is(err, mergepatch.ErrBadJSONDoc), errors.Is(err, mergepatch.ErrBadPatchFormatForPrimitiveList),
			errors.Is(err, mergepatch.ErrBadPatchFormatForRetainKeys), errors.Is(err, mergepatch.ErrBadPatchFormatForSetElementOrderList),
			errors.Is(err, mergepatch.ErrUnsupportedStrategicMergePatchFormat):
			return nil, apierrors.NewBadRequest(err.Error())
		case err != nil:
			return nil, err
		}
		return out, nil
	}
	return &patch{apply: apply, strict: strict, shown: func() string { return fmt.Sprint(changes) }}, nil
}
