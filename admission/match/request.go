package match

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/untyped"
	"github.com/miniapiserver/miniapiserver/registry"
)

// Request is a write as rules and expressions see it. It is not safe for
// concurrent use.
type Request struct {
	*registry.Attributes
	// In is the namespace of the object, or its name if it is a namespace itself.
	In string

	// Shapes, when set, has objects converted only as far as expressions look.
	Shapes *Shapes

	namespaces func(ctx context.Context, name string) (*corev1.Namespace, error)
	namespace  *corev1.Namespace
	shown      map[string]any // the namespace, as expressions see it
	views      []*view
}

// NewRequest is about a write. Namespaces reads namespaces.
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

// Namespace reads the namespace of the object; nil when it has none or is one
// itself.
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
	// version is that of the objects; nil when they have one only.
	version *api.Version
}

// Asked is the form in which the client made the request.
func (r *Request) Asked() Form { return r.form(r.Version) }

func (r *Request) form(v *api.Version) Form {
	f := Form{Resource: v.WithResource(r.Resource.Name), Kind: r.Kind}
	if r.ownKind() {
		return f
	}
	f.Kind, f.version = v.WithKind(r.Resource.Kind), v
	return f
}

// ownKind tells of subresources and connections whose objects are of a kind of
// their own.
func (r *Request) ownKind() bool { return r.Kind.Kind != r.Resource.Kind || r.Connect != nil }

// Objects are those of the request in a form, the new one and the old one; nil
// where there is none. They must not be changed.
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

// Replace makes an object of form f what the request is about, in the place of
// the one that it is about now. The object must not be used any more.
func (r *Request) Replace(f Form, obj api.Object) error {
	if f.version != nil {
		hub, err := r.Resource.Decoded(f.version, obj)
		if err != nil {
			return err
		}
		obj = hub
	}
	is, becomes := reflect.ValueOf(r.Object), reflect.ValueOf(obj)
	if is.Type() != becomes.Type() {
		return fmt.Errorf("%T cannot become %T", r.Object, obj)
	}
	if _, ok := obj.(*untyped.Object); !ok {
		obj.GetObjectKind().SetGroupVersionKind(r.Object.GetObjectKind().GroupVersionKind())
	}
	// Others hold the pointer already.
	is.Elem().Set(becomes.Elem())
	r.views = nil
	return nil
}

// New makes an empty object of form f, for a request that has an object.
func (r *Request) New(f Form) api.Object {
	if f.version != nil {
		return r.Resource.NewOf(f.version)
	}
	return reflect.New(reflect.TypeOf(r.Object).Elem()).Interface().(api.Object)
}

// As is the new object in form f, with its kind, as JSON values. It must not be
// changed.
func (r *Request) As(f Form) (map[string]any, error) {
	obj, _, err := r.Objects(f)
	if err != nil {
		return nil, err
	}
	v, err := jsonOf(obj, f.Kind)
	m, _ := v.(map[string]any)
	return m, err
}

// Shown is an object of a resource in one of its versions, as expressions see
// objects. It must not be changed.
func Shown(res *api.Resource, v *api.Version, hub api.Object) (any, error) {
	obj, err := res.As(v, hub)
	if err != nil {
		return nil, err
	}
	return jsonOf(obj, v.WithKind(res.Kind))
}

// view is a request in one form, as expressions see it.
type view struct {
	form        Form
	object, old any // nil or what expressions see as a map
	err         error
	request     map[string]any
}

// view makes what expressions see, once.
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

// jsonOf is an object as JSON values, with its kind; nil for none.
func jsonOf(obj runtime.Object, kind schema.GroupVersionKind) (any, error) {
	if obj == nil {
		return nil, nil
	}
	gv := kind.GroupVersion().String()
	if u, ok := obj.(*untyped.Object); ok {
		if u.Object["apiVersion"] != gv || u.Object["kind"] != kind.Kind {
			u = u.As(kind)
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
