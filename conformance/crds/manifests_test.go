package crds

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// manifests locates published files with objects of built-in kinds, by module.
var manifests = map[string][]string{
	"github.com/argoproj/argo-cd/v3":                     {"manifests/..."},
	"github.com/prometheus-operator/prometheus-operator": {"example/..."},
	"k8s.io/ingress-nginx":                               {"deploy/...", "docs/examples/..."},
	"knative.dev/serving":                                {"config/..."},
	"sigs.k8s.io/cluster-api":                            {"core/config/..."},
	"sigs.k8s.io/metrics-server":                         {"manifests/..."},
}

// TestManifests writes the objects of built-in kinds in published manifests. They are accepted
// without a warning, and a response contains all fields of the manifest. testdata/manifests has the
// exceptions, which are those of kube-apiserver.
func TestManifests(t *testing.T) {
	t.Parallel()
	// Controllers would change the objects between the requests, and create the service accounts
	// that the plugin demands of pods.
	w := newManifestWriter(t, config(t, serve(t, "--controllers=-*", "--disable-admission-plugins=ServiceAccount")))
	modules := slices.Sorted(maps.Keys(manifests))
	dirs := downloaded(t, "modules", modules...)
	for _, module := range modules {
		var exceptions strings.Builder
		accepted := 0
		for _, file := range files(t, dirs[module], manifests[module]) {
			name, err := filepath.Rel(dirs[module], file)
			if err != nil {
				t.Fatal(err)
			}
			for i, u := range documents(t, file) {
				gvk := u.GroupVersionKind()
				mapping, err := w.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
				if err != nil || gvk.Group == apiextensionsv1.GroupName {
					continue // a list, or a kind or a definition, which TestProjects creates
				}
				causes := w.warnings.during(func() error { return w.write(t.Context(), mapping, u) })
				if len(causes) == 0 {
					accepted++
					continue
				}
				fmt.Fprintf(&exceptions, "%s %d %s\n\t%s\n", name, i, gvk.Kind, strings.Join(causes, "\n\t"))
			}
		}
		if accepted == 0 {
			t.Errorf("%s: no object is accepted", module)
		}
		t.Logf("%s: %d objects are accepted", module, accepted)
		compare(t, filepath.Join("testdata", "manifests", strings.ReplaceAll(module, "/", "_")+".txt"), exceptions.String())
	}
}

// manifestWriter writes objects to a server. Each namespaced object is stored in a namespace of its
// own. Cluster-scoped objects are not stored, because webhooks and classes would change the responses
// to later requests.
type manifestWriter struct {
	client     dynamic.Interface
	mapper     meta.RESTMapper
	warnings   *warnings
	namespaces int
}

func newManifestWriter(t *testing.T, c *rest.Config) *manifestWriter {
	t.Helper()
	w := &manifestWriter{warnings: &warnings{}}
	c.WarningHandler = w.warnings
	discover, err := discovery.NewDiscoveryClientForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := restmapper.GetAPIGroupResources(discover)
	if err != nil {
		t.Fatal(err)
	}
	w.mapper = restmapper.NewDiscoveryRESTMapper(groups)
	if w.client, err = dynamic.NewForConfig(c); err != nil {
		t.Fatal(err)
	}
	return w
}

// write creates an object, updates it without a change, applies the manifest and deletes the object.
func (w *manifestWriter) write(ctx context.Context, m *meta.RESTMapping, manifest *unstructured.Unstructured) error {
	u, at := manifest.DeepCopy(), dynamic.ResourceInterface(w.client.Resource(m.Resource))
	stored := m.Scope.Name() == meta.RESTScopeNameNamespace
	var dryRun []string
	if stored {
		namespace, err := w.newNamespace(ctx)
		if err != nil {
			return err
		}
		u.SetNamespace(namespace)
		at = w.client.Resource(m.Resource).Namespace(namespace)
	} else {
		dryRun = []string{metav1.DryRunAll}
	}
	created, err := at.Create(ctx, u, metav1.CreateOptions{DryRun: dryRun, FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		return err
	}
	if err := contains(created, u); err != nil {
		return fmt.Errorf("the created object: %w", err)
	}
	if stored {
		updated, err := at.Update(ctx, created, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
		if err != nil {
			return fmt.Errorf("an update without a change: %w", err)
		}
		if !equality.Semantic.DeepEqual(created, updated) {
			return fmt.Errorf("an update without a change turns\n%v into\n%v", created, updated)
		}
	}
	u.SetName(created.GetName())
	applied, err := at.Apply(ctx, u.GetName(), u, metav1.ApplyOptions{DryRun: dryRun, FieldManager: "test", Force: true})
	if err != nil {
		return err
	}
	if err := contains(applied, u); err != nil {
		return fmt.Errorf("the applied object: %w", err)
	}
	if stored {
		return at.Delete(ctx, u.GetName(), metav1.DeleteOptions{}) // another manifest may have its node port
	}
	return nil
}

// newNamespace creates a namespace.
func (w *manifestWriter) newNamespace(ctx context.Context) (string, error) {
	w.namespaces++
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	u.SetName(fmt.Sprintf("manifest-%d", w.namespaces))
	_, err := w.client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Create(ctx, u, metav1.CreateOptions{})
	return u.GetName(), err
}

// contains returns an error for the first field of a manifest that an object lacks or has with
// another value. Quantities, times and encoded bytes are compared in the form that their Go type
// writes.
func contains(object, manifest *unstructured.Unstructured) error {
	want := manifest.Object
	if typed, err := scheme.Scheme.New(manifest.GroupVersionKind()); err == nil {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(want, typed); err != nil {
			return err
		}
		if want, err = runtime.DefaultUnstructuredConverter.ToUnstructured(typed); err != nil {
			return err
		}
	}
	delete(want, "status")     // reset by most strategies
	delete(want, "stringData") // never returned
	return lacks(object.Object, want, "")
}

// lacks implements contains for a value at a path. Zero values may have defaults.
func lacks(have, want any, path string) error {
	switch want := want.(type) {
	case map[string]any:
		object, _ := have.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if err := lacks(object[key], want[key], path+"."+key); err != nil {
				return err
			}
		}
		return nil
	case []any:
		list, _ := have.([]any)
		if len(list) != len(want) {
			return fmt.Errorf("%s has %d elements instead of %d", path, len(list), len(want))
		}
		for i := range want {
			if err := lacks(list[i], want[i], fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		return nil
	}
	if have == want || want == nil || reflect.ValueOf(want).IsZero() {
		return nil
	}
	return fmt.Errorf("%s is %#v instead of %#v", path, have, want)
}

// warnings collects the warnings in responses.
type warnings struct {
	mu   sync.Mutex
	list []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, text)
}

// during returns the warnings in the responses to the requests of f, and its error.
func (w *warnings) during(f func() error) []string {
	err := f()
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.list
	w.list = nil
	if err != nil {
		list = append(list, err.Error())
	}
	return list
}
