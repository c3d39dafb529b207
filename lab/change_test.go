package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom"
	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/handlers"
	"github.com/miniapiserver/miniapiserver/internal/registrytest"
	"github.com/miniapiserver/miniapiserver/kinds"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/ssa"
)

// fakeIndex is a RequestIndex with one write.
type fakeIndex struct {
	ref     ObjectRef
	rev     int64
	at      time.Time
	manager string
}

func (f *fakeIndex) RequestOf(group, resource, namespace, name string, rev int64) (id, user, manager, verb string, at time.Time, ok bool) {
	if f.ref != (ObjectRef{group, resource, namespace, name}) || rev != f.rev {
		return "", "", "", "", time.Time{}, false
	}
	return "id-1", "alice", f.manager, "patch", f.at, true
}

// userFromHeader authenticates every request by the header User.
type userFromHeader struct{}

func (userFromHeader) Authenticate(r *http.Request) (authn.Identity, bool, error) {
	return authn.Identity{User: &request.User{Name: r.Header.Get("User")}}, true, nil
}

// widgets is a custom kind of two versions, of which the second is stored.
func widgets(t *testing.T) *api.Resource {
	t.Helper()
	const text = `{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Cluster",
		"names":{"plural":"widgets","kind":"Widget"},"versions":[
		{"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
		{"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]},
		"status":{"acceptedNames":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"}}}`
	d := &custom.Definition{}
	if err := json.Unmarshal([]byte(text), d); err != nil {
		t.Fatal(err)
	}
	kind, err := custom.Compile(d, func() (*custom.Definition, error) { return d, nil }, custom.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return kind.Resource
}

// changeServer serves the built-in kinds, widgets and Changes. The user "blind" may not get Secrets and Nodes.
type changeServer struct {
	t       *testing.T
	url     string
	index   *fakeIndex
	changes *Changes
}

func serveChanges(t *testing.T) *changeServer {
	t.Helper()
	s := &changeServer{t: t, index: &fakeIndex{at: time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC)}}
	l := New(Config{})
	catalogue := registrytest.Catalogue(t, append(append(kinds.All(), widgets(t)), l.Resources()...)...)
	s.changes = &Changes{Requests: s.index, MayRead: func(ctx context.Context, _, resource, _, _ string) bool {
		return request.From(ctx).User.Name != "blind" || resource != "secrets" && resource != "nodes"
	}}
	s.changes.Registry = registrytest.New(t, catalogue, registry.Options{Schemas: ssa.Published(catalogue),
		Virtual: map[string]registry.Source{ChangesSource: s.changes}, Stores: l.Stores()})
	h, err := handlers.New(handlers.Config{Catalogue: catalogue, Registry: s.changes.Registry,
		Authenticator: userFromHeader{}, Authorizer: authz.AlwaysAllow{}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.Close()
		h.BeginShutdown(0)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	s.url = server.URL
	return s
}

// do sends a request by a user, and decodes the response.
func (s *changeServer) do(user, method, path, contentType, body string, code int, out any) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("User", user)
	r.Header.Set("Content-Type", contentType)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != code {
		s.t.Fatalf("%s %s: %d, %v\n%s", method, path, resp.StatusCode, err, text)
	}
	if out != nil {
		if err := json.Unmarshal(text, out); err != nil {
			s.t.Fatal(err)
		}
	}
}

// write sends a write by a field manager, and returns the resourceVersion.
func (s *changeServer) write(manager, method, path, body string, code int) string {
	s.t.Helper()
	var obj struct {
		Metadata struct{ ResourceVersion string }
	}
	contentType := "application/json"
	if method == http.MethodPatch {
		contentType = "application/merge-patch+json"
	}
	s.do("writer", method, path+"?fieldManager="+manager, contentType, body, code, &obj)
	return obj.Metadata.ResourceVersion
}

const changesPath = "/apis/lab.miniapiserver.io/v1alpha1/changes"

type changeList struct{ Items []v1alpha1.Change }

// list returns the changes that a query selects, for a user.
func (s *changeServer) list(user, query string) []v1alpha1.Change {
	s.t.Helper()
	var out changeList
	s.do(user, http.MethodGet, changesPath+"?"+query, "", "", http.StatusOK, &out)
	return out.Items
}

func (s *changeServer) get(user, name string) v1alpha1.Change {
	s.t.Helper()
	var out v1alpha1.Change
	s.do(user, http.MethodGet, changesPath+"/"+name, "", "", http.StatusOK, &out)
	return out
}

func describeChange(c *v1alpha1.Change) string {
	fields := strings.ReplaceAll(describeChanges(c.Spec.Fields), "\n", ", ")
	return fmt.Sprintf("%s %s by %s: %s", c.Spec.Object, c.Spec.Type, c.Spec.Manager, fields)
}

// TestChangesOfObject follows an object through its life, and a request that made one of the changes.
func TestChangesOfObject(t *testing.T) {
	s := serveChanges(t)
	const path = "/apis/apps/v1/namespaces/ns/deployments"
	one := s.write("creator", "POST", path, `{"metadata":{"name":"web"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i:1"},{"name":"d","image":"i:1"}]}}}}`, 201)
	two := s.write("patcher", "PATCH", path+"/web", `{"metadata":{"labels":{"app.kubernetes.io/name":"web"},"finalizers":["a/b"]}}`, 200)
	s.index.ref, s.index.rev = ObjectRef{"apps", "deployments", "ns", "web"}, number(t, two)
	three := s.write("manager", "PATCH", path+"/web/status", `{"status":{"replicas":1}}`, 200)
	s.write("x", "POST", path, `{"metadata":{"name":"web2"},"spec":{"selector":{"matchLabels":{"a":"b"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`, 201)
	four := s.write("scaler", "PATCH", path+"/web",
		`{"metadata":{"finalizers":null},"spec":{"template":{"spec":{"containers":[{"name":"d","image":"i:2"}]}}}}`, 200)
	s.do("u", "DELETE", path+"/web", "", "", 200, nil)
	got := s.list("u", "fieldSelector=object%3Ddeployments.apps/ns/web")
	if len(got) != 5 {
		t.Fatalf("%d changes", len(got))
	}
	for i, want := range []string{
		`deployments.apps/ns/web Created by creator: metadata.creationTimestamp:  -> `,
		`deployments.apps/ns/web Modified by patcher: metadata.finalizers:  -> ["a/b"], metadata.labels:  -> {"app.kubernetes.io/name":"web"}`,
		`deployments.apps/ns/web Modified by manager/status: status:  -> {"replicas":1}`,
		`deployments.apps/ns/web Modified by scaler: metadata.finalizers: ["a/b"] -> , metadata.generation: 1 -> 2, ` +
			`spec.template.spec.containers[0].image: "i:1" -> "i:2", spec.template.spec.containers[0]: {"image":"i:1",`,
		`deployments.apps/ns/web Deleted by : metadata.creationTimestamp: `,
	} {
		if text := describeChange(&got[i]); !strings.HasPrefix(text, want) {
			t.Errorf("got %s\nwant %s", text, want)
		}
		if c := &got[i]; c.Kind != "Change" || c.Spec.Kind != "Deployment" || c.Spec.APIVersion != "apps/v1" ||
			c.Spec.After != "" || c.Name != c.Spec.ResourceVersion {
			t.Errorf("got %+v", c)
		}
	}
	previous := []string{"", one, two, three, four}
	for i, rv := range []string{one, two, three, four, got[4].Name} {
		c := s.get("u", rv)
		if c.Name != rv || c.Spec.Previous != previous[i] || describeChange(&c) != describeChange(&got[i]) || c.Spec.Time == nil != (i == 4) {
			t.Errorf("%s: %+v", rv, c)
		}
		if (c.Spec.After == "") != (i == 4) || i < 4 && !strings.Contains(c.Spec.After, `"kind":"Deployment"`) ||
			i < 4 && !strings.Contains(c.Spec.After, `"managedFields"`) {
			t.Errorf("%s: after is %s", rv, c.Spec.After)
		}
	}
	if c := got[1].Spec; c.Request != "id-1" || c.User != "alice" || c.Verb != "patch" || !c.Time.Time.Equal(s.index.at) {
		t.Errorf("the request: %+v", c)
	}
	if newest := s.list("u", "limit=2&fieldSelector=object%3Ddeployments.apps/ns/web"); len(newest) != 2 || newest[1].Name != got[4].Name {
		t.Errorf("with a limit: %d changes", len(newest))
	}
	all := s.list("u", "limit=3")
	if len(all) != 3 || all[2].Name != got[4].Name || !strings.HasPrefix(describeChange(&all[0]), "deployments.apps/ns/web2 Created by x:") {
		t.Errorf("of all objects: %+v", all)
	}
	if named := s.list("u", "fieldSelector=metadata.name%3D"+two); len(named) != 1 || named[0].Spec.Manager != "patcher" {
		t.Errorf("by name: %+v", named)
	}
	between := s.changes.Between(t.Context(), s.index.ref, number(t, two))
	if len(between) != 3 || between[0].Name != got[4].Name || between[2].Spec.Manager != "manager/status" || between[2].Spec.Hidden != "" {
		t.Errorf("between: %+v", between)
	}
}

func number(t *testing.T, rv string) int64 {
	t.Helper()
	n, ok := parseNumber(rv)
	if !ok {
		t.Fatalf("the resourceVersion %q", rv)
	}
	return n
}

// TestChangesOfSecrets checks that values of Secrets are not shown, and nothing of them to users who may not get them.
func TestChangesOfSecrets(t *testing.T) {
	s := serveChanges(t)
	const path, selector = "/api/v1/namespaces/ns/secrets", "fieldSelector=object%3Dsecrets/ns/s"
	s.write("m", "POST", path, `{"metadata":{"name":"s","annotations":{"note":"hidden value"}},"stringData":{"k":"hidden value"}}`, 201)
	rv := s.write("m", "PATCH", path+"/s", `{"data":{"k":"aGlkZGVu","l":"aGlkZGVu"},"metadata":{"labels":{"shown":"yes"}}}`, 200)
	got := s.list("u", selector)
	want := `secrets/ns/s Modified by m: data.k: (not kept) -> (not kept), data.l:  -> (not kept), metadata.labels:  -> {"shown":"yes"}`
	if len(got) != 2 || describeChange(&got[1]) != want {
		t.Errorf("got %+v", got)
	}
	single := s.get("u", rv)
	text, err := json.Marshal(append(got, single))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hidden value", "aGlkZGVu", "hidden", "aGlkZGVuIHZhbHVl"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("%s is shown in %s", secret, text)
		}
	}
	if !strings.Contains(single.Spec.After, `"data":{"k":"(not kept)","l":"(not kept)"}`) ||
		!strings.Contains(single.Spec.After, `"shown":"yes"`) {
		t.Errorf("after is %s", single.Spec.After)
	}
	for _, c := range append(s.list("blind", selector), s.get("blind", rv)) {
		if c.Spec.Hidden != "you may not get secrets/ns/s" || c.Spec.Fields != nil || c.Spec.After != "" || c.Spec.Manager != "m" {
			t.Errorf("for a user who may not get it: %+v", c)
		}
	}
}

// TestChangesOfCustomObject checks that the paths are those of the stored version.
func TestChangesOfCustomObject(t *testing.T) {
	s := serveChanges(t)
	s.write("m", "POST", "/apis/example.com/v1/widgets",
		`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"a":[{"name":"x","v":1}]}}`, 201)
	rv := s.write("n", "PATCH", "/apis/example.com/v1/widgets/w", `{"spec":{"a":[{"name":"y"},{"name":"x","v":2}]}}`, 200)
	c := s.get("u", rv)
	want := `widgets.example.com/w Modified by n: metadata.generation: 1 -> 2, spec.a[0]:  -> {"name":"y"}, spec.a[1].v: 1 -> 2`
	if got := describeChange(&c); got != want || c.Spec.APIVersion != "example.com/v2" || c.Spec.Kind != "Widget" ||
		!strings.Contains(c.Spec.After, `"apiVersion":"example.com/v2"`) || !strings.Contains(c.Spec.After, `"managedFields"`) {
		t.Errorf("got %s\n%+v", got, c.Spec)
	}
}

// TestWrongSelectors checks the errors of field selectors, and names that no Change has.
func TestWrongSelectors(t *testing.T) {
	s := serveChanges(t)
	for object, want := range map[string]string{
		"pods":                                 "a part is missing",
		"pods//p":                              "a part is missing",
		"":                                     "a part is missing",
		"pod/default/p":                        `there is no resource "pod" in the API group ""`,
		"deployments/default/web":              `there is no resource "deployments" in the API group ""`,
		"nodes/x/n":                            "nodes have no namespace",
		"pods/p":                               "pods have a namespace",
		"componentstatuses/etcd":               "objects of componentstatuses are not stored",
		"tokenreviews.authentication.k8s.io/x": "objects of tokenreviews.authentication.k8s.io are not stored",
		strings.Repeat("x", 3000) + "/y":       "there is no resource",
	} {
		var status struct{ Message string }
		s.do("u", http.MethodGet, changesPath+"?fieldSelector=object%3D"+object, "", "", http.StatusBadRequest, &status)
		if !strings.Contains(status.Message, want) || !strings.Contains(status.Message, "expected RESOURCE.GROUP/NAMESPACE/NAME") ||
			len(status.Message) > 2000 {
			t.Errorf("%s: %s", object, status.Message)
		}
	}
	s.do("u", http.MethodGet, changesPath+"?fieldSelector=other%3Dx", "", "", http.StatusBadRequest, nil)
	for _, name := range []string{"0", "1", "01", "-1", "x", "1.0", "99999999", "99999999999999999999", "5.", ".5"} {
		s.do("u", http.MethodGet, changesPath+"/"+name, "", "", http.StatusNotFound, nil)
	}
	if got := s.list("u", "fieldSelector=object%3Dpods/ns/none"); len(got) != 0 {
		t.Errorf("an object that never existed: %+v", got)
	}
	if got := s.list("u", "fieldSelector=metadata.name%3Dx"); len(got) != 0 {
		t.Errorf("by a name that none has: %+v", got)
	}
	if got := s.list("u", ""); len(got) != 0 {
		t.Errorf("without objects: %+v", got)
	}
	if got := s.changes.Between(t.Context(), ObjectRef{"none", "nothing", "", "x"}, 0); got != nil {
		t.Errorf("of a resource that is not there: %+v", got)
	}
}

// TestWrittenTogether checks the names of changes of one transaction.
func TestWrittenTogether(t *testing.T) {
	s := serveChanges(t)
	var objects []registry.InitialObject
	res, _, err := s.changes.Registry.LookupResource(schema.GroupResource{Resource: "namespaces"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		obj := res.New()
		obj.SetName(name)
		objects = append(objects, registry.InitialObject{Resource: res, Object: obj})
	}
	if err := s.changes.Registry.CreateMissing(t.Context(), objects, "start"); err != nil {
		t.Fatal(err)
	}
	all := s.list("u", "")
	if len(all) != 2 || all[0].Name == all[1].Name {
		t.Fatalf("got %+v", all)
	}
	for _, c := range all {
		if got := s.get("u", c.Name); got.Spec.Object != c.Spec.Object || got.Spec.ResourceVersion != all[0].Spec.ResourceVersion {
			t.Errorf("%s: %+v", c.Name, got)
		}
		if own := s.list("u", "fieldSelector=object%3D"+c.Spec.Object); len(own) != 1 || own[0].Name != c.Name {
			t.Errorf("%s has the changes %+v", c.Spec.Object, own)
		}
	}
	var status struct{ Message string }
	rv := all[0].Spec.ResourceVersion
	s.do("u", http.MethodGet, changesPath+"/"+rv, "", "", http.StatusBadRequest, &status)
	want := fmt.Sprintf("2 objects were written together at resourceVersion %s: get %[1]s.0 to %[1]s.1", rv)
	if !strings.HasPrefix(status.Message, want) {
		t.Errorf("got %s", status.Message)
	}
}

// TestListEndsWithItsRequest checks that a list ends when the client has gone.
func TestListEndsWithItsRequest(t *testing.T) {
	s := serveChanges(t)
	s.write("m", "POST", "/api/v1/namespaces/ns/configmaps", `{"metadata":{"name":"c"}}`, 201)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.changes.List(ctx, registry.ListOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// FuzzObjectSelector checks that every text is either an error or names an object in the only way to write it.
func FuzzObjectSelector(f *testing.F) {
	for _, text := range []string{"pods/default/p", "nodes/n", "deployments.apps/a/b", "widgets.example.com/w", "pods", "/", "a.b.c/d/e/f", ".apps/x/y", "pods./x/y"} {
		f.Add(text)
	}
	changes := &Changes{Registry: registrytest.New(f, registrytest.Catalogue(f), registry.Options{})}
	f.Fuzz(func(t *testing.T, text string) {
		target, err := changes.target(text)
		if err != nil {
			if len(err.Error()) > 3*maxAgent+500 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		gr := target.Resource.GroupResource()
		if ref := (ObjectRef{gr.Group, gr.Resource, target.Namespace, target.Name}); ref.String() != text {
			t.Errorf("%q names %s", text, ref)
		}
	})
}
