package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/miniapiserver/miniapiserver/server"
)

type mutator = func(*admissionregistrationv1.MutatingWebhook)

// reinvokeIfNeeded sets the reinvocation policy of a hook.
func reinvokeIfNeeded(w *admissionregistrationv1.MutatingWebhook) {
	w.ReinvocationPolicy = ptrTo(admissionregistrationv1.IfNeededReinvocationPolicy)
}

// configMapIn decodes the object of a request.
func configMapIn(t testing.TB, q *admissionv1.AdmissionRequest) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{}
	if err := json.Unmarshal(q.Object.Raw, cm); err != nil {
		t.Error(err)
	}
	return cm
}

// TestPatches checks the results and errors of patches.
func TestPatches(t *testing.T) {
	f := start(t, server.Options{})
	const internal = "500 InternalError: Internal error occurred: "
	for i, tt := range []struct{ name, patch, want, warning string }{
		{"add", `[{"op":"add","path":"/data","value":{"k":"v"}}]`, "ok map[k:v]", ""},
		{"nothing", `[]`, "ok map[]", ""},
		{"test fails", `[{"op":"test","path":"/kind","value":"Pod"}]`, internal + "testing value /kind failed: test failed", ""},
		{"missing", `[{"op":"remove","path":"/no"}]`, internal + "error in remove for path: '/no': Unable to remove nonexistent key: no: missing value", ""},
		{"no patch", `{}`, internal + `failed calling webhook "h.example.com": received undecodable patch in webhook response: json: cannot unmarshal object into Go value of type jsonpatch.Patch`, ""},
		{"of another type", `[{"op":"add","path":"/data","value":{"k":[1]}}]`, internal + "json: cannot unmarshal array into Go struct field ConfigMap.data of type string", ""},
		{"of another kind", `[{"op":"add","path":"/kind","value":"Pod"}]`, "500 : converting (v1.Pod) to (core.ConfigMap): unknown conversion", ""},
		{"of another kind, not stored", `[{"op":"add","path":"/apiVersion","value":"authentication.k8s.io/v1"},{"op":"add","path":"/kind","value":"TokenReview"}]`, "500 : converting (v1.TokenReview) to (core.ConfigMap): unknown conversion", ""},
		{"of another kind, undecodable", `[{"op":"add","path":"/kind","value":"Secret"},{"op":"add","path":"/data","value":{"k":"?"}}]`, internal + "illegal base64 data at input byte 0", ""},
		{"of an unknown kind", `[{"op":"add","path":"/kind","value":"Nope"}]`, internal + `no kind "Nope" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"`, ""},
		{"of an unknown version", `[{"op":"add","path":"/apiVersion","value":"v2"}]`, internal + `no kind "ConfigMap" is registered for version "v2" in scheme "pkg/runtime/scheme.go:111"`, ""},
		{"without a kind", `[{"op":"remove","path":"/kind"},{"op":"add","path":"/data","value":{"k":"v"}}]`, "ok map[k:v]", ""},
		{"without a kind and a version", `[{"op":"remove","path":"/kind"},{"op":"remove","path":"/apiVersion"},{"op":"add","path":"/data","value":{"k":"v"}}]`, "ok map[k:v]", ""},
		{"not valid", `[{"op":"add","path":"/data","value":{"/":"v"}}]`, `422 Invalid: ConfigMap "a" is invalid: data[/]: Invalid value: "/": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`, ""},
		{"of the namespace", `[{"op":"add","path":"/metadata/namespace","value":"default"}]`, "400 BadRequest: the namespace of the provided object does not match the namespace sent on the request", ""},
		{"of managedFields", `[{"op":"add","path":"/metadata/managedFields","value":[{"manager":"x","operation":"Magic"}]}]`, "ok map[]", ".metadata.managedFields was in an invalid state after admission"},
		{"of too many operations", "[" + strings.Repeat(`{"op":"test","path":"/kind","value":"ConfigMap"},`, 10000) + `{"op":"test","path":"/kind","value":"ConfigMap"}]`, internal + "the allowed maximum operations in a JSON patch is 10000, got 10001", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := f.subtest(t, fmt.Sprintf("patches-%d", i))
			f.mutating("h.example.com", f.serveReviews(func(q *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
				if q.Operation == admissionv1.Delete {
					return allow()
				}
				return patch("%s", tt.patch)
			}))
			cm, err := f.create("a", metav1.CreateOptions{})
			got := outcome(err)
			if err == nil {
				got += fmt.Sprintf(" %v", cm.Data)
			}
			if got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
			if w := fmt.Sprint(f.warnings.take()); !strings.Contains(w, tt.warning) || w != "[]" && tt.warning == "" {
				t.Errorf("warnings: %s", w)
			}
		})
	}
}

// TestPatchOfDeletion checks that a patch of a deletion is rejected.
func TestPatchOfDeletion(t *testing.T) {
	f := start(t, server.Options{})
	if _, err := f.create("a", metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.mutating("h.example.com", f.serveReviews(func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return patch(`[{"op":"add","path":"/data","value":{}}]`)
	}))
	err := f.client.CoreV1().ConfigMaps(f.ns).Delete(t.Context(), "a", metav1.DeleteOptions{})
	if got := outcome(err); got != `500 InternalError: Internal error occurred: admission webhook "h.example.com" attempted to modify the object, which is not supported for this operation` {
		t.Error(got)
	}
}

// TestPatchOfConnection checks that a hook can change the options of a connection.
func TestPatchOfConnection(t *testing.T) {
	f := start(t, server.Options{})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	if _, err := f.client.CoreV1().Pods(f.ns).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.mutating("h.example.com", f.serveReviews(func(q *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		var options corev1.PodExecOptions
		if err := json.Unmarshal(q.Object.Raw, &options); err != nil || options.Container != "c" {
			t.Errorf("the hook got %s: %v", q.Object.Raw, err)
		}
		return patch(`[{"op":"replace","path":"/container","value":"another"}]`)
	}), func(w *admissionregistrationv1.MutatingWebhook) { w.Rules[0].Resources = []string{"pods/exec"} })
	err := f.client.CoreV1().RESTClient().Post().Namespace(f.ns).Resource("pods").Name("p").SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: "c", Command: []string{"id"}, Stdout: true}, scheme.ParameterCodec).Do(t.Context()).Error()
	if got := outcome(err); !strings.Contains(got, "container another is not valid for pod p") {
		t.Error(got)
	}
}

// TestReinvocation checks which hooks are reinvoked after a change, and the object that each sees.
func TestReinvocation(t *testing.T) {
	f := start(t, server.Options{})
	for i, tt := range []struct {
		name  string
		hooks []mutator // a, b and c
		acts  string    // hooks whose first call changes the object
		want  string
	}{
		{"nobody changes anything", []mutator{reinvokeIfNeeded, reinvokeIfNeeded, reinvokeIfNeeded}, "", "a b c"},
		{"the last changes something", []mutator{reinvokeIfNeeded, reinvokeIfNeeded, reinvokeIfNeeded}, "c", "a b c a b"},
		{"the first changes something", []mutator{reinvokeIfNeeded, reinvokeIfNeeded, reinvokeIfNeeded}, "a", "a b c"},
		{"only who wants to is asked", []mutator{nil, reinvokeIfNeeded, nil}, "c", "a b c b"},
		{"nobody wants to", []mutator{nil, nil, nil}, "abc", "a b c"},
		{"each changes something", []mutator{reinvokeIfNeeded, reinvokeIfNeeded, reinvokeIfNeeded}, "abc", "a b c a b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := f.subtest(t, fmt.Sprintf("reinvocation-%d", i))
			var order []string
			for n, change := range tt.hooks {
				name := string(rune('a' + n))
				s := f.serveReviews(func(q *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
					firstError := !slices.Contains(order, name)
					order = append(order, name)
					if firstError && strings.Contains(tt.acts, name) {
						if configMapIn(t, q).Data == nil {
							return patch(`[{"op":"add","path":"/data","value":{%q:"1"}}]`, name)
						}
						return patch(`[{"op":"add","path":"/data/%s","value":"1"}]`, name)
					}
					return allow()
				})
				var changes []mutator
				if change != nil {
					changes = append(changes, change)
				}
				f.mutating(name+".example.com", s, changes...)
			}
			if _, err := f.create("x", metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(order, " "); got != tt.want {
				t.Errorf("asked are %s, want %s", got, tt.want)
			}
		})
	}
}

// TestOrder checks that built-in plugins and validating hooks see the result of mutating hooks, and
// that validating hooks are called concurrently.
func TestOrder(t *testing.T) {
	f := start(t, server.Options{})
	f.mutating("b.example.com", f.serveReviews(func(q *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return patch(`[{"op":"add","path":"/data/b","value":%q}]`, configMapIn(t, q).Data["a"]+"b")
	}))
	f.mutating("a.example.com", f.serveReviews(func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return patch(`[{"op":"add","path":"/data","value":{"a":"a"}}]`)
	}))
	both := make(chan struct{})
	seen := make(chan string, 2)
	for _, name := range []string{"c.example.com", "d.example.com"} {
		f.validating(name, f.serveReviews(func(q *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			seen <- fmt.Sprint(configMapIn(t, q).Data)
			select { // each responds only after both have been called
			case both <- struct{}{}:
			case <-both:
			}
			return allow()
		}))
	}
	cm, err := f.create("x", metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{fmt.Sprint(cm.Data), <-seen, <-seen} {
		if got != "map[a:a b:ab]" {
			t.Error(got)
		}
	}
}

// TestChangedName checks that an object is stored under the name that a hook sets.
func TestChangedName(t *testing.T) {
	f := start(t, server.Options{})
	f.mutating("h.example.com", f.serveReviews(func(q *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return patch(`[{"op":"add","path":"/metadata/name","value":"made"}]`)
	}))
	maps := f.client.CoreV1().ConfigMaps(f.ns)
	if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "x-"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Get(t.Context(), "made", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// TestApplyThroughHooks checks that fields set by a hook remain when the same configuration is
// applied again.
func TestApplyThroughHooks(t *testing.T) {
	f := start(t, server.Options{})
	f.mutating("h.example.com", f.serveReviews(func(q *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return patch(`[{"op":"add","path":"/metadata/labels","value":{"seen":"yes"}}]`)
	}))
	var versions []string
	for range 2 {
		cm, err := f.client.CoreV1().ConfigMaps(f.ns).Patch(context.Background(), "a", types.ApplyPatchType,
			[]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}`), metav1.PatchOptions{FieldManager: "me"})
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(cm.Labels, cm.Data) != "map[seen:yes] map[k:v]" {
			t.Error(cm.Labels, cm.Data)
		}
		versions = append(versions, cm.ResourceVersion)
	}
	if versions[0] != versions[1] {
		t.Error("an apply that changes nothing writes", versions)
	}
}
