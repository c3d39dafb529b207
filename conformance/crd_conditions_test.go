package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/miniapiserver/miniapiserver/server"
)

// anyKind returns a definition whose objects may have any fields.
func anyKind(group string, names map[string]any) *unstructured.Unstructured {
	return definitionOf(names["plural"].(string), map[string]any{"group": group, "scope": "Cluster", "names": names,
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{
			"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}})
}

// awaitConditions waits until a definition has the conditions, each "type status reason: message".
func awaitConditions(t *testing.T, c dynamic.Interface, name string, want ...string) {
	t.Helper()
	var got []string
	defer func() {
		if t.Failed() {
			t.Logf("%s says %q", name, got)
		}
	}()
	eventually(t, name+" says "+strings.Join(want, "; "), func(ctx context.Context) (bool, error) {
		u, err := c.Resource(definitionResource).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		got = got[:0]
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		all := map[string]bool{}
		for _, condition := range conditions {
			m := condition.(map[string]any)
			line := fmt.Sprintf("%s %s %s: %s", m["type"], m["status"], m["reason"], m["message"])
			got, all[line] = append(got, line), true
		}
		for _, line := range want {
			if !all[line] {
				return false, nil
			}
		}
		return true, nil
	})
}

const (
	namesFine   = "NamesAccepted True NoConflicts: no conflicts found"
	established = "Established True InitialNamesAccepted: the initial names have been accepted"
	notAccepted = "Established False NotAccepted: not all names are accepted"
)

// TestNamesConflict checks that a definition with names in use is not served, gets the unused
// names, and gets the others when they are released.
func TestNamesConflict(t *testing.T) {
	srv, _ := startWith(t, server.Options{})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	const group = "names.example.com"
	define(t, c, anyKind(group, map[string]any{"plural": "foos", "singular": "foo", "kind": "Foo", "shortNames": []any{"f", "g"}}))
	create := func(d *unstructured.Unstructured) {
		t.Helper()
		if _, err := c.Resource(definitionResource).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		names map[string]any
		says  string
	}{
		{map[string]any{"plural": "kinds", "singular": "akind", "kind": "Foo", "listKind": "KindList"}, `NamesAccepted False KindConflict: "Foo" is already in use`},
		{map[string]any{"plural": "lists", "kind": "List", "listKind": "FooList"}, `NamesAccepted False ListKindConflict: "FooList" is already in use`},
		{map[string]any{"plural": "shorts", "kind": "Short", "shortNames": []any{"f", "s", "g"}}, `NamesAccepted False ShortNamesConflict: ["f" is already in use, "g" is already in use]`},
		{map[string]any{"plural": "foo", "singular": "one", "kind": "One"}, `NamesAccepted False PluralConflict: "foo" is already in use`},
		{map[string]any{"plural": "singles", "singular": "f", "kind": "Single"}, `NamesAccepted False SingularConflict: "f" is already in use`},
	} {
		d := anyKind(group, test.names)
		create(d)
		awaitConditions(t, c, d.GetName(), test.says, notAccepted)
		of := c.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: test.names["plural"].(string)})
		if _, err := of.List(t.Context(), metav1.ListOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s are served: %v", test.names["plural"], err)
		}
	}
	// The same names are available in another group.
	define(t, c, anyKind("other.example.com", map[string]any{"plural": "foos", "singular": "foo", "kind": "Foo", "shortNames": []any{"f"}}))
	// An established definition remains established with its previous names.
	define(t, c, anyKind(group, map[string]any{"plural": "bars", "kind": "Bar", "shortNames": []any{"b"}}))
	patch := func(patch string) {
		t.Helper()
		if _, err := c.Resource(definitionResource).Patch(t.Context(), "bars."+group, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	patch(`{"spec":{"names":{"shortNames":["b","g"]}}}`)
	awaitConditions(t, c, "bars."+group, `NamesAccepted False ShortNamesConflict: "g" is already in use`, established)
	u, err := c.Resource(definitionResource).Get(t.Context(), "bars."+group, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, _, _ := unstructured.NestedStringSlice(u.Object, "status", "acceptedNames", "shortNames"); fmt.Sprint(got) != "[b]" {
		t.Errorf("accepted %v", got)
	}
	// Released names are available at once, also after deletion.
	patch(`{"spec":{"names":{"shortNames":["c"]}}}`)
	awaitConditions(t, c, "bars."+group, namesFine, established)
	define(t, c, anyKind(group, map[string]any{"plural": "cars", "kind": "Car", "shortNames": []any{"b"}}))
	// So are the names that another definition waits for.
	create(anyKind(group, map[string]any{"plural": "vans", "kind": "Van", "singular": "b"}))
	awaitConditions(t, c, "vans."+group, `NamesAccepted False SingularConflict: "b" is already in use`, notAccepted)
	if _, err := c.Resource(definitionResource).Patch(t.Context(), "cars."+group, types.MergePatchType, []byte(`{"spec":{"names":{"shortNames":["d"]}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitConditions(t, c, "vans."+group, namesFine, established)
	if err := c.Resource(definitionResource).Delete(t.Context(), "foos."+group, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, plural := range []string{"lists", "foo"} {
		awaitConditions(t, c, plural+"."+group, namesFine, established)
		of := c.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural})
		if _, err := of.List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Errorf("%s are not served: %v", plural, err)
		}
	}
}

// TestConditionsOverwritten checks that what a client writes to the conditions of a definition stays,
// that a kind without the conditions is not served, and that one whose names are accepted is
// established again.
func TestConditionsOverwritten(t *testing.T) {
	srv, _ := startWith(t, server.Options{})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	const group = "conditions.example.com"
	define(t, c, anyKind(group, map[string]any{"plural": "foos", "kind": "Foo"}))
	of := c.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "foos"})
	overwrite := func(conditions string) {
		t.Helper()
		if _, err := c.Resource(definitionResource).Patch(t.Context(), "foos."+group, types.MergePatchType, []byte(`{"status":{"conditions":`+conditions+`}}`), metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
	}
	for _, conditions := range []string{`[]`, `[{"type":"Established","status":"False"}]`, `[{"type":"NamesAccepted","status":"False"}]`, `[{"type":"Established","status":"x"}]`} {
		overwrite(conditions)
		eventually(t, "the kind is not served with "+conditions, func(ctx context.Context) (bool, error) {
			_, err := of.List(ctx, metav1.ListOptions{})
			return apierrors.IsNotFound(err), nil
		})
		u, err := c.Resource(definitionResource).Get(t.Context(), "foos."+group, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, one := range got {
			delete(one.(map[string]any), "lastTransitionTime")
		}
		var want []any
		if err := json.Unmarshal([]byte(conditions), &want); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("conditions %v, written %v", got, want)
		}
		overwrite(`[{"type":"NamesAccepted","status":"True","reason":"r","message":"m"}]`)
		awaitConditions(t, c, "foos."+group, "NamesAccepted True r: m", established)
		eventually(t, "the kind is served again", func(ctx context.Context) (bool, error) {
			_, err := of.List(ctx, metav1.ListOptions{})
			return err == nil, nil
		})
	}
}

// TestAcceptedNamesRemoved checks that the conditions report a conflict of a definition with its own
// accepted names after a client removed some of them.
func TestAcceptedNamesRemoved(t *testing.T) {
	srv, _ := startWith(t, server.Options{})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	const group = "removed.example.com"
	define(t, c, anyKind(group, map[string]any{"plural": "foos", "singular": "foos", "kind": "Foo"}))
	if _, err := c.Resource(definitionResource).Patch(t.Context(), "foos."+group, types.MergePatchType, []byte(`{"status":{"acceptedNames":{"plural":"","kind":""}}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	awaitConditions(t, c, "foos."+group, `NamesAccepted False PluralConflict: "foos" is already in use`, established)
	// The kind keeps its plural, so that its objects are found and the definition can be deleted.
	foos := c.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "foos"})
	if _, err := foos.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	if err := c.Resource(definitionResource).Delete(t.Context(), "foos."+group, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the definition is deleted", func(ctx context.Context) (bool, error) {
		_, err := c.Resource(definitionResource).Get(ctx, "foos."+group, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
}

// TestApproval checks the approval of kinds in groups of the Kubernetes community, and its
// condition.
func TestApproval(t *testing.T) {
	srv, _ := startWith(t, server.Options{})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	const (
		key  = "api-approved.kubernetes.io"
		is   = "KubernetesAPIApprovalPolicyConformant "
		more = ", see https://github.com/kubernetes/enhancements/pull/1111"
	)
	for _, group := range []string{"k8s.io", "a.k8s.io", "kubernetes.io", "b.c.kubernetes.io"} {
		d := anyKind(group, map[string]any{"plural": "foos", "kind": "Foo"})
		_, err := c.Resource(definitionResource).Create(t.Context(), d, metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `metadata.annotations[`+key+`]: Required value: protected groups must have approval annotation "`+key+`"`+more) {
			t.Errorf("%s: %v", group, err)
		}
		d.SetAnnotations(map[string]string{key: "it is fine"})
		_, err = c.Resource(definitionResource).Create(t.Context(), d, metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `with either a URL or a reason starting with "unapproved"`+more) {
			t.Errorf("%s: %v", group, err)
		}
	}
	annotated := func(d *unstructured.Unstructured, text string) *unstructured.Unstructured {
		d.SetAnnotations(map[string]string{key: text})
		return d
	}
	define(t, c, annotated(anyKind("a.k8s.io", map[string]any{"plural": "foos", "kind": "Foo"}), "https://example.com/1"))
	awaitConditions(t, c, "foos.a.k8s.io", is+"True ApprovedAnnotation: approved in https://example.com/1", established)
	change(t, c, "foos.a.k8s.io", func(u *unstructured.Unstructured) error {
		annotated(u, "unapproved, an experiment")
		return nil
	})
	awaitConditions(t, c, "foos.a.k8s.io", is+`False UnapprovedAnnotation: not approved: "unapproved, an experiment"`, established)
	// Other kinds require no approval and have no such condition.
	for _, group := range []string{"a.x-k8s.io", "k8s.io.example.com", "notk8s.io"} {
		define(t, c, anyKind(group, map[string]any{"plural": "foos", "kind": "Foo"}))
		u, err := c.Resource(definitionResource).Get(t.Context(), "foos."+group, metav1.GetOptions{})
		if err != nil || strings.Contains(fmt.Sprint(u.Object["status"]), strings.TrimSpace(is)) {
			t.Errorf("%v: %v", err, u.Object["status"])
		}
	}
}

// TestApprovalOfAnotherGroup checks that a change of the group, which is refused, needs no approval too.
func TestApprovalOfAnotherGroup(t *testing.T) {
	srv, _ := startWith(t, server.Options{})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	define(t, c, anyKind("moved.example.com", map[string]any{"plural": "foos", "kind": "Foo"}))
	_, err := c.Resource(definitionResource).Patch(t.Context(), "foos.moved.example.com", types.MergePatchType, []byte(`{"spec":{"group":"k8s.io"}}`), metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "field is immutable") || strings.Contains(err.Error(), "approval") {
		t.Error(err)
	}
}
