// Package admissiontest has what the tests of admission plugins share: objects that plugins read,
// writes that plugins admit, and a call of one plugin.
package admissiontest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
	"github.com/miniapiserver/miniapiserver/internal/registrytest"
	"github.com/miniapiserver/miniapiserver/kinds"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// Objects returns Objects of a server with the default kinds, in which the given objects are
// stored. Those with a deletionTimestamp are deleted, which their finalizers delay.
func Objects(t testing.TB, stored ...api.Object) *admission.Objects {
	t.Helper()
	return objectsOf(t, kinds.All(), stored)
}

// PreviewObjects returns Objects of a server that serves all versions.
func PreviewObjects(t testing.TB, stored ...api.Object) *admission.Objects {
	t.Helper()
	all := Gates(t, "AllAlpha", "AllBeta")
	resources, err := api.Enable(kinds.For(all), api.VersionOptions{Config: map[string]string{"api/all": "true"}, Gates: all,
		Release: kubeversion.Emulating(kubeversion.Binary())})
	if err != nil {
		t.Fatal(err)
	}
	return objectsOf(t, resources, stored)
}

func objectsOf(t testing.TB, resources []*api.Resource, stored []api.Object) *admission.Objects {
	t.Helper()
	catalogue := registrytest.Catalogue(t, resources...)
	reg := registrytest.New(t, catalogue, registry.Options{})
	for _, obj := range stored {
		i := slices.IndexFunc(catalogue.Resources(), func(r *api.Resource) bool {
			return r.New != nil && r.Virtual == nil && reflect.TypeOf(r.New()) == reflect.TypeOf(obj)
		})
		if i < 0 {
			t.Fatalf("%T is of no resource", obj)
		}
		res := catalogue.Resources()[i]
		if res.Default != nil {
			res.Default(obj)
		}
		isDeleted := obj.GetDeletionTimestamp() != nil // creation clears it
		at := registry.Target{Resource: res, Version: &res.Versions[0], Namespace: obj.GetNamespace()}
		if _, err := reg.Create(t.Context(), at, obj, registry.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		if at.Name = obj.GetName(); isDeleted {
			if _, err := reg.Delete(t.Context(), at, registry.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return admission.NewObjects(catalogue, reg)
}

// Gates returns the default feature gates and the enabled ones.
func Gates(t testing.TB, enabled ...string) features.Gates {
	t.Helper()
	chosen := map[string]bool{}
	for _, name := range enabled {
		chosen[name] = true
	}
	gates, err := features.New(chosen)
	if err != nil {
		t.Fatal(err)
	}
	return gates
}

// Write returns the attributes of a write to the object x in the namespace ns, by an ordinary user;
// resource is "name[/subresource]". Of several resources of a name, it is that of the core group.
func Write(t testing.TB, verb, resource string, obj, old api.Object) *registry.Attributes {
	t.Helper()
	return WriteBy(t, &request.User{Name: "somebody"}, verb, resource, obj, old)
}

// WriteBy is Write by another user.
func WriteBy(t testing.TB, user *request.User, verb, resource string, obj, old api.Object) *registry.Attributes {
	t.Helper()
	name, subresource, _ := strings.Cut(resource, "/")
	var found *api.Resource
	for _, r := range kinds.All() {
		if r.Name == name && (found == nil || r.Versions[0].Group == "") {
			found = r
		}
	}
	if found == nil {
		t.Fatalf("there is no %s", name)
	}
	return &registry.Attributes{Verb: verb, Resource: found, Version: &found.Versions[0], Subresource: subresource,
		Namespace: "ns", Name: "x", Object: obj, Old: old, User: user, Scope: &request.Scope{}}
}

// Run runs both phases of a plugin on a write and returns the rejection, or "" if there is none.
func Run(t testing.TB, p admission.Plugin, a *registry.Attributes) string {
	t.Helper()
	if p.Mutate != nil {
		if err := p.Mutate(t.Context(), a); err != nil {
			return err.Error()
		}
	}
	if p.Validate != nil {
		if err := p.Validate(t.Context(), a); err != nil {
			return err.Error()
		}
	}
	return ""
}

// Namespace returns the namespace ns with annotations, given as keys and values in turn.
func Namespace(annotations ...string) *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", Annotations: map[string]string{}}}
	for i := 0; i < len(annotations); i += 2 {
		ns.Annotations[annotations[i]] = annotations[i+1]
	}
	return ns
}

// Pod returns the pod x in the namespace ns, changed by change unless that is nil.
func Pod(change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "image"}}}}
	if change != nil {
		change(p)
	}
	return p
}
