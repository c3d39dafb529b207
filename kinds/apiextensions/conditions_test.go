package apiextensions

import (
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/miniapiserver/miniapiserver/api/custom/structural"
	"github.com/miniapiserver/miniapiserver/api/expression"
)

// TestApproval checks the condition of a definition for the annotation that groups of Kubernetes need.
func TestApproval(t *testing.T) {
	for _, c := range []struct {
		group, annotation, reason string
		status                    apiextensionsv1.ConditionStatus
	}{
		{"a.b", "", "", ""},
		{"xk8s.io", "", "", ""},
		{"a.k8s.io", "", "MissingAnnotation", apiextensionsv1.ConditionFalse},
		{"kubernetes.io", "a", "InvalidAnnotation", apiextensionsv1.ConditionFalse},
		{"kubernetes.io", "/a", "InvalidAnnotation", apiextensionsv1.ConditionFalse},
		{"k8s.io", "unapproved, a test", "UnapprovedAnnotation", apiextensionsv1.ConditionFalse},
		{"k8s.io", "https://a.b/1", "ApprovedAnnotation", apiextensionsv1.ConditionTrue},
	} {
		d := &definition{}
		d.Spec.Group = c.group
		d.Annotations = map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: c.annotation}
		needed, status, reason, _ := DefinitionApproval(d)
		if needed != (c.reason != "") || status != c.status || reason != c.reason {
			t.Errorf("%s %q: needed %v, %s %s", c.group, c.annotation, needed, status, reason)
		}
	}
}

// TestSchemaCondition checks the condition of a stored definition whose schemas are not structural.
func TestSchemaCondition(t *testing.T) {
	version := func(schema *apiextensionsv1.JSONSchemaProps) definitionVersion {
		return definitionVersion{Name: "v1", Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schema}}
	}
	properties := func(n int) map[string]apiextensionsv1.JSONSchemaProps {
		out := map[string]apiextensionsv1.JSONSchemaProps{}
		for i := range n {
			out[strings.Repeat("a", i+1)] = apiextensionsv1.JSONSchemaProps{}
		}
		return out
	}
	for name, c := range map[string]struct {
		version   definitionVersion
		preserves bool
		want      string
	}{
		"a structural schema": {version(&apiextensionsv1.JSONSchemaProps{Type: "object"}), false, ""},
		"no schema": {version(nil), false,
			"spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required"},
		"preserved fields": {version(nil), true, "spec.preserveUnknownFields: Invalid value: true: must be false"},
		"a field without a type": {version(&apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties(1)}),
			false, "spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: " +
				"must not be empty for specified object fields"},
		"many fields without a type": {version(&apiextensionsv1.JSONSchemaProps{Type: "object",
			Properties: properties(maxSchemaFaults + 2)}), false, "spec.versions: Invalid value: and 2 more]"},
	} {
		d := &definition{}
		d.Spec.Versions, d.Spec.PreserveUnknownFields = []definitionVersion{c.version}, c.preserves
		got := ""
		if condition := SchemaCondition(d); condition != nil {
			got = condition.Message
		}
		if !strings.HasSuffix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

// TestConversionAuthority checks that a kind is not served if the authority of its webhook is no certificate.
func TestConversionAuthority(t *testing.T) {
	webhook := func(ca string) *definition {
		d := &definition{}
		d.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: []byte(ca)},
		}}
		return d
	}
	for _, d := range []*definition{{}, webhook("")} {
		if err := ValidateConversion(d); err != nil {
			t.Error(err)
		}
	}
	const want = `spec.conversion.webhook.clientConfig.caBundle: Invalid value: "eA==": ` +
		"unable to load root certificates: unable to parse bytes as PEM block"
	if err := ValidateConversion(webhook("x")); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestTerminatingDefinition checks that a deleted definition stays until its objects are deleted.
func TestTerminatingDefinition(t *testing.T) {
	now := time.Date(2026, 5, 4, 11, 0, 0, 0, time.UTC)
	r := CustomResourceDefinition(func() time.Time { return now }, expression.Library{}, structural.Release{})
	d := &definition{}
	for range 2 { // the second deletion changes nothing
		r.Delete.MarkTerminating(d)
		now = now.Add(time.Hour)
		if len(d.Finalizers) != 1 || d.Finalizers[0] != "customresourcecleanup.apiextensions.k8s.io" {
			t.Errorf("finalizers %v", d.Finalizers)
		}
		if len(d.Status.Conditions) != 1 {
			t.Fatalf("conditions %v", d.Status.Conditions)
		}
		c := d.Status.Conditions[0]
		if c.Type != "Terminating" || c.Status != "True" || c.LastTransitionTime.Hour() != 11 {
			t.Errorf("condition %v", c)
		}
	}
	changed := SetDefinitionCondition(d.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionFalse}, now)
	if len(changed) != 1 || changed[0].LastTransitionTime.Hour() != 13 {
		t.Errorf("changed condition %v", changed)
	}
}
