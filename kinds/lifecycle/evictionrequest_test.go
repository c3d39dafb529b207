package lifecycle_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const evictionRequest = `spec:
  target: {pod: {name: p, uid: 0c6b7a5e-90f7-4f4c-a3a4-7d4d65d0a0b1}}
  requester: example.com/drain
  intent: Eviction`

func TestEvictionRequestRules(t *testing.T) {
	k := kindtest.New(t, "evictionrequests.v1alpha1.lifecycle.k8s.io", evictionRequest, "EvictionRequestAPI")
	k.Create(kindtest.Rules{
		{"a target is a pod", "spec.target.pod.name: a.b", "spec.target: {}",
			"spec.target: Invalid value: \"\": must specify one of: `pod`"},
		{"a pod has a name", "spec.target.pod.name: a.b", `spec.target.pod.name: ""`,
			"spec.target.pod.name: Required value"},
		{"a pod has a UID", "spec.target.pod.uid: 1c6b7a5e-90f7-4f4c-a3a4-7d4d65d0a0b1", `spec.target.pod.uid: ""`,
			"spec.target.pod.uid: Required value"},
		{"the UID of a pod is a UUID", "spec.target.pod.uid: 1c6b7a5e-90f7-4f4c-a3a4-7d4d65d0a0b1",
			"spec.target.pod.uid: x",
			`spec.target.pod.uid: Invalid value: "x": must be a lowercase UUID in 8-4-4-4-12 format`},
		{"a requester is required", "spec.requester: a.b/c", `spec.requester: ""`, "spec.requester: Required value"},
		{"a requester has a domain", "spec.requester: a.b/c", "spec.requester: drain",
			`spec.requester: Invalid value: "drain": must include a prefix (e.g. 'example.com/key')`},
		{"a requester is not of Kubernetes", "spec.requester: k8s.io.example.com/c", "spec.requester: a.K8s.io/c",
			`spec.requester: Invalid value: "a.K8s.io/c": domain names *.k8s.io, *.kubernetes.io are ` +
				`reserved; spec.requester: Invalid value: "a.K8s.io/c": prefix part a lowercase RFC 1123 ` +
				"subdomain must consist of lower case alphanumeric characters, '-' or '.', and must " +
				"start and end with an alphanumeric character (e.g. 'example.com', regex used for " +
				`validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"a domain of Kubernetes is reserved", "spec.requester: xkubernetes.io/c", "spec.requester: kubernetes.io/c",
			`spec.requester: Invalid value: "kubernetes.io/c": domain names *.k8s.io, ` +
				"*.kubernetes.io are reserved"},
		{"an intent is required", "spec.intent: Eviction", `spec.intent: ""`, "spec.intent: Required value"},
		{"intents are known", "spec.intent: Eviction", "spec.intent: Other",
			`spec.intent: Unsupported value: "Other": supported values: "Eviction", "Withdrawn"`},
	})
}

func TestEvictionRequestUpdateRules(t *testing.T) {
	k := kindtest.New(t, "evictionrequests.v1alpha1.lifecycle.k8s.io", evictionRequest, "EvictionRequestAPI")
	k.Update(kindtest.Rules{
		{"the target is immutable", "spec.intent: Withdrawn", "spec.target.pod.name: q",
			"spec.target: Invalid value: null: field is immutable"},
		{"the requester is immutable", "spec.intent: Withdrawn", "spec.requester: example.com/other",
			"spec.requester: Invalid value: null: field is immutable"},
		{"intents are known", "spec.intent: Withdrawn", "spec.intent: Other",
			`spec.intent: Unsupported value: "Other": supported values: "Eviction", "Withdrawn"`},
	})
}

func TestEvictionRequestStatusRules(t *testing.T) {
	k := kindtest.New(t, "evictionrequests.v1alpha1.lifecycle.k8s.io", evictionRequest, "EvictionRequestAPI")
	k.UpdateStatus(kindtest.Rules{
		{"a type of a condition is a qualified name",
			`status.conditions: [{type: A, status: "True", reason: R, message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`,
			`status.conditions: [{type: a b, status: "True", reason: R, message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`,
			`status.conditions[0].type: Invalid value: "a b": name part must consist of alphanumeric ` +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
				"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"a condition has a reason",
			`status.conditions: [{type: A, status: "True", reason: R, message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`,
			`status.conditions: [{type: A, status: "True", reason: "", message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`, "status.conditions[0].reason: Required value"},
	})
}

func TestEvictionRequestStatusUpdated(t *testing.T) {
	k := kindtest.New(t, "evictionrequests.v1alpha1.lifecycle.k8s.io", evictionRequest, "EvictionRequestAPI")
	k.StatusUpdated(kindtest.Cases{
		{"the status alone", "spec.intent: Withdrawn; status.observedGeneration: 1",
			"spec.intent: Eviction; status.observedGeneration: 1"},
	})
}

func TestEvictionRequestGenerations(t *testing.T) {
	k := kindtest.New(t, "evictionrequests.v1alpha1.lifecycle.k8s.io", evictionRequest, "EvictionRequestAPI")
	k.Generations(kindtest.Cases{
		{"a write without a change", "", "1"},
		{"the spec", "spec.intent: Withdrawn", "2"},
	})
}

func TestEvictionRequestColumns(t *testing.T) {
	k := kindtest.New(t, "evictionrequests.v1alpha1.lifecycle.k8s.io", evictionRequest, "EvictionRequestAPI")
	k.Columns("Name|Target|Target Type|Status|Requester|Intent|Age", kindtest.Cases{
		{"new", "", "x|p|Pod|Pending|example.com/drain|Eviction|60m"},
		{"observed", "status.observedGeneration: 1", "x|p|Pod|Progressing|example.com/drain|Eviction|60m"},
		{"evicted",
			`status.conditions: [{type: TargetEvicted, status: "True", reason: R, message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`,
			"x|p|Pod|TargetEvicted (R)|example.com/drain|Eviction|60m"},
		{"not evicted yet",
			`status.conditions: [{type: TargetEvicted, status: "False", reason: R, message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`, "x|p|Pod|Pending|example.com/drain|Eviction|60m"},
	})
}
