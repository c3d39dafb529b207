package structural

import (
	"context"
	"encoding/json"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/expression"
)

// FuzzSchema checks that no text, compiled as a schema and applied to objects, causes a panic
// or a rule that does not end.
func FuzzSchema(f *testing.F) {
	const object = `{"apiVersion":"g/v1","kind":"K","metadata":{"name":"n"},"a":1,"l":[{"k":"x"},{"k":"y"}],"m":{"k":null},"s":["b","a"],"e":{"kind":1,"metadata":{"labels":[]}}}`
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"type":"integer","default":2,"x-kubernetes-validations":[{"rule":"self > 1 && self >= oldSelf","messageExpression":"string(self)"}]}}}`,
		`{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"}}}}},
			"x-kubernetes-validations":[{"rule":"self.l.all(x, self.l.exists(y, x == y))","fieldPath":".l"}]}`,
		`{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"string","nullable":true,"pattern":"^a"}},"s":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string","format":"date-time"}}}}`,
		`{"type":"object","properties":{"e":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-validations":[{"rule":"self.kind != ''"}]}}}`,
		`{"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true}},"anyOf":[{"required":["a"]},{"not":{"required":["b"]}}],"x-kubernetes-validations":[{"rule":"oldSelf.hasValue()","optionalOldSelf":true,"reason":"FieldValueForbidden"}]}`,
		`{"items":[{}],"additionalProperties":false,"$ref":"#","default":null,"enum":[null,1,"x"]}`,
	} {
		f.Add(schema, object, `{}`)
	}
	f.Fuzz(func(t *testing.T, schema, value, old string) {
		var p props
		var object, before map[string]any
		if json.Unmarshal([]byte(schema), &p) != nil || utiljson.Unmarshal([]byte(value), &object) != nil || utiljson.Unmarshal([]byte(old), &before) != nil {
			return
		}
		faults := Check(&p, field.NewPath("s"), expression.Writer{})
		s, err := compiled(&p)
		if err != nil {
			if len(faults) == 0 {
				t.Errorf("passes, and cannot be compiled: %v", err)
			}
			return
		}
		if object == nil {
			return
		}
		_, err = s.Coerce(object)
		setDefaultsOf(t, s, object)
		ctx := context.Background()
		s.Validate(ctx, Write{Object: object})
		s.Validate(ctx, Write{Object: object, Old: before})
		s.Validate(ctx, Write{Object: object, Old: object, StatusOnly: true})
		if err != nil {
			return // and is not stored
		}
		if again, err := s.Coerce(object); err == nil && len(faults) == 0 && len(again) > 0 {
			t.Errorf("unknown after it was pruned and defaulted: %q", again)
		}
	})
}
