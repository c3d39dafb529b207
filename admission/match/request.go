package match

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/registry"
)

// Request is a write as rules and expressions see it. It is not safe for
// concurrent use.
type Request struct {
	*registry.Attributes
	// In is the namespace of the object, or the name of the object if it is a Namespace.
	In string

	// Shapes, if set, avoids converting whole objects for expressions.
	Shapes *Shapes

	namespaces func(ctx context.Context, name string) (*corev1.Namespace, error)
	namespace  *corev1.Namespace
	shown      map[string]any // value of namespaceObject
	views      []*view
}

// NewRequest returns the Request of a write. namespaces reads a namespace.
func NewRequest(a *registry.Attributes, namespaces func(context.Context, string) (*corev1.Namespace, error)) *Request {
	r := &Request{Attributes: a, In: a.Namespace, namespaces: namespaces}
	if r.isNamespace() {
		if r.In = a.Name; r.In == "" && a.Object != nil && a.Subresource == "" {
			r.In = a.Object.GetName()
		}
	}
	return r
}

func (r *Request) isNamespace() bool {
	return r.Resource.Kind == "Namespace" && r.Resource.Versions[0].Group == ""
}

// Namespace reads the namespace of the object. It returns nil for a Namespace and for a
// cluster-scoped object.
func (r *Request) Namespace(ctx context.Context) (*corev1.Namespace, error) {
	if r.In == "" || r.isNamespace() {
		return nil, nil
	}
	return r.readNamespace(ctx)
}

func (r *Request) readNamespace(ctx context.Context) (*corev1.Namespace, error) {
	if r.namespace == nil {
		ns, err := r.namespaces(ctx, r.In)
		if err != nil {
			return nil, err
		}
		r.namespace = ns
	}
	return r.namespace, nil
}

// Form is a request in one version of its resource.
type Form struct {
	Resource schema.GroupVersionResource
	Kind     schema.GroupVersionKind
	// version is the version of the objects; nil if they are of a kind with a single version.
	version *api.Version
}

// Asked returns the form that the client used.
func (r *Request) Asked() Form { return r.form(r.Version) }

func (r *Request) form(v *api.Version) Form {
	f := Form{Resource: v.WithResource(r.Resource.Name), Kind: r.Kind}
	if r.hasOwnKind() {
		return f
	}
	f.Kind, f.version = v.WithKind(r.Resource.Kind), v
	return f
}

// hasOwnKind reports whether the objects of the subresource or connection are of another kind than
// the resource.
func (r *Request) hasOwnKind() bool { return r.Kind.Kind != r.Resource.Kind || r.Connect != nil }

// Objects returns the new and the old object of the request in a form, nil if there is none. They
// must not be changed.
func (r *Request) Objects(f Form) (obj, old runtime.Object, err error) {
	if r.Connect != nil {
		return r.Connect, nil, nil
	}
	if obj, err = r.as(f, r.Object); err == nil {
		old, err = r.as(f, r.Old)
	}
	return obj, old, err
}

func (r *Request) as(f Form, hub api.Object) (runtime.Object, error) {
	switch {
	case hub == nil:
		return nil, nil
	case f.version == nil:
		return hub, nil
	}
	return r.Resource.As(f.version, hub)
}

// Sent returns what mutating admission may change: the new object, in the hub version, or the options
// of a connection. It is nil for a deletion.
func (r *Request) Sent() runtime.Object {
	switch {
	case r.Connect != nil:
		return r.Connect
	case r.Object != nil:
		return r.Object
	}
	return nil
}

// Replace replaces what the request sent by an object in form f. obj must not be used afterwards.
func (r *Request) Replace(f Form, obj runtime.Object) error {
	if f.version != nil {
		sent, ok := obj.(api.Object)
		if !ok {
			return fmt.Errorf("%T has no metadata", obj)
		}
		hub, err := r.Resource.Decoded(f.version, sent)
		if err != nil {
			return err
		}
		obj = hub
	}
	sent := r.Sent()
	is, becomes := reflect.ValueOf(sent), reflect.ValueOf(obj)
	if is.Type() != becomes.Type() {
		return fmt.Errorf("cannot replace object of type %T by %T", sent, obj)
	}
	if _, ok := obj.(*untyped.Object); !ok {
		obj.GetObjectKind().SetGroupVersionKind(sent.GetObjectKind().GroupVersionKind())
	}
	// Callers hold a pointer to the object, so its content is replaced.
	is.Elem().Set(becomes.Elem())
	r.views = nil
	return nil
}

// New returns an empty object in form f. The request must have sent one.
func (r *Request) New(f Form) runtime.Object {
	if f.version != nil {
		return r.Resource.NewOf(f.version)
	}
	return reflect.New(reflect.TypeOf(r.Sent()).Elem()).Interface().(runtime.Object)
}

// As returns the new object in form f, with its kind, as JSON values. It must not be changed.
func (r *Request) As(f Form) (map[string]any, error) {
	obj, _, err := r.Objects(f)
	if err != nil {
		return nil, err
	}
	v, err := jsonOf(obj, f.Kind)
	m, _ := v.(map[string]any)
	return m, err
}

// ObjectValue returns an object in a version as a value for expressions. It must not be changed.
func ObjectValue(res *api.Resource, v *api.Version, hub api.Object) (any, error) {
	obj, err := res.As(v, hub)
	if err != nil {
		return nil, err
	}
	return jsonOf(obj, v.WithKind(res.Kind))
}

// view holds the variables of a request in one form.
type view struct {
	form        Form
	object, old any // nil or a value that CEL treats as a map
	err         error
	request     map[string]any
}

// view returns the variables in form f, which are computed once.
func (r *Request) view(f Form) *view {
	for _, v := range r.views {
		if v.form.Kind == f.Kind {
			return v
		}
	}
	v := &view{form: f}
	obj, old, err := r.Objects(f)
	if err == nil {
		v.object, err = r.Shapes.show(obj, f.Kind)
	}
	if err == nil {
		v.old, err = r.Shapes.show(old, f.Kind)
	}
	v.err = err
	r.views = append(r.views, v)
	return v
}

// jsonOf returns an object with its kind as JSON values, or nil.
func jsonOf(obj runtime.Object, kind schema.GroupVersionKind) (any, error) {
	if obj == nil {
		return nil, nil
	}
	gv := kind.GroupVersion().String()
	if u, ok := obj.(*untyped.Object); ok {
		if u.Object["apiVersion"] != gv || u.Object["kind"] != kind.Kind {
			u = u.WithKind(kind)
		}
		return u.UnstructuredContent(), nil
	}
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("convert %s: %w", kind, err)
	}
	m["apiVersion"], m["kind"] = gv, kind.Kind
	return m, nil
}
