package representation

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"

	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/request"
)

// Applied is a decoded apply configuration.
type Applied struct {
	Content map[string]any
	// Duplicates are the faults of duplicate fields. The merge finds unknown fields.
	Duplicates []error
}

// CheckDuplicates applies field validation to duplicate fields. As in kube-apiserver, the caller merges
// the configuration first, so that the client sees an error of the merge rather than this one.
func (a *Applied) CheckDuplicates(scope *request.Scope, fieldValidation string) error {
	for _, err := range a.Duplicates {
		switch fieldValidation {
		case metav1.FieldValidationIgnore:
		case metav1.FieldValidationStrict:
			return apierrors.NewBadRequest("error strict decoding patch: error converting YAML to JSON: " + err.Error())
		default:
			addWarnings(scope, err)
		}
	}
	return nil
}

// DecodeApplied decodes an apply configuration in CBOR, or in YAML, which JSON is too.
func (c *Codec) DecodeApplied(kind types.PatchType, data []byte) (*Applied, error) {
	var a Applied
	var err error
	if kind == types.ApplyCBORPatchType {
		a.Content, data, err = appliedCBOR(data)
	} else if known, ok := appliedJSON(data); ok { // read faster
		a.Content = known
		if c.resource.IsCustom() {
			integersIn(a.Content)
		}
	} else {
		a, err = appliedYAML(data)
	}
	if err != nil {
		return nil, err
	}
	if c.resource.IsCustom() {
		return &a, nil
	}
	if err := bounds.ContentInto(data, a.Content, func() any { return c.newObject() }); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return &a, nil
}

// appliedYAML decodes an apply configuration in YAML.
func appliedYAML(data []byte) (a Applied, err error) {
	b, err := openBody(FormatYAML, data)
	if err != nil {
		return a, errUnreadableApply(data, err)
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(b.data, &a.Content); err != nil {
		return a, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: error unmarshaling JSON: while decoding JSON: %v", err))
	}
	a.Duplicates = b.strict
	return a, nil
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
// fields, and means the same in YAML.
func appliedJSON(data []byte) (patch map[string]any, ok bool) {
	if !bytes.HasPrefix(data, []byte("{")) || !isYAMLText(data) || bounds.JSONAt(data, 0) != nil {
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

// maxSimpleKey is the maximum length of a key of YAML, with the blanks that follow it.
const maxSimpleKey = 1024

// isYAMLText reports whether JSON has only characters and escapes that mean the same in YAML. YAML has
// no escapes of surrogate pairs and no \/, allows tabs and control characters in few places, takes
// some separators for line breaks, and wants a key and its colon in one line. False means no more than
// that it is not known.
func isYAMLText(data []byte) bool {
	inString, start, line := false, 0, 0 // start of the last string, and of the line
	for i := 0; i < len(data); i++ {
		switch b := data[i]; {
		case b == '"':
			if inString = !inString; inString {
				start = i
			}
		case b == ':' && !inString:
			if start < line || i-start >= maxSimpleKey {
				return false
			}
		case b == '\\':
			n := escapeLength(data[i:])
			if n == 0 {
				return false
			}
			i += n - 1
		case b >= utf8.RuneSelf:
			r, n := utf8.DecodeRune(data[i:])
			if r < 0xA0 || r == '\u2028' || r == '\u2029' || r == '\uFEFF' || r == '\uFFFE' || r == '\uFFFF' || r == utf8.RuneError {
				return false
			}
			i += n - 1
		case b == '\n':
			line = i
		case b < ' ', b == 0x7F:
			return false
		}
	}
	return true
}

// escapeLength returns the length of the escape at the beginning of data, or 0 if YAML may not have it.
func escapeLength(data []byte) int {
	switch {
	case len(data) < 2:
		return 0
	case bytes.IndexByte([]byte(`"\bfnrt`), data[1]) >= 0:
		return 2
	case data[1] != 'u' || len(data) < len(`\u0000`):
		return 0
	case (data[2] == 'd' || data[2] == 'D') && data[3] >= '8':
		return 0
	}
	return len(`\u0000`)
}
