package certificates

import (
	"fmt"
	"strings"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// Maximum lengths of signer names: of the domain, and of the whole name with a path of a label
// and a subdomain.
const (
	maxSignerDomain = 253
	maxSigner       = maxSignerDomain + 1 + 253 + 1 + 63
)

// SignerName validates the name of a signer, such as example.com/signer-name.
func SignerName(at *validation.Path, name string) {
	if !validation.Required(at, name) {
		return
	}
	domain, path, ok := strings.Cut(name, "/")
	if !ok || strings.Contains(path, "/") {
		at.Invalid(name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
		return
	}
	if len(domain) > maxSignerDomain {
		at.TooLong(maxSignerDomain)
	}
	parts := strings.Split(domain, ".")
	for _, part := range parts {
		for _, fault := range validation.DNSLabel(part) {
			at.Invalid(domain, fmt.Sprintf("validating label %q: %s", part, fault))
		}
	}
	if len(parts) < 2 {
		at.Invalid(domain, "should be a domain with at least two segments separated by dots")
	}
	for _, part := range strings.Split(path, ".") {
		for _, fault := range validation.DNSSubdomain(part) {
			at.Invalid(path, fmt.Sprintf("validating label %q: %s", part, fault))
		}
	}
	if len(name) > maxSigner {
		at.TooLong(maxSigner)
	}
}
