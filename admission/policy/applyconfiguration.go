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

	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/internal/celbounds"
)

// applyConfiguration merges the apply configuration that an expression returns into the object,
// like server-side apply but without changing field ownership.
func applyConfiguration(_ context.Context, t *target, change ref.Val) (runtime.Object, error) {
	kind := t.form.Kind
	schema, ok := t.schemas(kind)
	if !ok {
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("Resource kind %s not found. There can be a delay between when CustomResourceDefinitions are created and when they are available.", kind))
	}
	config, ok := change.(*dynamic.ObjectVal)
	if !ok {
		return nil, fmt.Errorf("unsupported return type from ApplyConfiguration expression: %v", change.Type())
	}
	if err := celbounds.CheckSize(config, t.Attributes.Resource.ObjectLimit()); err != nil {
		return nil, fmt.Errorf("error applying patch: %w", err)
	}
	if err := config.CheckTypeNamesMatchFieldPathNames(); err != nil {
		return nil, fmt.Errorf("type mismatch: %w", err)
	}
	fields, ok := config.Value().(map[string]any)
	if !ok {
		return nil, fmt.Errorf("invalid return type: %T", change)
	}
	fields["apiVersion"], fields["kind"] = kind.GroupVersion().String(), kind.Kind
	if err := bounds.Value(fields, t.Attributes.Resource.ObjectLimit()); err != nil {
		return nil, fmt.Errorf("error applying patch: %w", err)
	}
	merged, err := t.merge(schema, fields)
	if err != nil {
		return nil, fmt.Errorf("error applying patch: %w", err)
	}
	if err := bounds.Value(merged, t.Attributes.Resource.ObjectLimit()); err != nil {
		return nil, fmt.Errorf("error applying patch: %w", err)
	}
	return t.object(merged)
}

// merge merges fields into the current object.
func (t *target) merge(schema typed.ParseableType, fields map[string]any) (map[string]any, error) {
	patch, err := schema.FromUnstructured(fields)
	if err != nil {
		return nil, fmt.Errorf("failed to convert patch object to typed object: %w", err)
	}
	if paths := atomicPaths(nil, patch.Schema(), patch.TypeRef(), patch.AsValue()); len(paths) > 0 {
		return nil, fmt.Errorf("invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: %v", strings.Join(paths, ", "))
	}
	current, err := t.As(t.form)
	if err != nil {
		return nil, err
	}
	live, err := schema.FromUnstructured(current, typed.AllowDuplicates)
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

// object converts fields to the Go type of t's form.
func (t *target) object(fields map[string]any) (runtime.Object, error) {
	obj := t.New(t.form)
	if u, ok := obj.(*untyped.Object); ok {
		u.SetUnstructuredContent(fields)
		return u, nil
	}
	if err := bounds.ContentInto(nil, fields, func() any { return obj }); err != nil {
		return nil, fmt.Errorf("error applying patch: %w", err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, obj); err != nil {
		return nil, err
	}
	return obj, nil
}

// atomicPaths returns the paths of atomic lists and maps in v. Changing one would remove the parts
// that v omits, so such a mutation is rejected.
func atomicPaths(path fieldpath.Path, s *schema.Schema, ref schema.TypeRef, v value.Value) (out []string) {
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
				out = append(out, atomicPaths(append(path, fieldpath.PathElement{FieldName: &name}), s, f.Type, field)...)
			}
			return true
		})
	case v.IsList() && atom.List != nil:
		if atom.List.ElementRelationship == schema.Atomic {
			out = append(out, path.String())
		}
		list := v.AsList()
		for i := range list.Length() {
			out = append(out, atomicPaths(append(path, fieldpath.PathElement{Index: &i}), s, atom.List.ElementType, list.At(i))...)
		}
	}
	return out
}
