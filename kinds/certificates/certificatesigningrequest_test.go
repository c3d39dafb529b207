package certificates_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
	"github.com/miniapiserver/miniapiserver/request"
)

var signingRequest = "spec: {request: " + pemRequest(edwardsKey) + ", signerName: a.b/c, usages: [client auth]}"

func TestSigningRequestRules(t *testing.T) {
	kindtest.New(t, "certificatesigningrequests.v1.certificates.k8s.io", signingRequest).Create(kindtest.Rules{
		{"a request is PEM", "spec.request: " + pemRequest(ellipticKey), "spec.request: YQ==",
			`spec.request: Invalid value: "YQ==": PEM block type must be CERTIFICATE REQUEST`},
		{"a request is required", "spec.request: " + pemRequest(rsaKey), "spec.request: null",
			"spec.request: Invalid value: null: PEM block type must be CERTIFICATE REQUEST"},
		{"the block of a request is a request", "spec.request: " + pemRequest(ellipticKey),
			"spec.request: " + encoded([]byte(authority("a"))),
			"spec.request: Invalid value: ...: PEM block type must be CERTIFICATE REQUEST"},
		{"the block of a request parses", "spec.request: " + pemRequest(ellipticKey),
			"spec.request: " + encoded([]byte(pemBlock("CERTIFICATE REQUEST", []byte("a")))),
			"spec.request: Invalid value: " +
				`"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KWVE9PQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVF` +
				`VRVNULS0tLS0K": asn1: syntax error: truncated tag or length`},
		{"a request is signed with its key", "spec.request: " + pemRequest(ellipticKey),
			"spec.request: " +
				encoded([]byte(pemBlock("CERTIFICATE REQUEST", damaged(stubRequest(edwardsKey))))),
			"spec.request: Invalid value: ...: x509: Ed25519 verification failure"},
		{"the whole name of a signer is short", "spec.signerName: a.b/c",
			"spec.signerName: " + strings.Repeat("a.", 126) + "b/" + strings.Repeat("c.", 200) + "d",
			"spec.signerName: Too long: may not be more than 571 bytes"},
		{"a request has usages", "spec.usages: [any]", "spec.usages: []", "spec.usages: Required value"},
		{"a usage is known", "spec.usages: [server auth]", "spec.usages: [serving]",
			`spec.usages[0]: Unsupported value: "serving": supported values: "any", "cert sign", ` +
				`"client auth", "code signing", "content commitment", "crl sign", "data encipherment", ` +
				`"decipher only", "digital signature", "email protection", "encipher only", "ipsec end ` +
				`system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft ` +
				`sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping"`},
		{"a usage is there once", "spec.usages: [client auth, server auth]", "spec.usages: [any, any]",
			`spec.usages[1]: Duplicate value: "any"`},
		{"a signer is required", "spec.signerName: a.b/c", `spec.signerName: ""`, "spec.signerName: Required value"},
		{"a signer has a domain and a path", "spec.signerName: a.b/c.d", "spec.signerName: a",
			`spec.signerName: Invalid value: "a": must be a fully qualified domain and path of the ` +
				"form 'example.com/signer-name'"},
		{"a signer has one slash", "spec.signerName: a.b/c.d", "spec.signerName: a.b/c/d",
			`spec.signerName: Invalid value: "a.b/c/d": must be a fully qualified domain and path of ` +
				"the form 'example.com/signer-name'"},
		{"the domain of a signer has two labels", "spec.signerName: a.b/c", "spec.signerName: a/c",
			`spec.signerName: Invalid value: "a": should be a domain with at least two segments ` +
				"separated by dots"},
		{"the labels of a domain are DNS labels", "spec.signerName: a.b/c", "spec.signerName: a.B_/c",
			`spec.signerName: Invalid value: "a.B_": validating label "B_": a lowercase RFC 1123 ` +
				"label must consist of lower case alphanumeric characters or '-', and must start and end " +
				"with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for " +
				"validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"the domain of a signer is short", "spec.signerName: a.b/c",
			"spec.signerName: " + strings.Repeat("a.", 126) + "aa/c",
			"spec.signerName: Too long: may not be more than 253 bytes"},
		{"the path of a signer is a subdomain", "spec.signerName: a.b/c-d", "spec.signerName: a.b/c_d",
			`spec.signerName: Invalid value: "c_d": validating label "c_d": a lowercase RFC 1123 ` +
				"subdomain must consist of lower case alphanumeric characters, '-' or '.', and must " +
				"start and end with an alphanumeric character (e.g. 'example.com', regex used for " +
				`validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"a signer is not the legacy one", "spec.signerName: kubernetes.io/kubelet-serving",
			"spec.signerName: kubernetes.io/legacy-unknown",
			`spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName ` +
				"is not allowed via this API version"},
		{"a certificate lasts ten minutes", "spec.expirationSeconds: 600", "spec.expirationSeconds: 599",
			"spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 " +
				"seconds (10 minutes)"},
	})
}

func TestSigningRequestUpdateRules(t *testing.T) {
	kindtest.New(t, "certificatesigningrequests.v1.certificates.k8s.io", signingRequest).Update(kindtest.Rules{
		{"the conditions stay", "metadata.labels: {a: b}", "metadata.labels: {a: b c}",
			`metadata.labels: Invalid value: "b c": a valid label must be an empty string or consist ` +
				"of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
				"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
	})
}

func TestSigningRequestStatusRules(t *testing.T) {
	kindtest.New(t, "certificatesigningrequests.v1.certificates.k8s.io", signingRequest).UpdateStatus(kindtest.Rules{
		{"a condition has a type", `status.conditions: [{type: A, status: "True"}]`,
			`status.conditions: [{status: "True"}]`, "status.conditions[0].type: Required value"},
		{"a status of a condition is known", "status.conditions: [{type: A, status: Unknown}]",
			"status.conditions: [{type: A, status: Maybe}]",
			`status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", ` +
				`"True", "Unknown"`},
		{"a status of a condition is required", "status.conditions: [{type: A, status: Unknown}]",
			"status.conditions: [{type: A}]", "status.conditions[0].status: Required value"},
		{"a failure is true", `status.conditions: [{type: Failed, status: "True"}]`,
			`status.conditions: [{type: Failed, status: "False"}]`,
			`status.conditions[0].status: Unsupported value: "False": supported values: "True"`},
		{"types of conditions differ", `status.conditions: [{type: A, status: "True"}, {type: B, status: "True"}]`,
			`status.conditions: [{type: A, status: "True"}, {type: A, status: "True"}]`,
			`status.conditions[1].type: Duplicate value: "A"`},
		{"the status does not approve", `status.conditions: [{type: Failed, status: "True"}]`,
			`status.conditions: [{type: Approved, status: "True"}]`,
			`status.conditions: Forbidden: updates may not add a condition of type "Approved"`},
		{"the status does not deny", `status.conditions: [{type: Failed, status: "True"}]`,
			`status.conditions: [{type: Denied, status: "True"}]`,
			`status.conditions: Forbidden: updates may not add a condition of type "Denied"`},
		{"a certificate is PEM", "status.certificate: " + encoded([]byte(authority("a"))), "status.certificate: YQ==",
			`status.certificate: Invalid value: "<certificate data>": must contain at least one ` +
				"CERTIFICATE PEM block"},
		{"a certificate is no request", "status.certificate: " + encoded([]byte(authority("a")+authority("b"))),
			"status.certificate: " + pemRequest(edwardsKey),
			`status.certificate: Invalid value: "<certificate data>": only CERTIFICATE PEM blocks ` +
				`are allowed, found "CERTIFICATE REQUEST"`},
		{"a certificate has no headers", "status.certificate: " + encoded([]byte(authority("a"))),
			"status.certificate: " +
				encoded([]byte(strings.Replace(authority("a"), "-----\n", "-----\na: b\n\n", 1))),
			`status.certificate: Invalid value: "<certificate data>": no PEM block headers are permitted`},
		{"a certificate parses", "status.certificate: " + encoded([]byte(authority("a"))),
			"status.certificate: " + encoded([]byte(pemBlock("CERTIFICATE", []byte("a")))),
			`status.certificate: Invalid value: "<certificate data>": x509: malformed certificate`},
		{"a block has a certificate", "status.certificate: " + encoded([]byte(authority("a"))),
			"status.certificate: " + encoded([]byte(pemBlock("CERTIFICATE", nil))),
			`status.certificate: Invalid value: "<certificate data>": found CERTIFICATE PEM block ` +
				"containing 0 certificates"},
	})
}

func TestIssuedRequestStatusRules(t *testing.T) {
	k := kindtest.New(t, "certificatesigningrequests.v1.certificates.k8s.io", signingRequest).With(
		"status: {certificate: " + encoded([]byte(authority("a"))) +
			`, conditions: [{type: Failed, status: "True"}]}`)
	k.UpdateStatus(kindtest.Rules{
		{"a certificate is not replaced", "status.conditions[0].reason: R",
			"status.certificate: " + encoded([]byte(authority("b"))),
			"status.certificate: Forbidden: updates may not modify existing certificate content"},
		{"a failure is not removed", "status.conditions[0].reason: R", "status.conditions: []",
			`status.conditions: Forbidden: updates may not remove a condition of type "Failed"`},
	})
}

func TestSigningRequestPartRules(t *testing.T) {
	k := kindtest.New(t, "certificatesigningrequests.v1.certificates.k8s.io", signingRequest)
	k.UpdatePart("approval", kindtest.Rules{
		{"an approval is true", `status.conditions: [{type: Approved, status: "True"}]`,
			`status.conditions: [{type: Approved, status: "False"}]`,
			`status.conditions[0].status: Unsupported value: "False": supported values: "True"`},
		{"a request is approved or denied", `status.conditions: [{type: Denied, status: "True"}]`,
			`status.conditions: [{type: Denied, status: "True"}, {type: Approved, status: "True"}]`,
			`status.conditions: Invalid value: "{conditions[{\"type\": \"Approved\"}], ` +
				"conditions[{\\\"type\\\": \\\"Denied\\\"}]}\": must specify at most one of: `conditions[{\"typ" +
				"e\": \"Approved\"}]`, `conditions[{\"type\": \"Denied\"}]`"},
		{"types of conditions differ", `status.conditions: [{type: Approved, status: "True"}]`,
			`status.conditions: [{type: Approved, status: "True"}, {type: Approved, status: "True"}]`,
			`status.conditions[1].type: Duplicate value: "Approved"`},
	})
}

func TestSigningRequestUpdated(t *testing.T) {
	kindtest.New(t, "certificatesigningrequests.v1.certificates.k8s.io", signingRequest).Updated(kindtest.Cases{
		{"the spec is immutable", "spec.signerName: x.y/z; spec.usages: [any]",
			`spec.signerName: a.b/c; spec.usages: ["client auth"]`},
	})
}

func TestSigningRequestPartUpdated(t *testing.T) {
	k := kindtest.New(t, "certificatesigningrequests.v1.certificates.k8s.io", signingRequest)
	k.PartUpdated("approval", kindtest.Cases{
		{"an approval has times",
			`status.conditions: [{type: Approved, status: "True", lastUpdateTime: ` +
				`"2026-05-04T11:00:00Z", lastTransitionTime: "2026-05-04T11:00:00Z"}]`,
			"status.conditions[0].type: Approved; status.conditions[0].lastUpdateTime: 2026-05-04T11:00:00Z"},
		{"the certificate and the spec are left alone", "spec.signerName: x.y/z; status.certificate: YQ==",
			"spec.signerName: a.b/c; status: {}"},
	})
}

func TestSigningRequestStatusUpdated(t *testing.T) {
	kindtest.New(t, "certificatesigningrequests.v1.certificates.k8s.io", signingRequest).StatusUpdated(kindtest.Cases{
		{"the spec is left alone",
			`spec.signerName: x.y/z; status.conditions: [{type: A, status: "True", lastUpdateTime: ` +
				`"2026-05-04T11:00:00Z", lastTransitionTime: "2026-05-04T11:00:00Z"}]`,
			"spec.signerName: a.b/c; status.conditions[0].type: A"},
	})
}

func TestApprovedStatusUpdated(t *testing.T) {
	k := kindtest.New(t, "certificatesigningrequests.v1.certificates.k8s.io", signingRequest).With(
		`status.conditions: [{type: Approved, status: "True", reason: R, lastUpdateTime: ` +
			`"2026-05-04T11:00:00Z", lastTransitionTime: "2026-05-04T11:00:00Z"}]`)
	k.StatusUpdated(kindtest.Cases{
		{"an approval stays", "status.conditions[0].reason: S", "status.conditions[0].reason: R"},
	})
}

func TestStoredDuplicateUpdated(t *testing.T) {
	k := kindtest.New(t, "certificatesigningrequests.v1.certificates.k8s.io", signingRequest).With(
		`status.conditions: [{type: A, status: "True"}, {type: A, status: "True"}]`)
	k.Updated(kindtest.Cases{
		{"a stored duplicate is no error", "metadata.labels: {a: b}", "status.conditions[1].type: A"},
	})
}

func TestStoredUntypedUpdated(t *testing.T) {
	k := kindtest.New(t, "certificatesigningrequests.v1.certificates.k8s.io", signingRequest).With(
		`status.conditions: [{type: "", status: "True"}]`)
	k.Updated(kindtest.Cases{
		{"a stored condition without a type is no error", "metadata.labels: {a: b}",
			`status.conditions[0].status: "True"`},
	})
}

func TestStoredContradictionUpdated(t *testing.T) {
	k := kindtest.New(t, "certificatesigningrequests.v1.certificates.k8s.io", signingRequest).With(
		`status.conditions: [{type: Approved, status: "True"}, {type: Denied, status: "True"}]`)
	k.Updated(kindtest.Cases{
		{"a stored contradiction is no error", "metadata.labels: {a: b}", "status.conditions[1].type: Denied"},
	})
}

func TestSigningRequestColumns(t *testing.T) {
	k := kindtest.New(t, "certificatesigningrequests.v1.certificates.k8s.io", signingRequest)
	k.Columns("Name|Age|SignerName|Requestor|RequestedDuration|Condition", kindtest.Cases{
		{"pending", "", "x|60m|a.b/c||<none>|Pending"},
		{"approved", `spec.expirationSeconds: 7200; status.conditions: [{type: Approved, status: "True"}]`,
			"x|60m|a.b/c||120m|Approved"},
		{"issued",
			`status: {conditions: [{type: Approved, status: "True"}], certificate: ` +
				encoded([]byte(authority("a"))) + "}", "x|60m|a.b/c||<none>|Approved,Issued"},
		{"denied", `status.conditions: [{type: Denied, status: "True"}]`, "x|60m|a.b/c||<none>|Denied"},
		{"failed", `status.conditions: [{type: Failed, status: "True"}]`, "x|60m|a.b/c||<none>|Pending,Failed"},
		{"approved and denied",
			`status.conditions: [{type: Approved, status: "True"}, {type: Denied, status: "True"}]`,
			"x|60m|a.b/c||<none>|Denied"},
	})
}

func TestSigningRequestSelectableFields(t *testing.T) {
	kindtest.New(t, "certificatesigningrequests.v1.certificates.k8s.io", signingRequest).Selectable(kindtest.Cases{
		{"signer", "", "spec.signerName=a.b/c"},
	})
}

// requester is a user with all attributes.
var requester = kindtest.Writer{User: &request.User{
	Name: "a", UID: "1", Groups: []string{"g"}, Extra: map[string][]string{"k": {"v"}},
}}

func TestRequesterOfNewRequest(t *testing.T) {
	k := kindtest.New(t, "certificatesigningrequests.v1.certificates.k8s.io", signingRequest).
		By(requester)
	k.Created(kindtest.Cases{
		{"the requester is the user", "spec.username: somebody; spec.groups: [h]",
			`spec.username: a; spec.uid: "1"; spec.groups: ["g"]; spec.extra: {"k":["v"]}`},
	})
}

var signingRequestV1beta1 = "spec: {request: " + pemRequest(edwardsKey) + ", signerName: a.b/c}"

func TestSigningRequestV1beta1InV1(t *testing.T) {
	k := kindtest.New(t, "certificatesigningrequests.v1beta1.certificates.k8s.io", signingRequestV1beta1)
	k.Converted("v1", kindtest.Cases{
		{"usages have a default", "",
			`spec.signerName: a.b/c; spec.usages: ["digital signature","key encipherment"]`},
		{"usages of the client", "spec.usages: [any]", `spec.usages: ["any"]`},
	})
}
