package server

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom"
	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/handlers"
	"github.com/miniapiserver/miniapiserver/kinds/apiextensions"
	"github.com/miniapiserver/miniapiserver/request"
)

// TestKindsFollowDefinitions creates, changes and deletes definitions at random, some of
// which compete for the same names. When the server is idle, its discovery documents must
// equal those of a catalogue that is built from the definitions at once.
func TestKindsFollowDefinitions(t *testing.T) {
	h := startHistory(t)
	r := rand.New(rand.NewPCG(1, 2))
	for step := range 12 {
		for range 1 + r.IntN(6) {
			h.act(r)
		}
		h.compare(fmt.Sprintf("step %d", step), "/openapi/v3")
	}
	h.compare("the end", "/openapi/v3", "/openapi/v2")
	if h.done == 0 {
		t.Error("no definition was accepted")
	}
}

// history is a server and the changes of its definitions.
type history struct {
	*testing.T
	s           *Server
	http        *http.Client
	definitions dynamic.ResourceInterface
	done        int
}

func startHistory(t *testing.T) *history {
	s := run(t, Options{RuntimeConfig: map[string]string{
		"api/all": "false", "v1": "true", "apiextensions.k8s.io/v1": "true", "apiregistration.k8s.io/v1": "true",
	}})
	client, err := rest.HTTPClientFor(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	c, err := dynamic.NewForConfigAndClient(s.RESTConfig(), client)
	if err != nil {
		t.Fatal(err)
	}
	return &history{T: t, s: s, http: client, definitions: c.Resource(apiextensionsv1.SchemeGroupVersion.WithResource(apiextensions.CustomResourceDefinitions))}
}

// act creates, changes or deletes a definition. The server may refuse that, but not fail.
func (h *history) act(r *rand.Rand) {
	h.Helper()
	d := randomDefinition(r)
	ctx, err := h.Context(), error(nil)
	switch r.IntN(4) {
	case 0:
		err = h.definitions.Delete(ctx, d.GetName(), metav1.DeleteOptions{})
	case 1, 2:
		_, err = h.definitions.Create(ctx, d, metav1.CreateOptions{})
	default:
		var current *unstructured.Unstructured
		if current, err = h.definitions.Get(ctx, d.GetName(), metav1.GetOptions{}); err == nil {
			d.SetResourceVersion(current.GetResourceVersion())
			_, err = h.definitions.Update(ctx, d, metav1.UpdateOptions{})
		}
	}
	switch {
	case err == nil:
		h.done++
	case !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !apierrors.IsInvalid(err):
		h.Fatal(err)
	}
}

func randomDefinition(r *rand.Rand) *unstructured.Unstructured {
	group, plural := fmt.Sprintf("g%d.example.com", r.IntN(2)), fmt.Sprintf("things%d", r.IntN(4))
	kind := fmt.Sprintf("Thing%d", r.IntN(4)) // which is not always that of its own
	var versions []any
	for _, name := range []string{"v1", "v2beta1", "v2"}[:1+r.IntN(3)] {
		versions = append(versions, map[string]any{
			"name": name, "served": r.IntN(4) > 0, "storage": false,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
				fmt.Sprintf("field%d", r.IntN(2)): map[string]any{"type": "string"},
			}}},
		})
	}
	versions[r.IntN(len(versions))].(map[string]any)["storage"] = true
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{"group": group, "scope": "Namespaced", "names": map[string]any{"plural": plural, "kind": kind}, "versions": versions},
	}}
}

// compare waits until the documents of the server equal those of a server that is built
// from the definitions at once.
func (h *history) compare(when string, more ...string) {
	h.Helper()
	var differs string
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		scratch, paths := h.scratch()
		paths = append(paths, more...)
		at := slices.IndexFunc(paths, func(path string) bool { return h.ask(path) != documentAt(scratch, path) })
		if at < 0 {
			return
		}
		differs = fmt.Sprintf("%s of the server:\n%.3000s\nfrom scratch:\n%.3000s", paths[at], h.ask(paths[at]), documentAt(scratch, paths[at]))
	}
	h.Fatalf("%s: %s", when, differs)
}

// scratch serves the documents of a catalogue that is built from the definitions at once,
// and returns their paths.
func (h *history) scratch() (http.Handler, []string) {
	h.Helper()
	list, err := h.definitions.List(h.Context(), metav1.ListOptions{})
	if err != nil {
		h.Fatal(err)
	}
	gates, err := h.s.o.gates()
	if err != nil {
		h.Fatal(err)
	}
	builtIn, err := h.s.o.newBuiltInKinds(gates, nil)
	if err != nil {
		h.Fatal(err)
	}
	resources, paths := builtIn.resources, []string{"/apis", aggregatedPath}
	for i := range list.Items {
		d := &custom.Definition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, d); err != nil {
			h.Fatal(err)
		}
		if !slices.ContainsFunc(d.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
		}) {
			continue
		}
		kind, err := custom.Compile(d, func() (*custom.Definition, error) { return d, nil }, custom.Options{})
		if err != nil {
			h.Fatal(err)
		}
		resources = append(resources, kind.Resource)
		for _, v := range d.Spec.Versions {
			if path := "/apis/" + d.Spec.Group + "/" + v.Name; v.Served && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	catalogue, err := api.New(resources...)
	if err != nil {
		h.Fatal(err) // two have one name
	}
	scratch, err := handlers.New(handlers.Config{
		Catalogue: catalogue, Registry: h.s.handler.Registry, Authenticator: anybody{}, Authorizer: allowed{},
		Aggregation: h.s.handler.Aggregation, Issuer: h.s.handler.Issuer, Version: Version(), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { scratch.BeginShutdown(0) })
	return scratch, paths
}

// aggregatedPath is the name of the aggregated document of /apis in comparisons.
const aggregatedPath = "/apis?aggregated"

func newDocumentRequest(ctx context.Context, base, path string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
	r.RequestURI = ""
	if path == aggregatedPath {
		r.Header.Set("Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	}
	return r
}

func (h *history) ask(path string) string {
	h.Helper()
	resp, err := h.http.Do(newDocumentRequest(h.Context(), h.s.RESTConfig().Host, path))
	if err != nil {
		h.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		h.Fatal(err)
	}
	return fmt.Sprint(resp.StatusCode, string(body))
}

func documentAt(handler http.Handler, path string) string {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, newDocumentRequest(context.Background(), "http://scratch", path))
	return fmt.Sprint(w.Code, w.Body.String())
}

type anybody struct{}

func (anybody) Authenticate(*http.Request) (authn.Identity, bool, error) {
	return authn.Identity{User: &request.User{Name: "anybody", Groups: []string{request.GroupMasters}}}, true, nil
}

type allowed struct{}

func (allowed) Authorize(context.Context, *request.User, *request.Info) (authz.Decision, string, error) {
	return authz.Allow, "", nil
}
