package representation

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"

	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/request"
)

// DecodeApplied decodes an apply configuration in CBOR, or in YAML, which JSON is too. Field validation
// decides about duplicate fields in YAML; the merge finds unknown ones.
func (c *Codec) DecodeApplied(r *http.Request, kind types.PatchType, data []byte, fieldValidation string) (patch map[string]any, err error) {
	if kind == types.ApplyCBORPatchType {
		patch, data, err = appliedCBOR(data)
	} else if known, ok := appliedJSON(data); ok { // read faster
		patch = known
		if c.resource.Untyped {
			integersIn(patch)
		}
	} else {
		patch, err = appliedYAML(r, data, fieldValidation)
	}
	if err != nil {
		return nil, err
	}
	if c.resource.Untyped {
		return patch, nil
	}
	if err := bounds.ContentInto(data, patch, func() any { return c.newObject() }); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return patch, nil
}

// appliedYAML decodes an apply configuration in YAML.
func appliedYAML(r *http.Request, data []byte, fieldValidation string) (map[string]any, error) {
	b, err := openBody(FormatYAML, data)
	if err != nil {
		return nil, errUnreadableApply(data, err)
	}
	var patch map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(b.data, &patch); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: error unmarshaling JSON: while decoding JSON: %v", err))
	}
	for _, err := range b.strict {
		switch fieldValidation {
		case metav1.FieldValidationIgnore:
		case metav1.FieldValidationStrict:
			return nil, apierrors.NewBadRequest("error strict decoding patch: error converting YAML to JSON: " + err.Error())
		default:
			addWarnings(request.From(r.Context()), err)
		}
	}
	return patch, nil
}

// errUnreadableApply returns the error of an apply configuration that is not YAML. kube-apiserver
// first encodes a configuration as JSON for the audit log, unless it begins like JSON.
func errUnreadableApply(data []byte, err error) error {
	var limit *bounds.Error
	switch {
	case errors.As(err, &limit):
		return errPatch(err)
	case yaml.IsJSONBuffer(data):
		return errPatch(fmt.Errorf("error converting YAML to JSON: %w", err))
	}
	return apierrors.NewBadRequest("error encoding patch: " + err.Error())
}

// appliedJSON decodes an apply configuration that is valid JSON without duplicate
// fields.
func appliedJSON(data []byte) (patch map[string]any, ok bool) {
	if !bytes.HasPrefix(data, []byte("{")) || bounds.JSONAt(data, 0) != nil {
		return nil, false
	}
	strict, err := kjson.UnmarshalStrict(data, &patch)
	return patch, err == nil && len(strict) == 0
}

// integersIn makes integers of the whole numbers with a fraction or an exponent in a decoded value, and
// returns it. YAML, which kube-apiserver reads an apply configuration as, does not tell 1.0 from 1.
func integersIn(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			v[name] = integersIn(v[name])
		}
	case []any:
		for i := range v {
			v[i] = integersIn(v[i])
		}
	case float64:
		// -2⁶³ is a float64, 2⁶³-1 is not.
		if v == math.Trunc(v) && v >= math.MinInt64 && v < -math.MinInt64 {
			return int64(v)
		}
	}
	return value
}

// addWarnings adds a warning for each fault of a body. The YAML decoder puts several faults
// into one error, one on each line below a header line.
func addWarnings(scope *request.Scope, err error) {
	_, faults, several := strings.Cut(err.Error(), "yaml: unmarshal errors:\n")
	if !several {
		faults = err.Error()
	}
	for fault := range strings.SplitSeq(faults, "\n") {
		scope.Warn(strings.TrimSpace(fault))
	}
}
