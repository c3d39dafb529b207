package kinds

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
)

// kindNamed returns the kind whose objects have a resource name.
func kindNamed(t *testing.T, name string) *api.Resource {
	t.Helper()
	for _, r := range All() {
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
		"mutatingwebhookconfigurations": true, "apiservices": true, "customresourcedefinitions": true, "configmaps": false, "ingresses": false, "storageclasses": false,
	} {
		r := kindNamed(t, name)
		old, obj := ruleObject(t, r, `{}`), ruleObject(t, r, `{}`)
		obj.SetFinalizers([]string{"a"})
		refused := false
		for _, err := range checkUpdate(r, nil, obj, old) {
			refused = refused || err.Field == "metadata.finalizers[0]"
		}
		if r.Status != nil {
			for _, err := range checkStatus(r, nil, obj, old) {
				refused = refused || err.Field == "metadata.finalizers[0]"
			}
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
		for _, err := range checkUpdate(r, &r.Versions[0], obj, old) {
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
		prepareStatus(r, obj, old)
		if len(obj.GetLabels())+len(obj.GetFinalizers()) > 0 || obj.GetDeletionTimestamp() != nil {
			t.Errorf("%s: a status update changed the metadata to %v, %v, %v", name, obj.GetLabels(), obj.GetFinalizers(), obj.GetDeletionTimestamp())
		}
		if !slices.Contains(r.Reset["status"], "metadata") {
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
		if got := changesGeneration(r, ruleObject(t, r, c.updated), ruleObject(t, r, c.old)); got != c.want {
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
			`[spec.parentRef.name: Required value, metadata.name: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff), ` +
				`spec.parentRef: Invalid value: null: field is immutable]`},
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

// TestRulesOfNewObjects has rules that a comparison of random objects with kube-apiserver found.
func TestRulesOfNewObjects(t *testing.T) {
	const template = `"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}],"restartPolicy":"%","volumes":[{"name":"v","image":{}}]}}`
	always, never := strings.Replace(template, "%", "Always", 1), strings.Replace(template, "%", "Never", 1)
	for _, c := range []struct{ name, kind, text, want string }{
		{"image of a Deployment", "deployments", `{"spec":{"selector":{"matchLabels":{"a":"b"}},` + always + `}}`, "spec.template.spec.volumes[0].image.reference: Required value"},
		{"image of a CronJob", "cronjobs", `{"spec":{"schedule":"0 * * * *","jobTemplate":{"spec":{` + never + `}}}}`, "spec.jobTemplate.spec.template.spec.volumes[0].image.reference: Required value"},
		{"metadata of a budget", "poddisruptionbudgets", `{"metadata":{"labels":{"a b":""}},"spec":{"minAvailable":1}}`, "metadata.labels: Invalid value"},
		{"rules of a budget come first", "poddisruptionbudgets", `{"metadata":{"labels":{"a b":""}},"spec":{"minAvailable":-1}}`, "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"},
		{"huge pages of a runtime", "runtimeclasses", `{"handler":"h","overhead":{"podFixed":{"hugepages-2Mi":"1Mi"}}}`,
			"[overhead.limits[hugepages-2Mi]: Invalid value: \"1Mi\": 1Mi is not positive integer multiple of hugepages-2Mi, overhead: Forbidden: HugePages require cpu or memory]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			errs := checkWrite(t, kindNamed(t, c.kind), "", c.text)
			if len(errs) != 1 && c.kind != "runtimeclasses" {
				t.Errorf("%d errors: %v", len(errs), errs)
			}
			wantFaults(t, errs, c.want)
		})
	}
}

// TestDefaultFailurePolicyOfCronJob checks the default of a condition in the template of jobs.
func TestDefaultFailurePolicyOfCronJob(t *testing.T) {
	const text = `{"spec":{"schedule":"0 * * * *","jobTemplate":{"spec":{"podFailurePolicy":{"rules":[{"action":"Ignore","onPodConditions":[{"type":"A"}]}]},
		"template":{"spec":{"containers":[{"name":"c","image":"i"}],"restartPolicy":"Never"}}}}}}`
	if errs := checkWrite(t, kindNamed(t, "cronjobs"), "", text); len(errs) > 0 {
		t.Error(errs)
	}
}

// TestIdentityOfPods checks what subresources of a pod take from the identity in a request.
func TestIdentityOfPods(t *testing.T) {
	r := kindNamed(t, "pods")
	old := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "a"}}
	for _, name := range []string{"ephemeralcontainers", "resize"} {
		pod := old.DeepCopy()
		pod.UID, pod.Labels = "b", map[string]string{"a": "b"}
		prepareField(r, name, pod, old)
		if pod.UID != "b" || len(pod.Labels) > 0 {
			t.Errorf("%s: UID %q and labels %v", name, pod.UID, pod.Labels)
		}
	}
	pod := old.DeepCopy()
	pod.DeletionTimestamp = &metav1.Time{}
	if prepareStatus(r, pod, old); pod.DeletionTimestamp != nil {
		t.Error("a write of the status sets the deletion timestamp")
	}
}

// TestInternalTrafficPolicyOfExternalName checks that a service without endpoints has no such policy.
func TestInternalTrafficPolicyOfExternalName(t *testing.T) {
	r := kindNamed(t, "services")
	for policy, want := range map[corev1.ServiceInternalTrafficPolicy]bool{corev1.ServiceInternalTrafficPolicyLocal: false, "Other": true} {
		s := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "a.b", InternalTrafficPolicy: &policy}}
		if prepare(r, s, nil); (s.Spec.InternalTrafficPolicy != nil) != want {
			t.Errorf("%s: %v", policy, s.Spec.InternalTrafficPolicy)
		}
	}
}

// TestStoredFinalizers checks for which kinds an update of the status accepts any stored finalizer.
func TestStoredFinalizers(t *testing.T) {
	for name, want := range map[string]bool{
		"cronjobs": true, "flowschemas": true, "prioritylevelconfigurations": true, "jobs": false, "deployments": false,
	} {
		r := kindNamed(t, name)
		old := ruleObject(t, r, `{}`)
		old.SetFinalizers([]string{"a"})
		obj := old.DeepCopyObject().(api.Object)
		obj.SetLabels(map[string]string{"a": "b"})
		refused := false
		for _, err := range checkStatus(r, &r.Versions[0], obj, old) {
			refused = refused || err.Field == "metadata.finalizers[0]"
		}
		if refused == want {
			t.Errorf("%s: a stored finalizer without a domain is refused: %v", name, refused)
		}
	}
}
