package structural

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestUnknownFormats(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"object"}`:                                    "",
		`{"type":"string","format":"date-time"}`:               "",
		`{"type":"string","format":"k8s-long-name"}`:           "",
		`{"type":"string","format":"int32"}`:                   "int32",
		`{"type":"integer","format":"int64"}`:                  "",
		`{"type":"integer","format":"uint8"}`:                  "uint8",
		`{"type":"number","format":"double"}`:                  "",
		`{"type":"number","format":"int32"}`:                   "int32",
		`{"type":"object","format":"date"}`:                    "date",
		`{"format":"uuid"}`:                                    "",
		`{"format":"int32","x-kubernetes-int-or-string":true}`: "int32",
		`{"type":"object","properties":{"b":{"type":"array","items":{"type":"string","format":"y"}},"a":{"type":"object","additionalProperties":{"type":"string","format":"x"}},
			"c":{"type":"string","not":{"format":"n"},"allOf":[{"format":"l"}],"anyOf":[{"format":"m"}],"oneOf":[{"format":"o"},{"format":"x"}]}}}`: "l m n o x y",
	} {
		var p props
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(Release{}.UnknownFormats(&p), " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
