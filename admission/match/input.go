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

// Input is what expressions refer to: a request in a form, a parameter and, when
// Ask is there, who may do what. Namespace is the namespace's if they may know it.
type Input struct {
	Request   *Request
	Form      Form
	Params    any // nil or map[string]any
	Namespace *corev1.Namespace
	Ask       *Asker
}

// Asker asks an Authorizer for the expressions of one request, each question
// once.
type Asker struct {
	ask Authorizer
	who *who
}

// NewAsker is for one request.
func NewAsker(ask Authorizer) *Asker { return &Asker{ask: ask} }

// values are made when an expression first asks.
func (a *Asker) values(r *Request) *who {
	if a.who == nil {
		a.who = newWho(r, a.ask)
	}
	return a.who
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
		if i.Ask != nil {
			return i.Ask.values(i.Request).anything, true
		}
	case expression.RequestResourceAuthorizer:
		if i.Ask != nil {
			return i.Ask.values(i.Request).request, true
		}
	}
	return nil, false
}

// describe is the request as an AdmissionRequest, without its objects.
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
	for key, value := range map[string]string{"name": r.Name, "namespace": r.In, "subResource": r.Subresource, "requestSubResource": r.Subresource} {
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

// describeUser leaves out what is not known of a user.
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

// showNamespace is a namespace with the fields that expressions may see; nil for
// none.
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
