package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"github.com/miniapiserver/miniapiserver/api"
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
	// Not DecodePatch, which refuses more than is to be refused at this point.
	var operations jsonpatch.Patch
	if err := json.Unmarshal(data, &operations); err != nil {
		return nil, errPatch(err)
	}
	null, add := json.RawMessage("null"), json.RawMessage(`"add"`)
	replaced := map[string]bool{}
	for i, op := range operations {
		if _, ok := op["value"]; !ok && op != nil {
			op["value"] = &null
		}
		if ops[i].Op == "replace" && namesMember(ops[i].Path) {
			op["op"], replaced[ops[i].Path] = &add, true
		}
	}
	apply := func(old []byte, _ api.Object) ([]byte, error) {
		options := jsonpatch.NewApplyOptions()
		options.AccumulatedCopySizeLimit = maxBody
		out, err := operations.ApplyWithOptions(old, options)
		if err != nil {
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", asReplace(err.Error(), replaced), 0, false)
		}
		return out, nil
	}
	return &patch{apply: apply, strict: strict}, nil
}

// namesMember tells whether a path can only lead to the member of an object: it
// ends in no number. A replace of such a path adds what is not there, as it does
// on kube-apiserver, where an add is the same as a replace for what is there.
func namesMember(path string) bool {
	last := path[strings.LastIndexByte(path, '/')+1:]
	return last != "" && last != "-" && strings.Trim(last, "-0123456789") != ""
}

// asReplace is the message about an add that was sent as a replace.
func asReplace(message string, replaced map[string]bool) string {
	for path := range replaced {
		switch {
		case strings.HasPrefix(message, fmt.Sprintf("add operation does not apply: doc is missing path: \"%s\": ", path)):
			return fmt.Sprintf("replace operation does not apply: doc is missing path: %s: %v", path, jsonpatch.ErrMissing)
		case strings.HasPrefix(message, fmt.Sprintf("error in add for path: '%s': ", path)):
			return fmt.Sprintf("replace operation does not apply: doc is missing key: %s: %v", path, jsonpatch.ErrMissing)
		}
	}
	return message
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
