package lab

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/conformance/internal/hook"
	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab/kubectl"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	group    = "/apis/lab.miniapiserver.io/v1alpha1"
	requests = group + "/requests"
	changes  = group + "/changes"
)

// users are the lines of the token file, beside those of the conversations. The token of a user is the name with the suffix -token.
var users = []string{
	"jane,1", "near,2", "queued,3", "viewer,4", "watcher,5", "reader,6", "nobody,7", "system:node:n1,8,system:nodes", "impersonator,9", "granting,10",
}

// world is a server with clients.
type world struct {
	t    testing.TB
	s    *server.Server
	hook *hook.Server
	http *http.Client
}

// start starts a server with a lab, unless o says otherwise, and an administrator's client.
func start(t testing.TB, o server.Options) *world {
	t.Helper()
	tokens := new(strings.Builder)
	tokens.WriteString("admin-token,admin,admin-uid,system:masters\nalice-token,alice,alice-uid,\"dev,qa\"\nbob-token,bob,bob-uid\n")
	for _, u := range users {
		name, rest, _ := strings.Cut(u, ",")
		uid, groups, _ := strings.Cut(rest, ",")
		fmt.Fprintf(tokens, "%s-token,%s,%s,%q\n", name, name, uid, groups)
	}
	file := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(file, []byte(tokens.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Authentication.TokenFile = file
	s, err := server.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	h, err := hook.Start()
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 32}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		h.Close()
	})
	return &world{t, s, h, &http.Client{Transport: transport}}
}

// startLab starts a server with a lab.
func startLab(t *testing.T) *world {
	t.Helper()
	return start(t, server.Options{Lab: server.Lab{Enabled: true}})
}

// in returns the world for a subtest.
func (w *world) in(t testing.TB) *world {
	c := *w
	c.t = t
	return &c
}

// answer is a response.
type answer struct {
	code   int
	id     string // Audit-Id
	body   []byte
	header http.Header
	status metav1.Status // of a failure
}

func (a *answer) object(t testing.TB) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{}
	if err := json.Unmarshal(a.body, &out.Object); err != nil {
		t.Fatalf("%v in %.200s", err, a.body)
	}
	return out
}

// mediaTypes are the short names of the media types of bodies.
var mediaTypes = map[string]string{
	"merge": "application/merge-patch+json", "json": "application/json-patch+json", "smp": "application/strategic-merge-patch+json",
	"apply": "application/apply-patch+yaml", "yaml": "application/yaml", "": "application/json",
}

// call is a request: a method, a path and, for a body that is not JSON, a media type or its short name.
type call struct {
	as     string // a user; empty means the administrator, "-" nobody
	do     string // METHOD PATH [MEDIA TYPE]
	body   string
	header map[string]string
	server string // URL; empty means that of the server
}

// send sends a request.
func (w *world) send(ctx context.Context, c call) (*answer, error) {
	parts := strings.SplitN(c.do, " ", 3)
	media := ""
	if len(parts) == 3 {
		media = parts[2]
	}
	if long, ok := mediaTypes[media]; ok {
		media = long
	}
	r, err := http.NewRequestWithContext(ctx, parts[0], cmp.Or(c.server, w.s.URL)+parts[1], strings.NewReader(c.body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", media)
	r.Header.Set("User-Agent", "tester/1.0")
	switch c.as {
	case "-":
	case "":
		r.Header.Set("Authorization", "Bearer "+w.s.Token)
	default:
		r.Header.Set("Authorization", "Bearer "+c.as+"-token")
	}
	for name, value := range c.header {
		r.Header.Set(name, value)
	}
	resp, err := w.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	a := &answer{code: resp.StatusCode, id: resp.Header.Get("Audit-Id"), body: body, header: resp.Header}
	if a.code >= 400 && json.Unmarshal(body, &a.status) != nil {
		a.status = metav1.Status{}
	}
	return a, nil
}

// call sends a request.
func (w *world) call(c call) *answer {
	w.t.Helper()
	a, err := w.send(w.t.Context(), c)
	if err != nil {
		w.t.Fatalf("%s: %v", c.do, err)
	}
	return a
}

// do sends a request of the administrator that must succeed.
func (w *world) do(do, body string) *answer {
	w.t.Helper()
	a := w.call(call{do: do, body: body})
	if a.code >= 300 {
		w.t.Fatalf("%s: %d %s", do, a.code, a.body)
	}
	return a
}

// request returns a Request once it is complete, as its reader sees it.
func (w *world) requestFor(reader, id string) *v1alpha1.Request {
	w.t.Helper()
	var out v1alpha1.Request
	eventually.Succeeds(w.t, "the request "+id, func() error {
		a := w.call(call{as: reader, do: "GET " + requests + "/" + id})
		if a.code != http.StatusOK {
			return fmt.Errorf("%d %s", a.code, a.body)
		}
		out = v1alpha1.Request{}
		d := json.NewDecoder(bytes.NewReader(a.body))
		d.DisallowUnknownFields()
		if err := d.Decode(&out); err != nil {
			w.t.Fatal(err)
		}
		if out.Status.Phase != v1alpha1.PhaseComplete {
			return fmt.Errorf("phase %s", out.Status.Phase)
		}
		return nil
	})
	return &out
}

func (w *world) request(id string) *v1alpha1.Request {
	w.t.Helper()
	return w.requestFor("", id)
}

// paths of the resources in testdata, by kind; %s is the namespace.
var paths = map[string]string{
	"Namespace": "/api/v1/namespaces", "ConfigMap": "/api/v1/namespaces/%s/configmaps", "Secret": "/api/v1/namespaces/%s/secrets",
	"Pod": "/api/v1/namespaces/%s/pods", "Node": "/api/v1/nodes", "ServiceAccount": "/api/v1/namespaces/%s/serviceaccounts",
	"LimitRange": "/api/v1/namespaces/%s/limitranges", "ResourceQuota": "/api/v1/namespaces/%s/resourcequotas",
	"Service":             "/api/v1/namespaces/%s/services",
	"Deployment":          "/apis/apps/v1/namespaces/%s/deployments",
	"PodDisruptionBudget": "/apis/policy/v1/namespaces/%s/poddisruptionbudgets",
	"PriorityClass":       "/apis/scheduling.k8s.io/v1/priorityclasses",
	"StorageClass":        "/apis/storage.k8s.io/v1/storageclasses", "IngressClass": "/apis/networking.k8s.io/v1/ingressclasses",
	"RuntimeClass": "/apis/node.k8s.io/v1/runtimeclasses",
	"Role":         "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/roles", "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/rolebindings",
	"ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles", "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
	"FlowSchema":                       "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
	"PriorityLevelConfiguration":       "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
	"ValidatingWebhookConfiguration":   "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
	"MutatingWebhookConfiguration":     "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
	"ValidatingAdmissionPolicy":        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
	"ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
	"MutatingAdmissionPolicy":          "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
	"MutatingAdmissionPolicyBinding":   "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
	"CustomResourceDefinition":         "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
	"Widget":                           "/apis/example.com/v1/namespaces/%s/widgets", "Gadget": "/apis/example.com/v1/namespaces/%s/gadgets",
	"PersistentVolumeClaim": "/api/v1/namespaces/%s/persistentvolumeclaims",
}

// load creates the objects of a file in testdata: all, or those of some kinds.
func (w *world) load(file string, kinds ...string) {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		w.t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var obj unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(w.expand(document)), &obj.Object); err != nil {
			w.t.Fatalf("%v in %s", err, document)
		}
		if len(obj.Object) > 0 && (len(kinds) == 0 || slices.Contains(kinds, obj.GetKind())) {
			w.create(&obj)
		}
	}
}

func (w *world) create(obj *unstructured.Unstructured) {
	w.t.Helper()
	path, ok := paths[obj.GetKind()]
	if !ok {
		w.t.Fatalf("no path for %s", obj.GetKind())
	}
	if strings.Contains(path, "%s") {
		path = fmt.Sprintf(path, obj.GetNamespace())
	}
	body, err := obj.MarshalJSON()
	if err != nil {
		w.t.Fatal(err)
	}
	eventually.Succeeds(w.t, obj.GetKind()+" "+obj.GetName(), func() error {
		a := w.call(call{do: "POST " + path, body: string(body)})
		if a.code == http.StatusForbidden && strings.Contains(a.status.Message, "error looking up service account") {
			return fmt.Errorf("%s", a.status.Message) // its namespace is new
		}
		if a.code == http.StatusNotFound && strings.HasPrefix(path, "/apis/example.com") {
			return fmt.Errorf("%s", a.body) // its definition is new
		}
		if a.code >= 300 {
			w.t.Fatalf("%s %s: %d %s", obj.GetKind(), obj.GetName(), a.code, a.body)
		}
		return nil
	})
}

// answers are the answers of webhooks that testdata names.
var answers = map[string]hook.Spec{
	"refuse": {Response: map[string]any{"allowed": false, "status": map[string]any{"message": "not today", "code": 403}}},
	"slow":   {Response: map[string]any{"allowed": true}, Delay: 5},
	"hold":   {Response: map[string]any{"allowed": true}, Delay: 25},
	"fail":   {HTTP: 500, Response: map[string]any{"allowed": true}},
	"patch": {Response: map[string]any{"allowed": true, "patchType": "JSONPatch",
		"patch": []byte(`[{"op":"add","path":"/metadata/annotations","value":{"hook":"was here"}}]`)}},
	"broken-patch": {Response: map[string]any{"allowed": true, "patchType": "JSONPatch", "patch": []byte(`[{"op":"remove","path":"/none"}]`)}},
	"quote":        {Response: map[string]any{"allowed": false}, Echo: []string{"request.object.data", "request.object.stringData"}},
	"warn":         {Response: map[string]any{"allowed": true, "auditAnnotations": map[string]any{"k": "v"}}, Echo: []string{"request.object.data"}},
	"convert":      {Convert: &hook.Conversion{Failure: "cannot convert"}},
}

// expand replaces ${hook:NAME} by a client configuration of the webhook that gives the answer.
func (w *world) expand(text string) string {
	for name, spec := range answers {
		config := fmt.Sprintf("{url: %q, caBundle: %q}", w.hook.URL+spec.Path(), w.hook.CA)
		text = strings.ReplaceAll(text, "${hook:"+name+"}", config)
	}
	return text
}

// lab runs kubectl lab against the server, and returns its exit status and output.
func (w *world) lab(args ...string) (code int, stdout, stderr string) {
	w.t.Helper()
	kubeconfig := filepath.Join(w.t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, w.s.Kubeconfig(), 0o600); err != nil {
		w.t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code = kubectl.Run(append([]string{"--kubeconfig", kubeconfig}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

// labOK runs a kubectl lab that must succeed, and returns its output.
func (w *world) labOK(args ...string) string {
	w.t.Helper()
	code, stdout, stderr := w.lab(args...)
	if code != 0 {
		w.t.Fatalf("%v: %d, %s", args, code, stderr)
	}
	return stdout
}
