package apiextensions_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const definition = `metadata: {name: things.a.b}
spec:
  group: a.b
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {a: {type: string}, m: {type: object, additionalProperties: {type: integer}}}}}`

func TestDefinitionNameRules(t *testing.T) {
	kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).Create(kindtest.Rules{
		{"the name has plural and group", "metadata.name: things.a.b", "metadata.name: thing.a.b",
			`metadata.name: Invalid value: "thing.a.b": must be spec.names.plural+"."+spec.group`},
		{"a group is required", "spec.group: a.b", `metadata.name: things.; spec.group: ""`,
			`metadata.name: Invalid value: "things.": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'); spec.group: Required value`},
		{"a group has a dot", "spec.group: a.b", "metadata.name: things.a; spec.group: a",
			`spec.group: Invalid value: "a": should be a domain with at least one dot`},
		{"a group is a subdomain", "spec.group: a.b", "metadata.name: things.a_b.c; spec.group: a_b.c",
			`metadata.name: Invalid value: "things.a_b.c": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with " +
				"an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'); spec.group: Invalid ` +
				`value: "a_b.c": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric ` +
				"characters, '-' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"a scope is required", "spec.scope: Cluster", `spec.scope: ""`, "spec.scope: Required value"},
		{"a scope is known", "spec.scope: Cluster", "spec.scope: Other",
			`spec.scope: Unsupported value: "Other": supported values: "Cluster", "Namespaced"`},
		{"a plural is required", "spec.names.plural: things", `metadata.name: .a.b; spec.names.plural: ""`,
			`metadata.name: Invalid value: ".a.b": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'); spec.names.plural: ` +
				"Required value"},
		{"a plural is a label", "spec.names.singular: a-thing",
			"metadata.name: Things.a.b; spec.names.plural: Things",
			`metadata.name: Invalid value: "Things.a.b": a lowercase RFC 1123 subdomain must consist ` +
				"of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'); spec.names.plural: ` +
				`Invalid value: "Things": a DNS-1035 label must consist of lower case alphanumeric ` +
				"characters or '-', start with an alphabetic character, and end with an alphanumeric " +
				"character (e.g. 'my-name',  or 'abc-123', regex used for validation is " +
				"'[a-z]([-a-z0-9]*[a-z0-9])?')"},
		{"a singular is a label", "spec.names.singular: a-thing", "spec.names.singular: a.thing",
			`spec.names.singular: Invalid value: "a.thing": a DNS-1035 label must consist of lower ` +
				"case alphanumeric characters or '-', start with an alphabetic character, and end with " +
				"an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is " +
				"'[a-z]([-a-z0-9]*[a-z0-9])?')"},
		{"a kind is required", "spec.names.kind: A", `spec.names.kind: ""`,
			"spec.names.singular: Required value; spec.names.kind: Required value; " +
				"spec.names.listKind: Required value"},
		{"a kind is a label of any case", "spec.names.kind: AThing", "spec.names.kind: A_thing",
			`spec.names.singular: Invalid value: "a_thing": a DNS-1035 label must c..., regex used ` +
				"for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"},
		{"a list has another kind", "spec.names.listKind: Things", "spec.names.listKind: Thing",
			`spec.names.listKind: Invalid value: "Thing": kind and listKind may not be the same`},
		{"the kind of a list is a label of any case", "spec.names.listKind: ThingList",
			"spec.names.listKind: Thing List",
			`spec.names.listKind: Invalid value: "Thing List": may have mixed case, but should ` +
				"otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or " +
				"'-', start with an alphabetic character, and end with an alphanumeric character (e.g. " +
				"'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"},
		{"short names are labels", "spec.names.shortNames: [t]", "spec.names.shortNames: [T]",
			`spec.names.shortNames[0]: Invalid value: "T": a DNS-1035 label must consist of lower ` +
				"case alphanumeric characters or '-', start with an alphabetic character, and end with " +
				"an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is " +
				"'[a-z]([-a-z0-9]*[a-z0-9])?')"},
		{"categories are labels", "spec.names.categories: [all]", "spec.names.categories: [a.b]",
			`spec.names.categories[0]: Invalid value: "a.b": a DNS-1035 label must consist of lower ` +
				"case alphanumeric characters or '-', start with an alphabetic character, and end with " +
				"an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is " +
				"'[a-z]([-a-z0-9]*[a-z0-9])?')"},
		{"a group of Kubernetes has an approval",
			"metadata.name: things.k8s.io; spec.group: k8s.io; " +
				`metadata.annotations[api-approved.kubernetes.io]: "https://a.b/1"`,
			"metadata.name: things.a.k8s.io; spec.group: a.k8s.io",
			"metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must " +
				`have approval annotation "api-approved.kubernetes.io", see ` +
				"https://github.com/kubernetes/enhancements/pull/1111"},
		{"an approval is a URL or a reason",
			"metadata.name: things.kubernetes.io; spec.group: kubernetes.io; " +
				"metadata.annotations[api-approved.kubernetes.io]: unapproved, a test",
			"metadata.name: things.a.kubernetes.io; spec.group: a.kubernetes.io; " +
				"metadata.annotations[api-approved.kubernetes.io]: a",
			`metadata.annotations[api-approved.kubernetes.io]: Invalid value: "a": protected groups ` +
				`must have approval annotation "api-approved.kubernetes.io" with either a URL or a ` +
				`reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111`},
		{"unknown fields are not preserved", "spec.preserveUnknownFields: false", "spec.preserveUnknownFields: true",
			"spec.preserveUnknownFields: Invalid value: true: cannot set to true, set " +
				"x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"},
	})
}

func TestDefinitionVersionRules(t *testing.T) {
	kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).Create(kindtest.Rules{
		{"a version is required", "spec.versions[0].served: false", "spec.versions: []",
			"spec.versions: Invalid value: []: must have exactly one version marked as storage " +
				"version; status.storedVersions: Invalid value: null: must have at least one stored version"},
		{"the name of a version is a label", "spec.versions[0].name: v1alpha1", "spec.versions[0].name: V_1",
			`spec.versions[0].name: Invalid value: "V_1": a DNS-1035 label must consist of lower ` +
				"case alphanumeric characters or '-', start with an alphabetic character, and end with " +
				"an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is " +
				`'[a-z]([-a-z0-9]*[a-z0-9])?'); spec.version: Invalid value: "V_1": a DNS-1035 label ` +
				"must consist of lower case alphanumeric characters or '-', start with an alphabetic " +
				"character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex " +
				"used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"},
		{"the names of versions differ",
			"spec.versions[1]: {name: v2, served: true, storage: false, schema: {openAPIV3Schema: " +
				"{type: object}}}",
			"spec.versions[1]: {name: v1, served: true, storage: false, schema: {openAPIV3Schema: " +
				"{type: object}}}",
			"spec.versions: Invalid value: " +
				`[{"Name":"v1","Served":true,"Storage":tr..."SelectableFields":null}]: must contain ` +
				"unique version names"},
		{"one version is stored",
			"spec.versions[1]: {name: v2, served: true, storage: false, schema: {openAPIV3Schema: " +
				"{type: object}}}",
			"spec.versions[1]: {name: v2, served: true, storage: true, schema: {openAPIV3Schema: " +
				"{type: object}}}",
			`spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":tr...ons: Invalid ` +
				`value: ["v1"]: must have the storage version v2`},
		{"a version is stored", "spec.versions[0].served: false", "spec.versions[0].storage: false",
			"spec.versions: Invalid value: " +
				`[{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,"DeprecationWarning":null` +
				`,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":nu` +
				"ll}]: must have exactly one version marked as storage version; status.storedVersions: " +
				"Invalid value: null: must have at least one stored version"},
		{"a version has a schema", "spec.versions[0].schema: {openAPIV3Schema: {type: object}}",
			"spec.versions[0].schema: null", "spec.versions[0].schema.openAPIV3Schema: Required value"},
		{"a schema is not empty", "spec.versions[0].schema: {openAPIV3Schema: {type: object}}",
			"spec.versions[0].schema: {}", "spec.versions[0].schema.openAPIV3Schema: Required value"},
		{"a warning is of a deprecated version",
			"spec.versions[0].deprecated: true; spec.versions[0].deprecationWarning: w",
			"spec.versions[0].deprecationWarning: w",
			`spec.versions[0].deprecationWarning: Invalid value: "w": can only be set for deprecated versions`},
		{"a warning is not empty", "spec.versions[0].deprecated: true; spec.versions[0].deprecationWarning: w",
			`spec.versions[0].deprecated: true; spec.versions[0].deprecationWarning: ""`,
			`spec.versions[0].deprecationWarning: Invalid value: "": must not be an empty string`},
		{"a warning is short",
			"spec.versions[0].deprecated: true; spec.versions[0].deprecationWarning: " +
				strings.Repeat("w", 256),
			"spec.versions[0].deprecated: true; spec.versions[0].deprecationWarning: " +
				strings.Repeat("w", 257),
			"spec.versions[0].deprecationWarning: Invalid value: " +
				`"wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww` +
				"wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww" +
				`wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww": ` +
				"must be <= 256 characters long"},
		{"a warning is printable", "spec.versions[0].deprecated: true; spec.versions[0].deprecationWarning: w",
			`spec.versions[0].deprecated: true; spec.versions[0].deprecationWarning: "a\tb"`,
			`spec.versions[0].deprecationWarning: Invalid value: "a\tb": must only contain printable ` +
				"UTF-8 characters; non-printable character found at index 1"},
	})
}

func TestDefinitionConversionRules(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).With(
		"spec.conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: " +
			`{url: "https://a"}}}`)
	k.Create(kindtest.Rules{
		{"strategies are known", "spec.conversion: {strategy: None}", "spec.conversion: {strategy: Other}",
			`spec.conversion.strategy: Unsupported value: "Other": supported values: "None", "Webhook"`},
		{"a conversion without a webhook has no client", "spec.conversion: {strategy: None}",
			"spec.conversion: {strategy: None, webhook: {conversionReviewVersions: [v1], " +
				`clientConfig: {url: "https://a"}}}`,
			"spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not " +
				"set to Webhook; spec.conversion.conversionReviewVersions: Forbidden: should not be set " +
				"when strategy is not set to Webhook"},
		{"a webhook has a client", "spec.conversion.webhook.clientConfig: {service: {name: a, namespace: b}}",
			"spec.conversion.webhook.clientConfig: null",
			"spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook"},
		{"a webhook has a URL or a service",
			"spec.conversion.webhook.clientConfig: {service: {name: a, namespace: b}}",
			"spec.conversion.webhook.clientConfig: {}",
			"spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required"},
		{"a URL is one of HTTPS", "spec.conversion.webhook.clientConfig.url: https://b",
			"spec.conversion.webhook.clientConfig.url: http://b",
			`spec.conversion.webhookClientConfig.url: Invalid value: "http": 'https' is the only ` +
				"allowed URL scheme; desired format: https://host[/path]"},
		{"a service has a name", "spec.conversion.webhook.clientConfig: {service: {name: a, namespace: b}}",
			`spec.conversion.webhook.clientConfig: {service: {name: "", namespace: b}}`,
			"spec.conversion.webhookClientConfig.service.namespace: Required value"},
		{"review versions are required", "spec.conversion.webhook.conversionReviewVersions: [v1beta1]",
			"spec.conversion.webhook.conversionReviewVersions: []",
			"spec.conversion.conversionReviewVersions: Required value"},
		{"a review version is known", "spec.conversion.webhook.conversionReviewVersions: [v9, v1]",
			"spec.conversion.webhook.conversionReviewVersions: [v9]",
			`spec.conversion.conversionReviewVersions: Invalid value: ["v9"]: must include at least ` +
				"one of v1, v1beta1"},
		{"review versions differ", "spec.conversion.webhook.conversionReviewVersions: [v1, v1beta1]",
			"spec.conversion.webhook.conversionReviewVersions: [v1, v1]",
			`spec.conversion.conversionReviewVersions[1]: Invalid value: "v1": duplicate version`},
	})
}

func TestDefinitionStatusRules(t *testing.T) {
	kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).UpdateStatus(kindtest.Rules{
		{"an accepted kind is a label of any case",
			"status.acceptedNames: {plural: things, kind: Thing, listKind: ThingList, shortNames: [t]}",
			"status.acceptedNames: {plural: things, kind: a thing}",
			`status.acceptedNames.kind: Invalid value: "a thing": may have mixed case, but should ` +
				"otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or " +
				"'-', start with an alphabetic character, and end with an alphanumeric character (e.g. " +
				"'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"},
		{"an accepted list has another kind",
			"status.acceptedNames: {plural: things, kind: Thing, listKind: ThingList}",
			"status.acceptedNames: {plural: things, kind: Thing, listKind: Thing}",
			`status.acceptedNames.listKind: Invalid value: "Thing": kind and listKind may not be the same`},
		{"an accepted plural is a label", "status.acceptedNames: {plural: things, kind: Thing}",
			"status.acceptedNames: {plural: Things, kind: Thing}",
			`status.acceptedNames.plural: Invalid value: "Things": a DNS-1035 label must consist of ` +
				"lower case alphanumeric characters or '-', start with an alphabetic character, and end " +
				"with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for " +
				"validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"},
	})
}

func TestDefinitionCreated(t *testing.T) {
	kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).Created(kindtest.Cases{
		{"names have defaults", "",
			"spec.names.singular: thing; spec.names.listKind: ThingList; spec.conversion.strategy: " +
				"None; metadata.generation: 1"},
		{"the stored version", "", `status.storedVersions: ["v1"]`},
		{"the port of a service",
			"spec.conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], " +
				"clientConfig: {service: {name: a, namespace: b}}}}",
			"spec.conversion.webhook.clientConfig.service.port: 443"},
	})
}

func TestDefinitionUpdated(t *testing.T) {
	kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).Updated(kindtest.Cases{
		{"a new stored version",
			"spec.versions[0].storage: false; spec.versions[1]: {name: v2, served: true, storage: " +
				"true, schema: {openAPIV3Schema: {type: object}}}", `status.storedVersions: ["v1","v2"]`},
	})
}

func TestDefinitionGenerations(t *testing.T) {
	kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).Generations(kindtest.Cases{
		{"a write without a change", "", "1"},
		{"labels are no part of the spec", "metadata.labels: {a: b}", "1"},
		{"the spec", "spec.names.shortNames: [t]", "2"},
	})
}

func TestDefinitionWarnings(t *testing.T) {
	kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).Warnings(kindtest.Cases{
		{"known formats", "spec.versions[0].schema.openAPIV3Schema.properties.a.format: ipv4", ""},
		{"unknown formats",
			"spec.versions[0].schema.openAPIV3Schema.properties.a.format: new; " +
				"spec.versions[0].schema.openAPIV3Schema.properties.b: {type: string, format: other}",
			`unrecognized format "new"; unrecognized format "other"`},
		{"a set of texts",
			"spec.versions[0].schema.openAPIV3Schema.properties.b: {type: array, " +
				"x-kubernetes-list-type: set, items: {type: string}}", ""},
		{"a set of lists",
			"spec.versions[0].schema.openAPIV3Schema.properties.b: {type: array, " +
				"x-kubernetes-list-type: set, items: {type: array, x-kubernetes-list-type: atomic, " +
				"items: {type: string}}}",
			`x-kubernetes-list-type: set for items of type "array" is not supported by server-side ` +
				"apply or CEL validation rules"},
	})
}

func TestDefinitionUpdateWarnings(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).With(
		"spec.versions[0].schema.openAPIV3Schema.properties.a.format: new")
	k.UpdateWarnings(kindtest.Cases{
		{"a stored format", "metadata.labels: {a: b}", ""},
		{"another unknown format",
			"spec.versions[0].schema.openAPIV3Schema.properties.b: {type: string, format: other}",
			`unrecognized format "other"`},
	})
}

func TestDefinitionInV1beta1(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition)
	k.Converted("v1beta1", kindtest.Cases{
		{"parts of all versions are parts of the spec", "spec.versions[0].subresources: {status: {}}",
			"spec.version: v1; spec.validation.openAPIV3Schema.type: object; spec.subresources: " +
				`{"status":{}}; spec.versions[0].name: v1; spec.versions[0].schema: null`},
		{"parts of one version are its own",
			"spec.versions[1]: {name: v2, served: true, storage: false, schema: {openAPIV3Schema: " +
				"{type: object}}}", "spec.validation: null; spec.versions[1].schema.openAPIV3Schema.type: object"},
	})
}

func TestDefinitionColumns(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition)
	k.Columns("Name|Scope|Versions|Created At|(Group)|(Kind)|(ShortNames)|(Established)", kindtest.Cases{
		{"new", "", "things.a.b|Namespaced|v1(storage)|2026-05-04T11:00:00Z|a.b|Thing||false"},
		{"established",
			"spec.names.shortNames: [t, u]; status: {acceptedNames: {plural: things, kind: Thing}, " +
				`storedVersions: [v1], conditions: [{type: Established, status: "True"}]}`,
			"things.a.b|Namespaced|v1(storage)|2026-05-04T11:00:00Z|a.b|Thing|t,u|true"},
		{"several versions",
			"spec.versions[1]: {name: v2, served: true, storage: false, schema: {openAPIV3Schema: " +
				"{type: object}}}; spec.versions[2]: {name: v0, served: false, storage: false, schema: " +
				"{openAPIV3Schema: {type: object}}}",
			"things.a.b|Namespaced|v1(storage),v2|2026-05-04T11:00:00Z|a.b|Thing||false"},
	})
}

const definitionV1beta1 = `metadata: {name: things.a.b}
spec:
  group: a.b
  scope: Namespaced
  version: v1
  preserveUnknownFields: false
  names: {plural: things, kind: Thing}
  validation: {openAPIV3Schema: {type: object}}`

func TestDefinitionV1beta1InV1(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1beta1.apiextensions.k8s.io", definitionV1beta1)
	k.Converted("v1", kindtest.Cases{
		{"the version is the stored one", "",
			"spec.versions[0].name: v1; spec.versions[0].storage: true; " +
				"spec.versions[0].schema.openAPIV3Schema.type: object"},
	})
}

func TestDefinitionV1beta1Rules(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1beta1.apiextensions.k8s.io", definitionV1beta1)
	k.Create(kindtest.Rules{
		{"unknown fields are preserved by default", "metadata.labels: {a: b}", "spec.preserveUnknownFields: null",
			"spec.preserveUnknownFields: Invalid value: true: cannot set to true, set " +
				"x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"},
	})
}
