package apiextensions_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestDefinitionUpdateRules(t *testing.T) {
	kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).Update(kindtest.Rules{
		{"the group is immutable", "metadata.labels: {a: b}", "spec.group: c.d",
			`spec.group: Invalid value: "c.d": field is immutable`},
		{"the plural is immutable", "metadata.labels: {a: b}", "spec.names.plural: others",
			`spec.names.plural: Invalid value: "others": field is immutable`},
		{"unknown fields are not preserved", "metadata.labels: {a: b}", "spec.preserveUnknownFields: true",
			"spec.preserveUnknownFields: Invalid value: true: cannot set to true, set " +
				"x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"},
		{"a stored version stays",
			"spec.versions[1]: {name: v2, served: true, storage: false, schema: {openAPIV3Schema: " +
				"{type: object}}}",
			"spec.versions: [{name: v2, served: true, storage: true, schema: {openAPIV3Schema: " +
				"{type: object}}}]",
			`status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was ` +
				"previously a storage version, and must remain in spec.versions until a storage " +
				"migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions"},
		{"a new pattern is a regular expression",
			`spec.versions[0].schema.openAPIV3Schema.properties.a: {type: string, pattern: "a+"}`,
			`spec.versions[0].schema.openAPIV3Schema.properties.a: {type: string, pattern: "("}`,
			`spec.validation.openAPIV3Schema.properties[a].pattern: Invalid value: "(": must be a ` +
				"valid regular expression, but isn't: error parsing regexp: missing closing ): `(`"},
		{"a new default has no unknown fields",
			"spec.versions[0].schema.openAPIV3Schema.properties.b: {type: object, default: {c: d}, " +
				"properties: {c: {type: string}}}",
			"spec.versions[0].schema.openAPIV3Schema.properties.b: {type: object, default: {x: 1}, " +
				"properties: {c: {type: string}}}",
			`spec.validation.openAPIV3Schema.properties[b].default: Invalid value: {"x":1}: must not ` +
				"have unknown fields"},
		{"items of a new set are atomic",
			"spec.versions[0].schema.openAPIV3Schema.properties.b: {type: array, " +
				"x-kubernetes-list-type: set, items: {type: string}}",
			"spec.versions[0].schema.openAPIV3Schema.properties.b: {type: array, " +
				"x-kubernetes-list-type: set, items: {type: object}}",
			"spec.validation.openAPIV3Schema.properties[b].items.x-kubernetes-map-type: Invalid " +
				"value: null: must be atomic as item of a list with x-kubernetes-list-type=set"},
		{"keys of a new list are required",
			"spec.versions[0].schema.openAPIV3Schema.properties.b: {type: array, " +
				"x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, " +
				"required: [k], properties: {k: {type: string}}}}",
			"spec.versions[0].schema.openAPIV3Schema.properties.b: {type: array, " +
				"x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, " +
				"properties: {k: {type: string}}}}",
			"spec.validation.openAPIV3Schema.properties[b].items.properties[k].default: Required " +
				"value: this property is in x-kubernetes-list-map-keys, so it must have a default or be " +
				"a required property"},
	})
}

func TestStoredVersionsUpdateRules(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).With(
		`status: {acceptedNames: {plural: "", kind: ""}, storedVersions: [v1, v2, v3, v2]}`)
	k.Update(kindtest.Rules{
		{"stored versions stay",
			"spec.versions[1]: {name: v2, served: true, storage: false, schema: {openAPIV3Schema: " +
				"{type: object}}}; spec.versions[2]: {name: v3, served: true, storage: false, schema: " +
				"{openAPIV3Schema: {type: object}}}", "metadata.labels: {a: b}",
			`status.storedVersions[2]: Invalid value: "v3": missing from spec.versions; v3 was ` +
				"previously a storage version, and must remain in spec.versions until a storage " +
				"migration ensures no data remains persisted in v3 and removes v3 from " +
				`status.storedVersions; status.storedVersions[3]: Invalid value: "v2": missing from ` +
				"spec.versions; v2 was previously a storage version, and must remain in spec.versions " +
				"until a storage migration ensures no data remains persisted in v2 and removes v2 from " +
				"status.storedVersions"},
		{"the errors of the spec are before those of the status",
			"spec.versions[1]: {name: v2, served: true, storage: false, schema: {openAPIV3Schema: " +
				"{type: object}}}; spec.versions[2]: {name: v3, served: true, storage: false, schema: " +
				"{openAPIV3Schema: {type: object}}}", "spec.group: x",
			`spec.group: Invalid value: "x": should be a domain with at least one dot; spec.group: ` +
				`Invalid value: "x": field is immutable; status.storedVersions[2]: Invalid value: "v3": ` +
				"missing from spec.versions; v3 was previously a storage version, and must remain in " +
				"spec.versions until a storage migration ensures no data remains persisted in v3 and " +
				`removes v3 from status.storedVersions; status.storedVersions[3]: Invalid value: "v2": ` +
				"missing from spec.versions; v2 was previously a storage version, and must remain in " +
				"spec.versions until a storage migration ensures no data remains persisted in v2 and " +
				"removes v2 from status.storedVersions"},
	})
}

func TestPreservingDefinitionUpdateRules(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).With(
		"spec.preserveUnknownFields: true")
	k.Update(kindtest.Rules{
		{"what preserves unknown fields has no defaults", "spec.preserveUnknownFields: false",
			"spec.versions[0].schema.openAPIV3Schema.properties.a.default: b",
			"spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults " +
				"in the schema"},
		{"what preserves unknown fields is not converted", "spec.preserveUnknownFields: false",
			"spec.conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], " +
				`clientConfig: {url: "https://a"}}}`,
			`spec.conversion.strategy: Invalid value: "Webhook": must be None if ` +
				"spec.preserveUnknownFields is true"},
	})
}

func TestDefinitionWithoutSchemaUpdateRules(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).With(
		"spec.preserveUnknownFields: true; spec.versions[0].schema: null")
	k.Update(kindtest.Rules{
		{"a served version without a schema preserves unknown fields", "metadata.labels: {a: b}",
			"spec.preserveUnknownFields: false",
			"spec.versions[0].schema.openAPIV3Schema: Required value: because otherwise all fields are pruned"},
	})
}

func TestEstablishedDefinitionUpdateRules(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).With(
		"status: {acceptedNames: {plural: things, kind: Thing}, storedVersions: [v1], conditions: " +
			`[{type: Established, status: "True"}]}`)
	k.Update(kindtest.Rules{
		{"the scope of an established kind is immutable", "spec.names.shortNames: [t]", "spec.scope: Cluster",
			`spec.scope: Invalid value: "Cluster": field is immutable`},
		{"the kind of an established kind is immutable", "spec.names.shortNames: [t]", "spec.names.kind: Other",
			`spec.names.kind: Invalid value: "Other": field is immutable`},
		{"a new authority of a webhook is a certificate",
			"spec.conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], " +
				`clientConfig: {url: "https://a"}}}`,
			"spec.conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], " +
				`clientConfig: {url: "https://a", caBundle: eA==}}}`,
			`spec.conversion.webhookClientConfig.caBundle: Invalid value: "eA==": unable to load ` +
				"root certificates: unable to parse bytes as PEM block"},
		{"a new authority has a block of a certificate",
			"spec.conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], " +
				`clientConfig: {url: "https://a"}}}`,
			"spec.conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], " +
				`clientConfig: {url: "https://a", caBundle: LS0tLS1CRUdJTiBLRVktLS0tLQotLS0tLUVORCBLRVktLS0tLQo=}}}`,
			"spec.conversion.webhookClientConfig.caBundle: Invalid value: " +
				`"LS0tLS1CRUdJTiBLRVktLS0tLQotLS0tLUVORCBLRVktLS0tLQo=": unable to load root ` +
				"certificates: no valid certificate authority data seen"},
		{"a block of a new authority parses",
			"spec.conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], " +
				`clientConfig: {url: "https://a"}}}`,
			"spec.conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], " +
				`clientConfig: {url: "https://a", caBundle: ` +
				"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmVBPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=}}}",
			"spec.conversion.webhookClientConfig.caBundle: Invalid value: " +
				`"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmVBPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=": ` +
				"unable to load root certificates: failed to parse certificate: x509: malformed certificate"},
	})
}

func TestStoredAuthorityUpdated(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).With(
		"spec.conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: " +
			`{url: "https://a", caBundle: eA==}}}; status: {acceptedNames: {plural: things, kind: Thing}, ` +
			`storedVersions: [v1], conditions: [{type: Established, status: "True"}]}`)
	k.Updated(kindtest.Cases{
		{"a stored authority that is no certificate may change",
			"spec.conversion.webhook.clientConfig.caBundle: eQ==",
			"spec.conversion.webhook.clientConfig.caBundle: eQ=="},
	})
}

func TestStoredReviewVersionsUpdated(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).With(
		"spec.conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v9], clientConfig: " +
			`{url: "https://a"}}}`)
	k.Updated(kindtest.Cases{
		{"stored review versions stay", "metadata.labels: {a: b}",
			`spec.conversion.webhook.conversionReviewVersions: ["v9"]`},
	})
}

func TestStoredDefaultUpdated(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).With(
		"spec.versions[0].schema.openAPIV3Schema.properties.b: {type: object, default: {x: 1}, " +
			"properties: {c: {type: string}}}")
	k.Updated(kindtest.Cases{
		{"a stored default with an unknown field stays",
			"spec.versions[0].schema.openAPIV3Schema.properties.d: {type: string}",
			`spec.versions[0].schema.openAPIV3Schema.properties.d: {"type":"string"}`},
	})
}

func TestStoredSetUpdated(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).With(
		"spec.versions[0].schema.openAPIV3Schema.properties.b: {type: array, x-kubernetes-list-type: " +
			"set, items: {type: object}}")
	k.Updated(kindtest.Cases{
		{"a stored set of objects stays", "spec.versions[0].schema.openAPIV3Schema.properties.d: {type: string}",
			`spec.versions[0].schema.openAPIV3Schema.properties.d: {"type":"string"}`},
	})
}

func TestStoredKeysUpdated(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).With(
		"spec.versions[0].schema.openAPIV3Schema.properties.b: {type: array, x-kubernetes-list-type: " +
			"map, x-kubernetes-list-map-keys: [k], items: {type: object, properties: {k: {type: string}}}}")
	k.Updated(kindtest.Cases{
		{"stored keys that are not required stay",
			"spec.versions[0].schema.openAPIV3Schema.properties.d: {type: string}",
			`spec.versions[0].schema.openAPIV3Schema.properties.d: {"type":"string"}`},
	})
}

func TestStoredLooseSchemaUpdated(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).With(
		"spec.preserveUnknownFields: true; spec.versions[0].schema.openAPIV3Schema.properties.b: {items: " +
			"{type: string}}")
	k.Updated(kindtest.Cases{
		{"a stored schema without types stays",
			"spec.versions[0].schema.openAPIV3Schema.properties.d: {type: string}",
			`spec.versions[0].schema.openAPIV3Schema.properties.d: {"type":"string"}`},
	})
}

func TestStoredCostUpdated(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).With(
		"spec.versions[0].schema.openAPIV3Schema.properties.b: {type: array, maxItems: 200000, items: " +
			"{type: string, maxLength: 1000, x-kubernetes-validations: [{rule: self.contains('a')}]}}")
	k.Updated(kindtest.Cases{
		{"a stored rule that costs too much stays", "metadata.labels: {a: b}", `metadata.labels: {"a":"b"}`},
	})
}

func TestStoredCostUpdateRules(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).With(
		"spec.versions[0].schema.openAPIV3Schema.properties.b: {type: array, maxItems: 200000, items: " +
			"{type: string, maxLength: 1000, x-kubernetes-validations: [{rule: self.contains('a')}]}}")
	k.Update(kindtest.Rules{
		{"a changed schema has no rule that costs too much", "metadata.labels: {a: b}",
			"spec.versions[0].schema.openAPIV3Schema.properties.d: {type: string}",
			"spec.validation.openAPIV3Schema.properties[b].items.x-kubernetes-validations[0].rule: " +
				"Forbidden: estimated rule cost exceeds budget by factor of 8.0x (try simplifying the " +
				"rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings " +
				"are declared)"},
	})
}

func TestStoredSelectableFieldsUpdated(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).With(
		"spec.versions[0].selectableFields: " + kindtest.List(9, "{jsonPath: .m.a%d}"))
	k.Updated(kindtest.Cases{
		{"stored selectable fields stay", "metadata.labels: {a: b}",
			"spec.versions[0].selectableFields[8].jsonPath: .m.a8"},
	})
}

func TestUnapprovedDefinitionUpdated(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).With(
		"metadata.name: things.a.k8s.io; spec.group: a.k8s.io")
	k.Updated(kindtest.Cases{
		{"a missing approval stays", "metadata.annotations: {a: b}", `metadata.annotations: {"a":"b"}`},
	})
}

func TestApprovedDefinitionUpdateRules(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).With(
		"metadata.name: things.a.k8s.io; spec.group: a.k8s.io; " +
			`metadata.annotations[api-approved.kubernetes.io]: "https://a.b/1"`)
	k.Update(kindtest.Rules{
		{"an approval is not removed", `metadata.annotations[api-approved.kubernetes.io]: "https://a.b/2"`,
			"metadata.annotations: {}",
			"metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must " +
				`have approval annotation "api-approved.kubernetes.io", see ` +
				"https://github.com/kubernetes/enhancements/pull/1111"},
		{"an approval stays one", "metadata.annotations[api-approved.kubernetes.io]: unapproved",
			"metadata.annotations[api-approved.kubernetes.io]: a",
			`metadata.annotations[api-approved.kubernetes.io]: Invalid value: "a": protected groups ` +
				`must have approval annotation "api-approved.kubernetes.io" with either a URL or a ` +
				`reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111`},
	})
}
