package authorization_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const localReview = `spec: {user: u, resourceAttributes: {namespace: ns, verb: get, resource: pods}}`

func TestLocalReviewRules(t *testing.T) {
	kindtest.New(t, "localsubjectaccessreviews.v1.authorization.k8s.io", localReview).Create(kindtest.Rules{
		{"a review is in its namespace", "spec.resourceAttributes.name: a",
			"spec.resourceAttributes.namespace: other",
			`spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace`},
		{"a review is about a resource", "spec.resourceAttributes.name: a",
			"spec: {user: u, nonResourceAttributes: {verb: get, path: /}}",
			`spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"get"}: disallowed on ` +
				"this kind of request"},
		{"a review has no metadata but the namespace", "spec.resourceAttributes.name: a", "metadata.labels: {a: b}",
			`metadata: Invalid value: {"namespace":"ns","labels":{"a":"b"}}: must be empty except for namespace`},
		{"a review has a user or a group", `spec.user: ""; spec.groups: [g]`, `spec.user: ""`,
			`spec.user: Invalid value: "": at least one of user or group must be specified`},
	})
}
