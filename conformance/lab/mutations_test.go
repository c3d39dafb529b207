package lab

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// mutation is a write, and a field that differs between what the client sent and what the server stored. The value is JSON; a value
// that ends with "..." is the beginning of the real one, and * is any.
type mutation struct {
	name string
	call
	object  string // as the field selector of Changes names it; %s is the name that the server chose
	path    string
	value   string // empty if the field was removed
	by      string
	manager string // of the Change, if it is not that of the user agent
}

// TestMutations checks that the Request of a write names each field that is stored otherwise than the client sent it, with the
// author, and that the Change of the revision names the fields, the user, the manager and the request.
func TestMutations(t *testing.T) {
	w := startLab(t)
	w.load("world.yaml")
	w.load("objects.yaml")
	w.load("mutated.yaml")
	for _, table := range [][]mutation{defaultMutations(), admissionMutations(), serverMutations(), patchMutations()} {
		for _, m := range table {
			t.Run(m.name, func(t *testing.T) { w.in(t).mutated(m) })
		}
	}
}

// mutated sends the write of a mutation, and checks its Request and its Change.
func (w *world) mutated(m mutation) {
	w.t.Helper()
	a := w.call(m.call)
	if a.code >= 300 {
		w.t.Fatalf("%s: %d %s", m.do, a.code, a.body)
	}
	req := w.request(a.id)
	if os.Getenv("SHOW") != "" {
		w.t.Logf("%s: %+v", m.name, req.Status.Changes)
	}
	if req.Status.Hidden != "" {
		w.t.Fatalf("hidden: %s", req.Status.Hidden)
	}
	checkChange(w.t, m, req.Status.Changes)
	if strings.Contains(m.do, "dryRun") || m.object == "" {
		return
	}
	stored := req.Status.Stored
	if stored == nil || stored.ResourceVersion == "" {
		w.t.Fatalf("stored %+v", stored)
	}
	object := m.object
	if strings.Contains(object, "%s") {
		object = fmt.Sprintf(object, req.Spec.ObjectName)
	}
	change := w.change(object, stored.ResourceVersion)
	manager := m.manager
	if manager == "" {
		manager = "tester"
	}
	if s := change.Spec; s.User != req.Spec.User || s.Manager != manager || s.Request != req.Name || s.Verb != req.Spec.Verb || s.Time == nil {
		w.t.Errorf("change by %q, manager %q, request %q, verb %q, at %v; want %q, %q, %q, %q", s.User, s.Manager, s.Request, s.Verb, s.Time,
			req.Spec.User, manager, req.Name, req.Spec.Verb)
	}
	if m.value == "" {
		return // nothing was stored of a field that was dropped
	}
	m.by = ""
	checkChange(w.t, m, change.Spec.Fields)
}

// change returns the Change of an object that made a revision.
func (w *world) change(object, revision string) *v1alpha1.Change {
	w.t.Helper()
	var list struct{ Items []v1alpha1.Change }
	eventually.Succeeds(w.t, "the change "+revision, func() error {
		a := w.do("GET "+changes+"?fieldSelector="+url.QueryEscape("object="+object), "")
		list.Items = nil
		if err := json.Unmarshal(a.body, &list); err != nil {
			w.t.Fatal(err)
		}
		for i := range list.Items {
			if list.Items[i].Spec.ResourceVersion == revision && list.Items[i].Spec.Request != "" {
				return nil
			}
		}
		return fmt.Errorf("%d changes of %s: %s", len(list.Items), object, a.body)
	})
	for i := range list.Items {
		if list.Items[i].Spec.ResourceVersion == revision {
			return &list.Items[i]
		}
	}
	return nil
}

// checkChange checks that one of the changes is that of the mutation.
func checkChange(t testing.TB, m mutation, list []v1alpha1.FieldChange) {
	t.Helper()
	for _, c := range list {
		if c.Path != m.path {
			// A created object may be one change of a whole part of it.
			if rest, ok := strings.CutPrefix(m.path, c.Path); !ok || m.value == "" || !has(c.After, rest, m.value) {
				continue
			}
		} else if !matches(c.After, m.value) {
			continue
		}
		if m.by == "" || c.By == m.by {
			return
		}
	}
	t.Errorf("no change of %s to %s by %q in %+v", m.path, m.value, m.by, list)
}

func matches(got, want string) bool {
	if beginning, ok := strings.CutSuffix(want, "..."); ok {
		return strings.HasPrefix(got, beginning)
	}
	return got == want || want == "*" && got != ""
}

// has reports whether JSON has a value at a path such as .a[0].b.
func has(text, path, want string) bool {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return false
	}
	path = strings.NewReplacer("[", ".", "]", "").Replace(path)
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "."), ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n >= len(v) {
				return false
			}
			value = v[n]
		default:
			return false
		}
	}
	got, err := json.Marshal(value)
	return err == nil && matches(string(got), want)
}

const (
	byDefault    = "default"
	byPruning    = "pruning"
	byServer     = "the server"
	byAllocation = "allocation"
	byPatch      = "the patch"
	byApply      = "the apply"
)

func post(resource, body string) call { return call{do: "POST " + resource, body: body} }

func named(body, name string) string { return strings.Replace(body, `"x"`, `"`+name+`"`, 1) }

// defaultMutations are defaults and dropped fields.
func defaultMutations() []mutation {
	const services, deployments = "/api/v1/namespaces/a/services", "/apis/apps/v1/namespaces/a/deployments"
	template := `"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	return []mutation{
		{name: "default of a pod", call: post(pods, pod("d1", "", "")), object: "pods/a/d1", path: "spec.restartPolicy", value: `"Always"`, by: byDefault},
		{name: "default in a list", call: post(pods, pod("d2", "", "")), object: "pods/a/d2", path: "spec.containers[0].imagePullPolicy", value: `"Always"`, by: byDefault},
		{name: "default of a deployment", call: post(deployments, `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},`+template+`}}`), object: "deployments.apps/a/d", path: "spec.replicas", value: `1`, by: byDefault},
		{name: "default in a template", call: post(deployments, `{"metadata":{"name":"e"},"spec":{"selector":{"matchLabels":{"a":"b"}},`+template+`}}`), object: "deployments.apps/a/e", path: "spec.template.spec.dnsPolicy", value: `"ClusterFirst"`, by: byDefault},
		{name: "default of a service", call: post(services, `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}}`), object: "services/a/s", path: "spec.type", value: `"ClusterIP"`, by: byDefault},
		{name: "default of a job", call: post("/apis/batch/v1/namespaces/a/jobs", `{"metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`), object: "jobs.batch/a/j", path: "spec.backoffLimit", value: `6`, by: byDefault},
		{name: "default of a cron job", call: post("/apis/batch/v1/namespaces/a/cronjobs", `{"metadata":{"name":"c"},"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}}}`), object: "cronjobs.batch/a/c", path: "spec.concurrencyPolicy", value: `"Allow"`, by: byDefault},
		{name: "default of a stateful set", call: post("/apis/apps/v1/namespaces/a/statefulsets", `{"metadata":{"name":"s"},"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},`+template+`}}`), object: "statefulsets.apps/a/s", path: "spec.podManagementPolicy", value: `"OrderedReady"`, by: byDefault},
		{name: "default of a claim", call: post("/api/v1/namespaces/a/persistentvolumeclaims", `{"metadata":{"name":"v"},"spec":{"storageClassName":"","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`), object: "persistentvolumeclaims/a/v", path: "spec.volumeMode", value: `"Filesystem"`, by: byDefault},
		{name: "default of a webhook", call: post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", `{"metadata":{"name":"w"},"webhooks":[{"name":"w.example.com","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1/"}}]}`), object: "validatingwebhookconfigurations.admissionregistration.k8s.io/w", path: "webhooks[0].failurePolicy", value: `"Fail"`, by: byDefault},
		{name: "default of a custom kind", call: post(widgets, named(widget(`"size":1`), "w1")), object: "widgets.example.com/a/w1", path: "spec.color", value: `"red"`, by: byDefault},
		{name: "unknown field", call: post(configs, config("u1", `"bogus":{"a":1}`)), object: "configmaps/a/u1", path: "metadata.bogus", by: byPruning},
		{name: "unknown field in a list", call: post(pods, pod("u2", "", `,"bogus":true`)), object: "pods/a/u2", path: "spec.containers[0].bogus", by: byPruning},
		{name: "unknown field of a custom kind", call: post(widgets, named(widget(`"size":1,"bogus":2`), "u3")), object: "widgets.example.com/a/u3", path: "spec.bogus", by: byPruning},
		{name: "unknown field of a dry run", call: post(configs+dry, config("u4", `"bogus":1`)), path: "metadata.bogus", by: byPruning},
	}
}

// admissionMutations are those of plugins, webhooks and policies.
func admissionMutations() []mutation {
	newPod := func(namespace, name, spec, container string) call {
		return post("/api/v1/namespaces/"+namespace+"/pods", pod(name, spec, container))
	}
	create := func(name, labels string) call { return post(configs, named(labelled(labels, ""), name)) }
	return []mutation{
		{name: "ServiceAccount", call: newPod("a", "m1", "", ""), object: "pods/a/m1", path: "spec.serviceAccountName", value: `"default"`, by: "ServiceAccount"},
		{name: "ServiceAccount: token", call: newPod("a", "m2", "", ""), object: "pods/a/m2", path: "spec.containers[0].volumeMounts", value: "*", by: "ServiceAccount"},
		{name: "DefaultTolerationSeconds", call: newPod("a", "m3", "", ""), object: "pods/a/m3", path: "spec.tolerations", value: "*", by: "DefaultTolerationSeconds"},
		{name: "Priority", call: newPod("a", "m4", `"priorityClassName":"urgent",`, ""), object: "pods/a/m4", path: "spec.priority", value: `1000`, by: "Priority"},
		{name: "LimitRanger", call: newPod("limited", "m5", "", ""), object: "pods/limited/m5", path: "spec.containers[0].resources.limits.memory", value: `"50Mi"`, by: "LimitRanger"},
		{name: "RuntimeClass", call: newPod("a", "m6", `"runtimeClassName":"vm",`, ""), object: "pods/a/m6", path: "spec.overhead", value: "*", by: "RuntimeClass"},
		{name: "DefaultStorageClass", call: post("/api/v1/namespaces/a/persistentvolumeclaims", `{"metadata":{"name":"m7"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`), object: "persistentvolumeclaims/a/m7", path: "spec.storageClassName", value: `"fast"`, by: "DefaultStorageClass"},
		{name: "StorageObjectInUseProtection", call: post("/api/v1/namespaces/a/persistentvolumeclaims", `{"metadata":{"name":"m8"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`), object: "persistentvolumeclaims/a/m8", path: "metadata.finalizers", value: `["kubernetes.io/pvc-protection"]`, by: "StorageObjectInUseProtection"},
		{name: "DefaultIngressClass", call: post("/apis/networking.k8s.io/v1/namespaces/a/ingresses", `{"metadata":{"name":"m9"},"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}}`), object: "ingresses.networking.k8s.io/a/m9", path: "spec.ingressClassName", value: `"web"`, by: "DefaultIngressClass"},
		{name: "TaintNodesByCondition", call: post("/api/v1/nodes", `{"metadata":{"name":"m10"}}`), object: "nodes/m10", path: "spec.taints", value: "*", by: "TaintNodesByCondition"},
		{name: "webhook", call: create("m11", `"edit":"patch"`), object: "configmaps/a/m11", path: "metadata.annotations", value: `{"hook":"was here"}`, by: "webhook edits/patch.example.com"},
		{name: "webhook of a dry run", call: post(configs+dry, labelled(`"edit":"patch"`, "")), path: "metadata.annotations", value: `{"hook":"was here"}`, by: "webhook edits/patch.example.com"},
		{name: "policy", call: create("m12", `"policy":"mutate"`), object: "configmaps/a/m12", path: "metadata.annotations", value: `{"by":"policy"}`, by: "policy labels/labels-binding"},
		{name: "webhook of a patch", call: call{do: "PATCH " + configs + "/patched merge", body: `{"metadata":{"labels":{"edit":"patch"}}}`}, object: "configmaps/a/patched", path: "metadata.annotations", value: `{"hook":"was here"}`, by: "webhook edits/patch.example.com"},
	}
}

// serverMutations are those of the server: metadata, allocation, resets.
func serverMutations() []mutation {
	const services, deployments = "/api/v1/namespaces/a/services", "/apis/apps/v1/namespaces/a/deployments"
	return []mutation{
		{name: "uid", call: post(configs, config("s1", "")), object: "configmaps/a/s1", path: "metadata.uid", value: "*", by: byServer},
		{name: "creation time", call: post(configs, config("s2", "")), object: "configmaps/a/s2", path: "metadata.creationTimestamp", value: "*", by: byServer},
		{name: "namespace of the path", call: post(configs, config("s3", "")), object: "configmaps/a/s3", path: "metadata.namespace", value: `"a"`, by: byServer},
		{name: "generated name", call: post(configs, `{"metadata":{"generateName":"s4-"}}`), object: "configmaps/a/%s", path: "metadata.name", value: `"s4-...`, by: byServer},
		{name: "generation of a new object", call: post(widgets, named(widget(`"size":1`), "s5")), object: "widgets.example.com/a/s5", path: "metadata.generation", value: "1", by: byServer},
		{name: "generation of a changed object", call: call{do: "PATCH " + widgets + "/w merge", body: `{"spec":{"size":2}}`}, object: "widgets.example.com/a/w", path: "metadata.generation", value: "2", by: byServer},
		{name: "uid that the client sent", call: post(configs, config("s6", `"uid":"mine"`)), object: "configmaps/a/s6", path: "metadata.uid", value: "*", by: byServer},
		{name: "cluster IP", call: post(services, `{"metadata":{"name":"s7"},"spec":{"ports":[{"port":80}]}}`), object: "services/a/s7", path: "spec.clusterIP", value: `"10.96....`, by: byAllocation},
		{name: "node port", call: post(services, `{"metadata":{"name":"s8"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`), object: "services/a/s8", path: "spec.ports[0].nodePort", value: "3...", by: byAllocation},
		{name: "status in a create", call: post(pods, strings.Replace(pod("s9", "", ""), `"spec":`, `"status":{"phase":"Failed"},"spec":`, 1)), object: "pods/a/s9", path: "status.phase", value: `"Pending"`, by: byServer},
		{name: "status in a create of a custom kind", call: post(widgets, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"s10"},"spec":{"size":1},"status":{"note":"n"}}`), object: "widgets.example.com/a/s10", path: "status", by: byServer},
		{name: "status in a patch of the object", call: call{do: "PATCH " + deployments + "/web merge", body: `{"metadata":{"labels":{"a":"b"}},"status":{"replicas":7}}`}, object: "deployments.apps/a/web", path: "status", by: byServer},
		{name: "spec in a patch of the status", call: call{do: "PATCH " + deployments + "/web/status merge", body: `{"spec":{"replicas":9},"status":{"replicas":3}}`}, path: "spec.replicas", value: "1", by: byServer},
		{name: "quality of service", call: post(pods, pod("s11", "", "")), object: "pods/a/s11", path: "status.qosClass", value: `"BestEffort"`, by: byServer},
		{name: "finalizer of a namespace", call: post("/api/v1/namespaces", `{"metadata":{"name":"s12"}}`), object: "namespaces/s12", path: "spec.finalizers", value: `["kubernetes"]`, by: byServer},
		{name: "label of a namespace", call: post("/api/v1/namespaces", `{"metadata":{"name":"s13"}}`), object: "namespaces/s13", path: "metadata.labels", value: `{"kubernetes.io/metadata.name":"s13"}`, by: byDefault},
	}
}

// patchMutations are those of patches, applies and scales.
func patchMutations() []mutation {
	const deployments = "/apis/apps/v1/namespaces/a/deployments"
	patch := func(path, kind, body string) call { return call{do: "PATCH " + path + " " + kind, body: body} }
	return []mutation{
		{name: "JSON patch", call: patch(configs+"/one", "json", `[{"op":"replace","path":"/data/k","value":"json"}]`), object: "configmaps/a/one", path: "data.k", value: `"json"`, by: byPatch},
		{name: "JSON patch that removes", call: patch(configs+"/two", "json", `[{"op":"remove","path":"/data/k"}]`), object: "configmaps/a/two", path: "data.k", by: byPatch},
		{name: "merge patch", call: patch(configs+"/one", "merge", `{"data":{"k":"merge"}}`), object: "configmaps/a/one", path: "data.k", value: `"merge"`, by: byPatch},
		{name: "strategic patch", call: patch(deployments+"/web", "smp", `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"j"}]}}}}`), object: "deployments.apps/a/web", path: "spec.template.spec.containers[0].image", value: `"j"`, by: byPatch},
		{name: "patch with a manager", call: patch(configs+"/one?fieldManager=me", "merge", `{"data":{"k":"me"}}`), object: "configmaps/a/one", path: "data.k", value: `"me"`, by: byPatch, manager: "me"},
		{name: "apply", call: patch(configs+"/one?fieldManager=applier&force=true", "apply", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"data":{"k":"apply"}}`), object: "configmaps/a/one", path: "data.k", value: `"apply"`, by: byApply, manager: "applier"},
		{name: "apply that removes", call: patch(configs+"/one?fieldManager=applier", "apply", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"data":{"l":"new"}}`), object: "configmaps/a/one", path: "data.l", value: `"new"`, by: byApply, manager: "applier"},
		{name: "apply that creates", call: patch(configs+"/new?fieldManager=applier", "apply", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"new"}}`), object: "configmaps/a/new", path: "metadata.uid", value: "*", by: byServer, manager: "applier"},
		{name: "apply of a custom kind", call: patch(widgets+"/w?fieldManager=applier&force=true", "apply", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":3}}`), object: "widgets.example.com/a/w", path: "spec.size", value: "3", by: byApply, manager: "applier"},
		{name: "scale", call: call{do: "PUT " + deployments + "/web/scale", body: `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"web","namespace":"a"},"spec":{"replicas":4}}`}, object: "deployments.apps/a/web", path: "spec.replicas", value: "4", by: "the subresource", manager: "tester/scale"},
		{name: "patch of a scale", call: patch(deployments+"/web/scale", "merge", `{"spec":{"replicas":5}}`), object: "deployments.apps/a/web", path: "spec.replicas", value: "5", by: "the subresource", manager: "tester/scale"},
		{name: "scale of a custom kind", call: patch(widgets+"/w/scale", "merge", `{"spec":{"replicas":6}}`), object: "widgets.example.com/a/w", path: "spec.replicas", value: "6", by: "the subresource", manager: "tester/scale"},
		{name: "patch of the status", call: patch(widgets+"/w/status", "merge", `{"status":{"note":"n"}}`), object: "widgets.example.com/a/w", path: "status", value: `{"note":"n"}`, by: byPatch, manager: "tester/status"},
	}
}
