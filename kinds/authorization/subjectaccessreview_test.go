package authorization_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const accessReview = `spec: {user: u, resourceAttributes: {verb: get, resource: pods}}`

func TestAccessReviewRules(t *testing.T) {
	kindtest.New(t, "subjectaccessreviews.v1.authorization.k8s.io", accessReview).Create(kindtest.Rules{
		{"a review is about a resource or a path", "spec: {user: u, nonResourceAttributes: {verb: get, path: /}}",
			"spec: {user: u}",
			"spec: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes " +
				"must be specified"},
		{"a review is not about both", "spec: {user: u, nonResourceAttributes: {verb: get, path: /}}",
			"spec.nonResourceAttributes: {verb: get, path: /}",
			`spec: Invalid value: {"Path":"/","Verb":"get"}: exactly one of nonResourceAttributes or ` +
				"resourceAttributes must be specified"},
		{"a review has a user or a group", `spec.user: ""; spec.groups: [g]`, `spec.user: ""`,
			`spec.user: Invalid value: "": at least one of user or group must be specified`},
		{"a review has no metadata", "spec.resourceAttributes.name: a", "metadata: {labels: {a: b}}",
			`metadata: Invalid value: {"labels":{"a":"b"}}: must be empty`},
		{"a selector of fields has requirements",
			"spec.resourceAttributes.fieldSelector: {requirements: [{key: a, operator: In, values: [b]}]}",
			"spec.resourceAttributes.fieldSelector: {}",
			"spec.resourceAttributes.fieldSelector.requirements: Required value: when " +
				"spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required"},
		{"a selector of fields is raw or has requirements",
			"spec.resourceAttributes.fieldSelector: {rawSelector: a=b}",
			"spec.resourceAttributes.fieldSelector: {rawSelector: a=b, requirements: [{key: a, " +
				"operator: Exists}]}",
			`spec.resourceAttributes.fieldSelector.rawSelector: Invalid value: "a=b": may not ` +
				"specified at the same time as requirements"},
		{"a requirement of a field has a key",
			"spec.resourceAttributes.fieldSelector: {requirements: [{key: a, operator: Exists}]}",
			`spec.resourceAttributes.fieldSelector: {requirements: [{key: "", operator: Exists}]}`,
			"spec.resourceAttributes.fieldSelector.requirements[0].key: Required value: must be specified"},
		{"a requirement of a field has values",
			"spec.resourceAttributes.fieldSelector: {requirements: [{key: a, operator: NotIn, values: [b]}]}",
			"spec.resourceAttributes.fieldSelector: {requirements: [{key: a, operator: In}]}",
			"spec.resourceAttributes.fieldSelector.requirements[0].values: Required value: must be " +
				"specified when `operator` is 'In' or 'NotIn'"},
		{"a requirement of existence has no values",
			"spec.resourceAttributes.fieldSelector: {requirements: [{key: a, operator: DoesNotExist}]}",
			"spec.resourceAttributes.fieldSelector: {requirements: [{key: a, operator: Exists, values: [b]}]}",
			"spec.resourceAttributes.fieldSelector.requirements[0].values: Forbidden: may not be " +
				"specified when `operator` is 'Exists' or 'DoesNotExist'"},
		{"a selector of labels has requirements",
			"spec.resourceAttributes.labelSelector: {requirements: [{key: a, operator: In, values: [b]}]}",
			"spec.resourceAttributes.labelSelector: {}",
			"spec.resourceAttributes.labelSelector.requirements: Required value: when " +
				"spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is required"},
		{"a selector of labels is raw or has requirements",
			"spec.resourceAttributes.labelSelector: {rawSelector: a=b}",
			"spec.resourceAttributes.labelSelector: {rawSelector: a=b, requirements: [{key: a, " +
				"operator: Exists}]}",
			`spec.resourceAttributes.labelSelector.rawSelector: Invalid value: "a=b": may not ` +
				"specified at the same time as requirements"},
		{"a requirement of a label has values",
			"spec.resourceAttributes.labelSelector: {requirements: [{key: a, operator: Other, values: [b]}]}",
			"spec.resourceAttributes.labelSelector: {requirements: [{key: a, operator: In}]}",
			"spec.resourceAttributes.labelSelector.requirements[0].values: Required value: must be " +
				"specified when `operator` is 'In' or 'NotIn'"},
		{"the key of a label is a qualified name",
			"spec.resourceAttributes.labelSelector: {requirements: [{key: a.b/c, operator: Exists}]}",
			"spec.resourceAttributes.labelSelector: {requirements: [{key: a b, operator: Exists}]}",
			`spec.resourceAttributes.labelSelector.requirements[0].key: Invalid value: "a b": name ` +
				"part must consist of alphanumeric characters, '-', '_' or '.', and must start and end " +
				"with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used " +
				"for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
	})
}
