package conversation

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// normaliser replaces generated values by placeholders.
type normaliser struct {
	// ignore are the keys to be removed at any level.
	ignore map[string]bool
	// sortManagers means that the order of managedFields, which follows their times, is not compared.
	sortManagers bool
}

// rewrites are the replacements in texts, in order.
var rewrites = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "<uid>"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "<time>"},
	{regexp.MustCompile(`\beyJ[\w-]+\.[\w-]+\.[\w-]*`), "<jwt>"},
	{regexp.MustCompile(`-----BEGIN CERTIFICATE-----[\sA-Za-z0-9+/=]+-----END CERTIFICATE-----`), "<pem>"}, // in YAML
	{regexp.MustCompile(`\b(kube-api-access)-[a-z0-9]{5}\b`), "${1}-<generated>"},
	{regexp.MustCompile(`(?m)^( *- )\d+[smhd](\d+[smhd])?$`), "${1}<age>"}, // a cell of a table in YAML
	{regexp.MustCompile(`(?i)(resource ?version[\\" ]*(?:in record \()?[:=]?[\\" ]*|revision[ =]|current: |` +
		`too old resource version: \d+ \(|RV )(\d+)`), "${1}<rv>"},
}

var age = regexp.MustCompile(`^(<unknown>|<invalid>|\d+(\.\d+)?(ms|s|m|h|d|y)(\d+[smhd])?)$`)

// agoInCell matches the time since the last restart in a table cell.
var agoInCell = regexp.MustCompile(`\((\d+(ms|s|m|h|d|y))+ ago\)`)

// Normalised returns a decoded JSON value with placeholders for generated values, as it is compared.
func Normalised(v any) any { return normaliser{}.value(v, "") }

// text normalises a text.
func (n normaliser) text(s string) string {
	// Most texts contain nothing that a rewrite could match.
	if !strings.ContainsAny(s, "0123456789") && !strings.Contains(s, "eyJ") && !strings.Contains(s, "kube-api-access") {
		return s
	}
	for _, r := range rewrites {
		s = r.pattern.ReplaceAllString(s, r.by)
	}
	return s
}

// value normalises the decoded JSON value of a key. The result shares no map and no slice with v.
func (n normaliser) value(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		return n.object(v, key)
	case []any:
		return n.list(v, key)
	case string:
		return n.str(v, key)
	case json.Number:
		if (key == "nodePort" || key == "healthCheckNodePort") && !isFloat(v) && strings.Trim(v.String(), "-0") != "" {
			return "<nodePort>"
		}
	}
	return v
}

func (n normaliser) object(v map[string]any, key string) any {
	out := make(map[string]any, len(v))
	generate, _ := v["generateName"].(string)
	name, _ := v["name"].(string)
	_, hasCA := v["ca.crt"].(string)
	// Sorted, so that of two keys with the same normalised form always the same one wins.
	for _, k := range slices.Sorted(maps.Keys(v)) {
		if n.ignore[k] {
			continue
		}
		x := v[k]
		switch {
		case k == "name" && generate != "" && strings.HasPrefix(name, generate):
			x = generate + "<generated>"
		case k == "ca.crt" && key == "data" && hasCA:
			x = "<pem>"
		}
		out[n.text(k)] = n.value(x, k)
	}
	return out
}

func (n normaliser) list(v []any, key string) any {
	out := make([]any, len(v))
	if key == "clusterIPs" || key == "podIPs" {
		for i, x := range v {
			out[i] = x
			if s, ok := x.(string); ok && startsWithDigit(s) {
				out[i] = "<ip>"
			}
		}
		return out
	}
	for i, x := range v {
		out[i] = n.value(x, key)
	}
	if key == "causes" { // their order is random
		slices.SortStableFunc(out, func(a, b any) int { return strings.Compare(dump(a), dump(b)) })
	}
	if key == "managedFields" && n.sortManagers {
		slices.SortStableFunc(out, func(a, b any) int { return strings.Compare(managerOf(a), managerOf(b)) })
	}
	return out
}

// managerOf returns what names an entry of managedFields.
func managerOf(entry any) string {
	var names []any
	for _, key := range []string{"manager", "operation", "subresource", "apiVersion"} {
		names = append(names, lookup(entry, key))
	}
	return dump(names)
}

func (n normaliser) str(s, key string) string {
	switch {
	case key == "resourceVersion" && isDigits(s) && s != "0":
		return "<rv>"
	case key == "continue" && s != "":
		return "<continue>"
	case key == "clusterIP" && startsWithDigit(s):
		return "<ip>"
	case key == "cells" && age.MatchString(s):
		return "<age>"
	case key == "cells" && agoInCell.MatchString(s): // the age of an old restart changes daily
		return agoInCell.ReplaceAllString(s, "(<age> ago)")
	case (key == "certificate" || key == "caBundle" || key == "ca.crt") && utf8.RuneCountInString(s) > 64:
		return "<cert>"
	}
	return n.text(s)
}

func startsWithDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func isFloat(v json.Number) bool { return strings.ContainsAny(v.String(), ".eE") }
