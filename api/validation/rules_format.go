package validation

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Protocol validates the transport protocol of a port.
func Protocol(at *Path, p corev1.Protocol) bool {
	return Enum(at, p, corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)
}

// DNSLabel is the format of DNS labels.
func DNSLabel(value string) []string {
	return libraryFaults(FastDNSLabel, value, utilvalidation.IsDNS1123Label)
}

// DNSSubdomain is the format of DNS subdomains.
func DNSSubdomain(value string) []string {
	return libraryFaults(fastDNSSubdomain, value, utilvalidation.IsDNS1123Subdomain)
}

// QualifiedName is the format of label keys: a name with an optional domain and a slash
// before it.
func QualifiedName(value string) []string {
	return libraryFaults(fastQualifiedName, value, utilvalidation.IsQualifiedName)
}

// LabelValue is the format of label values.
func LabelValue(value string) []string {
	return libraryFaults(fastLabelValue, value, utilvalidation.IsValidLabelValue)
}

// PortName is the format of named ports of containers.
func PortName(value string) []string { return utilvalidation.IsValidPortName(value) }

// libraryFaults returns the messages of validate, which it calls only if fast is false.
func libraryFaults(fast func(string) bool, value string, validate func(string) []string) []string {
	if fast(value) {
		return nil
	}
	return validate(value)
}

// LabelRules validates the keys and values of labels or of an equality-based selector.
func LabelRules(at *Path, values map[string]string) {
	if !FastLabels(values) {
		at.Add(metavalidation.ValidateLabels(values, at.ToField())...)
	}
}

// AnnotationRules validates the keys and the total size of annotations.
func AnnotationRules(at *Path, values map[string]string) {
	if len(values) > 0 {
		at.Add(apivalidation.ValidateAnnotations(values, at.ToField())...)
	}
}

// SelectorRules validates a label selector, which may be nil.
func SelectorRules(at *Path, s *metav1.LabelSelector) {
	LenientSelectorRules(at, s, false)
}

// LenientSelectorRules is SelectorRules for fields whose label values earlier versions did
// not validate; lenient is true if the stored object has an invalid value.
func LenientSelectorRules(at *Path, s *metav1.LabelSelector, lenient bool) {
	if s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		return
	}
	opts := metavalidation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: lenient}
	at.Add(metavalidation.ValidateLabelSelector(s, opts, at.ToField())...)
}

// NonNegativeQuantity validates that a quantity is at least 0.
func NonNegativeQuantity(at *Path, value resource.Quantity) bool {
	if value.Sign() < 0 {
		at.Invalid(value.String(), apivalidation.IsNegativeErrorMsg)
		return false
	}
	return true
}

// PositiveQuantity validates that a quantity is greater than 0.
func PositiveQuantity(at *Path, value resource.Quantity) bool {
	if value.Sign() <= 0 {
		at.Invalid(value.String(), "must be greater than zero")
		return false
	}
	return true
}

// FormatInteger returns the decimal notation of a number.
func FormatInteger[T Integer](value T) string { return strconv.FormatInt(int64(value), 10) }

// IP validates an IP address of an older field, which need not be in canonical form.
func IP(at *Path, value string) bool { return IPOrStored(at, value, nil) }

// IPOrStored is IP, and also allows the addresses that the stored object has.
func IPOrStored(at *Path, value string, known []string) bool {
	strict := at.Enabled(features.StrictIPCIDRValidation)
	if err := utilvalidation.IsValidIPForLegacyField(nil, value, strict, known); len(err) == 0 {
		return true
	}
	at.Add(utilvalidation.IsValidIPForLegacyField(at.ToField(), value, strict, known)...)
	return false
}

// IsDualStack reports whether addresses of both families are in the list. An address that cannot be
// parsed, which only a stored object has, is an internal error as in kube-apiserver.
func IsDualStack(at *Path, ips []string) bool {
	dual, err := netutils.IsDualStackIPStrings(ips)
	if err != nil {
		at.Add(field.InternalError(at.ToField(), fmt.Errorf("failed to check for dual stack with error:%v", err)))
	}
	return dual
}

// CIDROrStored validates a CIDR of an older field, and also allows the CIDRs of the stored
// object.
func CIDROrStored(at *Path, value string, known []string) bool {
	strict := at.Enabled(features.StrictIPCIDRValidation)
	if err := utilvalidation.IsValidCIDRForLegacyField(nil, value, strict, known); len(err) == 0 {
		return true
	}
	at.Add(utilvalidation.IsValidCIDRForLegacyField(at.ToField(), value, strict, known)...)
	return false
}

// PortNumberOrName validates a reference to a port by number or name.
func PortNumberOrName(at *Path, port intstr.IntOrString) {
	if port.Type == intstr.Int {
		PortNumber(at, int(port.IntVal))
		return
	}
	Format(at, port.StrVal, PortName)
}
