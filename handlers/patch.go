package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// maxPatchOperations bounds a JSON patch.
const maxPatchOperations = 10000

// patchFunc applies a patch to the JSON of an object of type like.
type patchFunc func(old []byte, like api.Object) ([]byte, error)

// patchTypes are the patches that are served, with what reads each.
var patchTypes = map[types.PatchType]func(patch []byte) (patchFunc, error){
	types.JSONPatchType:           parseJSONPatch,
	types.MergePatchType:          parseMergePatch,
	types.StrategicMergePatchType: parseStrategicMergePatch,
}

func (h *Handler) patch(c *call) error {
	v, err := h.view(c, offerObject)
	if err != nil {
		return err
	}
	name, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	parse, ok := patchTypes[types.PatchType(name)]
	if err != nil || !ok {
		return statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "415: Unsupported Media Type", &metav1.StatusDetails{})
	}
	o, err := c.writeOptions("PatchOptions", types.PatchType(name))
	if err != nil {
		return err
	}
	data, err := readBody(c.r)
	if err != nil {
		return err
	}
	p := &patcher{h: h, c: c, parse: parse, data: data, fieldValidation: o.fieldValidation}
	out, err := h.Registry.Update(c.r.Context(), c.Target, p.change, registry.UpdateOptions{WriteOptions: o.WriteOptions})
	if err != nil {
		return err
	}
	return h.writeOutcome(c, &v, out)
}

// patcher makes the new state of an object by a patch.
type patcher struct {
	h               *Handler
	c               *call
	parse           func([]byte) (patchFunc, error)
	data            []byte
	fieldValidation string
}

// change implements registry.Change. The patch is parsed only when there is an
// object, since an object that is missing is the more useful thing to be told.
func (p *patcher) change(ctx context.Context, old api.Object) (api.Object, error) {
	apply, err := p.parse(p.data)
	if err != nil {
		return nil, err
	}
	before, err := p.c.codec.encodeJSON(old)
	if err != nil {
		return nil, err
	}
	after, err := apply(before, p.c.codec.newObject())
	if err != nil {
		return nil, err
	}
	obj, err := p.decode(ctx, after)
	if err != nil {
		return nil, err
	}
	if err := p.c.checkName(obj); err != nil {
		return nil, err
	}
	return obj, nil
}

// decode reads the patched object. What does not fit the kind is the fault of
// the patch.
func (p *patcher) decode(ctx context.Context, data []byte) (api.Object, error) {
	c := p.c.codec
	unfit := func(err error) error {
		return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
			field.Invalid(field.NewPath("patch"), string(data), err.Error())})
	}
	b, err := parseBody(formatJSON, data)
	if err != nil {
		return nil, unfit(err)
	}
	if b.gvk != c.gvk {
		return nil, unfit(errUnpatchable(p.h, c, b.gvk))
	}
	obj := c.newObject()
	if err := b.into(obj, p.fieldValidation); err != nil {
		return nil, unfit(err)
	}
	if err := judgeStrict(request.From(ctx), b.strict, p.fieldValidation); err != nil {
		return nil, unfit(err)
	}
	return c.defaulted(obj)
}

// errUnpatchable tells what is wrong with a kind that a patch changed.
func errUnpatchable(h *Handler, c *codec, gvk schema.GroupVersionKind) error {
	if h.knows(gvk) {
		return fmt.Errorf("unable to convert object of kind %s to %s", gvk.Kind, c.gvk.Kind)
	}
	return errNotRegistered(gvk)
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

func parseJSONPatch(data []byte) (patchFunc, error) {
	var ops []jsonPatchOp
	if err := json.Unmarshal(data, &ops); err != nil {
		return nil, errPatch(err)
	}
	if len(ops) > maxPatchOperations {
		return nil, errTooLarge("The allowed maximum operations in a JSON patch is %d, got %d", maxPatchOperations, len(ops))
	}
	// Not DecodePatch, which refuses more than is to be refused at this point.
	var patch jsonpatch.Patch
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, errPatch(err)
	}
	null := json.RawMessage("null")
	for _, op := range patch {
		if _, ok := op["value"]; !ok {
			op["value"] = &null
		}
	}
	return func(old []byte, _ api.Object) ([]byte, error) {
		options := jsonpatch.NewApplyOptions()
		options.AccumulatedCopySizeLimit = maxBody
		out, err := patch.ApplyWithOptions(old, options)
		if err != nil {
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
		}
		return out, nil
	}, nil
}

func parseMergePatch(data []byte) (patchFunc, error) {
	var patch map[string]any
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, errPatch(err)
	}
	if patch == nil {
		return nil, apierrors.NewBadRequest("Invalid JSON Patch")
	}
	return func(old []byte, _ api.Object) ([]byte, error) {
		out, err := jsonpatch.MergePatch(old, data)
		if err != nil {
			return nil, errPatch(err)
		}
		return out, nil
	}, nil
}

func parseStrategicMergePatch(data []byte) (patchFunc, error) {
	var patch map[string]any
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return func(old []byte, like api.Object) ([]byte, error) {
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
	}, nil
}
