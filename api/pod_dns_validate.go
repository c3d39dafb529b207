package api

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

// Bounds of what a resolver understands.
const (
	maxNameservers     = 3
	maxSearchPaths     = 32
	maxSearchListChars = 2048
)

func dnsConfigRules(at *place, s *corev1.PodSpec) {
	c := s.DNSConfig
	if s.DNSPolicy == corev1.DNSNone {
		if c == nil {
			at.required("must provide `dnsConfig` when `dnsPolicy` is None")
			return
		}
		if len(c.Nameservers) == 0 {
			at.of("nameservers").required("must provide at least one DNS nameserver when `dnsPolicy` is None")
			return
		}
	}
	if c == nil {
		return
	}
	if len(c.Nameservers) > maxNameservers {
		at.of("nameservers").invalid(c.Nameservers, fmt.Sprintf("must not have more than %d nameservers", maxNameservers))
	}
	for i, ip := range c.Nameservers {
		address(at.of("nameservers").item(i), ip)
	}
	if len(c.Searches) > maxSearchPaths {
		at.of("searches").invalid(c.Searches, fmt.Sprintf("must not have more than %d search paths", maxSearchPaths))
	}
	if len(strings.Join(c.Searches, " ")) > maxSearchListChars {
		at.of("searches").invalid(c.Searches,
			fmt.Sprintf("must not have more than %d characters (including spaces) in the search list", maxSearchListChars))
	}
	for i, search := range c.Searches {
		if search != "." {
			format(at.of("searches").item(i), strings.TrimSuffix(search, "."), utilvalidation.IsDNS1123SubdomainWithUnderscore)
		}
	}
	for i, option := range c.Options {
		if option.Name == "" {
			at.of("options").item(i).required("must not be empty")
		}
	}
}
