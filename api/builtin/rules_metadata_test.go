package builtin

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
)

// kindNamed returns the kind whose objects have a resource name.
func kindNamed(t *testing.T, name string) *api.Resource {
	t.Helper()
	for _, r := range Kinds() {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no kind %s", name)
	return nil
}

// TestUnqualifiedFinalizers checks which kinds accept finalizers without a domain.
func TestUnqualifiedFinalizers(t *testing.T) {
	for name, want := range map[string]bool{
		"leases": true, "leasecandidates": true, "poddisruptionbudgets": true, "runtimeclasses": true, "storageversions": false,
		"validatingadmissionpolicies": true, "mutatingadmissionpolicybindings": true, "validatingwebhookconfigurations": true,
		"mutatingwebhookconfigurations": true, "apiservices": true, "configmaps": false, "ingresses": false, "storageclasses": false,
	} {
		r := kindNamed(t, name)
		obj := ruleObject(t, r, `{}`)
		obj.SetFinalizers([]string{"a"})
		refused := false
		for _, err := range r.ValidateMetadata(obj) {
			refused = refused || err.Field == "metadata.finalizers[0]"
		}
		if refused == want {
			t.Errorf("%s: a finalizer without a domain is refused: %v", name, refused)
		}
	}
}

// TestGenerateNameOnUpdate checks of which kinds an update validates generateName by the
// format of names.
func TestGenerateNameOnUpdate(t *testing.T) {
	for _, c := range []struct {
		kind, generateName string
		refused            bool
	}{
		{"csinodes", "-x", true},
		{"csistoragecapacities", "-x", true},
		{"mutatingadmissionpolicies", "-x", true},
		{"mutatingwebhookconfigurations", "-x", true},
		{"prioritylevelconfigurations", "-x", true},
		{"runtimeclasses", "-x", true},
		{"storageclasses", "-x", true},
		{"validatingadmissionpolicybindings", "-x", true},
		{"volumeattachments", "-x", true},
		{"volumeattributesclasses", "-x", true},
		{"roles", "-x", false},
		{"roles", "..", true},
		{"clusterroles", ".", true},
		{"rolebindings", ".", true},
		{"clusterrolebindings", ".", true},
		{"leases", "-x", false},
		{"csidrivers", "-x", false},
	} {
		r := kindNamed(t, c.kind)
		old, obj := ruleObject(t, r, `{}`), ruleObject(t, r, `{}`)
		obj.SetGenerateName(c.generateName)
		refused := false
		for _, err := range r.CheckUpdate(&r.Versions[0], obj, old) {
			refused = refused || err.Field == "metadata.generateName"
		}
		if refused != c.refused {
			t.Errorf("%s with generateName %q: refused %v", c.kind, c.generateName, refused)
		}
	}
}

// TestStatusKeepsMetadata checks that a status update of some kinds cannot change metadata,
// and does not own its fields.
func TestStatusKeepsMetadata(t *testing.T) {
	for _, name := range []string{"csinodes", "servicecidrs", "prioritylevelconfigurations", "volumeattachments"} {
		r := kindNamed(t, name)
		old, obj := ruleObject(t, r, `{}`), ruleObject(t, r, `{}`)
		now := metav1.NewTime(time.Unix(1, 0))
		obj.SetLabels(map[string]string{"a": "b"})
		obj.SetFinalizers([]string{"a/b"})
		obj.SetDeletionTimestamp(&now)
		r.Status.PrepareForUpdate(obj, old)
		if len(obj.GetLabels())+len(obj.GetFinalizers()) > 0 || obj.GetDeletionTimestamp() != nil {
			t.Errorf("%s: a status update changed the metadata to %v, %v, %v", name, obj.GetLabels(), obj.GetFinalizers(), obj.GetDeletionTimestamp())
		}
		if !slices.Contains(r.Fields.Reset["status"], "metadata") {
			t.Errorf("%s: the status subresource owns metadata", name)
		}
	}
}

// TestGenerationOfEmptyValues checks for which kinds an empty list differs from a missing one.
func TestGenerationOfEmptyValues(t *testing.T) {
	const missing, empty = `{"spec":{"podSelector":{}}}`, `{"spec":{"podSelector":{"matchLabels":{}}}}`
	const hook, hookEmpty = `{"webhooks":[{"namespaceSelector":{}}]}`, `{"webhooks":[{"namespaceSelector":{"matchLabels":{}}}]}`
	for _, c := range []struct {
		kind, old, updated string
		want               bool
	}{
		{"networkpolicies", missing, missing, false},
		{"networkpolicies", missing, empty, true},
		{"mutatingwebhookconfigurations", hook, hookEmpty, true},
		{"validatingwebhookconfigurations", hook, hookEmpty, true},
		{"validatingwebhookconfigurations", hook, hook, false},
		{"poddisruptionbudgets", `{"spec":{"selector":{}}}`, `{"spec":{"selector":{"matchLabels":{}}}}`, false},
	} {
		r := kindNamed(t, c.kind)
		if got := r.IncrementsGeneration(ruleObject(t, r, c.updated), ruleObject(t, r, c.old)); got != c.want {
			t.Errorf("%s: %s to %s increments the generation: %v", c.kind, c.old, c.updated, got)
		}
	}
}

// TestRulesOnUpdate checks rules whose errors an update has beside those of immutable fields,
// in their order, and rules with empty values.
func TestRulesOnUpdate(t *testing.T) {
	const parent = `{"spec":{"parentRef":{"resource":"services","name":"s"}}}`
	testRules(t, kindNamed(t, "ipaddresses"), []ruleTest{
		{"parent", parent, `{"spec":{"parentRef":{"resource":"services"}}}`,
			`[spec.parentRef.name: Required value, spec.parentRef: Invalid value: {"Group":"","Resource":"services","Namespace":"","Name":""}: field is immutable]`},
	})
	testRules(t, kindNamed(t, "volumeattributesclasses"), []ruleTest{
		{"driver", `{"driverName":"d","parameters":{"a":"b"}}`, `{"parameters":{"a":"b"}}`,
			"[driverName: Forbidden: updates to driverName are forbidden., driverName: Required value]"},
	})
	testRules(t, kindNamed(t, "ingressclasses"), []ruleTest{
		{"empty namespace", "", `{"spec":{"controller":"a.b/c","parameters":{"kind":"K","name":"n","scope":"Namespace","namespace":""}}}`,
			`spec.parameters.namespace: Invalid value: "": a lowercase RFC 1123 label`},
		{"no namespace", "", `{"spec":{"controller":"a.b/c","parameters":{"kind":"K","name":"n","scope":"Namespace"}}}`,
			"spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"},
	})
	testStatusRules(t, kindNamed(t, "horizontalpodautoscalers"), []ruleTest{
		{"observed generation", `{}`, `{"status":{"conditions":[{"observedGeneration":-1},{"observedGeneration":0}]}}`,
			"status.conditions[0].observedGeneration: Invalid value: -1: must be greater than or equal to 0"},
	})
	testStatusRules(t, kindNamed(t, "volumeattachments"), []ruleTest{
		{"empty key", `{"spec":{"attacher":"a","source":{"persistentVolumeName":"p"},"nodeName":"n"}}`,
			`{"spec":{"attacher":"a","source":{"persistentVolumeName":"p"},"nodeName":"n"},"status":{"attachmentMetadata":{"":"a"}}}`, ""},
	})
}
