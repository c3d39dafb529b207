package server

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/server/transport"
)

// TestOriginPatterns checks the errors for expressions that are invalid or not anchored.
func TestOriginPatterns(t *testing.T) {
	for text, want := range map[string]string{
		`//example.com(:|$)`:         "",
		`^https://example\.com$`:     "",
		`^https://example\.com(:|$)`: "",
		`//[^:/]+\.example\.com:`:    "",
		"":                           "an expression is empty",
		"(":                          `"(" is not a regular expression: `,
		"example.com":                `"example.com" is not anchored to the start and the end of the host`,
		"^example.com":               `"^example.com" is not anchored`,
		"example.com$":               `"example.com$" is not anchored`,
	} {
		err := Options{Serving: Serving{CORSAllowedOrigins: []string{text}}}.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), "--cors-allowed-origins: "+want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	patterns, err := transport.OriginPatterns([]string{"//a.example$", "//b.example$"})
	if err != nil || len(patterns) != 2 || !patterns[1].MatchString("https://b.example") {
		t.Errorf("%v, %v", patterns, err)
	}
}
