package ssa

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxManagerName is the maximum size of a manager name in bytes.
const maxManagerName = 128

// ManagerName returns the name of a request's field manager: the query parameter fieldManager or,
// if it is empty, the start of the User-Agent. The result is never empty, because the fields of
// every client are managed.
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
