package ssa

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxManagerName is the most bytes that the name of a manager may have.
const maxManagerName = 128

// ManagerName returns the name under which a client's fields are owned: the
// fieldManager of the request or, when it has none, the beginning of its User-Agent.
// It is never empty: the fields of every client are managed.
func ManagerName(fieldManager, userAgent string) string {
	if fieldManager != "" {
		return fieldManager
	}
	agent, _, _ := strings.Cut(userAgent, "/")
	var b strings.Builder
	for _, r := range agent {
		if !unicode.IsPrint(r) {
			continue
		}
		if b.Len()+utf8.RuneLen(r) > maxManagerName {
			break
		}
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		return unknownManager
	}
	return b.String()
}
