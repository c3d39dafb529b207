package api

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Nearly all that is written is in order, which a look at its bytes tells. What
// these functions do not find plain need not be wrong: the libraries judge it, with
// regular expressions and messages.

// plainLabel is of names that are DNS labels and subdomains.
func plainLabel(s string) bool {
	return len(s) <= 63 && plainSubdomain(s) && strings.IndexByte(s, '.') < 0
}

func plainSubdomain(s string) bool {
	if s == "" || len(s) > 253 || !lowerOrDigit(s[0]) || !lowerOrDigit(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case lowerOrDigit(c), c == '-' && s[i-1] != '.':
		case c == '.' && lowerOrDigit(s[i-1]):
		default:
			return false
		}
	}
	return true
}

// plainKey is of the keys of labels and annotations.
func plainKey(s string) bool {
	if slash := strings.IndexByte(s, '/'); slash >= 0 {
		if !plainSubdomain(s[:slash]) {
			return false
		}
		s = s[slash+1:]
	}
	return s != "" && plainLabelValue(s)
}

func plainLabelValue(s string) bool {
	if s == "" {
		return true
	}
	return len(s) <= 63 && letterOrDigit(s[0]) && letterOrDigit(s[len(s)-1]) && wordBytes(s)
}

// plainDataKey is of the keys of ConfigMaps and Secrets.
func plainDataKey(s string) bool {
	return s != "" && s[0] != '.' && len(s) <= 253 && wordBytes(s)
}

func wordBytes(s string) bool {
	for i := range len(s) {
		if c := s[i]; !letterOrDigit(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

func lowerOrDigit(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

func letterOrDigit(c byte) bool { return lowerOrDigit(c) || 'A' <= c && c <= 'Z' }

// plainMetadata tells that nothing is wrong with the metadata of obj but perhaps
// its names.
func plainMetadata(obj Object, namespaced bool) bool {
	ns := obj.GetNamespace()
	return (namespaced && plainLabel(ns) || !namespaced && ns == "") &&
		obj.GetGeneration() >= 0 && len(obj.GetFinalizers()) == 0 &&
		plainLabels(obj.GetLabels()) && plainAnnotations(obj.GetAnnotations()) &&
		plainOwners(obj.GetOwnerReferences()) && plainManagers(obj.GetManagedFields())
}

// plainChange tells that nothing is wrong with how the metadata of obj, which is
// plain, differs from that of old.
func plainChange(obj, old Object) bool {
	is, was := obj.GetCreationTimestamp(), old.GetCreationTimestamp()
	return obj.GetResourceVersion() != "" && obj.GetGeneration() >= old.GetGeneration() &&
		obj.GetName() == old.GetName() && obj.GetNamespace() == old.GetNamespace() && obj.GetUID() == old.GetUID() &&
		is.Equal(&was) && obj.GetDeletionTimestamp() == nil && old.GetDeletionTimestamp() == nil &&
		obj.GetDeletionGracePeriodSeconds() == nil && old.GetDeletionGracePeriodSeconds() == nil
}

func plainLabels(labels map[string]string) bool {
	for key, value := range labels {
		if !plainKey(key) || !plainLabelValue(value) {
			return false
		}
	}
	return true
}

func plainAnnotations(annotations map[string]string) bool {
	size := 0
	for key, value := range annotations {
		if size += len(key) + len(value); !plainKey(key) || size > 200<<10 {
			return false
		}
	}
	return true
}

func plainOwners(owners []metav1.OwnerReference) bool {
	controllers := 0
	for i := range owners {
		o := &owners[i]
		if o.Controller != nil && *o.Controller {
			controllers++
		}
		group, version, grouped := strings.Cut(o.APIVersion, "/")
		if grouped && (group == "" || version == "" || strings.Contains(version, "/")) ||
			o.APIVersion == "" || o.Kind == "" || o.Kind == "Event" || o.Name == "" || o.UID == "" || controllers > 1 {
			return false
		}
	}
	return true
}

func plainManagers(entries []metav1.ManagedFieldsEntry) bool {
	for i := range entries {
		e := &entries[i]
		if e.Operation != metav1.ManagedFieldsOperationApply && e.Operation != metav1.ManagedFieldsOperationUpdate ||
			e.FieldsType != "" && e.FieldsType != "FieldsV1" || len(e.Manager) > 128 || len(e.Subresource) > 256 {
			return false
		}
		for j := range len(e.Manager) {
			if c := e.Manager[j]; c < ' ' || c > '~' {
				return false
			}
		}
	}
	return true
}
