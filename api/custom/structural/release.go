package structural

import (
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// Release is a release of Kubernetes whose treatment of schemas a server has. The zero value is the newest
// one, which kube-apiserver has whatever it emulates; a faithful emulation has that of the older release.
type Release struct{ emulated, oldest kubeversion.Minor }

// NewRelease returns the release. Schemas are treated so that the oldest compatible release agrees.
func NewRelease(emulated, oldest kubeversion.Minor) Release { return Release{emulated, oldest} }

// has reports whether the release has what a minor release of Kubernetes 1 introduced.
func (r Release) has(minor int) bool {
	return r == (Release{}) || !r.emulated.Before(kubeversion.Minor{Major: 1, Minor: minor})
}

// Releases in which the treatment of schemas changed.
const (
	// Errors of rules have the value that violates them instead of the name of its type, and definitions with
	// too many selectable fields can be updated.
	showsValues, keepsManySelectable = 35, 35
	// Formats belong to a type, and integers and numbers have formats.
	typedFormats = 36
	// The estimated cost of rules relies on the length of names, and sets of objects or lists are warned of.
	boundsNames, warnsOfSets = 37, 37
)

// KeepsManySelectable reports whether a definition that had too many selectable fields may keep them.
func (r Release) KeepsManySelectable() bool { return r.has(keepsManySelectable) }

// validatesFormat reports whether values of a type are validated by a format. Other formats are
// documentation.
func (r Release) validatesFormat(kind spec.StringOrArray, format string) bool {
	name := ""
	if len(kind) == 1 && r.has(typedFormats) {
		name = kind[0]
	}
	switch name {
	case "", "string":
		return r.isStringFormat(format)
	case "integer":
		return format == "int32" || format == "int64"
	case "number":
		return format == "float" || format == "double"
	}
	return false
}

// isStringFormat reports whether a format of strings exists. The library ignores dashes in its name.
func (r Release) isStringFormat(format string) bool {
	format = strings.ReplaceAll(format, "-", "")
	return slices.Contains(stringFormats(), format) || slices.Contains([]string{"k8sshortname", "k8slongname"}, format) &&
		(r == (Release{}) || !r.oldest.Before(kubeversion.Minor{Major: 1, Minor: 34}))
}

// stringFormats returns the formats of strings that all releases have, without dashes.
func stringFormats() []string {
	return []string{"bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5",
		"isbn", "isbn10", "isbn13", "creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "password", "date", "duration", "datetime"}
}

// UnknownFormats returns the formats in a schema that a definition's writer is warned of since validation
// ignores them, without duplicates.
func (r Release) UnknownFormats(p *props) []string {
	if p == nil {
		return nil
	}
	var out []string
	warns := p.Type == "string" || r.has(typedFormats)
	if p.Format != "" && warns && !r.validatesFormat(spec.StringOrArray{p.Type}, p.Format) {
		out = append(out, p.Format)
	}
	for _, part := range partsOf(p) {
		out = append(out, r.UnknownFormats(part)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// SetsOfContainers returns the types of the items, object or array, that lists of a schema have with
// the list type set, without duplicates. A release that does not warn of them has none.
func (r Release) SetsOfContainers(p *props) []string {
	if p == nil || !r.has(warnsOfSets) {
		return nil
	}
	var out []string
	if p.XListType != nil && *p.XListType == "set" && p.Items != nil && p.Items.Schema != nil {
		if t := p.Items.Schema.Type; t == "object" || t == "array" {
			out = append(out, t)
		}
	}
	for _, part := range partsOf(p) {
		out = append(out, r.SetsOfContainers(part)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// unboundNames leaves the names in objects without a maximum length in the estimated cost of rules.
func (n *node) unboundNames() {
	if n == nil {
		return
	}
	n.unboundedNames = true
	n.items.unboundNames()
	n.values.unboundNames()
	for _, f := range n.fields {
		f.unboundNames()
	}
}
