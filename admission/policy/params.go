package policy

import (
	"context"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/api"
)

// param is a parameter as a value for expressions. The zero value means no parameter.
type param struct {
	namespace, name string
	value           any // nil or map[string]any
}

// paramReader reads the parameters of policies.
type paramReader struct{ objects objectReader }

// objectReader is the part of admission.Objects that reads parameters.
type objectReader interface {
	Kind(kind schema.GroupVersionKind) (*api.Resource, *api.Version, bool)
	Get(ctx context.Context, res *api.Resource, namespace, name string) (api.Object, error)
	List(ctx context.Context, res *api.Resource, namespace string, selector labels.Selector) ([]api.Object, error)
}

// checkKind returns an error if the catalogue does not have the parameter kind of a policy.
func (p paramReader) checkKind(h *compiledPolicy) error {
	if h.params == nil {
		return nil
	}
	if _, _, ok := p.objects.Kind(*h.params); !ok {
		return fmt.Errorf("failed to find resource referenced by paramKind: '%v'", *h.params)
	}
	return nil
}

// list returns the parameters for a request in a namespace; the policy is evaluated once for each.
// The list is empty if no parameter exists and the binding allows that.
func (p paramReader) list(ctx context.Context, h *compiledPolicy, b *binding, in string) ([]param, error) {
	if h.params == nil || b.ref == nil {
		return []param{{}}, nil
	}
	res, v, ok := p.objects.Kind(*h.params)
	if !ok {
		return nil, fmt.Errorf("paramKind kind `%v` not known", *h.params)
	}
	switch {
	case !res.Namespaced && b.ref.Namespace != "":
		return nil, errors.New("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
	case !res.Namespaced:
		in = ""
	case b.ref.Namespace != "":
		in = b.ref.Namespace
	case in == "":
		return nil, errors.New("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
	}
	objects, err := p.find(ctx, res, b, in)
	if err != nil {
		return nil, err
	}
	if len(objects) == 0 && b.ref.ParameterNotFoundAction != nil && *b.ref.ParameterNotFoundAction == admissionv1.DenyAction {
		return nil, errors.New("no params found for policy binding with `Deny` parameterNotFoundAction")
	}
	list := make([]param, len(objects))
	for i, hub := range objects {
		value, err := match.ObjectValue(res, v, hub)
		if err != nil {
			return nil, err
		}
		list[i] = param{hub.GetNamespace(), hub.GetName(), value}
	}
	return list, nil
}

// find reads the objects that a binding refers to.
func (p paramReader) find(ctx context.Context, res *api.Resource, b *binding, in string) ([]api.Object, error) {
	switch {
	case b.ref.Name != "":
		obj, err := p.objects.Get(ctx, res, in, b.ref.Name)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return []api.Object{obj}, err
	case b.selector == nil && b.err == nil:
		return nil, errors.New("one of name or selector must be provided")
	case b.err != nil:
		return nil, b.err
	}
	return p.objects.List(ctx, res, in, b.selector)
}
