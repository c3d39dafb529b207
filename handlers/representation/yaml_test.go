package representation

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// FuzzToYAML checks that all JSON can be written as YAML of the same meaning.
func FuzzToYAML(f *testing.F) {
	f.Add(`{"a":"\u007f \u2028 é","b":[1,null]}`)
	f.Add("\"\x7f\ufeff\xff\"")
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if len(text) > 1000 || strings.Contains(text, "-0") || // negative zero becomes zero
			json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out, err := toYAML(data)
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		back, err := yaml.YAMLToJSON(out)
		if err != nil {
			t.Fatalf("%q: %q: %v", data, out, err)
		}
		var again any
		if err := json.Unmarshal(back, &again); err != nil || fmt.Sprint(again) != fmt.Sprint(v) {
			t.Errorf("%q became %q (%v)", data, out, err)
		}
	})
}
