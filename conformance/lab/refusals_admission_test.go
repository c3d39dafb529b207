package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// admissionRefusals are those of plugins, webhooks and policies.
func admissionRefusals(t *testing.T) []refusal {
	plugin := func(name string) because { return because{by: v1alpha1.CauseAdmissionPlugin, name: name} }
	hook := func(name string) because { return because{by: v1alpha1.CauseAdmissionWebhook, name: name} }
	policy := func(name, expression string, variables map[string]string) because {
		return because{by: v1alpha1.CauseAdmissionPolicy, name: name, expression: expression, variables: variables}
	}
	create := func(labels, data string) call { return call{do: "POST " + configs + dry, body: labelled(labels, data)} }
	newPod := func(namespace, spec, container string) call {
		return call{do: "POST /api/v1/namespaces/" + namespace + "/pods" + dry, body: pod("x", spec, container)}
	}
	withExpression := func(b because, expression string) because {
		b.expression = expression
		return b
	}
	forbidden := func(b because, field string) because {
		b.fields = []string{field}
		return b
	}
	return []refusal{
		{"namespace that ends", call{do: "POST /api/v1/namespaces/ending/configmaps", body: config("x", "")}, 403, forbidden(plugin("NamespaceLifecycle"), "metadata.namespace")},
		{"namespace that is missing", call{do: "POST /api/v1/namespaces/none/configmaps", body: config("x", "")}, 404, plugin("NamespaceLifecycle")},
		{"namespace that must stay", call{do: "DELETE /api/v1/namespaces/kube-system"}, 403, plugin("NamespaceLifecycle")},
		{"LimitRanger", newPod("limited", "", `,"resources":{"limits":{"memory":"1Gi"}}`), 403, plugin("LimitRanger")},
		{"ResourceQuota", call{do: "POST /api/v1/namespaces/full/services", body: `{"metadata":{"name":"x"},"spec":{"ports":[{"port":80}]}}`}, 403, plugin("ResourceQuota")},
		{"ResourceQuota of a dry run", call{do: "POST /api/v1/namespaces/full/services" + dry, body: `{"metadata":{"name":"x"},"spec":{"ports":[{"port":80}]}}`}, 403, plugin("ResourceQuota")},
		{"ServiceAccount", newPod("a", `"serviceAccountName":"none",`, ""), 403, plugin("ServiceAccount")},
		{"Priority", newPod("a", `"priorityClassName":"none",`, ""), 403, plugin("Priority")},
		{"Priority that a class forbids", newPod("a", `"priorityClassName":"urgent","priority":3,`, ""), 403, plugin("Priority")},
		{"RuntimeClass", newPod("a", `"runtimeClassName":"none",`, ""), 403, plugin("RuntimeClass")},
		{"PodSecurity", newPod("restricted", `"hostNetwork":true,`, ""), 403, plugin("PodSecurity")},
		{"PersistentVolumeClaimResize", call{do: "PATCH /api/v1/namespaces/a/persistentvolumeclaims/claim merge", body: `{"spec":{"resources":{"requests":{"storage":"5Gi"}}}}`}, 403, plugin("PersistentVolumeClaimResize")},
		{"CertificateSubjectRestriction", call{do: "POST /apis/certificates.k8s.io/v1/certificatesigningrequests", body: signingRequest(t, "system:masters")}, 403, plugin("CertificateSubjectRestriction")},
		{"validating webhook", create(`"check":"refuse"`, ""), 403, hook("checks/refuse.example.com")},
		{"validating webhook that is too slow", create(`"check":"slow"`, ""), 500, hook("checks/slow.example.com")},
		{"validating webhook that fails", create(`"check":"fail"`, ""), 500, hook("checks/fail.example.com")},
		{"validating webhook that is not there", create(`"check":"gone"`, ""), 500, hook("checks/gone.example.com")},
		{"condition of a webhook", create(`"check":"condition"`, `"a":"b"`), 403, withExpression(hook("checks/condition.example.com"), "object.data.none == 'x'")},
		{"mutating webhook", create(`"edit":"refuse"`, ""), 403, hook("edits/refuse.example.com")},
		{"mutating webhook with a patch that fails", create(`"edit":"broken"`, ""), 500, hook("edits/broken.example.com")},
		{"mutating webhook that is not there", create(`"edit":"gone"`, ""), 500, hook("edits/gone.example.com")},
		{"webhook of a patch", call{do: "PATCH " + configs + "/one merge", body: `{"metadata":{"labels":{"check":"refuse"}}}`}, 403, hook("checks/refuse.example.com")},
		{"apply without a manager", call{do: "PATCH " + configs + "/x apply", body: labelled("", "")}, 422, because{by: v1alpha1.CauseValidation, fields: []string{"fieldManager"}}},
		{"webhook of an apply", call{do: "PATCH " + configs + "/x?fieldManager=m apply", body: labelled(`"check":"refuse"`, "")}, 403, hook("checks/refuse.example.com")},
		{"webhook of a delete", call{do: "DELETE " + configs + "/kept"}, 403, hook("checks/delete.example.com")},
		{"policy", create(`"policy":"size"`, `"a":"1","b":"2"`), 422, policy("size/size-binding", "variables.size <= variables.limit", map[string]string{"size": "2", "limit": "1"})},
		{"policy with a message", create(`"policy":"size"`, `"secret":"1"`), 403, policy("size/size-binding", "variables.size != 1 || !('secret' in object.data)", map[string]string{"size": "1"})},
		{"policy whose expression fails", create(`"policy":"broken"`, `"a":"1"`), 422, policy("broken/broken-binding", "object.data['none'] == 'x'", nil)},
		{"policy without its parameters", create(`"policy":"params","params":"missing"`, ""), 422, policy("params/params-missing", "", nil)},
		{"policy with parameters", create(`"policy":"params","params":"there"`, ""), 422, policy("params/params-there", "params.data.k == 'never'", nil)},
		{"mutating policy whose expression fails", create(`"policy":"mutate-broken"`, `"a":"1"`), 403, policy("mutate-broken/mutate-broken-binding", "Object{metadata: Object.metadata{annotations: {'by': object.data['none']}}}", nil)},
	}
}

// storageRefusals are those of conflicts, preconditions and the store.
func storageRefusals() []refusal {
	conflict, precondition, missing := because{by: v1alpha1.CauseConflict}, because{by: v1alpha1.CausePrecondition}, because{by: v1alpha1.CauseStorage}
	return []refusal{
		{"not found", call{do: "GET " + configs + "/none"}, 404, missing},
		{"not found by a delete", call{do: "DELETE " + configs + "/none"}, 404, missing},
		{"not found by a put with a uid", call{do: "PUT " + configs + "/none", body: config("none", `"uid":"u","resourceVersion":"1"`)}, 404, missing},
		{"not found by a patch", call{do: "PATCH " + configs + "/none merge", body: "{}"}, 404, missing},
		{"not found by a put of the status", call{do: "PUT " + pods + "/none/status", body: pod("none", "", "")}, 404, missing},
		{"already exists", call{do: "POST " + configs, body: config("one", "")}, 409, missing},
		{"already exists, dry run", call{do: "POST " + configs + dry, body: config("one", "")}, 409, missing},
		{"resourceVersion", call{do: "PUT " + configs + "/one", body: config("one", `"resourceVersion":"1"`)}, 409, conflict},
		{"resourceVersion, dry run", call{do: "PUT " + configs + "/one" + dry, body: config("one", `"resourceVersion":"1"`)}, 409, conflict},
		{"resourceVersion of a patch", call{do: "PATCH " + configs + "/one merge", body: `{"metadata":{"resourceVersion":"1"},"data":{"k":"x"}}`}, 409, conflict},
		{"resourceVersion of a create", call{do: "POST " + configs, body: config("x", `"resourceVersion":"1"`)}, 500, because{by: v1alpha1.CauseValidation}},
		{"uid of a put", call{do: "PUT " + configs + "/one", body: config("one", `"uid":"other"`)}, 409, precondition},
		{"uid of a delete", call{do: "DELETE " + configs + "/one", body: `{"preconditions":{"uid":"other"}}`}, 409, precondition},
		{"resourceVersion of a delete", call{do: "DELETE " + configs + "/one", body: `{"preconditions":{"resourceVersion":"1"}}`}, 409, precondition},
		{"PUT without a resourceVersion", call{do: "PUT " + widgets + "/w", body: strings.Replace(widget(`"size":1`), `"x"`, `"w"`, 1)}, 422, invalid("metadata.resourceVersion")},
		{"apply conflict", call{do: "PATCH " + configs + "/applied?fieldManager=other apply", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied"},"data":{"k":"other"}}`}, 409,
			because{by: v1alpha1.CauseFieldManagement, fields: []string{".data.k"}}},
		{"apply conflict, dry run", call{do: "PATCH " + configs + "/applied?fieldManager=other&dryRun=All apply", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied"},"data":{"k":"other"}}`}, 409,
			because{by: v1alpha1.CauseFieldManagement, fields: []string{".data.k"}}},
		{"apply of another kind", call{do: "PATCH " + configs + "/one?fieldManager=m apply", body: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"one"}}`}, 400, because{by: v1alpha1.CauseDecoding}},
		{"apply of an unknown field", call{do: "PATCH " + configs + "/one?fieldManager=m apply", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"bogus":1}`}, 500, because{by: v1alpha1.CauseFieldManagement}},
		{"apply with managedFields", call{do: "PATCH " + configs + "/one?fieldManager=m apply", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one","managedFields":[{"manager":"m","operation":"Apply","apiVersion":"v1"}]}}`}, 400, because{by: v1alpha1.CauseDecoding}},
		{"apply of a list with two of a key", call{do: "PATCH " + widgets + "/w?fieldManager=m apply", body: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"items":[{"name":"a"},{"name":"a"}]}}`}, 500, because{by: v1alpha1.CauseFieldManagement}},
		{"managedFields", call{do: "PATCH " + configs + "/one merge", body: `{"metadata":{"managedFields":[{"operation":"Update","manager":"` + strings.Repeat("m", 200) + `","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{}}}]}}`}, 422, invalid("metadata.managedFields[0].manager")},
		{"eviction", call{do: "POST " + pods + "/guarded/eviction", body: `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"guarded"}}`}, 429, because{by: v1alpha1.CausePrecondition, fields: []string{""}}},
		{"eviction, dry run", call{do: "POST " + pods + "/guarded/eviction", body: `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"guarded"},"deleteOptions":{"dryRun":["All"]}}`}, 429, because{by: v1alpha1.CausePrecondition, fields: []string{""}}},
		{"clusterIP that is taken", call{do: "POST /api/v1/namespaces/a/services", body: `{"metadata":{"name":"x"},"spec":{"clusterIP":"10.96.0.77","ports":[{"port":80}]}}`}, 422, invalid("spec.clusterIPs")},
		{"nodePort that is taken", call{do: "POST /api/v1/namespaces/a/services", body: `{"metadata":{"name":"x"},"spec":{"type":"NodePort","ports":[{"port":80,"nodePort":30077}]}}`}, 422, invalid("spec.ports[0].nodePort")},
		{"list of the future", call{do: "GET " + configs + "?resourceVersion=999999999999"}, 504, because{by: v1alpha1.CauseStorage, fields: []string{""}}},
		{"object that is too large for etcd", call{do: "POST /apis/example.com/v1/namespaces/a/gadgets", body: `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"x"},"big":"` + strings.Repeat("x", 2<<20) + `"}`}, 500, missing},
		{"ConfigMap that is too large", call{do: "POST " + configs, body: labelled("", `"a":"`+strings.Repeat("x", 2<<20)+`"`)}, 422, invalid("[]")},
	}
}

// signingRequest is the body of a CertificateSigningRequest for an organization.
func signingRequest(t *testing.T, organization string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "x", Organization: []string{organization}}}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	text := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	return `{"metadata":{"name":"x"},"spec":{"signerName":"kubernetes.io/kube-apiserver-client","usages":["client auth"],"request":"` + text + `"}}`
}
