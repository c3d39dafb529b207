package match

import (
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/request"
)

// Input holds the variables of expressions: a request in a form, a parameter and, if Ask is set, an
// authorizer. Namespace is the object's namespace if the expressions may use it.
type Input struct {
	Request    *Request
	Form       Form
	Params     any // nil or map[string]any
	Namespace  *corev1.Namespace
	Authorizer *RequestAuthorizer
}

// RequestAuthorizer authorizes for the expressions of one request and caches the decisions.
type RequestAuthorizer struct {
	authorize Authorizer
	cached    *authorizerValues
}

// NewRequestAuthorizer returns a RequestAuthorizer for one request.
func NewRequestAuthorizer(authorize Authorizer) *RequestAuthorizer {
	return &RequestAuthorizer{authorize: authorize}
}

// values creates the variables on first use.
func (a *RequestAuthorizer) values(r *Request) *authorizerValues {
	if a.cached == nil {
		a.cached = newAuthorizerValues(r, a.authorize)
	}
	return a.cached
}

// ResolveName implements expression.Input.
func (i *Input) ResolveName(name string) (any, bool) {
	switch name {
	case expression.Object, expression.OldObject:
		v := i.Request.view(i.Form)
		switch {
		case v.err != nil:
			return types.WrapErr(v.err), true
		case name == expression.Object:
			return v.object, true
		}
		return v.old, true
	case expression.Params:
		return i.Params, true
	case expression.Request:
		return i.Request.describe(i.Form), true
	case expression.NamespaceObject:
		return i.Request.showNamespace(i.Namespace), true
	case expression.Authorizer:
		if i.Authorizer != nil {
			return i.Authorizer.values(i.Request).authorizer, true
		}
	case expression.RequestResourceAuthorizer:
		if i.Authorizer != nil {
			return i.Authorizer.values(i.Request).requestResource, true
		}
	}
	return nil, false
}

// describe returns the request as an AdmissionRequest without its objects.
func (r *Request) describe(f Form) map[string]any {
	v := r.view(f)
	if v.request != nil && v.form.Resource == f.Resource {
		return v.request
	}
	asked := r.Asked()
	m := map[string]any{
		"uid": "", "operation": r.Operation(), "dryRun": r.DryRun, "userInfo": describeUser(r.User),
		"kind": kindMap(f.Kind), "resource": resourceMap(f.Resource),
		"requestKind": kindMap(asked.Kind), "requestResource": resourceMap(asked.Resource),
	}
	for key, value := range map[string]string{"name": r.Name, "namespace": r.In, "subResource": r.Subresource,
		"requestSubResource": r.Subresource} {
		if value != "" {
			m[key] = value
		}
	}
	m["options"] = nil
	if o := r.Options(); o != nil {
		if options, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o); err == nil {
			m["options"] = options
		}
	}
	v.request, v.form.Resource = m, f.Resource
	return m
}

func kindMap(k schema.GroupVersionKind) map[string]any {
	return map[string]any{"group": k.Group, "version": k.Version, "kind": k.Kind}
}

func resourceMap(r schema.GroupVersionResource) map[string]any {
	return map[string]any{"group": r.Group, "version": r.Version, "resource": r.Resource}
}

// describeUser returns the user's attributes that are set.
func describeUser(u *request.User) map[string]any {
	m := map[string]any{}
	if u.Name != "" {
		m["username"] = u.Name
	}
	if u.UID != "" {
		m["uid"] = u.UID
	}
	if len(u.Groups) > 0 {
		m["groups"] = u.Groups
	}
	if len(u.Extra) > 0 {
		m["extra"] = u.Extra
	}
	return m
}

// showNamespace returns the value of namespaceObject: the namespace with the fields that
// expressions may use, or nil.
func (r *Request) showNamespace(ns *corev1.Namespace) any {
	if ns == nil {
		return nil
	}
	if r.shown == nil {
		seen := &corev1.Namespace{Spec: ns.Spec, Status: ns.Status, ObjectMeta: metav1.ObjectMeta{
			Name: ns.Name, GenerateName: ns.GenerateName, UID: ns.UID, ResourceVersion: ns.ResourceVersion, Generation: ns.Generation,
			CreationTimestamp: ns.CreationTimestamp, DeletionTimestamp: ns.DeletionTimestamp, DeletionGracePeriodSeconds: ns.DeletionGracePeriodSeconds,
			Labels: ns.Labels, Annotations: ns.Annotations, Finalizers: ns.Finalizers}}
		m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(seen)
		if err != nil {
			return types.WrapErr(err)
		}
		r.shown = m
	}
	return r.shown
}
