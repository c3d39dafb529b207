package pod

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// Limits of resolvers.
const (
	maxNameservers     = 3
	maxSearchPaths     = 32
	maxSearchListChars = 2048
)

func dnsConfigRules(at *validation.Path, s *corev1.PodSpec) {
	c := s.DNSConfig
	if s.DNSPolicy == corev1.DNSNone {
		if c == nil {
			at.Required("must provide `dnsConfig` when `dnsPolicy` is None")
			return
		}
		if len(c.Nameservers) == 0 {
			at.Child("nameservers").Required("must provide at least one DNS nameserver when `dnsPolicy` is None")
			return
		}
	}
	if c == nil {
		return
	}
	if len(c.Nameservers) > maxNameservers {
		at.Child("nameservers").Invalid(c.Nameservers, fmt.Sprintf("must not have more than %d nameservers", maxNameservers))
	}
	for i, ip := range c.Nameservers {
		validation.IP(at.Child("nameservers").Index(i), ip)
	}
	if len(c.Searches) > maxSearchPaths {
		at.Child("searches").Invalid(c.Searches, fmt.Sprintf("must not have more than %d search paths", maxSearchPaths))
	}
	if len(strings.Join(c.Searches, " ")) > maxSearchListChars {
		at.Child("searches").Invalid(c.Searches,
			fmt.Sprintf("must not have more than %d characters (including spaces) in the search list", maxSearchListChars))
	}
	for i, search := range c.Searches {
		if search != "." {
			validation.Format(at.Child("searches").Index(i), strings.TrimSuffix(search, "."), utilvalidation.IsDNS1123SubdomainWithUnderscore)
		}
	}
	for i, option := range c.Options {
		if option.Name == "" {
			at.Child("options").Index(i).Required("must not be empty")
		}
	}
}
