package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab/conversation"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

const recordings = group + "/recordings"

// recording returns a Recording.
func recording(name, spec string) string {
	return `{"apiVersion":"lab.miniapiserver.io/v1alpha1","kind":"Recording","metadata":{"name":"` + name + `"},"spec":` + spec + `}`
}

// startRecording creates a Recording with a spec, and returns the configuration of clients that it records if it is addressed.
func (w *world) startRecording(name, spec string) *rest.Config {
	w.t.Helper()
	w.do("POST "+recordings, recording(name, spec))
	config := w.outside()
	config.Host += v1alpha1.RecordingAddress + name
	return config
}

// outside returns the configuration of a client that comes through the port of the server.
func (w *world) outside() *rest.Config {
	return &rest.Config{Host: w.s.URL, BearerToken: w.s.Token, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: -1}
}

// recorded returns the log of a Recording once its requests have ended, and the file that has it.
func (w *world) recorded(name string) (string, []conversation.Step) {
	w.t.Helper()
	eventually.Succeeds(w.t, "the end of the requests", func() error {
		var r v1alpha1.Recording
		if err := json.Unmarshal(w.do("GET "+recordings+"/"+name, "").body, &r); err != nil {
			return err
		}
		if r.Status.Open > 0 {
			return fmt.Errorf("%+v", r.Status)
		}
		return nil
	})
	log := w.do("GET "+recordings+"/"+name+"/log", "").body
	_, steps, err := conversation.ReadRecording(bytes.NewReader(log))
	if err != nil {
		w.t.Fatalf("%v in %s", err, log)
	}
	file := filepath.Join(w.t.TempDir(), name+".jsonl")
	if err := os.WriteFile(file, log, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return file, steps
}

// replaysAlike checks that a recording gets the same answers from a new server, in both paces.
func replaysAlike(t *testing.T, file string) {
	t.Helper()
	for _, pace := range []string{"--fast", "--as-recorded"} {
		w := startLab(t)
		if code, out, errs := w.lab("replay", file, pace); code != 0 {
			t.Errorf("replay %s: %d\n%s%s", pace, code, out, errs)
		}
	}
}

// applyRelease does what helm does: it applies the objects of a chart, and keeps the release in a Secret that it updates.
func applyRelease(ctx context.Context, config *rest.Config) error {
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if _, err := c.Discovery().ServerVersion(); err != nil {
		return err
	}
	secrets := c.CoreV1().Secrets("default")
	release := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "sh.helm.release.v1.shop.v1", Labels: map[string]string{"status": "pending"}},
		Type: "helm.sh/release.v1", Data: map[string][]byte{"release": []byte("geheimesrelease")}}
	if _, err := secrets.Get(ctx, release.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("a release that is not there: %w", err)
	}
	if release, err = secrets.Create(ctx, release, metav1.CreateOptions{}); err != nil {
		return err
	}
	force := true
	apply := metav1.PatchOptions{FieldManager: "helm", Force: &force}
	for _, text := range []string{
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: blue}\n",
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"color":"red"}}`,
	} {
		if _, err := c.CoreV1().ConfigMaps("default").Patch(ctx, "settings", types.ApplyPatchType, []byte(text), apply); err != nil {
			return err
		}
	}
	if _, err := c.CoreV1().Services("default").Patch(ctx, "web", types.ApplyPatchType,
		[]byte(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`), apply); err != nil {
		return err
	}
	stale := release.DeepCopy()
	release.Labels["status"] = "deployed"
	if _, err := secrets.Update(ctx, release, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if _, err := secrets.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		return fmt.Errorf("a stale update: %w", err)
	}
	return nil
}

// runController does what a controller does: it follows objects with informers, and writes another one for each, with a generated name.
func runController(ctx context.Context, config *rest.Config, contentType string) error {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = contentType, contentType+",application/json"
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	factory := informers.NewSharedInformerFactoryWithOptions(c, 0, informers.WithNamespace("default"))
	defer factory.Shutdown()
	defer cancel()
	seen := make(chan *corev1.ConfigMap, 100)
	if _, err := factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { seen <- obj.(*corev1.ConfigMap) }}); err != nil {
		return err
	}
	secrets := factory.Core().V1().Secrets().Lister()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	for i := range 3 {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("task-", i)}, Data: map[string]string{"n": fmt.Sprint(i)}}
		if _, err := c.CoreV1().ConfigMaps("default").Create(ctx, cm, metav1.CreateOptions{}); err != nil {
			return err
		}
		for obj := range seen {
			if obj.Name != cm.Name {
				continue
			}
			made, err := c.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{StringData: map[string]string{"k": "geheim" + obj.Data["n"]},
				ObjectMeta: metav1.ObjectMeta{GenerateName: "made-", OwnerReferences: []metav1.OwnerReference{
					{APIVersion: "v1", Kind: "ConfigMap", Name: obj.Name, UID: obj.UID}}}}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			for ctx.Err() == nil {
				if _, err := secrets.Secrets("default").Get(made.Name); err == nil {
					break
				}
			}
			uid := made.UID
			if err := c.CoreV1().Secrets("default").Delete(ctx, made.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); err != nil {
				return err
			}
			break
		}
	}
	_, err = c.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{Limit: 2})
	return err
}

// TestReplay checks that a new server gives the same answers to what clients asked of another one.
func TestReplay(t *testing.T) {
	for name, client := range map[string]func(context.Context, *rest.Config) error{
		"release":       applyRelease,
		"json-informer": func(ctx context.Context, c *rest.Config) error { return runController(ctx, c, "application/json") },
		"proto-informer": func(ctx context.Context, c *rest.Config) error {
			return runController(ctx, c, "application/vnd.kubernetes.protobuf")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := startLab(t)
			config := w.startRecording(name, `{"addressed":true}`)
			if err := client(t.Context(), config); err != nil {
				t.Fatal(err)
			}
			file, steps := w.recorded(name)
			if len(steps) < 5 {
				t.Fatalf("%d steps", len(steps))
			}
			for _, s := range steps {
				if s.Timing.Skip+s.Timing.Unanswered != "" {
					t.Errorf("%s %s: %+v", s.Method, s.Path, s.Timing)
				}
			}
			replaysAlike(t, file)
			log, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(log), "geheim") {
				t.Error("the recording has a secret")
			}
			// A changed answer is a difference.
			changed := filepath.Join(t.TempDir(), "changed.jsonl")
			if err := os.WriteFile(changed, bytes.Replace(log, []byte(`"status":201`), []byte(`"status":200`), 1), 0o600); err != nil {
				t.Fatal(err)
			}
			code, out, _ := startLab(t).lab("replay", changed, "--fast")
			if code != 1 || !strings.Contains(out, "status: want 200 got 201") || !strings.Contains(out, " 1 differ") {
				t.Errorf("%d %s", code, out)
			}
		})
	}
}

// tour is a shell script of kubectl commands.
const tour = `set -e
kubectl create namespace tour
kubectl create deployment web --image=nginx -n tour
kubectl scale deployment web --replicas=3 -n tour
kubectl set image deployment/web nginx=nginx:2 -n tour
kubectl create secret generic s --from-literal=pw=geheimgeheim -n tour
kubectl get secret s -n tour -o yaml
kubectl get all -n tour
kubectl create configmap c --from-literal=a=b -n tour
kubectl label configmap c x=y -n tour
kubectl patch configmap c -n tour --type json -p '[{"op":"add","path":"/data/z","value":"1"}]'
kubectl create configmap c --from-literal=a=c -n tour --dry-run=client -o yaml | kubectl apply --server-side --force-conflicts -f - -n tour
kubectl auth can-i delete pods -n tour
kubectl delete configmap c -n tour
kubectl get configmap c -n tour || exit 7
`

// TestRecordCommand records a command of kubectl while others use the server.
func TestRecordCommand(t *testing.T) {
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skip("there is no kubectl")
	}
	w := startLab(t)
	dir := t.TempDir()
	file, har := filepath.Join(dir, "tour.jsonl"), filepath.Join(dir, "tour.har")
	ctx, cancel := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for i := range 2 {
		others.Go(func() {
			for ctx.Err() == nil {
				_, _ = w.send(ctx, call{do: "GET " + configs, header: map[string]string{"User-Agent": fmt.Sprint("kubectl/other", i)}})
			}
		})
	}
	code, out, errs := w.lab("record", "-o", file, "--har", har, "--", "sh", "-c", tour)
	cancel()
	others.Wait()
	if code != 7 || !strings.Contains(errs, "Recorded ") {
		t.Fatalf("%d %s\n%s", code, out, errs)
	}
	for _, path := range []string{file, har} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "kubectl/other") || strings.Contains(string(text), "geheim") {
			t.Errorf("%s has requests of others, or a secret", path)
		}
	}
	var archive struct{ Log struct{ Entries []any } }
	if text, err := os.ReadFile(har); err != nil || json.Unmarshal(text, &archive) != nil || len(archive.Log.Entries) < 30 {
		t.Errorf("%d entries, %v", len(archive.Log.Entries), err)
	}
	if list := string(w.do("GET "+recordings, "").body); !strings.Contains(list, `"items":[]`) {
		t.Errorf("the recording is still there: %s", list)
	}
	replaysAlike(t, file)
	if code, out, _ := startLab(t).lab("replay", file, "--fast", "-o", "json"); code != 0 || !strings.Contains(out, `"differ": 0`) {
		t.Errorf("%d %s", code, out)
	}
}

// TestReplayAsUsers checks that a replay sends requests in the name of their users if it is asked to.
func TestReplayAsUsers(t *testing.T) {
	w := startLab(t)
	w.do("POST "+recordings, recording("users", `{"match":{"userAgents":["tester/*"]}}`))
	for _, c := range []call{{as: "alice"}, {header: map[string]string{"Impersonate-User": "jane", "Impersonate-Group": "dev"}}} {
		c.do = "GET /api/v1/namespaces/default/configmaps"
		w.call(c)
		c.do = "POST /apis/authentication.k8s.io/v1/selfsubjectreviews"
		c.body = `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`
		w.call(c)
	}
	file, steps := w.recorded("users")
	if len(steps) != 4 {
		t.Fatalf("%d steps", len(steps))
	}
	for args, want := range map[string]string{"--fast": " 2 agree, 2 differ", "--fast --impersonate --ignore-key extra,uid": " 4 agree, 0 differ"} {
		w := startLab(t)
		if _, out, errs := w.lab(append([]string{"replay", file}, strings.Fields(args)...)...); !strings.Contains(out, want) {
			t.Errorf("%s: %s%s", args, out, errs)
		}
	}
}

// TestReplayConversations checks that kubectl lab replays the answers of a recorded kube-apiserver.
func TestReplayConversations(t *testing.T) {
	w := startLab(t)
	code, out, errs := w.lab("replay", filepath.Join("..", "testdata", "conversations", "patch.json.gz"), "--known", filepath.Join("..", "testdata", "differs.txt"))
	if code != 0 || !strings.Contains(out, " 0 differ") {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

// TestRecordingLimits checks what a Recording may be, and that it ends at its limits.
func TestRecordingLimits(t *testing.T) {
	w := startLab(t)
	for spec, want := range map[string]string{
		`{"match":{"verbs":["fly"]}}`:                 "spec.match.verbs[0]",
		`{"limits":{"bytes":-1}}`:                     "spec.limits.bytes",
		`{"limits":{"bytes":99999999999}}`:            "half of --lab-memory",
		`{"limits":{"requests":2000000}}`:             "spec.limits.requests",
		`{"limits":{"bytes":"much"}}`:                 "spec",
		`{"colour":"red"}`:                            "colour",
		`{"limits":{"bytes":1000000000000000000000}}`: "bytes",
	} {
		a := w.call(call{do: "POST " + recordings, body: recording("x", spec)})
		if a.code != http.StatusUnprocessableEntity && a.code != http.StatusBadRequest || !strings.Contains(a.status.Message, want) {
			t.Errorf("%s: %d %s", spec, a.code, a.body)
		}
	}
	w.do("POST "+recordings, recording("few", `{"limits":{"requests":3}}`))
	w.do("POST "+recordings, recording("small", `{"limits":{"bytes":9000}}`))
	for range 20 {
		w.do("GET "+configs, "")
	}
	for _, c := range []struct{ name, reason string }{{"few", "limits.requests"}, {"small", "limits.bytes"}} {
		var r v1alpha1.Recording
		if err := json.Unmarshal(w.do("GET "+recordings+"/"+c.name, "").body, &r); err != nil {
			t.Fatal(err)
		}
		if s := r.Status; s.Phase != v1alpha1.RecordingFull || !strings.HasPrefix(s.Reason, c.reason) || s.End == nil || s.Bytes > 9000 && c.name == "small" || s.Requests == 0 {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
	// The recordings share the memory of the lab.
	w.do("POST "+recordings, recording("large", `{"limits":{"bytes":15000000}}`))
	full := w.call(call{do: "POST " + recordings, body: recording("larger", `{"limits":{"bytes":30000000}}`)})
	if full.code != http.StatusUnprocessableEntity || !strings.Contains(full.status.Message, "delete some") {
		t.Errorf("%d %s", full.code, full.body)
	}
	if a := w.call(call{do: "GET " + recordings + "/few/log?format=pdf"}); a.code != http.StatusBadRequest || !strings.Contains(a.status.Message, "har") {
		t.Errorf("%d %s", a.code, a.body)
	}
}

// TestWhoReadsRecordings checks who may record, and that the log has only the requests for objects that its reader may get.
func TestWhoReadsRecordings(t *testing.T) {
	w := startLab(t)
	w.load("world.yaml")
	w.load("readers.yaml")
	w.do("POST "+recordings, recording("all", "{}"))
	w.do("POST /apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings", `{"metadata":{"name":"reads"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"reads"},"subjects":[{"kind":"User","name":"reader"}]}`)
	for _, namespace := range []string{"a", "b"} {
		w.do("POST /api/v1/namespaces/"+namespace+"/configmaps", `{"metadata":{"name":"made"},"data":{"k":"inhalt`+namespace+`"}}`)
		w.do("GET /api/v1/namespaces/"+namespace+"/configmaps", "")
	}
	w.do("GET /api/v1/configmaps", "")
	log := recordings + "/all/log"
	for _, user := range []string{"-", "nobody", "viewer", "watcher", "reader"} {
		for _, do := range []string{"POST " + recordings, "GET " + log, "GET " + log + "?format=har", "DELETE " + recordings + "/all"} {
			if a := w.call(call{as: user, do: do, body: recording("y", "{}")}); a.code != http.StatusForbidden {
				t.Errorf("%s %s: %d", user, do, a.code)
			}
		}
	}
	w.do("POST /apis/rbac.authorization.k8s.io/v1/clusterroles", `{"metadata":{"name":"log"},"rules":[{"apiGroups":["lab.miniapiserver.io"],"resources":["recordings/log"],"verbs":["get"]}]}`)
	w.do("POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `{"metadata":{"name":"log"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"log"},"subjects":[{"kind":"User","name":"reader"},{"kind":"User","name":"watcher"}]}`)
	for _, c := range []struct {
		user   string
		format string
		sees   []string
	}{{"reader", "", []string{"inhalta"}}, {"reader", "?format=har", []string{"inhalta"}}, {"watcher", "", nil}, {"", "", []string{"inhalta", "inhaltb"}}} {
		a := w.call(call{as: c.user, do: "GET " + log + c.format})
		if a.code != http.StatusOK {
			t.Fatalf("%q: %d %s", c.user, a.code, a.body)
		}
		for _, content := range []string{"inhalta", "inhaltb"} {
			if strings.Contains(string(a.body), content) != slices.Contains(c.sees, content) {
				t.Errorf("%q%s: %s is shown or hidden wrongly", c.user, c.format, content)
			}
		}
		if c.user != "" && strings.Contains(string(a.body), "/api/v1/configmaps\"") {
			t.Errorf("%q: a list of all namespaces is shown", c.user)
		}
	}
	head, _, err := conversation.ReadRecording(bytes.NewReader(w.call(call{as: "watcher", do: "GET " + log}).body))
	if err != nil || head.Hidden == 0 {
		t.Errorf("%+v %v", head, err)
	}
	w.do("DELETE "+recordings+"/all", "")
	if a := w.call(call{do: "GET " + log}); a.code != http.StatusNotFound {
		t.Errorf("the log of a deleted recording: %d", a.code)
	}
}
