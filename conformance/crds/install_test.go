package crds

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// patience is the time limit of operations on a healthy server.
const patience = time.Minute

type definition = apiextensionsv1.CustomResourceDefinition

// clients are the clients of the tests.
type clients struct {
	dynamic     *dynamic.DynamicClient
	definitions clientset.Interface
}

func newClients(t *testing.T, access *rest.Config) clients {
	t.Helper()
	d, err := dynamic.NewForConfig(access)
	if err != nil {
		t.Fatal(err)
	}
	c, err := clientset.NewForConfig(access)
	if err != nil {
		t.Fatal(err)
	}
	return clients{d, c}
}

// definitionsOf returns the definitions of a project.
func definitionsOf(t *testing.T, dir string, p project) []*unstructured.Unstructured {
	t.Helper()
	patterns := p.definitions
	if len(p.types) > 0 {
		dir, patterns = generated(t, p.types), []string{"*.yaml"}
	}
	var all []*unstructured.Unstructured
	for _, file := range files(t, dir, patterns) {
		for _, u := range documents(t, file) {
			if u.GetKind() == "CustomResourceDefinition" {
				all = append(all, u)
			}
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s: no definitions", p.name)
	}
	return all
}

var definitions = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// ready returns the definitions that must be accepted: all except known rejections because of
// unsupported features.
func (c clients) ready(ctx context.Context, t *testing.T, all []*unstructured.Unstructured, known *ratchet) []*unstructured.Unstructured {
	var ready []*unstructured.Unstructured
	for _, u := range all {
		what := u.GetName() + " is refused"
		if known.waits(what) {
			_, err := c.dynamic.Resource(definitions).Create(ctx, u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if apierrors.IsInvalid(err) {
				known.fails(what)
				continue
			}
		}
		ready = append(ready, u)
	}
	return ready
}

// create creates missing definitions, waits until they are established, deletes them and waits for
// their deletion.
func (c clients) create(ctx context.Context, t *testing.T, all []*unstructured.Unstructured) {
	var made []string
	for _, u := range all {
		_, err := c.dynamic.Resource(definitions).Create(ctx, u, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		switch {
		case apierrors.IsAlreadyExists(err): // an upgrade
		case err != nil:
			t.Errorf("create %s: %v", u.GetName(), err)
		default:
			made = append(made, u.GetName())
		}
	}
	for _, name := range made {
		c.established(ctx, t, name)
	}
	for _, name := range made {
		if err := c.dynamic.Resource(definitions).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("delete %s: %v", name, err)
		}
	}
	for _, name := range made {
		c.until(ctx, t, name, "is gone", func(d *definition) bool { return d == nil })
	}
}

// apply applies definitions like kubectl apply --server-side, and returns them when they are
// established.
func (c clients) apply(ctx context.Context, t *testing.T, all []*unstructured.Unstructured) []*definition {
	var made []*definition
	for _, u := range all {
		_, err := c.dynamic.Resource(definitions).Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: "kubectl", Force: true})
		if err != nil {
			t.Errorf("apply %s: %v", u.GetName(), err)
			continue
		}
		if d := c.established(ctx, t, u.GetName()); d != nil {
			made = append(made, d)
			sameSpec(t, u, d)
		}
	}
	return made
}

// sameSpec reports whether the stored spec contains the applied one.
func sameSpec(t *testing.T, u *unstructured.Unstructured, d *definition) {
	t.Helper()
	is, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
	if err != nil {
		t.Fatal(err)
	}
	if at := missing(u.Object["spec"], is["spec"], "spec"); at != "" {
		t.Errorf("%s has lost %s", d.Name, at)
	}
}

// established waits until a definition is established.
func (c clients) established(ctx context.Context, t *testing.T, name string) *definition {
	t.Helper()
	return c.until(ctx, t, name, "is established", func(d *definition) bool {
		return d != nil && slices.ContainsFunc(d.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
		})
	})
}

// until waits until a definition, nil if it does not exist, satisfies a condition.
func (c clients) until(ctx context.Context, t *testing.T, name, what string, ok func(*definition) bool) *definition {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	api := c.definitions.ApiextensionsV1().CustomResourceDefinitions()
	selected := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
	list, err := api.List(ctx, selected)
	if err != nil {
		t.Fatal(err)
	}
	var now *definition
	if len(list.Items) > 0 {
		now = &list.Items[0]
	}
	selected.ResourceVersion = list.ResourceVersion
	w, err := api.Watch(ctx, selected)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for !ok(now) {
		select {
		case e, open := <-w.ResultChan():
			if !open {
				t.Fatalf("%s: the watch has ended", name)
			}
			now, _ = e.Object.(*definition)
			if e.Type == "DELETED" {
				now = nil
			}
		case <-ctx.Done():
			stored, err := api.Get(context.WithoutCancel(ctx), name, metav1.GetOptions{})
			t.Errorf("it is not so that %s %s: the watch showed %+v, a read shows %+v, %v", name, what, now, stored, err)
			return nil
		}
	}
	return now
}

// missing returns the path of a value in want that is not in have, or "". Empty values are ignored.
func missing(want, have any, path string) string {
	switch want := want.(type) {
	case map[string]any:
		m, ok := have.(map[string]any)
		for name, v := range want {
			if empty(v) {
				continue
			}
			if !ok {
				return path
			}
			if at := missing(v, m[name], path+"."+name); at != "" {
				return at
			}
		}
		return ""
	case []any:
		l, ok := have.([]any)
		if !ok && len(want) > 0 || len(l) != len(want) {
			return path
		}
		for i := range want {
			if at := missing(want[i], l[i], fmt.Sprintf("%s[%d]", path, i)); at != "" {
				return at
			}
		}
		return ""
	}
	if !same(want, have) {
		return fmt.Sprintf("%s: %v is %v", path, want, have)
	}
	return ""
}

// same compares scalars; an integer equals the float of the same value.
func same(a, b any) bool {
	number := func(v any) (float64, bool) {
		switch n := v.(type) {
		case int64:
			return float64(n), true
		case float64:
			return n, true
		}
		return 0, false
	}
	x, ok := number(a)
	y, also := number(b)
	return ok && also && x == y || a == b
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	case bool:
		return !v
	}
	return false
}
