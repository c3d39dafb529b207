package authorization_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const ownReview = `spec: {resourceAttributes: {verb: get, resource: pods}}`

func TestOwnReviewRules(t *testing.T) {
	kindtest.New(t, "selfsubjectaccessreviews.v1.authorization.k8s.io", ownReview).Create(kindtest.Rules{
		{"a review is about a resource or a path", "spec: {nonResourceAttributes: {verb: get, path: /}}", "spec: {}",
			"spec: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes " +
				"must be specified"},
		{"a review is not about both", "spec: {nonResourceAttributes: {verb: get, path: /}}",
			"spec.nonResourceAttributes: {verb: get, path: /}",
			`spec: Invalid value: {"Path":"/","Verb":"get"}: exactly one of nonResourceAttributes or ` +
				"resourceAttributes must be specified"},
		{"a review has no metadata", "spec.resourceAttributes.name: a", "metadata: {generateName: a}",
			`metadata: Invalid value: {"generateName":"a"}: must be empty`},
		{"a selector of labels has requirements", "spec.resourceAttributes.labelSelector: {rawSelector: a=b}",
			"spec.resourceAttributes.labelSelector: {}",
			"spec.resourceAttributes.labelSelector.requirements: Required value: when " +
				"spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is required"},
	})
}
