package ssa

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
)

// unknownManager is the name of a writer without a name.
const unknownManager = "unknown"

// neverOwned are fields that a write does not own.
var neverOwned = paths(
	[]string{"apiVersion"}, []string{"kind"}, []string{"metadata"},
	[]string{"metadata", "name"}, []string{"metadata", "namespace"}, []string{"metadata", "creationTimestamp"},
	[]string{"metadata", "selfLink"}, []string{"metadata", "uid"}, []string{"metadata", "clusterName"},
	[]string{"metadata", "generation"}, []string{"metadata", "managedFields"}, []string{"metadata", "resourceVersion"},
)

// Update sets the managedFields of obj, which replaces live by a write other than an apply; live is
// nil for a create. Both are of the hub type. It is called with the object of the request, before
// the server sets fields itself. On an error, which is not the client's fault, obj has no
// managedFields and may be written nevertheless.
func (m *Manager) Update(live, obj api.Object, w Write) error {
	sent := obj.GetManagedFields()
	obj.SetManagedFields(nil)
	os := m.currentOwners(live, sent, w.Subresource != "")
	if len(os) == 0 && live != nil && live.GetUID() != "" {
		return nil
	}
	os, err := m.update(live, obj, os, w)
	if err != nil {
		return err
	}
	obj.SetManagedFields(os.encode())
	return nil
}

// currentOwners returns the owners of an object before a write. The main resource may set them, a
// subresource may not. If they are missing or invalid, the previous ones apply; an empty list
// resets them.
func (m *Manager) currentOwners(live api.Object, sent []metav1.ManagedFieldsEntry, subresource bool) owners {
	var old []metav1.ManagedFieldsEntry
	if live != nil {
		old = live.GetManagedFields()
	}
	if !subresource {
		if isReset(sent) {
			return nil
		}
		if os, err := decodeOwners(sent, &m.sets); err == nil && len(os) > 0 {
			return os
		}
	}
	os, err := decodeOwners(old, &m.sets)
	if err != nil {
		return nil
	}
	return os
}

// isReset reports whether managedFields request a reset.
func isReset(entries []metav1.ManagedFieldsEntry) bool {
	return entries != nil && len(entries) == 0 ||
		len(entries) == 1 && entries[0] == metav1.ManagedFieldsEntry{}
}

// update computes the owners of obj from those of live.
func (m *Manager) update(live, obj api.Object, os owners, w Write) (owners, error) {
	v, err := m.requestView(w)
	if err != nil {
		return nil, err
	}
	u := &updateOperation{m: m, v: v, live: live, obj: obj, before: map[*view]api.Object{}}
	d := &differences{manager: m, w: w, version: v, find: u.difference}
	difference, err := d.at(v)
	if err != nil {
		return nil, err
	}
	w.order(os)
	if os, err = m.reconcile(os, v, u.convertLive); err != nil {
		return nil, errorf("failed to update ManagedFields (%s): %w", v.nameOf(obj), err)
	}
	if os, err = d.removeAllChanged(os); err != nil {
		return nil, errorf("failed to update ManagedFields (%s): %w", v.nameOf(obj), err)
	}
	written, _ := minus(difference.marked(member), neverOwned)
	if len(written) > 0 {
		os = os.addFields(owner{
			manager: w.Manager, operation: metav1.ManagedFieldsOperationUpdate, apiVersion: w.Version.String(),
			subresource: w.Subresource, fields: written, time: entryTime(w.Now),
		})
	}
	return os.capped(), nil
}

// updateOperation is the state of one update.
type updateOperation struct {
	m         *Manager
	v         *view
	live, obj api.Object
	// before is live in the versions of other owners than the request's.
	before map[*view]api.Object
}

// convertLive converts live to another version than that of the request.
func (u *updateOperation) convertLive(other *view) error {
	before := other.empty
	if u.live != nil {
		hub, err := u.m.converted(u.v, u.live)
		if err != nil {
			return err
		}
		if before, err = u.m.as(other, hub); err != nil {
			return err
		}
		if err := other.checkDistinctObject(before); err != nil {
			return err
		}
	}
	u.before[other] = before
	return nil
}

// difference compares the objects before and after the update in version v.
func (u *updateOperation) difference(v *view) (Set, error) {
	before, ok := u.before[v]
	if ok {
		after, err := u.m.as(v, u.obj)
		if err == nil {
			err = v.checkDistinctObject(after)
		}
		if err != nil {
			return nil, errorf("failed to convert new object: %w", err)
		}
		return v.diff(before, after)
	}
	after, err := u.m.as(v, u.obj)
	if err != nil {
		return nil, errorf("failed to convert new object: %w", err)
	}
	if before, err = u.m.as(v, u.live); err != nil {
		return nil, errorf("failed to convert live object: %w", err)
	}
	return v.diff(before, after)
}

// addFields adds the fields of o to the existing entry of the same owner.
func (os owners) addFields(o owner) owners {
	if o.manager == "" {
		o.manager = unknownManager
	}
	existing := os.find(&o)
	if existing == nil {
		return append(os, o)
	}
	existing.setFields(union(o.fields, existing.fields))
	existing.time = o.time
	return os
}

// removeAllChanged removes the changed fields from each owner, compared in the owner's version. It
// drops owners in versions that are not compared and owners without remaining fields.
func (d *differences) removeAllChanged(os owners) (owners, error) {
	d.w.order(os)
	for i := range os {
		difference, isCompared, err := d.forOwner(&os[i])
		if err != nil {
			return nil, err
		}
		if !isCompared {
			os[i].setFields(nil)
			continue
		}
		os[i].removeChanged(difference)
	}
	return os.withoutEmpty(), nil
}

// differences computes the difference of a write in each required version.
type differences struct {
	manager *Manager
	w       Write
	version *view                    // that of the request
	find    func(*view) (Set, error) // compares the object before and after the write in a version
	found   []seen
}

type seen struct {
	view       *view
	difference Set
}

// at returns the difference in version v, without the fields that the subresource cannot set.
func (d *differences) at(v *view) (Set, error) {
	for _, s := range d.found {
		if s.view == v {
			return s.difference, nil
		}
	}
	difference, err := d.find(v)
	if err != nil {
		return nil, err
	}
	difference = d.manager.written(difference, v, d.w)
	d.found = append(d.found, seen{v, difference})
	return difference, nil
}

// forOwner returns the difference in the version of o. isCompared is false if the request's
// version is not converted to that version.
func (d *differences) forOwner(o *owner) (difference Set, isCompared bool, err error) {
	if !isConvertible(d.version, o.view) {
		return nil, false, nil
	}
	difference, err = d.at(o.view)
	return difference, err == nil, err
}
