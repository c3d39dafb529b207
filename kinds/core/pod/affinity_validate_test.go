package pod_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const affine = `spec:
  containers: [{name: c, image: 'i:1'}]
  affinity: {}`

func TestNodeAffinityRules(t *testing.T) {
	kindtest.New(t, "pods.v1", affine).Create(kindtest.Rules{
		{"terms", "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: [{}]",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: []",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				" Required value: must have at least one node selector term"},
		{"operator",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				" [{matchExpressions: [{key: a, operator: Exists}]}]",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				" [{matchExpressions: [{key: a, operator: Has}]}]",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[" +
				`0].matchExpressions[0].operator: Invalid value: "Has": not a valid selector operator`},
		{"key",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				" [{matchExpressions: [{key: a.b/c, operator: Exists}]}]",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				` [{matchExpressions: [{key: "a b", operator: Exists}]}]`,
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[" +
				`0].matchExpressions[0].key: Invalid value: "a b": name part must consist of alphanumeric ` +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"values of In",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				" [{matchExpressions: [{key: a, operator: In, values: [b]}]}]",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				" [{matchExpressions: [{key: a, operator: In}]}]",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[" +
				"0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"},
		{"values of Exists",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				" [{matchExpressions: [{key: a, operator: DoesNotExist}]}]",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				" [{matchExpressions: [{key: a, operator: DoesNotExist, values: [b]}]}]",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[" +
				"0].matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' " +
				"or 'DoesNotExist'"},
		{"value of Gt",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				` [{matchExpressions: [{key: a, operator: Gt, values: ["1"]}]}]`,
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				` [{matchExpressions: [{key: a, operator: Gt, values: ["1", "2"]}]}]`,
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[" +
				"0].matchExpressions[0].values: Required value: must be specified single value when " +
				"`operator` is 'Lt' or 'Gt'"},
		{"label value",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				" [{matchExpressions: [{key: a, operator: In, values: [b]}]}]",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				` [{matchExpressions: [{key: a, operator: In, values: ["b c"]}]}]`,
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[" +
				`0].matchExpressions[0].values[0]: Invalid value: "b c": a valid label must be an empty ` +
				"string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with " +
				"an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
				"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"field",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				" [{matchFields: [{key: metadata.name, operator: In, values: [b]}]}]",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				" [{matchFields: [{key: metadata.namespace, operator: In, values: [b]}]}]",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[" +
				`0].matchFields[0].key: Invalid value: "metadata.namespace": not a valid field selector key`},
		{"operator of a field",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				" [{matchFields: [{key: metadata.name, operator: NotIn, values: [b]}]}]",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				" [{matchFields: [{key: metadata.name, operator: Exists, values: [b]}]}]",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[" +
				`0].matchFields[0].operator: Invalid value: "Exists": not a valid selector operator`},
		{"one value of a field",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				" [{matchFields: [{key: metadata.name, operator: In, values: [b]}]}]",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				" [{matchFields: [{key: metadata.name, operator: In, values: [b, c]}]}]",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[" +
				"0].matchFields[0].values: Required value: must be only one value when `operator` is 'In' or " +
				"'NotIn' for node field selector"},
		{"name in a field",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				" [{matchFields: [{key: metadata.name, operator: In, values: [b.c]}]}]",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				" [{matchFields: [{key: metadata.name, operator: In, values: [B]}]}]",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[" +
				`0].matchFields[0].values[0]: Invalid value: "B": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"weight",
			"spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, " +
				"preference: {}}]",
			"spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution: [{weight: 101, " +
				"preference: {}}]",
			"spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: " +
				"Invalid value: 101: must be in the range 1-100"},
		{"no weight",
			"spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, " +
				"preference: {}}]",
			"spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, " +
				"preference: {}}]",
			"spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: " +
				"Invalid value: 0: must be in the range 1-100"},
		{"preference",
			"spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, " +
				`preference: {matchExpressions: [{key: a, operator: Lt, values: ["1"]}]}}]`,
			"spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, " +
				"preference: {matchExpressions: [{key: a, operator: Less}]}}]",
			"spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.mat" +
				`chExpressions[0].operator: Invalid value: "Less": not a valid selector operator`},
	})
}

func TestPodAffinityRules(t *testing.T) {
	kindtest.New(t, "pods.v1", affine).Create(kindtest.Rules{
		{"topologyKey",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a.b/c}]",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: [{}]",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: " +
				"Required value: can not be empty; " +
				"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: " +
				`Invalid value: "": name part must be non-empty; ` +
				"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: " +
				`Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and ` +
				"must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or " +
				"'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"form of a topologyKey",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a}]",
			`spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "a b"}]`,
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: " +
				`Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', ` +
				"and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or " +
				"'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"namespace",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, " +
				"namespaces: [b]}]",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, " +
				"namespaces: [B]}]",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespace: " +
				`Invalid value: "B": a lowercase RFC 1123 label must consist of lower case alphanumeric ` +
				"characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  " +
				"or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"selector",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, " +
				"labelSelector: {matchLabels: {b: c}}}]",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, " +
				`labelSelector: {matchLabels: {b: "c d"}}}]`,
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.ma" +
				`tchLabels: Invalid value: "c d": a valid label must be an empty string or consist of ` +
				"alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
				"'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"selector of namespaces",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, " +
				"namespaceSelector: {matchLabels: {b: c}}}]",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, " +
				"namespaceSelector: {matchExpressions: [{key: b, operator: Has}]}}]",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaceSelecto" +
				`r.matchExpressions[0].operator: Invalid value: "Has": not a valid selector operator`},
		{"matchLabelKeys",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, " +
				"labelSelector: {}, matchLabelKeys: [b]}]",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, " +
				"matchLabelKeys: [b]}]",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys: " +
				"Forbidden: must not be specified when labelSelector is not set"},
		{"form of matchLabelKeys",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, " +
				"labelSelector: {}, mismatchLabelKeys: [b]}]",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, " +
				`labelSelector: {}, matchLabelKeys: ["b c"]}]`,
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[0" +
				`]: Invalid value: "b c": name part must consist of alphanumeric characters, '-', '_' or ` +
				"'.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  " +
				"or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"both lists of keys",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, " +
				"labelSelector: {}, matchLabelKeys: [b], mismatchLabelKeys: [c]}]",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, " +
				"labelSelector: {}, matchLabelKeys: [b], mismatchLabelKeys: [b]}]",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[0" +
				`]: Invalid value: "b": exists in both matchLabelKeys and mismatchLabelKeys`},
		{"weight",
			"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, " +
				"podAffinityTerm: {topologyKey: a}}]",
			"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, " +
				"podAffinityTerm: {topologyKey: a}}]",
			"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: " +
				"Invalid value: 0: must be in the range 1-100"},
		{"preferred topologyKey",
			"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution: [{weight: " +
				"100, podAffinityTerm: {topologyKey: a}}]",
			"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, " +
				"podAffinityTerm: {}}]",
			"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinity" +
				"Term.topologyKey: Required value: can not be empty; " +
				"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinity" +
				`Term.topologyKey: Invalid value: "": name part must be non-empty; ` +
				"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinity" +
				`Term.topologyKey: Invalid value: "": name part must consist of alphanumeric characters, ` +
				"'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or " +
				"'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
	})
}
