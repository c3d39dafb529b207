package structural

import (
	"encoding/json"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// TestReleaseFormats checks which formats the releases of Kubernetes enforce and warn of.
func TestReleaseFormats(t *testing.T) {
	for _, c := range []struct {
		release, text string
		invalid, warn bool
	}{
		{"1.34", `{"type":"integer","format":"int32"}`, false, false},
		{"1.35", `{"type":"integer","format":"int32"}`, false, false},
		{"1.36", `{"type":"integer","format":"int32"}`, true, false},
		{"", `{"type":"integer","format":"int32"}`, true, false},
		{"1.35", `{"type":"integer","format":"uint8"}`, false, false},
		{"1.36", `{"type":"integer","format":"uint8"}`, false, true},
		{"1.35", `{"type":"number","format":"float"}`, false, false},
		{"1.36", `{"type":"number","format":"float"}`, true, false},
		{"1.35", `{"type":"string","format":"int32"}`, false, true},
		{"1.35", `{"format":"x","x-kubernetes-int-or-string":true}`, false, false},
		{"1.36", `{"format":"x","x-kubernetes-int-or-string":true}`, false, true},
		{"1.34", `{"type":"string","format":"k8s-short-name"}`, false, true},
		{"1.35", `{"type":"string","format":"k8s-short-name"}`, true, false},
		{"1.34", `{"type":"string","format":"date"}`, true, false},
	} {
		var p props
		if err := json.Unmarshal([]byte(c.text), &p); err != nil {
			t.Fatal(err)
		}
		var value any = "A_"
		if p.Type == "integer" || p.Type == "number" {
			value = 1e300
			if p.Type == "integer" {
				value = int64(1) << 40
			}
		}
		r := testRelease(c.release)
		if errs := newValidator(&p, r.validatesFormat).check(t.Context(), nil, value, nil); (len(errs) > 0) != c.invalid {
			t.Errorf("%s: %s: %v", c.release, c.text, errs)
		}
		if warned := len(r.UnknownFormats(&p)) > 0; warned != c.warn {
			t.Errorf("%s: %s: warned %v", c.release, c.text, warned)
		}
	}
}

// testRelease returns a release that was compatible with the one before it.
func testRelease(number string) Release {
	if number == "" {
		return Release{}
	}
	m := kubeversion.MustParse(number)
	return NewRelease(m, m.Previous())
}

// TestReleaseRules checks what an error of a rule says of the value, and whether the estimated cost of a rule
// relies on the length of names.
func TestReleaseRules(t *testing.T) {
	const text = `{"type":"object","properties":{"a":{"type":"string","maxLength":9,"x-kubernetes-validations":[{"rule":"self == 'x'","message":"no"}]},
		"b":{"type":"object","x-kubernetes-validations":[{"rule":"false","message":"never"}],"properties":{"c":{"type":"string"}}}}}`
	for number, want := range map[string]string{
		"1.34": `[a: Invalid value: "string": no, b: Invalid value: "object": never]`,
		"1.35": `[a: Invalid value: "y": no, b: Invalid value: never]`,
	} {
		var p props
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		s := New(func() (*props, error) { return &p, nil }, testRelease(number))
		errs := s.Validate(t.Context(), Write{Object: map[string]any{"a": "y", "b": map[string]any{}}})
		if got := errs.ToAggregate().Error(); got != want {
			t.Errorf("%s: %s, want %s", number, got, want)
		}
	}
	const named = `{"type":"object","properties":{"l":{"type":"array","maxItems":100,"items":{"type":"string","maxLength":9}}},"x-kubernetes-validations":[{"rule":"self.l.all(x, self.l.all(y, self.metadata.name.contains(x)))"}]}`
	for number, expensive := range map[string]bool{"1.36": true, "1.37": false} {
		var p props
		if err := json.Unmarshal([]byte(named), &p); err != nil {
			t.Fatal(err)
		}
		errs := CheckUpdate(&p, field.NewPath("s"), expression.Writer{}, Leniency{}, testRelease(number))
		if got := len(errs) > 0; got != expensive {
			t.Errorf("%s: %v", number, errs)
		}
	}
}

// TestReleaseSets checks which releases warn of sets of objects.
func TestReleaseSets(t *testing.T) {
	p := props{Type: "array", XListType: new("set"), Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &props{Type: "object"}}}
	for number, want := range map[string]int{"1.36": 0, "1.37": 1} {
		if got := testRelease(number).SetsOfContainers(&p); len(got) != want {
			t.Errorf("%s: %v", number, got)
		}
	}
}
