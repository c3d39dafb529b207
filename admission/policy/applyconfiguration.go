package policy

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types/ref"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/cel/mutation/dynamic"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/untyped"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
)

// applyConfiguration merges what an expression says into the object, as server
// side apply would, but nobody comes to own a field by it.
func applyConfiguration(_ context.Context, t *target, change ref.Val) (api.Object, error) {
	kind := t.form.Kind
	schema, ok := t.schemas(kind)
	if !ok {
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("Resource kind %s not found. There can be a delay between when CustomResourceDefinitions are created and when they are available.", kind))
	}
	config, ok := change.(*dynamic.ObjectVal)
	if !ok {
		return nil, fmt.Errorf("unsupported return type from ApplyConfiguration expression: %v", change.Type())
	}
	if err := config.CheckTypeNamesMatchFieldPathNames(); err != nil {
		return nil, fmt.Errorf("type mismatch: %w", err)
	}
	fields, ok := config.Value().(map[string]any)
	if !ok {
		return nil, fmt.Errorf("invalid return type: %T", change)
	}
	fields["apiVersion"], fields["kind"] = kind.GroupVersion().String(), kind.Kind
	if err := bounds.Value(fields); err != nil {
		return nil, fmt.Errorf("error applying patch: %w", err)
	}
	merged, err := t.merge(schema, fields)
	if err != nil {
		return nil, fmt.Errorf("error applying patch: %w", err)
	}
	if err := bounds.Value(merged); err != nil {
		return nil, fmt.Errorf("error applying patch: %w", err)
	}
	return t.object(merged)
}

// merge merges fields into the object as it is.
func (t *target) merge(schema typed.ParseableType, fields map[string]any) (map[string]any, error) {
	patch, err := schema.FromUnstructured(fields)
	if err != nil {
		return nil, fmt.Errorf("failed to convert patch object to typed object: %w", err)
	}
	if whole := atomics(nil, patch.Schema(), patch.TypeRef(), patch.AsValue()); len(whole) > 0 {
		return nil, fmt.Errorf("invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: %v", strings.Join(whole, ", "))
	}
	is, err := t.As(t.form)
	if err != nil {
		return nil, err
	}
	live, err := schema.FromUnstructured(is, typed.AllowDuplicates)
	if err != nil {
		return nil, fmt.Errorf("failed to convert original object to typed object: %w", err)
	}
	merged, err := live.Merge(patch)
	if err != nil {
		return nil, fmt.Errorf("failed to merge patch: %w", err)
	}
	out, ok := merged.AsValue().Unstructured().(map[string]any)
	if !ok {
		return nil, fmt.Errorf("failed to convert typed object to object: %T", merged.AsValue().Unstructured())
	}
	return out, nil
}

// object is what t becomes, of the Go type of its form.
func (t *target) object(fields map[string]any) (api.Object, error) {
	obj := t.New(t.form)
	if u, ok := obj.(*untyped.Object); ok {
		u.SetUnstructuredContent(fields)
		return u, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, obj); err != nil {
		return nil, err
	}
	return obj, nil
}

// atomics are the paths of lists and maps in v that are always replaced as a
// whole. Who changes one would take from it what is not mentioned, so that it is
// refused.
func atomics(path fieldpath.Path, s *schema.Schema, ref schema.TypeRef, v value.Value) (out []string) {
	atom, ok := s.Resolve(ref)
	if !ok {
		return nil
	}
	switch {
	case v.IsMap() && atom.Map != nil:
		if atom.Map.ElementRelationship == schema.Atomic {
			out = append(out, path.String())
		}
		v.AsMap().Iterate(func(name string, field value.Value) bool {
			if f, ok := atom.Map.FindField(name); ok {
				out = append(out, atomics(append(path, fieldpath.PathElement{FieldName: &name}), s, f.Type, field)...)
			}
			return true
		})
	case v.IsList() && atom.List != nil:
		if atom.List.ElementRelationship == schema.Atomic {
			out = append(out, path.String())
		}
		list := v.AsList()
		for i := range list.Length() {
			out = append(out, atomics(append(path, fieldpath.PathElement{Index: &i}), s, atom.List.ElementType, list.At(i))...)
		}
	}
	return out
}
