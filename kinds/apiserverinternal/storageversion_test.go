package apiserverinternal_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const storageVersion = `metadata: {name: apps.deployments}
spec: {}`

func TestStorageVersionRules(t *testing.T) {
	k := kindtest.New(t, "storageversions.v1alpha1.internal.apiserver.k8s.io", storageVersion, "StorageVersionAPI", "APIServerIdentity")
	k.Create(kindtest.Rules{
		{"a name has group and resource", "metadata.name: a.b.pods", "metadata.name: pods",
			`metadata.name: Invalid value: "pods": name must be in the form of <group>.<resource>`},
		{"the group in a name is a subdomain", "metadata.name: a.b.pods", "metadata.name: a_b.pods",
			`metadata.name: Invalid value: "a_b.pods": the group segment a lowercase RFC 1123 ` +
				"subdomain must consist of lower case alphanumeric characters, '-' or '.', and must " +
				"start and end with an alphanumeric character (e.g. 'example.com', regex used for " +
				`validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"the resource in a name is a label", "metadata.name: a.b.pods", "metadata.name: a.b.1",
			`metadata.name: Invalid value: "a.b.1": the resource segment a DNS-1035 label must ` +
				"consist of lower case alphanumeric characters or '-', start with an alphabetic " +
				"character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex " +
				"used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"},
	})
}

func TestStorageVersionStatusRules(t *testing.T) {
	k := kindtest.New(t, "storageversions.v1alpha1.internal.apiserver.k8s.io", storageVersion, "StorageVersionAPI", "APIServerIdentity").With(
		"status: {}")
	k.UpdateStatus(kindtest.Rules{
		{"a server has an ID",
			"status: {commonEncodingVersion: v1, storageVersions: [{apiServerID: a, encodingVersion: " +
				"v1, decodableVersions: [v1]}]}",
			`status: {commonEncodingVersion: v1, storageVersions: [{apiServerID: "", ` +
				"encodingVersion: v1, decodableVersions: [v1]}]}",
			`status.storageVersions[0].apiServerID: Invalid value: "": a lowercase RFC 1123 ` +
				"subdomain must consist of lower case alphanumeric characters, '-' or '.', and must " +
				"start and end with an alphanumeric character (e.g. 'example.com', regex used for " +
				`validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"servers have different IDs",
			"status: {storageVersions: [{apiServerID: a, encodingVersion: v1, decodableVersions: " +
				"[v1]}, {apiServerID: b, encodingVersion: v2, decodableVersions: [v2]}]}",
			"status: {storageVersions: [{apiServerID: a, encodingVersion: v1, decodableVersions: " +
				"[v1]}, {apiServerID: a, encodingVersion: v2, decodableVersions: [v2]}]}",
			`status.storageVersions[1].apiServerID: Duplicate value: "a"`},
		{"a common version is set",
			"status: {commonEncodingVersion: v1, storageVersions: [{apiServerID: a, encodingVersion: " +
				"v1, decodableVersions: [v1]}]}",
			"status: {storageVersions: [{apiServerID: a, encodingVersion: v1, decodableVersions: [v1]}]}",
			"status.commonEncodingVersion: Invalid value: null: the common encoding version is v1"},
		{"a common version is that of the servers",
			"status: {commonEncodingVersion: v1, storageVersions: [{apiServerID: a, encodingVersion: " +
				"v1, decodableVersions: [v1]}]}",
			"status: {commonEncodingVersion: v2, storageVersions: [{apiServerID: a, encodingVersion: " +
				"v1, decodableVersions: [v1]}]}",
			`status.commonEncodingVersion: Invalid value: "v2": the actual common encoding version is v1`},
		{"no servers have no common version", "status: {}", "status: {commonEncodingVersion: v1}",
			`status.commonEncodingVersion: Invalid value: "v1": should be nil if servers do not ` +
				"agree on the same encoding version, or if there is no server reporting the supported versions yet"},
		{"different servers have no common version",
			"status: {storageVersions: [{apiServerID: a, encodingVersion: v1, decodableVersions: " +
				"[v1]}, {apiServerID: b, encodingVersion: v2, decodableVersions: [v2]}]}",
			"status: {commonEncodingVersion: v1, storageVersions: [{apiServerID: a, encodingVersion: " +
				"v1, decodableVersions: [v1]}, {apiServerID: b, encodingVersion: v2, decodableVersions: [v2]}]}",
			`status.commonEncodingVersion: Invalid value: "v1": should be nil if servers do not ` +
				"agree on the same encoding version, or if there is no server reporting the supported versions yet"},
		{"a version is a label",
			"status: {commonEncodingVersion: v1, storageVersions: [{apiServerID: a, encodingVersion: " +
				"v1, decodableVersions: [v1]}]}",
			"status: {commonEncodingVersion: V1, storageVersions: [{apiServerID: a, encodingVersion: " +
				"V1, decodableVersions: [V1]}]}",
			`status.storageVersions[0].encodingVersion: Invalid value: "V1": version part: a ` +
				"DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an " +
				"alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or " +
				"'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?'); " +
				`status.storageVersions[0].decodableVersions[0]: Invalid value: "V1": version part: a ` +
				"DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an " +
				"alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or " +
				"'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"},
		{"a version is not empty",
			"status: {commonEncodingVersion: v1, storageVersions: [{apiServerID: a, encodingVersion: " +
				"v1, decodableVersions: [v1]}]}",
			"status: {commonEncodingVersion: v1, storageVersions: [{apiServerID: a, encodingVersion: " +
				`v1, decodableVersions: [v1, ""]}]}`,
			`status.storageVersions[0].decodableVersions[1]: Invalid value: "": version part: must be non-empty`},
		{"a group is a subdomain",
			"status: {commonEncodingVersion: a.b/v1, storageVersions: [{apiServerID: a, " +
				"encodingVersion: a.b/v1, decodableVersions: [a.b/v1]}]}",
			"status: {commonEncodingVersion: /v1, storageVersions: [{apiServerID: a, " +
				"encodingVersion: /v1, decodableVersions: [/v1]}]}",
			`status.storageVersions[0].encodingVersion: Invalid value: "/v1": group part: must be ` +
				`non-empty; status.storageVersions[0].decodableVersions[0]: Invalid value: "/v1": group ` +
				"part: must be non-empty"},
		{"a version has one slash",
			"status: {commonEncodingVersion: a.b/v1, storageVersions: [{apiServerID: a, " +
				"encodingVersion: a.b/v1, decodableVersions: [a.b/v1]}]}",
			"status: {commonEncodingVersion: a/b/c, storageVersions: [{apiServerID: a, " +
				"encodingVersion: a/b/c, decodableVersions: [a/b/c]}]}",
			`status.storageVersions[0].encodingVersion: Invalid value: "a/b/c": an apiVersion is a ` +
				"DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start " +
				"with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  " +
				"or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?') with an " +
				"optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion'); " +
				`status.storageVersions[0].decodableVersions[0]: Invalid value: "a/b/c": an apiVersion ` +
				"is a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', " +
				"start with an alphabetic character, and end with an alphanumeric character (e.g. " +
				"'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?') " +
				"with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')"},
		{"the encoding version is decodable",
			"status: {commonEncodingVersion: v1, storageVersions: [{apiServerID: a, encodingVersion: " +
				"v1, decodableVersions: [v2, v1]}]}",
			"status: {commonEncodingVersion: v1, storageVersions: [{apiServerID: a, encodingVersion: " +
				"v1, decodableVersions: [v2]}]}",
			`status.storageVersions[0].decodableVersions: Invalid value: ["v2"]: decodableVersions ` +
				"must include encodingVersion v1"},
		{"a served version is decodable",
			"status: {commonEncodingVersion: v1, storageVersions: [{apiServerID: a, encodingVersion: " +
				"v1, decodableVersions: [v2, v1], servedVersions: [v2]}]}",
			"status: {commonEncodingVersion: v1, storageVersions: [{apiServerID: a, encodingVersion: " +
				"v1, decodableVersions: [v1], servedVersions: [v2]}]}",
			`status.storageVersions[0].servedVersions[0]: Invalid value: "v2": individual served ` +
				"version : v2 must be included in decodableVersions : [v1]"},
		{"types of conditions differ", `status: {conditions: [{type: A, status: "True", reason: R, message: m}]}`,
			`status: {conditions: [{type: A, status: "True", reason: R, message: m}, {type: A, ` +
				`status: "True", reason: R, message: m}]}`,
			`status[1].type: Invalid value: "A": the type of the condition is not unique, it also ` +
				"appears in conditions[0]"},
		{"a condition has a reason", `status: {conditions: [{type: A, status: "True", reason: R, message: m}]}`,
			`status: {conditions: [{type: A, status: "True", reason: "", message: m}]}`,
			"status[0].reason: Required value"},
		{"a condition has a message", `status: {conditions: [{type: A, status: "True", reason: R, message: m}]}`,
			`status: {conditions: [{type: A, status: "True", reason: R, message: ""}]}`,
			"status[0].message: Required value"},
		{"a condition has a type", `status: {conditions: [{type: A, status: "True", reason: R, message: m}]}`,
			`status: {conditions: [{type: "", status: "True", reason: R, message: m}]}`,
			`status[0].type: Invalid value: "": name part must be non-empty; status[0].type: Invalid ` +
				`value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must ` +
				"start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or " +
				"'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
	})
}

func TestStorageVersionColumns(t *testing.T) {
	k := kindtest.New(t, "storageversions.v1alpha1.internal.apiserver.k8s.io", storageVersion, "StorageVersionAPI", "APIServerIdentity")
	k.Columns("Name|CommonEncodingVersion|StorageVersions|Age", kindtest.Cases{
		{"empty", "", "apps.deployments|<unset>|<unset>|60m"},
		{"servers agree",
			"status: {commonEncodingVersion: v1, storageVersions: [{apiServerID: a, encodingVersion: " +
				"v1, decodableVersions: [v1]}]}", "apps.deployments|v1|a=v1|60m"},
		{"more servers than shown",
			"status: {commonEncodingVersion: v1, storageVersions: " +
				kindtest.List(4, "{apiServerID: a%d, encodingVersion: v1, decodableVersions: [v1]}") + "}",
			"apps.deployments|v1|a0=v1,a1=v1,a2=v1 + 1 more...|60m"},
	})
}
