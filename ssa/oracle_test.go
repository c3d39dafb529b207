package ssa

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/kinds"
)

// resource returns a built-in resource by its plural name.
func resource(t testing.TB, name string) *api.Resource {
	t.Helper()
	for _, r := range kinds.All() {
		if r.Name == name {
			if _, err := api.New(r); err != nil {
				t.Fatal(err)
			}
			return r
		}
	}
	t.Fatalf("no resource %q", name)
	return nil
}

// builtIn is the schema of the built-in kinds that client-go carries.
func builtIn() (managedfields.TypeConverter, Schemas) {
	converter := applyconfigurations.NewTypeConverter(scheme.Scheme)
	return converter, func(gvk schema.GroupVersionKind) (typed.ParseableType, bool) {
		obj, err := scheme.Scheme.New(gvk)
		if err != nil {
			return typed.ParseableType{}, false
		}
		obj.GetObjectKind().SetGroupVersionKind(gvk)
		v, err := converter.ObjectToTyped(obj)
		if err != nil {
			return typed.ParseableType{}, false
		}
		return typed.ParseableType{TypeRef: v.TypeRef(), Schema: v.Schema()}, true
	}
}

// oracle is apimachinery's field manager with the interface of Manager.
type oracle struct {
	res       *api.Resource
	converter managedfields.TypeConverter
	resets    Resets
}

func (o *oracle) manager(t rapidT, w Write) *managedfields.FieldManager {
	filters := map[fieldpath.APIVersion]fieldpath.Filter{}
	for i := range o.res.Versions {
		set := fieldpath.NewSet()
		for _, path := range o.resets[w.Subresource] {
			var parts []any
			for name := range strings.SplitSeq(path, ".") {
				parts = append(parts, name)
			}
			set.Insert(fieldpath.MakePathOrDie(parts...))
		}
		if o.res.IsCustom() && w.Subresource == "" && o.res.Versions[i].GroupVersion != w.Version.GroupVersion {
			continue
		}
		filters[fieldpath.APIVersion(o.res.Versions[i].String())] = fieldpath.NewExcludeSetFilter(set)
	}
	m, err := managedfields.NewDefaultFieldManager(o.converter, o, o, o,
		w.Version.WithKind(o.res.Kind), o.res.Hub(), w.Subresource, filters)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (o *oracle) update(t rapidT, live, obj api.Object, w Write) (api.Object, error) {
	var before runtime.Object = live
	if live == nil {
		before = o.typed(o.res.NewOf(w.Version), w.Version.GroupVersion)
	}
	out, err := o.manager(t, w).Update(toLibrary(before), toLibrary(obj), w.Manager)
	return o.finish(out, w), err
}

func (o *oracle) apply(t rapidT, live api.Object, patch map[string]any, w Write) (api.Object, error) {
	var before runtime.Object = live
	if live == nil {
		before = o.typed(o.res.NewOf(w.Version), w.Version.GroupVersion)
	}
	out, err := o.manager(t, w).Apply(toLibrary(before), &unstructured.Unstructured{Object: patch}, w.Manager, w.Force)
	return o.finish(out, w), err
}

// finish converts an object to the form that Manager returns.
func (o *oracle) finish(out runtime.Object, w Write) api.Object {
	if out == nil || reflect.ValueOf(out).IsNil() {
		return nil
	}
	hub, err := o.ConvertToVersion(toCatalogue(out), o.res.Hub())
	if err != nil {
		return nil
	}
	obj := toCatalogue(hub)
	if o.res.Default != nil {
		o.res.Default(obj)
	}
	fields := obj.GetManagedFields()
	for i := range fields {
		if fields[i].Time != nil && fields[i].Time.After(realTime) {
			fields[i].Time = entryTime(w.Now)
		}
	}
	obj.SetManagedFields(fields)
	return obj
}

// realTime separates the times in the tests, which are earlier, from times of the real clock, which
// are later.
var realTime = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// toCatalogue converts an object of the libraries to the catalogue's type: objects without Go types
// differ.
func toCatalogue(obj runtime.Object) api.Object {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return untyped.FromContent(u.Object)
	}
	return obj.(api.Object)
}

// toLibrary is the inverse of toCatalogue.
func toLibrary(obj runtime.Object) runtime.Object {
	if o, ok := obj.(*untyped.Object); ok {
		return &unstructured.Unstructured{Object: o.UnstructuredContent()}
	}
	return obj
}

// typed returns obj with its kind set.
func (o *oracle) typed(obj api.Object, gv schema.GroupVersion) api.Object {
	obj.GetObjectKind().SetGroupVersionKind(gv.WithKind(o.res.Kind))
	return obj
}

// ConvertToVersion implements runtime.ObjectConvertor by the conversions of the
// catalogue.
func (o *oracle) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	gvk, ok := to.KindForGroupVersionKinds([]schema.GroupVersionKind{
		{Group: to.(schema.GroupVersion).Group, Version: to.(schema.GroupVersion).Version, Kind: o.res.Kind}})
	version := o.res.Version(gvk.GroupVersion())
	if version == nil && o.res.IsCustom() { // as the converter of custom kinds words it
		return nil, errorf("request to convert CR to an invalid group/version: %s", to)
	}
	if !ok || version == nil {
		return nil, runtime.NewNotRegisteredErrForKind("test", gvk)
	}
	from := o.res.Version(in.GetObjectKind().GroupVersionKind().GroupVersion())
	obj := toCatalogue(in.DeepCopyObject())
	if from == nil {
		from = &o.res.Versions[0]
	}
	if u, ok := obj.(*untyped.Object); ok {
		obj = o.res.NewOf(from)
		if _, ok := obj.(*untyped.Object); ok {
			obj = u
		} else if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj); err != nil {
			// As the scheme of kube-apiserver words it, which converts to the type of the body.
			return nil, fmt.Errorf("unable to convert unstructured object to %v: %w", from.WithKind(o.res.Kind), err)
		}
	}
	if from.GroupVersion != version.GroupVersion {
		var err error
		if from.ToHub != nil {
			if obj, err = from.ToHub(obj); err != nil {
				return nil, err
			}
		}
		if obj, err = o.res.As(version, obj); err != nil {
			return nil, err
		}
		obj = obj.DeepCopyObject().(api.Object)
	}
	return toLibrary(o.typed(obj, version.GroupVersion)), nil
}

func (o *oracle) Convert(_, _, _ any) error { return errorf("not to be called") }

func (o *oracle) ConvertFieldLabel(schema.GroupVersionKind, string, string) (string, string, error) {
	return "", "", errorf("not to be called")
}

func (o *oracle) Default(runtime.Object) {}

func (o *oracle) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	return toLibrary(o.typed(o.res.NewOf(o.res.Version(gvk.GroupVersion())), gvk.GroupVersion())), nil
}

// comparable returns obj as JSON without its kind.
func comparable(t rapidT, obj api.Object) map[string]any {
	t.Helper()
	if obj == nil {
		return nil
	}
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	delete(out, "kind")
	delete(out, "apiVersion")
	return out
}

// both performs the same writes with a Manager and with the oracle, each on its own object.
type both struct {
	m    *Manager
	o    *oracle
	live api.Object
	now  time.Time
	// managers are the names of managers to choose from.
	managers []string
}

func newBoth(res *api.Resource, converter managedfields.TypeConverter, schemas Schemas, resets Resets) *both {
	return &both{
		m: New(res, schemas, resets), o: &oracle{res: res, converter: converter, resets: resets},
		now: time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC),
	}
}

// forOracle returns a copy of live with its kind.
func (b *both) forOracle(obj api.Object) api.Object {
	if obj == nil {
		return nil
	}
	return b.o.typed(obj.DeepCopyObject().(api.Object), b.o.res.Hub())
}

// update writes obj with both and fails the test if the results differ.
func (b *both) update(t rapidT, obj api.Object, w Write) {
	b.now = b.now.Add(time.Second)
	w.Now = b.now
	mine := obj.DeepCopyObject().(api.Object)
	toLibrary := obj.DeepCopyObject().(api.Object)
	toLibrary.SetManagedFields(nil)
	toLibrary = b.forOracle(stored(t, b.o.res, toLibrary))
	toLibrary.SetManagedFields(obj.GetManagedFields())
	want, wantErr := b.o.update(t, b.forOracle(b.live), toLibrary, w)
	err := b.m.Update(b.live, mine, w)
	b.agree(t, "update", mine, want, err, wantErr)
}

// apply applies patch with both and fails the test if the results differ.
func (b *both) apply(t rapidT, patch map[string]any, w Write) {
	b.now = b.now.Add(time.Second)
	w.Now = b.now
	want, wantErr := b.o.apply(t, b.forOracle(b.live), runtime.DeepCopyJSON(patch), w)
	got, err := b.m.Apply(b.live, runtime.DeepCopyJSON(patch), w)
	b.agree(t, "apply", got, want, err, wantErr)
}

// rapidT is the common interface of testing.T and rapid.T.
type rapidT interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func (b *both) agree(t rapidT, what string, got, want api.Object, err, wantErr error) {
	t.Helper()
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s: error %v, oracle says %v", what, err, wantErr)
	}
	if err != nil {
		diff := cmp.Diff(causes(wantErr), causes(err))
		if diff == "" {
			diff = cmp.Diff(lines(wantErr), lines(err))
		}
		if diff != "" {
			t.Fatalf("%s: error\n%v\noracle says\n%v\n%s", what, err, wantErr, diff)
		}
		return
	}
	if diff := cmp.Diff(comparable(t, want), comparable(t, got)); diff != "" {
		t.Fatalf("%s (-oracle +ssa):\n%s", what, diff)
	}
	if _, ok := got.(*untyped.Object); !ok {
		if diff := cmp.Diff(texts(want), texts(got)); diff != "" {
			t.Fatalf("%s: fieldsV1 (-oracle +ssa):\n%s", what, diff)
		}
	}
	if got.GetUID() == "" {
		got.SetUID("u")
		got.SetCreationTimestamp(metav1.NewTime(b.now))
	}
	b.live = stored(t, b.o.res, got)
}

// stored returns obj as it is read from storage. The oracle compares lists of structs by their Go
// values.
func stored(t rapidT, res *api.Resource, obj api.Object) api.Object {
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	out := res.New()
	if u, ok := out.(*untyped.Object); ok {
		u.Object = map[string]any{}
		err = json.Unmarshal(text, &u.Object)
	} else {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// lines returns the sorted lines of an error, since the order of some varies. It omits the details
// of an invalid patch, of which structured-merge-diff reports varying parts.
func lines(err error) []string {
	if text, _, ok := strings.Cut(err.Error(), "): "); ok && strings.HasPrefix(text, "failed to create typed patch object") {
		return []string{text}
	}
	out := strings.Split(err.Error(), "\n")
	slices.Sort(out)
	return out
}

// causes returns the sorted causes of a Status.
func causes(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var out []string
	for _, c := range status.Status().Details.Causes {
		out = append(out, string(c.Type)+" "+c.Message+" "+c.Field)
	}
	slices.Sort(out)
	return append(out, string(status.Status().Reason))
}

// texts returns the encoded fieldsV1 of obj.
func texts(obj api.Object) []string {
	var out []string
	for _, e := range obj.GetManagedFields() {
		out = append(out, e.FieldsV1.GetRawString())
	}
	return out
}

func unstructuredOf(object map[string]any) *untyped.Object {
	return untyped.FromContent(object)
}
