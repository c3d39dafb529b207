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

func TestDefinitionSchemaRules(t *testing.T) {
	kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).Create(kindtest.Rules{
		{"the type of the root is an object", "spec.versions[0].schema.openAPIV3Schema: {type: object}",
			"spec.versions[0].schema.openAPIV3Schema: {type: array, items: {type: string}}",
			`spec.validation.openAPIV3Schema.type: Invalid value: "array": must be object at the root`},
		{"the root is not null",
			"spec.versions[0].schema.openAPIV3Schema: {type: object, properties: {a: {type: string, " +
				"nullable: true}}}", "spec.versions[0].schema.openAPIV3Schema: {type: object, nullable: true}",
			"spec.validation.openAPIV3Schema.nullable: Forbidden: nullable cannot be true at the root"},
		{"each field has a type", "spec.versions[0].schema.openAPIV3Schema.properties.a: {type: integer}",
			"spec.versions[0].schema.openAPIV3Schema.properties.a: {description: d}",
			"spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty " +
				"for specified object fields"},
		{"a pattern is a regular expression",
			`spec.versions[0].schema.openAPIV3Schema.properties.a: {type: string, pattern: "a+"}`,
			`spec.versions[0].schema.openAPIV3Schema.properties.a: {type: string, pattern: "("}`,
			`spec.validation.openAPIV3Schema.properties[a].pattern: Invalid value: "(": must be a ` +
				"valid regular expression, but isn't: error parsing regexp: missing closing ): `(`"},
		{"a validation rule compiles",
			"spec.versions[0].schema.openAPIV3Schema.properties.a: {type: string, " +
				"x-kubernetes-validations: [{rule: self == 'a'}]}",
			"spec.versions[0].schema.openAPIV3Schema.properties.a: {type: string, " +
				"x-kubernetes-validations: [{rule: self.b == 'a'}]}",
			"spec.validation.openAPIV3Schema.properties[a].x-kubernetes-validations[0].rule: Invalid " +
				`value: {"Rule":"self.b == ` +
				`'a'","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":` +
				"null}: compilation failed: ERROR: <input>:1:5: type 'string' does not support field " +
				"selection\n | self.b == 'a'\n | ....^"},
		{"a default is valid", "spec.versions[0].schema.openAPIV3Schema.properties.a: {type: string, default: b}",
			"spec.versions[0].schema.openAPIV3Schema.properties.a: {type: string, default: 5}",
			`spec.validation.openAPIV3Schema.properties[a].default: Invalid value: "integer":  in ` +
				`body must be of type string: "integer"`},
		{"the root with a status has few keywords", "spec.versions[0].subresources: {status: {}}",
			"spec.versions[0].subresources: {status: {}}; spec.versions[0].schema.openAPIV3Schema.enum: [{}]",
			`spec.validation.openAPIV3Schema: Invalid value: {"ID":"","Schema":"","... the root of ` +
				"the schema if the status subresource is enabled"},
		{"the root with a status is an object", "spec.versions[0].subresources: {status: {}}",
			"spec.versions[0].subresources: {status: {}}; spec.versions[0].schema.openAPIV3Schema: " +
				"{type: array, items: {type: string}}",
			`spec.validation.openAPIV3Schema.type: Invalid value: "array": only "object" is allowed ` +
				"as the type at the root of the schema if the status subresource is enabled; " +
				`spec.validation.openAPIV3Schema.type: Invalid value: "array": must be object at the root`},
	})
}

func TestDefinitionFieldRules(t *testing.T) {
	kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).Create(kindtest.Rules{
		{"the path of replicas is required",
			"spec.versions[0].subresources: {scale: {specReplicasPath: .spec.a, statusReplicasPath: .status.a}}",
			`spec.versions[0].subresources: {scale: {specReplicasPath: "", statusReplicasPath: ""}}`,
			"spec.subresources.scale.specReplicasPath: Required value; " +
				"spec.subresources.scale.statusReplicasPath: Required value"},
		{"the path of replicas is below the spec",
			"spec.versions[0].subresources: {scale: {specReplicasPath: .spec.a, statusReplicasPath: .status.a}}",
			"spec.versions[0].subresources: {scale: {specReplicasPath: .a, statusReplicasPath: .status.a}}",
			`spec.subresources.scale.specReplicasPath: Invalid value: ".a": should be a json path under .spec`},
		{"the path of current replicas is below the status",
			"spec.versions[0].subresources: {scale: {specReplicasPath: .spec.a, statusReplicasPath: .status.a}}",
			"spec.versions[0].subresources: {scale: {specReplicasPath: .spec.a, statusReplicasPath: .spec.b}}",
			`spec.subresources.scale.statusReplicasPath: Invalid value: ".spec.b": should be a json ` +
				"path under .status"},
		{"a path begins with a dot",
			"spec.versions[0].subresources: {scale: {specReplicasPath: .spec.a, statusReplicasPath: .status.a}}",
			"spec.versions[0].subresources: {scale: {specReplicasPath: spec.a, statusReplicasPath: .status.a}}",
			`spec.subresources.scale.specReplicasPath: Invalid value: "spec.a": must be a simple ` +
				"json path starting with ."},
		{"the path of a selector is below spec or status",
			"spec.versions[0].subresources: {scale: {specReplicasPath: .spec.a, statusReplicasPath: " +
				".status.a, labelSelectorPath: .status.b}}",
			"spec.versions[0].subresources: {scale: {specReplicasPath: .spec.a, statusReplicasPath: " +
				".status.a, labelSelectorPath: .b}}",
			`spec.subresources.scale.labelSelectorPath: Invalid value: ".b": should be a json path ` +
				"under either .spec or .status"},
		{"a column has a name", "spec.versions[0].additionalPrinterColumns: [{name: A, type: string, jsonPath: .a}]",
			`spec.versions[0].additionalPrinterColumns: [{name: "", type: string, jsonPath: .a}]`,
			"spec.additionalPrinterColumns[0].name: Required value"},
		{"a column has a type", "spec.versions[0].additionalPrinterColumns: [{name: A, type: date, jsonPath: .a}]",
			`spec.versions[0].additionalPrinterColumns: [{name: A, type: "", jsonPath: .a}]`,
			"spec.additionalPrinterColumns[0].type: Required value: must be one of " +
				"boolean,date,integer,number,string"},
		{"the types of columns are known",
			"spec.versions[0].additionalPrinterColumns: [{name: A, type: boolean, jsonPath: .a}]",
			"spec.versions[0].additionalPrinterColumns: [{name: A, type: object, jsonPath: .a}]",
			`spec.additionalPrinterColumns[0].type: Invalid value: "object": must be one of ` +
				"boolean,date,integer,number,string"},
		{"the formats of columns are known",
			"spec.versions[0].additionalPrinterColumns: [{name: A, type: string, format: date, jsonPath: .a}]",
			"spec.versions[0].additionalPrinterColumns: [{name: A, type: string, format: ip, jsonPath: .a}]",
			`spec.additionalPrinterColumns[0].format: Invalid value: "ip": must be one of ` +
				"byte,date,date-time,double,float,int32,int64,password"},
		{"a column has a path", "spec.versions[0].additionalPrinterColumns: [{name: A, type: string, jsonPath: .a}]",
			`spec.versions[0].additionalPrinterColumns: [{name: A, type: string, jsonPath: ""}]`,
			"spec.additionalPrinterColumns[0].JSONPath: Required value"},
		{"the path of a column begins with a dot",
			"spec.versions[0].additionalPrinterColumns: [{name: A, type: string, jsonPath: .a}]",
			"spec.versions[0].additionalPrinterColumns: [{name: A, type: string, jsonPath: a}]",
			`spec.additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json ` +
				"path starting with ."},
		{"a selectable field has a path", "spec.versions[0].selectableFields: [{jsonPath: .a}]",
			`spec.versions[0].selectableFields: [{jsonPath: ""}]`,
			"spec.selectableFields[0].jsonPath: Required value"},
		{"a selectable field is one of the schema", "spec.versions[0].selectableFields: [{jsonPath: .m.x}]",
			"spec.versions[0].selectableFields: [{jsonPath: .b}]",
			`spec.selectableFields[0].jsonPath: Invalid value: ".b": is an invalid path: does not ` +
				"refer to a valid field"},
		{"a selectable field is below an object", "spec.versions[0].selectableFields: [{jsonPath: .m.x}]",
			"spec.versions[0].selectableFields: [{jsonPath: .a.b}]",
			`spec.selectableFields[0].jsonPath: Invalid value: ".a.b": is an invalid path: does not ` +
				"refer to a valid field"},
		{"a selectable field is no object", "spec.versions[0].selectableFields: [{jsonPath: .a}]",
			"spec.versions[0].selectableFields: [{jsonPath: .m}]",
			`spec.selectableFields[0].jsonPath: Invalid value: ".m": must point to a field of type ` +
				"string, boolean or integer. Enum string fields and strings with formats are allowed."},
		{"a selectable field is not in the metadata", "spec.versions[0].selectableFields: [{jsonPath: .a}]",
			"spec.versions[0].schema.openAPIV3Schema.properties.metadata: {type: object, properties: " +
				"{name: {type: string}}}; spec.versions[0].selectableFields: [{jsonPath: .metadata.name}]",
			`spec.selectableFields[0].jsonPath: Invalid value: ".metadata.name": must not point to ` +
				"fields in metadata"},
		{"the path of a selectable field has no brackets", "spec.versions[0].selectableFields: [{jsonPath: .a}]",
			`spec.versions[0].selectableFields: [{jsonPath: "['a']"}]`,
			`spec.selectableFields[0].jsonPath: Invalid value: "['a']": is an invalid path: array ` +
				"notation is not allowed"},
		{"the path of a selectable field begins with a dot", "spec.versions[0].selectableFields: [{jsonPath: .a}]",
			"spec.versions[0].selectableFields: [{jsonPath: a}]",
			`spec.selectableFields[0].jsonPath: Invalid value: "a": is an invalid path: expected [ ` +
				"or . but got: a"},
		{"the path of a selectable field has an end", "spec.versions[0].selectableFields: [{jsonPath: .a}]",
			"spec.versions[0].selectableFields: [{jsonPath: .}]",
			`spec.selectableFields[0].jsonPath: Invalid value: ".": is an invalid path: unexpected ` +
				"end of JSON path"},
		{"selectable fields differ", "spec.versions[0].selectableFields: [{jsonPath: .a}, {jsonPath: .m.a}]",
			"spec.versions[0].selectableFields: [{jsonPath: .a}, {jsonPath: .a}]",
			`spec.selectableFields[1].jsonPath: Duplicate value: ".a"`},
		{"at most eight selectable fields",
			"spec.versions[0].selectableFields: " + kindtest.List(8, "{jsonPath: .m.a%d}"),
			"spec.versions[0].selectableFields: " + kindtest.List(9, "{jsonPath: .m.a%d}"),
			"spec.selectableFields: Too many: 9: must have at most 8 items"},
		{"selectable fields of a version need a schema of its own",
			"spec.versions[1]: {name: v2, served: true, storage: false, schema: {openAPIV3Schema: " +
				"{type: object}}}; spec.versions[0].selectableFields: [{jsonPath: .a}]",
			"spec.versions[0].schema: {openAPIV3Schema: {type: object}}; spec.versions[1]: {name: " +
				"v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}; " +
				"spec.versions[0].selectableFields: [{jsonPath: .a}]",
			`spec.versions[0].selectableFields: Invalid value: "": may only be set when ` +
				"`version.schema.openAPIV3Schema` is not included"},
		{"selectable fields of all versions need a schema of all",
			"spec.versions[0].selectableFields: [{jsonPath: .a}]",
			"spec.versions[0].selectableFields: [{jsonPath: .a}]; spec.versions[1]: {name: v2, " +
				"served: true, storage: false, selectableFields: [{jsonPath: .a}], schema: " +
				"{openAPIV3Schema: {type: object, properties: {a: {type: string}}}}}",
			`spec.selectableFields: Invalid value: "": may only be set when validations.schema is included`},
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
