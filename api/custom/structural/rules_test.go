package structural

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/expression"
)

// validateText returns the errors of an object; old is the old object, or empty.
func validateText(t *testing.T, s *Schema, value, old string) string {
	t.Helper()
	w := Write{Object: objectOf(t, value)}
	if old != "" {
		w.Old = objectOf(t, old)
	}
	var tolerated []string
	w.Tolerate = func(err error) { tolerated = append(tolerated, "tolerated: "+err.Error()) }
	var out []string
	for _, err := range s.Validate(t.Context(), w) {
		out = append(out, err.Error())
	}
	return strings.Join(append(out, tolerated...), "\n")
}

func TestRules(t *testing.T) {
	for _, tt := range []struct{ name, schema, value, old, want string }{
		{"kept", `{"type":"object","properties":{"a":{"type":"integer"}},"x-kubernetes-validations":[{"rule":"self.a > 1"}]}`, `{"a":2}`, ``, ``},
		{"broken", `{"type":"object","properties":{"a":{"type":"integer"}},"x-kubernetes-validations":[{"rule":"self.a > 1"}]}`, `{"a":1}`, ``,
			`<nil>: Invalid value: failed rule: self.a > 1`},
		{"message", `{"type":"object","properties":{"a":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 1","message":" more ","messageExpression":"'more than ' + string(self)"}]}}}`,
			`{"a":1}`, ``, `a: Invalid value: 1: more than 1`},
		{"message of lines", `{"type":"object","properties":{"a":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 1","message":"more","messageExpression":"'x\\n\\ny'"}]}}}`,
			`{"a":1}`, ``, `a: Invalid value: 1: more`},
		{"reason and path", `{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"string"}}},
			"x-kubernetes-validations":[{"rule":"'k' in self.m","reason":"FieldValueRequired","fieldPath":".m['k']","message":"k"}]}`,
			`{"m":{}}`, ``, `m[k]: Required value: k`},
		{"transition", `{"type":"object","properties":{"a":{"type":"integer","x-kubernetes-validations":[{"rule":"self >= oldSelf","message":"grows"}]}}}`,
			`{"a":1}`, `{"a":2}`, `a: Invalid value: 1: grows`},
		{"transition of what was not there", `{"type":"object","properties":{"a":{"type":"integer","x-kubernetes-validations":[{"rule":"self >= oldSelf","message":"grows"}]}}}`,
			`{"a":1}`, `{}`, ``},
		{"optional", `{"type":"object","properties":{"a":{"type":"integer","x-kubernetes-validations":[{"rule":"oldSelf.hasValue() || self == 1","optionalOldSelf":true,"message":"first"}]}}}`,
			`{"a":2}`, `{}`, `a: Invalid value: 2: first`},
		{"items by key", `{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],
			"properties":{"k":{"type":"string"},"v":{"type":"integer"}},"x-kubernetes-validations":[{"rule":"self.v == oldSelf.v","message":"fixed"}]}}}}`,
			`{"l":[{"k":"b","v":2},{"k":"a","v":3}]}`, `{"l":[{"k":"a","v":1},{"k":"b","v":2}]}`, `l[1]: Invalid value: fixed`},
		{"sets are equal in any order", `{"type":"object","properties":{"s":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"},"x-kubernetes-validations":[{"rule":"self == oldSelf","message":"fixed"}]}}}`,
			`{"s":["b","a"]}`, `{"s":["a","b"]}`, ``},
		{"number or text", `{"type":"object","properties":{"p":{"x-kubernetes-int-or-string":true}},"x-kubernetes-validations":[{"rule":"type(self.p) == int ? self.p < 5 : self.p.endsWith('%')"}]}`,
			`{"p":"5"}`, ``, `<nil>: Invalid value: failed rule: type(self.p) == int ? self.p < 5 : self.p.endsWith('%')`},
		{"escaped names", `{"type":"object","properties":{"a-b":{"type":"integer"},"in":{"type":"integer"}},"x-kubernetes-validations":[{"rule":"self.a__dash__b == 1 && self.__in__ == 1","message":"m"}]}`,
			`{"a-b":1,"in":2}`, ``, `<nil>: Invalid value: m`},
		{"a name that cannot be written", `{"type":"object","properties":{"a:b":{"type":"object","properties":{"c":{"type":"integer"}},"x-kubernetes-validations":[{"rule":"self.c == 1","message":"m"}]}}}`,
			`{"a:b":{"c":2}}`, ``, `a:b: Invalid value: m`},
		{"name of an object", `{"type":"object","x-kubernetes-validations":[{"rule":"self.metadata.name.startsWith('w') && self.kind == 'K'","message":"m"}]}`,
			`{"kind":"K","apiVersion":"v1","metadata":{"name":"x"}}`, ``, `<nil>: Invalid value: m`},
		{"embedded", `{"type":"object","properties":{"e":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,
			"x-kubernetes-validations":[{"rule":"self.kind == 'Pod' && self.metadata.generateName == 'g'","message":"m"}]}}}`,
			`{"e":{"apiVersion":"v1","kind":"Job","metadata":{"generateName":"g"}}}`, ``, `e: Invalid value: m`},
		{"formats", `{"type":"object","properties":{"d":{"type":"string","format":"duration"},"t":{"type":"string","format":"date-time"},"b":{"type":"string","format":"byte"}},
			"x-kubernetes-validations":[{"rule":"self.d > duration('1h') && self.t < timestamp('2000-01-01T00:00:00Z') && self.b == b'hi'","message":"m"}]}`,
			`{"d":"90m","t":"1999-01-01T00:00:00Z","b":"aGk="}`, ``, ``},
		{"null is not looked at", `{"type":"object","properties":{"a":{"type":"integer","nullable":true,"x-kubernetes-validations":[{"rule":"self > 1"}]}}}`, `{"a":null}`, ``, ``},
		{"values of the wrong type come first", `{"type":"object","properties":{"a":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 1"}]}}}`, `{"a":"x"}`, ``,
			"a: Invalid value: \"string\": a in body must be of type integer: \"string\"\n<nil>: Invalid value: null: " + rulesNotChecked},
		{"error of a rule", `{"type":"object","properties":{"a":{"type":"integer"}},"x-kubernetes-validations":[{"rule":"self.a > 1"}]}`, `{}`, ``,
			`<nil>: Invalid value: "object": no such key: a evaluating rule: self.a > 1`},
		{"faults that were there are let be", `{"type":"object","properties":{"a":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 1","message":"m"}]},"b":{"type":"integer"}}}`,
			`{"a":1,"b":2}`, `{"a":1,"b":1}`, `tolerated: a: Invalid value: 1: m`},
		{"but not those of what is around", `{"type":"object","properties":{"s":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"x-kubernetes-validations":[{"rule":"self.a > 1","message":"m"}]}}}`,
			`{"s":{"a":1,"b":2}}`, `{"s":{"a":1,"b":1}}`, `s: Invalid value: m`},
	} {
		if got := validateText(t, schemaOf(t, tt.schema), tt.value, tt.old); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestRuleBudget(t *testing.T) {
	s := schemaOf(t, `{"type":"object","properties":{"l":{"type":"array","items":{"type":"string","x-kubernetes-validations":[{"rule":"!self.matches('^bbbbbbbbbbbbbbbbbbbbbb$')"}]}}}}`)
	list, long := make([]any, 2000), strings.Repeat("x", 100_000)
	for i := range list {
		list[i] = long
	}
	errs := s.Validate(t.Context(), Write{Object: map[string]any{"l": list}})
	if want := "validation failed due to running out of cost budget, no further validation rules will be run"; len(errs) != 1 || errs[0].Detail != want {
		t.Errorf("got %v, want %s", errs, want)
	}
	for i := range list {
		list[i] = "x"
	}
	s = schemaOf(t, `{"type":"object","properties":{"l":{"type":"array","items":{"type":"string"},"x-kubernetes-validations":[{"rule":"self.all(x, self.all(y, x == y))"}]}}}`)
	errs = s.Validate(t.Context(), Write{Object: map[string]any{"l": list}})
	if want := `l: Invalid value: "array": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: self.all(x, self.all(y, x == y))`; errs.ToAggregate().Error() != want {
		t.Errorf("got %v, want %s", errs, want)
	}
}

func TestCheckRules(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string"}},"x-kubernetes-validations":[{"rule":"self.a == 'x'"}]}`: ``,
		`{"type":"object","x-kubernetes-validations":[{"rule":"self.a"}]}`:                                             "s.x-kubernetes-validations[0].rule: Invalid value: {\"Rule\":\"self.a\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: compilation failed: ERROR: <input>:1:5: undefined field 'a'\n | self.a\n | ....^",
		`{"type":"object","x-kubernetes-validations":[{"rule":"true","optionalOldSelf":true}]}`:                        `s.x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule`,
		`{"type":"object","x-kubernetes-validations":[{"rule":"true\n"},{"rule":"true\n&& true"}]}`:                    `s.x-kubernetes-validations[1].message: Required value: message must be specified if rule contains line breaks`,
		`{"type":"object","properties":{"l":{"type":"array","items":{"type":"string"}}},"x-kubernetes-validations":[{"rule":"self.l.all(x, self.l.all(y, x == y))"}]}`: "s.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)\n" +
			"s.x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema\n" +
			"s: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)",
		`{"type":"object","properties":{"l":{"type":"array","maxItems":10,"items":{"type":"string","maxLength":10}}},"x-kubernetes-validations":[{"rule":"self.l.all(x, self.l.all(y, x == y))"}]}`:                                                     ``,
		`{"type":"object","properties":{"a":{"type":"integer","default":1,"x-kubernetes-validations":[{"rule":"self > 1","message":"m"}]}}}`:                                                                                                            `s.properties[a].default: Invalid value: 1: m`,
		`{"type":"object","properties":{"l":{"type":"array","maxItems":100,"items":{"type":"string","maxLength":10}}},"x-kubernetes-validations":[{"rule":"self.l.all(x, self.metadata.name.contains(x) || self.metadata.generateName.contains(x))"}]}`: ``, // names are short
		// As in kube-apiserver, a default with x-kubernetes-int-or-string may have any type,
		// and rules on types that CEL cannot represent are not compiled.
		`{"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true,"default":true}}}`:                                                                                                                                 ``,
		`{"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true,"default":1,"format":"int32"}}}`:                                                                                                                   `s.properties[a].default: Invalid value: "int64":  in body must be of type int32: "int64"`,
		`{"type":"object","properties":{"a":{"x-kubernetes-preserve-unknown-fields":true,"properties":{"b":{"type":"string","x-kubernetes-validations":[{"rule":"self != ''"}]}}}},"x-kubernetes-validations":[{"rule":"true"}]}`: `s.properties[a].properties[b].x-kubernetes-validations: Internal error: internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations`,
		`{"type":"object","allOf":[{"x-kubernetes-validations":[{"rule":"true"}]}]}`:                                                                                                                                              `s.allOf[0].x-kubernetes-validations: Forbidden: must be empty to be structural`,
	} {
		var p props
		if err := json.Unmarshal([]byte(in), &p); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, err := range Check(&p, field.NewPath("s"), expression.Writer{}) {
			got = append(got, err.Error())
		}
		if got := strings.Join(got, "\n"); got != want {
			t.Errorf("%s:\n got %s\nwant %s", in, got, want)
		}
	}
}

// TestConcurrent checks that concurrent users of a schema compile each part once.
func TestConcurrent(t *testing.T) {
	s := schemaOf(t, routes)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			var object map[string]any
			if err := utiljson.Unmarshal([]byte(strings.Replace(route, `"/a/b"`, `"a"`, 1)), &object); err != nil {
				t.Error(err)
				return
			}
			setDefaultsOf(t, s, object)
			errs := s.Validate(t.Context(), Write{Object: object})
			if len(errs) != 1 || errs[0].Detail != "value must be an absolute path" {
				t.Errorf("got %v", errs)
			}
		})
	}
	group.Wait()
}

// TestDeepSchema checks that a schema that would need gigabytes of memory is refused.
func TestDeepSchema(t *testing.T) {
	const depth = 2000
	text := strings.Repeat(`{"type":"object","properties":{"`+strings.Repeat("a", 300)+`":`, depth) + `{"type":"string"}` + strings.Repeat("}}", depth)
	var p props
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	if errs := Check(&p, field.NewPath("s"), expression.Writer{}); len(errs) > 0 {
		t.Errorf("without rules: %v", errs)
	}
	p.XValidations = apiextensionsv1.ValidationRules{{Rule: "true"}}
	if got, want := Check(&p, field.NewPath("s"), expression.Writer{}).ToAggregate(), "s: Forbidden: "+errTooDeep.Error(); got == nil || got.Error() != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
