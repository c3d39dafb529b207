package ssa

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
)

// Apply merges patch into live and returns the new object of the hub type, with defaults and
// managedFields. live is nil for a create. patch is decoded JSON in the version of w and is not
// changed. If patch changes fields that other managers own, Apply returns a conflict, which is a
// Status, unless w.Force is set.
func (m *Manager) Apply(live api.Object, patch map[string]any, w Write) (api.Object, error) {
	v, err := m.requestView(w)
	if err != nil {
		return nil, err
	}
	if patch["apiVersion"] != v.apiVersion || patch["kind"] != m.resource.Kind {
		u := untyped.FromContent(patch) // may write the apiVersion in another way
		if gvk := u.GroupVersionKind(); gvk != w.Version.WithKind(m.resource.Kind) {
			return nil, apierrors.NewBadRequest("invalid object type: " + gvk.String())
		}
	}
	a := &applyOperation{m: m, v: v, w: w, live: live, patch: patch}
	if live != nil {
		if a.os, err = decodeOwners(live.GetManagedFields(), &m.sets); err != nil {
			return nil, errorf("failed to decode managed fields: %w", err)
		}
	}
	if err := a.prepare(); err != nil {
		return nil, err
	}
	obj, os, err := a.run(w.Force)
	if err != nil {
		if obj, os, err = a.migrate(err); err != nil {
			return nil, err
		}
	}
	if w.Manager == kubectl {
		if err := a.syncLastApplied(obj); err != nil {
			return nil, err
		}
	}
	obj.SetManagedFields(os.encode())
	return obj, nil
}

// applyOperation is the state of one apply.
type applyOperation struct {
	m     *Manager
	v     *view
	w     Write
	live  api.Object
	patch map[string]any
	// os are the owners of live.
	os owners
	// before is live as decoded JSON of version v, without managedFields; others is the same in the
	// versions of other owners.
	before map[string]any
	others map[*view]map[string]any
	// fields are the fields of patch that the request can set; owned are the members of
	// fields that the applier owns.
	fields, owned Set
}

// prepare validates the patch and computes the state before it.
func (a *applyOperation) prepare() error {
	var err error
	if len(a.os) == 0 && a.live != nil {
		first := a.w
		first.Manager = beforeFirstApply
		if a.m.resource.Unregistered {
			err = errorf("failed to convert live object (/; %s) to proper version: %w", a.v.gvk, errInvalidVersion(a.v.apiVersion))
		} else {
			a.os, err = a.m.update(nil, a.live, nil, first)
		}
		if err != nil {
			return errorf("failed to create manager for existing fields: %w", err)
		}
	}
	if hasManagedFields(a.patch) {
		return apierrors.NewBadRequest("metadata.managedFields must be nil")
	}
	live, err := a.m.as(a.v, a.live)
	if err == nil {
		a.before, err = a.v.content(live)
	}
	if err != nil {
		return errorf("failed to convert live object (%s) to proper version: %w", a.name(), err)
	}
	if err := a.v.checkDistinct(a.patch); err != nil {
		return errorf("failed to create typed patch object (%s): %w", a.name(), err)
	}
	if a.live != nil {
		if err := a.v.checkObject(live, a.before); err != nil {
			return errorf("failed to create typed live object (%s): %w", nameOf(a.before), err)
		}
	}
	if a.fields, err = a.v.root.fields(a.patch); err != nil {
		return errorf("failed to get field set: %w", err)
	}
	a.fields = a.m.written(a.fields, a.v, a.w)
	a.owned, _ = minus(a.fields, neverOwned)
	a.others = map[*view]map[string]any{}
	a.w.order(a.os)
	a.os, err = a.m.reconcile(a.os, a.v, a.convertLive)
	return err
}

// hasManagedFields reports whether a patch has managedFields that can be read. Others are faults of the
// patch, which are found later.
func hasManagedFields(patch map[string]any) bool {
	metadata, _ := patch["metadata"].(map[string]any)
	list, ok := metadata["managedFields"].([]any)
	if !ok {
		return false
	}
	for _, item := range list {
		content, ok := item.(map[string]any)
		if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(content, &metav1.ManagedFieldsEntry{}) != nil {
			return false
		}
	}
	return true
}

// convertLive converts live to another version than that of the request.
func (a *applyOperation) convertLive(other *view) error {
	var err error
	a.others[other], err = a.m.convert(a.before, a.v, other)
	return err
}

// beforeFirstApply is the manager that owns all fields of an object without managedFields.
const beforeFirstApply = "before-first-apply"

// name identifies the object in messages.
func (a *applyOperation) name() string { return nameOf(a.patch) }

// run merges the patch. It does not change a, so it can be repeated with force.
func (a *applyOperation) run(force bool) (api.Object, owners, error) {
	os := slices.Clone(a.os)
	value, err := mergeValues(a.v.root, a.before, a.patch)
	if err != nil {
		return nil, nil, errorf("failed to merge config: %w", err)
	}
	merged, _ := value.(map[string]any)
	o := owner{
		manager: a.w.Manager, operation: metav1.ManagedFieldsOperationApply, subresource: a.w.Subresource,
		apiVersion: a.v.apiVersion, fields: a.owned, view: a.v,
	}
	if o.manager == "" {
		o.manager = unknownManager
	}
	var last *owner
	if existing := os.find(&o); existing != nil {
		before := *existing
		last, o.time = &before, before.time
		if equalSets(o.fields, last.fields) { // which need not be encoded again
			o.fields, o.raw = last.fields, last.raw
		}
		*existing = o
	} else {
		os = append(os, o)
	}
	if merged, err = a.prune(merged, os, &o, last); err != nil {
		return nil, nil, errorf("failed to prune fields: %w", err)
	}
	if os, err = a.resolveConflicts(merged, os, &o, force); err != nil {
		return nil, nil, err
	}
	if a.live != nil && equalJSON(a.before, merged) {
		return a.live.DeepCopyObject().(api.Object), os, nil
	}
	if existing := os.find(&o); existing != nil {
		existing.time = entryTime(a.w.Now)
	}
	obj, err := a.decoded(merged)
	return obj, os, err
}

// decoded returns the object with the content that an apply made.
func (a *applyOperation) decoded(merged map[string]any) (api.Object, error) {
	obj, err := a.m.versioned(a.v, merged)
	if err == nil && a.m.resource.Unregistered {
		err = errInvalidVersion(a.v.apiVersion)
	}
	if err == nil {
		obj, err = a.m.resource.Decoded(a.v.version, obj)
	}
	if err != nil {
		return nil, errorf("failed to convert new object (%s) to proper version: %w", a.name(), err)
	}
	if check := a.m.resource.CheckConversion; check != nil {
		if err := check(obj); err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("failed to convert to unversioned (%s): %v", a.name(), err))
		}
	}
	return obj, nil
}

// resolveConflicts removes the fields that merged changes from other owners, or returns the
// conflicts.
func (a *applyOperation) resolveConflicts(merged map[string]any, os owners, self *owner, force bool) (owners, error) {
	d := &differences{manager: a.m, w: a.w, version: a.v, find: func(v *view) (Set, error) {
		return a.difference(v, merged)
	}}
	var conflicts conflicts
	a.w.order(os)
	for i := range os {
		if os[i].isSame(self) {
			continue
		}
		difference, isCompared, err := d.forOwner(&os[i])
		if err != nil {
			return nil, err
		}
		if !isCompared {
			os[i].setFields(nil)
			continue
		}
		if set := intersect(os[i].fields, difference, member); len(set) > 0 {
			conflicts = append(conflicts, conflict{os[i], set})
		}
		os[i].removeChanged(difference)
	}
	if len(conflicts) > 0 && !force {
		return nil, conflicts
	}
	return os.withoutEmpty(), nil
}

// difference returns the changes of merged, compared in version v.
func (a *applyOperation) difference(v *view, merged map[string]any) (Set, error) {
	before, ok := a.others[v]
	if !ok {
		before = a.before
	}
	after, err := a.m.convert(merged, a.v, v)
	if err != nil {
		return nil, errorf("failed to convert new object: %w", err)
	}
	_, difference, err := diff(v.root, without(before, "kind", "apiVersion"), without(after, "kind", "apiVersion"))
	if err != nil {
		return nil, errorf("failed to compare objects: %w", err)
	}
	return difference, nil
}
