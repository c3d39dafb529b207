package core_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const serviceAccount = `secrets: [{name: s}]`

func TestServiceAccountRules(t *testing.T) {
	kindtest.New(t, "serviceaccounts.v1", serviceAccount).Create(kindtest.Rules{
		{"name", "metadata.name: a.b", "metadata.name: A",
			`metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower ` +
				"case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
	})
}

func TestServiceAccountUpdateRules(t *testing.T) {
	kindtest.New(t, "serviceaccounts.v1", serviceAccount).Update(kindtest.Rules{
		{"label", "secrets: []", `metadata.labels: {a: "b c"}`,
			`metadata.labels: Invalid value: "b c": a valid label must be an empty string or consist of ` +
				"alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
				"'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
	})
}

func TestServiceAccountColumns(t *testing.T) {
	kindtest.New(t, "serviceaccounts.v1", serviceAccount).Columns("Name|Age", kindtest.Cases{
		{"any", "", "x|60m"},
	})
}

func TestServiceAccountWarnings(t *testing.T) {
	kindtest.New(t, "serviceaccounts.v1", serviceAccount).Warnings(kindtest.Cases{
		{"none", "", ""},
		{"secrets", `metadata.annotations[kubernetes.io/enforce-mountable-secrets]: "true"`,
			"metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer " +
				"separate namespaces to isolate access to mounted secrets"},
	})
}

// TestServiceAccountAnnotationUpdate checks that only a new annotation has a warning.
func TestServiceAccountAnnotationUpdate(t *testing.T) {
	k := kindtest.New(t, "serviceaccounts.v1", serviceAccount).With(
		`metadata.annotations[kubernetes.io/enforce-mountable-secrets]: "true"`)
	k.UpdateWarnings(kindtest.Cases{
		{"annotation that was there", "metadata.labels: {a: b}", ""},
	})
}

// TestServiceAccountNewAnnotationUpdate checks the warning about the annotation.
func TestServiceAccountNewAnnotationUpdate(t *testing.T) {
	kindtest.New(t, "serviceaccounts.v1", serviceAccount).UpdateWarnings(kindtest.Cases{
		{"annotation", `metadata.annotations[kubernetes.io/enforce-mountable-secrets]: "true"`,
			"metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer " +
				"separate namespaces to isolate access to mounted secrets"},
		{"none", "metadata.annotations: {a: b}", ""},
	})
}
