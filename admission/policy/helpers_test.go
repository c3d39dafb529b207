package policy

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/registrytest"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/ssa"
)

// parameterObjects implements objectReader.
type parameterObjects struct {
	catalogue *api.Catalogue
	objects   []api.Object
}

func (s *parameterObjects) Kind(kind schema.GroupVersionKind) (*api.Resource, *api.Version, bool) {
	return s.catalogue.Kind(kind.GroupVersion(), kind.Kind)
}

func (s *parameterObjects) List(_ context.Context, res *api.Resource, namespace string, selector labels.Selector) (out []api.Object, err error) {
	for _, obj := range s.objects {
		if obj.GetObjectKind().GroupVersionKind().Kind == res.Kind && (namespace == "" || obj.GetNamespace() == namespace) && selector.Matches(labels.Set(obj.GetLabels())) {
			out = append(out, obj)
		}
	}
	return out, nil
}

func (s *parameterObjects) Get(ctx context.Context, res *api.Resource, namespace, name string) (api.Object, error) {
	all, err := s.List(ctx, res, namespace, labels.Everything())
	for _, obj := range all {
		if obj.GetName() == name {
			return obj, err
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: res.Name}, name)
}

// cluster evaluates the policies and bindings in YAML documents.
type cluster struct {
	catalogue  *api.Catalogue
	validator  *validator
	mutator    *mutator
	validating admission.DerivedValues[*validatingPolicy]
	mutating   admission.DerivedValues[*mutatingPolicy]
	bindings   admission.DerivedValues[*binding]
}

func newCluster(t testing.TB, text string) *cluster {
	t.Helper()
	c := &cluster{catalogue: registrytest.Catalogue(t)}
	objects := &parameterObjects{catalogue: c.catalogue}
	for _, doc := range strings.Split(text, "\n---\n") {
		obj, res, _ := c.decode(t, doc)
		obj.GetObjectKind().SetGroupVersionKind(res.Versions[0].WithKind(res.Kind))
		objects.objects = append(objects.objects, obj)
		if faults := res.CheckCreate(&res.Versions[0], obj); len(faults) > 0 {
			t.Fatalf("%s: %v", obj.GetName(), faults.ToAggregate())
		}
		switch obj := obj.(type) {
		case *admissionv1.ValidatingAdmissionPolicy:
			c.validating.All = append(c.validating.All, compileValidating(nil)(obj))
		case *admissionv1.MutatingAdmissionPolicy:
			c.mutating.All = append(c.mutating.All, compileMutating(nil)(obj))
		case *admissionv1.ValidatingAdmissionPolicyBinding:
			c.bindings.All = append(c.bindings.All, bindingOfValidating(obj))
		case *admissionv1.MutatingAdmissionPolicyBinding:
			c.bindings.All = append(c.bindings.All, bindingOfMutating(obj))
		}
	}
	m, err := newMetrics(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &shared{params: paramReader{objects}, metrics: m, kinds: func(k schema.GroupVersionKind) (*api.Resource, *api.Version, bool) {
		return c.catalogue.Kind(k.GroupVersion(), k.Kind)
	}, schemas: &schemaCache{find: ssa.Published(c.catalogue), state: c.catalogue.State},
		namespaces: func(_ context.Context, name string) (*corev1.Namespace, error) {
			return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"environment": name}}}, nil
		},
		ask: func(_ context.Context, user *request.User, info *request.Info) (bool, string, error) {
			return slices.Contains(user.Groups, "admins") && info.Verb == "delete" || info.Resource == "breakglass", "", nil
		}}
	bindings := func(context.Context) (*admission.DerivedValues[*binding], error) { return &c.bindings, nil }
	c.validator = &validator{shared: s, hooks: hookIndex[*validatingPolicy]{bindings: bindings,
		policies: func(context.Context) (*admission.DerivedValues[*validatingPolicy], error) { return &c.validating, nil }}}
	c.mutator = &mutator{shared: s, hooks: hookIndex[*mutatingPolicy]{bindings: bindings,
		policies: func(context.Context) (*admission.DerivedValues[*mutatingPolicy], error) { return &c.mutating, nil }}}
	return c
}

// decode decodes an object as the server decodes an object of a client.
func (c *cluster) decode(t testing.TB, text string) (api.Object, *api.Resource, *api.Version) {
	t.Helper()
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(text), &kind); err != nil {
		t.Fatal(err)
	}
	res, v, ok := c.catalogue.Kind(kind.GroupVersionKind().GroupVersion(), kind.Kind)
	if !ok {
		t.Fatalf("there is no %v in %s", kind, text)
	}
	obj := res.NewOf(v)
	if err := yaml.UnmarshalStrict([]byte(text), obj); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	hub, err := res.Decoded(v, obj)
	if err != nil {
		t.Fatal(err)
	}
	return hub, res, v
}

// write returns the attributes of a write, an update if old is given, by a user with groups after a
// slash.
func (c *cluster) write(t testing.TB, user, is, old string) *registry.Attributes {
	t.Helper()
	obj, res, v := c.decode(t, is)
	name, groups, _ := strings.Cut(cmp.Or(user, "jane"), "/")
	a := &registry.Attributes{Verb: api.VerbCreate, Resource: res, Version: v, Kind: v.WithKind(res.Kind), Object: obj,
		Namespace: obj.GetNamespace(), Name: obj.GetName(), User: &request.User{Name: name, Groups: strings.Fields(groups)}, Scope: &request.Scope{}}
	if old != "" {
		a.Verb = api.VerbUpdate
		a.Old, _, _ = c.decode(t, old)
	}
	return a
}
