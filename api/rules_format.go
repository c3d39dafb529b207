package api

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

// Formats of strings, for format, needs and optional.

func dnsLabel(value string) []string { return unless(plainLabel, value, utilvalidation.IsDNS1123Label) }
func dnsSubdomain(value string) []string {
	return unless(plainSubdomain, value, utilvalidation.IsDNS1123Subdomain)
}
func qualifiedName(value string) []string {
	return unless(plainKey, value, utilvalidation.IsQualifiedName)
}
func labelValue(value string) []string {
	return unless(plainLabelValue, value, utilvalidation.IsValidLabelValue)
}
func portName(value string) []string { return utilvalidation.IsValidPortName(value) }

// unless asks the library for faults of a value that is not plain.
func unless(plain func(string) bool, value string, faults func(string) []string) []string {
	if plain(value) {
		return nil
	}
	return faults(value)
}

// Blocks that many kinds are made of.

// labelRules checks the keys and values of labels, or of a selector by equality.
func labelRules(at *place, values map[string]string) {
	if !plainLabels(values) {
		at.add(metavalidation.ValidateLabels(values, at.path())...)
	}
}

// annotationRules checks the keys and the size of annotations.
func annotationRules(at *place, values map[string]string) {
	if len(values) > 0 {
		at.add(validation.ValidateAnnotations(values, at.path())...)
	}
}

// selectorRules checks a label selector, which may be nil.
func selectorRules(at *place, s *metav1.LabelSelector) {
	lenientSelectorRules(at, s, false)
}

// lenientSelectorRules is selectorRules for fields whose values were not checked
// in earlier days; lenient is true where the stored object has such a value.
func lenientSelectorRules(at *place, s *metav1.LabelSelector, lenient bool) {
	if s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		return
	}
	opts := metavalidation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: lenient}
	at.add(metavalidation.ValidateLabelSelector(s, opts, at.path())...)
}

// nonNegativeQuantity is for amounts, which may be nothing.
func nonNegativeQuantity(at *place, value resource.Quantity) bool {
	if value.Sign() < 0 {
		at.invalid(value.String(), validation.IsNegativeErrorMsg)
		return false
	}
	return true
}

// positiveQuantity is for sizes.
func positiveQuantity(at *place, value resource.Quantity) bool {
	if value.Sign() <= 0 {
		at.invalid(value.String(), "must be greater than zero")
		return false
	}
	return true
}

func decimal[T whole](value T) string { return strconv.FormatInt(int64(value), 10) }

// address is for addresses in fields that were never strict about their form.
func address(at *place, value string) bool { return knownAddress(at, value, nil) }

// knownAddress is address that also takes addresses which are stored already.
func knownAddress(at *place, value string, known []string) bool {
	if err := utilvalidation.IsValidIPForLegacyField(nil, value, true, known); len(err) == 0 {
		return true
	}
	at.add(utilvalidation.IsValidIPForLegacyField(at.path(), value, true, known)...)
	return false
}

// knownNetwork is for networks, likewise.
func knownNetwork(at *place, value string, known []string) bool {
	if err := utilvalidation.IsValidCIDRForLegacyField(nil, value, true, known); len(err) == 0 {
		return true
	}
	at.add(utilvalidation.IsValidCIDRForLegacyField(at.path(), value, true, known)...)
	return false
}

// numberOrName is for ports that are named or numbered.
func numberOrName(at *place, port intstr.IntOrString) {
	if port.Type == intstr.Int {
		portNumber(at, int(port.IntVal))
		return
	}
	format(at, port.StrVal, portName)
}
