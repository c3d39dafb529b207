package pod_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestDNSRules(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Create(kindtest.Rules{
		{"nameservers", "spec.dnsPolicy: None; spec.dnsConfig: {nameservers: [10.0.0.1]}", "spec.dnsPolicy: None",
			"spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"},
		{"no nameservers", "spec.dnsPolicy: None; spec.dnsConfig: {nameservers: [10.0.0.1]}",
			"spec.dnsPolicy: None; spec.dnsConfig: {}",
			"spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when " +
				"`dnsPolicy` is None"},
		{"three nameservers", "spec.dnsConfig: {nameservers: [10.0.0.1, 10.0.0.2, 10.0.0.3]}",
			"spec.dnsConfig: {nameservers: [10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4]}",
			`spec.dnsConfig.nameservers: Invalid value: ["10.0.0.1","10.0.0.2","10.0.0.3","10.0.0.4"]: ` +
				"must not have more than 3 nameservers"},
		{"address", "spec.dnsConfig: {nameservers: [fd00::1]}", "spec.dnsConfig: {nameservers: [a]}",
			`spec.dnsConfig.nameservers[0]: Invalid value: "a": must be a valid IP address, (e.g. ` +
				"10.9.8.7 or 2001:db8::ffff)"},
		{"searches", `spec.dnsConfig: {searches: [a.b, ".", a_b.c.]}`, "spec.dnsConfig: {searches: [a..b]}",
			`spec.dnsConfig.searches[0]: Invalid value: "a..b": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with " +
				"an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')`},
		{"option", `spec.dnsConfig: {options: [{name: ndots, value: "1"}]}`,
			`spec.dnsConfig: {options: [{value: "1"}]}`,
			"spec.dnsConfig.options[0]: Required value: must not be empty"},
	})
}

// TestDNSBounds checks the bounds of the DNS configuration.
func TestDNSBounds(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).With("spec.dnsConfig: {searches: [a.b]}").Create(kindtest.Rules{
		{"at most 32 search paths", "spec.dnsConfig.searches: [" + strings.Repeat("a.b,", 32) + "]",
			"spec.dnsConfig.searches: [" + strings.Repeat("a.b,", 33) + "]",
			"spec.dnsConfig.searches: Invalid value: " +
				`["a.b","a.b","a.b","a.b","a.b","a.b","a.b","a.b","a.b","a.b","a.b","a.b","a.b","a.b","a.b","` +
				`a.b","a.b","a.b","a.b","a.b","a.b","a.b","a.b","a.b","a.b","a.b","a.b","a.b","a.b","a.b","a.` +
				`b","a.b","a.b"]: must not have more than 32 search paths`},
		{"length of the search list", "spec.dnsConfig.searches: [a, b]",
			"spec.dnsConfig.searches: [" +
				strings.Repeat("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk.abcdefghijklmnopqrstuvwxyz.abcdefghijk,", 21) +
				"]",
			`spec.dnsConfig.searches: Invalid value: ["abcdefghijklmnopqrstuvwxyzab...e than 2048 ` +
				"characters (including spaces) in the search list"},
		{"at most three servers", "spec.dnsConfig.nameservers: [1.1.1.1, 1.1.1.2, 1.1.1.3]",
			"spec.dnsConfig.nameservers: [1.1.1.1, 1.1.1.2, 1.1.1.3, 1.1.1.4]",
			`spec.dnsConfig.nameservers: Invalid value: ["1.1.1.1","1.1.1.2","1.1.1.3","1.1.1.4"]: must ` +
				"not have more than 3 nameservers"},
		{"name of an option", `spec.dnsConfig.options: [{name: ndots, value: "2"}]`,
			`spec.dnsConfig.options: [{value: "2"}]`, "spec.dnsConfig.options[0]: Required value: must not be empty"},
	})
}
