package api

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

// What names may be. All have the signature of Resource.ValidateName.

// plainName tells names that all of these allow.
func plainName(name string, prefix bool) bool {
	return plainLabel(name) || prefix && plainLabel(strings.TrimSuffix(name, "-"))
}

func subdomainName(name string, prefix bool) []string {
	if plainName(name, prefix) {
		return nil
	}
	return validation.NameIsDNSSubdomain(name, prefix)
}

func labelName(name string, prefix bool) []string {
	if plainName(name, prefix) {
		return nil
	}
	return validation.NameIsDNSLabel(name, prefix)
}

// segmentName allows whatever fits between two slashes of a path.
func segmentName(name string, prefix bool) []string {
	if plainName(name, prefix) {
		return nil
	}
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

// addressName allows IP addresses in their one canonical form.
func addressName(name string, _ bool) []string {
	var faults []string
	for _, err := range utilvalidation.IsValidIP(nil, name) {
		faults = append(faults, err.Detail)
	}
	return faults
}

func (r *Resource) validateName(name string, prefix bool) []string {
	if r.ValidateName == nil {
		return subdomainName(name, prefix)
	}
	return r.ValidateName(name, prefix)
}
