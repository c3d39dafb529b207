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

// kind is a served version of what a definition defines. Status tells that it
// is written apart; stored, that it is kept as it is, and not as what its fields
// are in another version.
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

// examples sends the examples of a project that are of its own kinds. All are
// accepted, but those in testdata/refused/PROJECT.txt, for the causes that stand
// there.
func examples(t *testing.T, c clients, dir string, p project, made []*definition) {
	t.Helper()
	kinds, accepted := kindsOf(made), 0
	var refused strings.Builder
	for _, file := range files(t, dir, p.examples) {
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			t.Fatal(err)
		}
		for i, u := range documents(t, file) {
			k, ok := kinds[u.GroupVersionKind()]
			if !ok {
				continue
			}
			causes := c.use(t.Context(), t, k, u)
			if len(causes) == 0 {
				accepted++
				continue
			}
			fmt.Fprintf(&refused, "%s %d %s\n", rel, i, u.GetKind())
			for _, cause := range causes {
				fmt.Fprintf(&refused, "\t%s\n", cause)
			}
		}
	}
	t.Logf("%d examples are accepted", accepted)
	compare(t, filepath.Join("testdata", "refused", p.name+".txt"), refused.String())
}

// compare compares with what is expected, which -update writes.
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

// use creates an object, reads it, applies it as another manager would, and
// deletes it; or returns why the object is refused.
func (c clients) use(ctx context.Context, t *testing.T, k kind, u *unstructured.Unstructured) []string {
	t.Helper()
	u = u.DeepCopy()
	what := u.GetKind() + " " + u.GetName()
	u.SetResourceVersion("")
	var api dynamic.ResourceInterface = c.dynamic.Resource(k.resource)
	if k.namespaced {
		u.SetNamespace(metav1.NamespaceDefault)
		api = c.dynamic.Resource(k.resource).Namespace(u.GetNamespace())
	} else {
		u.SetNamespace("")
	}
	made, err := api.Create(ctx, u, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return causesOf(err)
	}
	if err != nil {
		t.Errorf("create %s: %v", what, err)
		return nil
	}
	if k.status {
		delete(u.Object, "status")
	}
	if at := missing(u.Object, made.Object, ""); at != "" && k.stored {
		t.Errorf("%s has lost %s", what, at)
	}
	unstructured.RemoveNestedField(u.Object, "metadata", "generateName")
	u.SetName(made.GetName())
	applied, err := api.Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: "kubectl", Force: true})
	if err != nil {
		t.Errorf("apply %s: %v", what, err)
		applied = made
	} else if k.stored && applied.GetGeneration() != made.GetGeneration() {
		t.Errorf("apply %s: it is the same, and has generation %d after %d", what, applied.GetGeneration(), made.GetGeneration())
	}
	if len(applied.GetFinalizers()) > 0 { // nobody is there who would take them away
		_, err := api.Patch(ctx, u.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil {
			t.Errorf("patch %s: %v", what, err)
		}
	}
	if err := api.Delete(ctx, u.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Errorf("delete %s: %v", what, err)
	}
	return nil
}

// causesOf are those of an answer, or else its message.
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

// quoted is a text in one line.
func quoted(text string) string {
	if !strings.ContainsAny(text, "\n\r\t") {
		return text
	}
	data, _ := json.Marshal(text) // a string can always be
	return string(data)
}
