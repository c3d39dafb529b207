package api

import (
	"fmt"
	"strings"
)

// Bounds of the names of signers: a domain, and a path that holds a label and a
// subdomain.
const (
	maxSignerDomain = 253
	maxSigner       = maxSignerDomain + 1 + 253 + 1 + 63
)

// signerName is who signs certificates: example.com/signer-name.
func signerName(at *place, name string) {
	if !required(at, name) {
		return
	}
	domain, path, ok := strings.Cut(name, "/")
	if !ok || strings.Contains(path, "/") {
		at.invalid(name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
		return
	}
	if len(domain) > maxSignerDomain {
		at.tooLong(maxSignerDomain)
	}
	parts := strings.Split(domain, ".")
	for _, part := range parts {
		for _, fault := range dnsLabel(part) {
			at.invalid(domain, fmt.Sprintf("validating label %q: %s", part, fault))
		}
	}
	if len(parts) < 2 {
		at.invalid(domain, "should be a domain with at least two segments separated by dots")
	}
	for _, part := range strings.Split(path, ".") {
		for _, fault := range dnsSubdomain(part) {
			at.invalid(path, fmt.Sprintf("validating label %q: %s", part, fault))
		}
	}
	if len(name) > maxSigner {
		at.tooLong(maxSigner)
	}
}
