package representation

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/internal/gotype"
)

// rawJSONChecker checks objects of one Go type that were decoded from protobuf. Such an object
// can contain JSON that no decoder has read: a RawExtension, the value of a schema, the fields
// of a manager. If it is invalid or nested too deep, no list with the object can be encoded.
type rawJSONChecker struct {
	// walk checks all such JSON in an object. Its state is the first error.
	walk *gotype.Walk[error]
	// recursive is set if the type contains itself, so that its depth in JSON does not follow
	// from its depth in protobuf.
	recursive bool
}

// newRawJSONChecker examines a type.
func newRawJSONChecker(rt reflect.Type) *rawJSONChecker {
	return &rawJSONChecker{
		walk:      gotype.Compile(rt, gotype.Rules[error]{Type: rawJSONCheck}),
		recursive: gotype.IsRecursive(rt),
	}
}

// check returns an error if an object contains JSON that cannot be encoded.
func (r *rawJSONChecker) check(c *Codec, obj api.Object) error {
	if r.recursive {
		data, err := c.plan().Append(nil, obj)
		if err == nil && !json.Valid(data) {
			err = errors.New("a raw value is not valid JSON")
		}
		if err != nil {
			return err
		}
		return bounds.JSON(data)
	}
	return r.walk.Visit(reflect.ValueOf(obj).Elem(), nil)
}

// dropUnreadableOwners removes the managedFields of a request's object if an entry's
// fields are not valid JSON. Like kube-apiserver, the server treats managedFields that
// cannot be decoded as if the client had not sent any.
func dropUnreadableOwners(obj api.Object) {
	for _, e := range obj.GetManagedFields() {
		if e.FieldsV1 != nil && len(e.FieldsV1.Raw) > 0 && checkRaw(e.FieldsV1.Raw, 0) != nil {
			obj.SetManagedFields(nil)
			return
		}
	}
}

func checkRaw(text []byte, depth int) error {
	if err := bounds.JSONAt(text, depth); err != nil {
		return err
	}
	if !json.Valid(text) {
		return errors.New("not valid JSON")
	}
	return nil
}

// rawJSONCheck returns the check of a type whose field Raw is JSON.
func rawJSONCheck(t reflect.Type) (do gotype.Action[error], isLeaf bool) {
	if t.Kind() != reflect.Struct {
		return nil, false
	}
	raw, ok := gotype.FieldNamed(t, "Raw")
	if !ok || raw.Type != reflect.TypeFor[[]byte]() || raw.Name != "" {
		return nil, false
	}
	isOwnership := t == reflect.TypeFor[metav1.FieldsV1]()
	return func(to *gotype.Visitor[error], v reflect.Value) bool {
		text, depth := raw.In(v).Bytes(), to.Depth()
		if to.State != nil || len(text) == 0 {
			return false
		}
		if isOwnership {
			depth = 0 // it has the levels of the object itself
		}
		if err := checkRaw(text, depth); err != nil {
			to.State = fmt.Errorf("%s: %w", to.Names(), err)
		}
		return false
	}, true
}
