package validation

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

// Formats of object names, with the signature of api.Kind.ValidateName. If prefix
// is true, the name is a generateName.

// fastObjectName reports whether name is a DNS label, which all formats but IPAddressName allow.
func fastObjectName(name string, prefix bool) bool {
	return FastDNSLabel(name) || prefix && FastDNSLabel(strings.TrimSuffix(name, "-"))
}

// AnyName accepts every name that is a segment of a URL path, which is validated for all kinds if no
// other rule is violated.
func AnyName(string, bool) []string { return nil }

// LongName validates a name as the declarative format of the same name does, for kinds and releases
// without that rule. It accepts every generateName.
func LongName(name string, prefix bool) []string {
	if prefix || FastDNSLabel(name) {
		return nil
	}
	return content.IsDNS1123Subdomain(name)
}

// SubdomainName validates a name that is a DNS subdomain.
func SubdomainName(name string, prefix bool) []string {
	if fastObjectName(name, prefix) {
		return nil
	}
	return apivalidation.NameIsDNSSubdomain(name, prefix)
}

// LabelName validates a name that is a DNS label.
func LabelName(name string, prefix bool) []string {
	if fastObjectName(name, prefix) {
		return nil
	}
	return apivalidation.NameIsDNSLabel(name, prefix)
}

// SegmentName validates a name that may be any segment of a URL path.
func SegmentName(name string, prefix bool) []string {
	if fastObjectName(name, prefix) {
		return nil
	}
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

// WholeSegmentName validates a name that is a segment of a URL path, and a generateName as if
// it were one: it cannot be . or .. either.
func WholeSegmentName(name string, _ bool) []string { return SegmentName(name, false) }

// IPAddressName validates a name that is an IP address in canonical form.
func IPAddressName(name string, _ bool) []string {
	var faults []string
	for _, err := range utilvalidation.IsValidIP(nil, name) {
		faults = append(faults, err.Detail)
	}
	return faults
}
