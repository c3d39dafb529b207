package pod

import (
	"strings"
)

// Maximum lengths in image references.
const (
	maxImageName = 255
	maxImageTag  = 128
)

// imageTag returns the tag of an image reference: "latest" if it has neither tag nor digest,
// "" if it has only a digest or is invalid.
func imageTag(image string) string {
	rest, digest, digested := strings.Cut(image, "@")
	if digested && !imageDigest(digest) {
		return ""
	}
	name, tag, tagged := rest, "", false
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, '/') {
		name, tag, tagged = rest[:i], rest[i+1:], true
	}
	if !imageName(name) || tagged && !isTag(tag) || !tagged && !digested && isImageID(name) {
		return ""
	}
	if !tagged && !digested {
		return "latest"
	}
	return tag
}

// imageName reports whether s is the name of a repository, with or without a registry.
func imageName(s string) bool {
	domain, path, ok := strings.Cut(s, "/")
	if !ok || !strings.ContainsAny(domain, ".:") && domain != "localhost" && strings.ToLower(domain) == domain {
		domain, path = "docker.io", s
		if !ok {
			path = "library/" + s
		}
	}
	if len(domain)+1+len(path) > maxImageName || !registryHost(domain) {
		return false
	}
	for part := range strings.SplitSeq(path, "/") {
		if !pathComponent(part) {
			return false
		}
	}
	return true
}

// registryHost reports whether s is a host name or an IPv6 address in brackets,
// with or without a port.
func registryHost(s string) bool {
	host, port, hasPort := s, "", false
	if i := strings.LastIndexByte(s, ':'); i > strings.LastIndexByte(s, ']') {
		host, port, hasPort = s[:i], s[i+1:], true
	}
	if hasPort && (port == "" || strings.Trim(port, "0123456789") != "") {
		return false
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		return ok && inner != "" && strings.Trim(inner, "0123456789abcdefABCDEF:") == ""
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || !alphanumeric(label[0]) || !alphanumeric(label[len(label)-1]) {
			return false
		}
		for i := range len(label) {
			if label[i] != '-' && !alphanumeric(label[i]) {
				return false
			}
		}
	}
	return true
}

// pathComponent reports whether s consists of lower case letters and digits, separated by a
// dot, one or two underscores, or any number of hyphens.
func pathComponent(s string) bool {
	separator := ""
	for i := range len(s) {
		c := s[i]
		if alphanumeric(c) && (c < 'A' || c > 'Z') {
			if i > 0 && i == len(separator) || !isSeparator(separator) {
				return false
			}
			separator = ""
			continue
		}
		separator += string(c)
	}
	return s != "" && separator == ""
}

func isSeparator(s string) bool {
	switch s {
	case "", ".", "_", "__":
		return true
	}
	return strings.Trim(s, "-") == ""
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isTag(s string) bool {
	if s == "" || len(s) > maxImageTag || s[0] == '.' || s[0] == '-' {
		return false
	}
	for i := range len(s) {
		if !alphanumeric(s[i]) && !strings.ContainsRune("_.-", rune(s[i])) {
			return false
		}
	}
	return true
}

// isImageID reports whether s has 64 hexadecimal digits, which is the ID of an image and not
// the name of a repository.
func isImageID(s string) bool { return isHex(s, 64) }

func isHex(s string, length int) bool {
	return len(s) == length && strings.Trim(s, "0123456789abcdef") == ""
}

func imageDigest(s string) bool {
	algorithm, sum, _ := strings.Cut(s, ":")
	switch algorithm {
	case "sha256":
		return isHex(sum, 64)
	case "sha384":
		return isHex(sum, 96)
	case "sha512":
		return isHex(sum, 128)
	}
	return false
}
