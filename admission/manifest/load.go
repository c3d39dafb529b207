package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	admissionv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/miniapiserver/miniapiserver/api"
)

// Suffix is the end of the names of all objects in manifests. Clients cannot create objects with
// such names, so that no object of the API has the name of one in a manifest.
const Suffix = ".static.k8s.io"

// loader reads the objects of a directory.
type loader struct {
	decoder runtime.Decoder
	// kinds are the kinds that the plugin accepts.
	kinds []*api.Resource
	// check returns what forbids an object in a manifest, in the file of a path, although it is
	// valid in the API.
	check func(obj api.Object, path string) error
}

func newLoader(kinds []*api.Resource, check func(api.Object, string) error) (*loader, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(admissionv1.AddToScheme(scheme), admissionv1beta1.AddToScheme(scheme),
		admissionv1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	scheme.AddUnversionedTypes(metav1.SchemeGroupVersion, &metav1.List{}, &metav1.Status{})
	return &loader{serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer(), kinds, check}, nil
}

// load returns the objects of files, with defaults and validated, in the order of their names.
func (l *loader) load(files []file) ([]api.Object, error) {
	r := reading{loader: l, seen: map[string]string{}}
	for i := range files {
		r.path = files[i].path
		docs, err := files[i].documents()
		if err != nil {
			return nil, err
		}
		for _, doc := range docs {
			if err := r.document(doc); err != nil {
				return nil, fmt.Errorf("error loading %s: %w", r.path, err)
			}
		}
	}
	slices.SortStableFunc(r.objects, func(a, b api.Object) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return r.objects, nil
}

// reading is the state of one load.
type reading struct {
	*loader
	path    string
	objects []api.Object
	// seen has the file of each object, by kind and name.
	seen map[string]string
}

func (r *reading) document(doc []byte) error {
	obj, _, err := r.decoder.Decode(doc, nil, nil)
	if err != nil {
		return err
	}
	if list, ok := obj.(*metav1.List); ok {
		for i := range list.Items {
			if err := r.document(list.Items[i].Raw); err != nil {
				return err
			}
		}
		return nil
	}
	if !meta.IsListType(obj) {
		return r.object(obj, obj)
	}
	return meta.EachListItem(obj, func(item runtime.Object) error { return r.object(item, obj) })
}

// object adds an object, which is document or an item of it.
func (r *reading) object(decoded, document runtime.Object) error {
	res, obj := r.kindOf(decoded)
	if res == nil {
		return fmt.Errorf("unsupported resource type %T", document)
	}
	name := obj.GetName()
	res.Default(obj)
	if errs := res.CheckCreate(&res.Versions[0], obj); len(errs) > 0 {
		return fmt.Errorf("%s %q: %w", res.Kind, name, errs.ToAggregate())
	}
	if err := r.checkName(res, name); err != nil {
		return err
	}
	if err := r.check(obj, r.path); err != nil {
		return err
	}
	r.objects = append(r.objects, obj)
	return nil
}

// kindOf returns the kind of an object of the hub version, or nil if the plugin does not accept it.
func (r *reading) kindOf(decoded runtime.Object) (*api.Resource, api.Object) {
	for _, res := range r.kinds {
		if obj, ok := decoded.(api.Object); ok && reflect.TypeOf(obj) == reflect.TypeOf(res.New()) {
			return res, obj
		}
	}
	return nil, nil
}

func (r *reading) checkName(res *api.Resource, name string) error {
	if !strings.HasSuffix(name, Suffix) {
		return fmt.Errorf("%q in file %q must have a name ending with %q", name, r.path, Suffix)
	}
	key := res.Kind + "/" + name
	if other, ok := r.seen[key]; ok {
		return fmt.Errorf("duplicate name %q found in file %q (previously seen in %q)", name, r.path, other)
	}
	r.seen[key] = r.path
	return nil
}
