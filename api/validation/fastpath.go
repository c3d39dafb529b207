package validation

import (
	"strings"
)

// Fast paths for common values: a function that returns true has proved the value valid;
// if it returns false, the value may still be valid, and the validation functions of
// apimachinery, which use regular expressions, must decide.

// FastDNSLabel reports whether s is a valid DNS label, and so a valid DNS subdomain too.
func FastDNSLabel(s string) bool {
	return len(s) <= 63 && fastDNSSubdomain(s) && strings.IndexByte(s, '.') < 0
}

func fastDNSSubdomain(s string) bool {
	if s == "" || len(s) > 253 || !isLowerOrDigit(s[0]) || !isLowerOrDigit(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case isLowerOrDigit(c), c == '-' && s[i-1] != '.':
		case c == '.' && isLowerOrDigit(s[i-1]):
		default:
			return false
		}
	}
	return true
}

// fastQualifiedName reports whether s is a valid key of a label or an annotation.
func fastQualifiedName(s string) bool {
	if slash := strings.IndexByte(s, '/'); slash >= 0 {
		if !fastDNSSubdomain(s[:slash]) {
			return false
		}
		s = s[slash+1:]
	}
	return s != "" && fastLabelValue(s)
}

func fastLabelValue(s string) bool {
	if s == "" {
		return true
	}
	return len(s) <= 63 && isLetterOrDigit(s[0]) && isLetterOrDigit(s[len(s)-1]) && isNameCharacters(s)
}

// FastDataKey reports whether s is a valid key in the data of a ConfigMap or Secret.
func FastDataKey(s string) bool {
	return s != "" && s[0] != '.' && len(s) <= 253 && isNameCharacters(s)
}

// isNameCharacters reports whether s has only the characters of qualified names and data keys.
func isNameCharacters(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isLetterOrDigit(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

func isLowerOrDigit(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

func isLetterOrDigit(c byte) bool { return isLowerOrDigit(c) || 'A' <= c && c <= 'Z' }

// FastLabels reports whether labels have valid keys and values.
func FastLabels(labels map[string]string) bool {
	for key, value := range labels {
		if !fastQualifiedName(key) || !fastLabelValue(value) {
			return false
		}
	}
	return true
}

// FastAnnotations reports whether annotations have valid keys and a total size that is
// below the limit.
func FastAnnotations(annotations map[string]string) bool {
	size := 0
	for key, value := range annotations {
		if size += len(key) + len(value); !fastQualifiedName(key) || size > 200<<10 {
			return false
		}
	}
	return true
}
