package certificates_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

var trustBundle = "spec: {trustBundle: " + quoted(authority("a")) + "}"

func TestTrustBundleRules(t *testing.T) {
	k := kindtest.New(t, "clustertrustbundles.v1.certificates.k8s.io", trustBundle, "ClusterTrustBundle")
	k.Create(kindtest.Rules{
		{"a bundle has an anchor", "spec.trustBundle: " + quoted("a\n"+authority("b")), "spec.trustBundle: none",
			`spec.trustBundle: Invalid value: "<value omitted>": at least one trust anchor must be provided`},
		{"a bundle is required", "spec.trustBundle: " + quoted(authority("a")+authority("b")),
			`spec.trustBundle: ""`,
			`spec.trustBundle: Invalid value: "<value omitted>": at least one trust anchor must be provided`},
		{"an anchor is there once", "spec.trustBundle: " + quoted(authority("a")+authority("b")),
			"spec.trustBundle: " + quoted(authority("b")+strings.Repeat(authority("a"), 2)),
			`spec.trustBundle: Invalid value: "<value omitted>": duplicate trust anchor (indices [1 2])`},
		{"an anchor is of an authority", "spec.trustBundle: " + quoted(authority("a")),
			"spec.trustBundle: " + quoted(authority("a")+certificate(ellipticKey, nil)),
			`spec.trustBundle: Invalid value: "<value omitted>": entry 1 does not have the CA bit set`},
		{"an anchor has no headers", "spec.trustBundle: " + quoted(authority("a")),
			"spec.trustBundle: " + quoted(strings.Replace(authority("a"), "-----\n", "-----\na: b\n\n", 1)),
			`spec.trustBundle: Invalid value: "<value omitted>": entry 0 has PEM block headers`},
		{"an anchor is a certificate", "spec.trustBundle: " + quoted(authority("a")),
			"spec.trustBundle: " + quoted(pemBlock("KEY", nil)),
			`spec.trustBundle: Invalid value: "<value omitted>": entry 0 has bad block type: KEY`},
		{"an anchor parses", "spec.trustBundle: " + quoted(authority("a")),
			"spec.trustBundle: " + quoted(pemBlock("CERTIFICATE", []byte("a"))),
			`spec.trustBundle: Invalid value: "<value omitted>": entry 0 does not parse as X.509`},
		{"a bundle is at most a mebibyte", "spec.trustBundle: " + quoted(authority("a")),
			"spec.trustBundle: " + strings.Repeat("x", 1048577),
			"spec.trustBundle: Too long: may not be more than 1048576 bytes"},
		{"a name without a signer has no colon", "metadata.name: a.b", "metadata.name: a:b",
			`metadata.name: Invalid value: "a:b": ClusterTrustBundle without signer name must not ` +
				`have ":" in its name`},
		{"a name is a subdomain", "metadata.name: a.b", "metadata.name: a_b",
			`metadata.name: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"a name begins with the signer", "metadata.name: a.b:c:d; spec.signerName: a.b/c",
			"metadata.name: d; spec.signerName: a.b/c",
			`metadata.name: Invalid value: "d": ClusterTrustBundle for signerName a.b/c must be ` +
				"named with prefix a.b:c:"},
		{"a name after the signer is a subdomain", "metadata.name: a.b:c:d.e; spec.signerName: a.b/c",
			"metadata.name: a.b:c:d_e; spec.signerName: a.b/c",
			`metadata.name: Invalid value: "a.b:c:d_e": a lowercase RFC 1123 subdomain must consist ` +
				"of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"a signer has a domain and a path", "metadata.name: a.b:c:d; spec.signerName: a.b/c",
			"metadata.name: a:d; spec.signerName: a",
			`spec.signerName: Invalid value: "a": must be a fully qualified domain and path of the ` +
				"form 'example.com/signer-name'"},
	})
}

func TestTrustBundleUpdateRules(t *testing.T) {
	k := kindtest.New(t, "clustertrustbundles.v1.certificates.k8s.io", trustBundle, "ClusterTrustBundle")
	k.Update(kindtest.Rules{
		{"a changed bundle has an anchor", "spec.trustBundle: " + quoted(authority("b")), "spec.trustBundle: none",
			`spec.trustBundle: Invalid value: "<value omitted>": at least one trust anchor must be provided`},
		{"the signer is immutable", "metadata.labels: {a: b}", "spec.signerName: a.b/c",
			`metadata.name: Invalid value: "x": ClusterTrustBundle for signerName a.b/c must be ` +
				`named with prefix a.b:c:; spec.signerName: Invalid value: "a.b/c": field is immutable`},
	})
}

func TestTrustBundleColumns(t *testing.T) {
	k := kindtest.New(t, "clustertrustbundles.v1.certificates.k8s.io", trustBundle, "ClusterTrustBundle")
	k.Columns("Name|SignerName", kindtest.Cases{
		{"of no signer", "", "x|<none>"},
		{"of a signer", "metadata.name: a.b:c:d; spec.signerName: a.b/c", "a.b:c:d|a.b/c"},
	})
}

func TestTrustBundleSelectableFields(t *testing.T) {
	k := kindtest.New(t, "clustertrustbundles.v1.certificates.k8s.io", trustBundle, "ClusterTrustBundle")
	k.Selectable(kindtest.Cases{
		{"of no signer", "", "spec.signerName="},
		{"of a signer", "metadata.name: a.b:c:d; spec.signerName: a.b/c", "spec.signerName=a.b/c"},
	})
}
