package outbound

import (
	"strings"
	"testing"
)

// TestParseCABundle checks the errors for invalid CA bundles.
func TestParseCABundle(t *testing.T) {
	for data, want := range map[string]string{
		"":     "no valid certificate authority data seen",
		"junk": "unable to parse bytes as PEM block",
		"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n": "failed to parse certificate",
		"-----BEGIN X-----\nAAAA\n-----END X-----\n":                     "no valid certificate authority data seen",
	} {
		if _, err := ParseCABundle([]byte(data)); err == nil || !strings.Contains(err.Error(), "unable to load root certificates: "+want) {
			t.Errorf("%q: got %v", data, err)
		}
	}
}
