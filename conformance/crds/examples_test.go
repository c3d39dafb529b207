package crds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// kind is a served version of a definition. status reports that status is a subresource; stored,
// that the version is the storage version.
type kind struct {
	resource                   schema.GroupVersionResource
	namespaced, status, stored bool
}

func kindsOf(all []*definition) map[schema.GroupVersionKind]kind {
	kinds := map[schema.GroupVersionKind]kind{}
	for _, d := range all {
		for _, v := range d.Spec.Versions {
			gv := schema.GroupVersion{Group: d.Spec.Group, Version: v.Name}
			if v.Served {
				kinds[gv.WithKind(d.Spec.Names.Kind)] = kind{
					gv.WithResource(d.Spec.Names.Plural), d.Spec.Scope == apiextensionsv1.NamespaceScoped,
					v.Subresources != nil && v.Subresources.Status != nil, v.Storage,
				}
			}
		}
	}
	return kinds
}

// example is a published object: the ith in a file.
type example struct {
	*unstructured.Unstructured
	kind
	file string
	i    int
}

func (e example) String() string { return fmt.Sprintf("%s %d %s", e.file, e.i, e.GetKind()) }

// examples creates the examples of a project's own kinds, and then updates each object through its
// variants in one directory. All are accepted except those in testdata/refused/PROJECT.txt, which
// are rejected for the listed causes.
func examples(t *testing.T, c clients, dir string, p project, made []*definition) {
	t.Helper()
	var accepted []example
	var updates int
	var refused strings.Builder
	tell := func(what string, causes []string) {
		fmt.Fprintln(&refused, what)
		for _, cause := range causes {
			fmt.Fprintf(&refused, "\t%s\n", cause)
		}
	}
	versions := map[string][]example{} // versions of one object
	var objects []string
	for _, e := range examplesOf(t, dir, p, kindsOf(made)) {
		if causes := c.use(t.Context(), t, e); len(causes) > 0 {
			tell(e.String(), causes)
			continue
		}
		accepted = append(accepted, e)
		of := filepath.Dir(e.file) + " " + e.GroupVersionKind().String() + " " + e.GetName()
		if versions[of] == nil {
			objects = append(objects, of)
		}
		versions[of] = append(versions[of], e)
	}
	for _, of := range objects {
		for i, first := range versions[of] {
			others := slices.Delete(slices.Clone(versions[of]), i, i+1)
			if len(others) == 0 || first.GetName() == "" {
				break
			}
			for i, causes := range c.update(t.Context(), t, first, others) {
				if updates++; len(causes) > 0 {
					tell(fmt.Sprintf("%v over %s %d", others[i], first.file, first.i), causes)
				}
			}
		}
	}
	t.Logf("%d examples are accepted, %d are sent over others", len(accepted), updates)
	broken(t, c, schemasOf(t, made), accepted)
	compare(t, filepath.Join("testdata", "refused", p.name+".txt"), refused.String())
}

// examplesOf returns the examples of the given kinds.
func examplesOf(t *testing.T, dir string, p project, kinds map[schema.GroupVersionKind]kind) []example {
	t.Helper()
	var all []example
	for _, file := range files(t, dir, p.examples) {
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			t.Fatal(err)
		}
		for i, u := range documents(t, file) {
			if k, ok := kinds[u.GroupVersionKind()]; ok {
				all = append(all, example{u, k, rel, i})
			}
		}
	}
	return all
}

// compare compares with the expected file, which -update rewrites.
func compare(t *testing.T, file, got string) {
	t.Helper()
	want, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	switch {
	case got == string(want):
		return
	case !*update:
		t.Errorf("%s has\n%s\nand now it is\n%s", file, want, got)
		return
	case got == "":
		err = os.Remove(file)
	default:
		if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
			err = os.WriteFile(file, []byte(got), 0o644)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// createExample creates an object in the namespace of the tests, or returns the causes of its
// rejection.
func (c clients) createExample(ctx context.Context, t *testing.T, e example) (dynamic.ResourceInterface, *unstructured.Unstructured, []string) {
	t.Helper()
	e.SetResourceVersion("")
	var api dynamic.ResourceInterface = c.dynamic.Resource(e.resource)
	if e.namespaced {
		e.SetNamespace(metav1.NamespaceDefault)
		api = c.dynamic.Resource(e.resource).Namespace(e.GetNamespace())
	} else {
		e.SetNamespace("")
	}
	made, err := api.Create(ctx, e.Unstructured, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return api, nil, causesOf(err)
	}
	if err != nil {
		t.Errorf("create %v: %v", e, err)
	}
	return api, made, nil
}

// use creates, reads, applies and deletes an object, or returns the causes of its rejection.
func (c clients) use(ctx context.Context, t *testing.T, e example) []string {
	t.Helper()
	e.Unstructured = e.DeepCopy()
	api, made, causes := c.createExample(ctx, t, e)
	if made == nil {
		return causes
	}
	if e.status {
		delete(e.Object, "status")
	}
	if at := missing(e.Object, made.Object, ""); at != "" && e.stored {
		t.Errorf("%v has lost %s", e, at)
	}
	unstructured.RemoveNestedField(e.Object, "metadata", "generateName")
	e.SetName(made.GetName())
	applied, err := api.Apply(ctx, e.GetName(), e.Unstructured, metav1.ApplyOptions{FieldManager: "kubectl", Force: true})
	if apierrors.IsInvalid(err) && hasNull(e.Object) {
		// Like in kube-apiserver, a create drops nulls where the schema does not allow them, while
		// an apply preserves them and fails validation.
		applied = made
	} else if err != nil {
		t.Errorf("apply %v: %v", e, err)
		applied = made
	} else if e.stored && applied.GetGeneration() != made.GetGeneration() {
		t.Errorf("apply %v: it is the same, and has generation %d after %d", e, applied.GetGeneration(), made.GetGeneration())
	}
	c.deleteExample(ctx, t, api, applied)
	return nil
}

// update creates an object and replaces it by others in turn; it returns the causes of rejections.
func (c clients) update(ctx context.Context, t *testing.T, first example, others []example) [][]string {
	t.Helper()
	first.Unstructured = first.DeepCopy()
	refused := make([][]string, len(others))
	api, made, causes := c.createExample(ctx, t, first)
	if made == nil {
		t.Errorf("%v is refused by now: %q", first, causes)
		return refused
	}
	for i, e := range others {
		u := e.DeepCopy()
		u.SetNamespace(made.GetNamespace())
		u.SetResourceVersion(made.GetResourceVersion())
		_, err := api.Update(ctx, u, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			refused[i] = causesOf(err)
		} else if err != nil {
			t.Errorf("update %v: %v", e, err)
		}
	}
	c.deleteExample(ctx, t, api, made)
	return refused
}

// deleteExample deletes an object and its finalizers, since no controller removes them.
func (c clients) deleteExample(ctx context.Context, t *testing.T, api dynamic.ResourceInterface, u *unstructured.Unstructured) {
	t.Helper()
	if len(u.GetFinalizers()) > 0 {
		_, err := api.Patch(ctx, u.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil {
			t.Errorf("patch %s %s: %v", u.GetKind(), u.GetName(), err)
		}
	}
	if err := api.Delete(ctx, u.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Errorf("delete %s %s: %v", u.GetKind(), u.GetName(), err)
	}
}

// causesOf returns the causes of a response, or its message if there are none.
func causesOf(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return []string{err.Error()}
	}
	d := status.Status().Details
	if d == nil || len(d.Causes) == 0 {
		return []string{quoted(status.Status().Message)}
	}
	var all []string
	for _, c := range d.Causes {
		all = append(all, quoted(fmt.Sprintf("%s: %s: %s", c.Type, c.Field, c.Message)))
	}
	slices.Sort(all)
	return all
}

// quoted returns a text as one line.
func quoted(text string) string {
	if !strings.ContainsAny(text, "\n\r\t") {
		return text
	}
	data, _ := json.Marshal(text) // encoding strings does not fail
	return string(data)
}

// hasNull reports whether a decoded JSON value contains null.
func hasNull(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, member := range v {
			if hasNull(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasNull)
	}
	return false
}
