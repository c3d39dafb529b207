package ssa

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
)

// unknownManager stands for a writer without a name.
const unknownManager = "unknown"

// neverOwned are fields that nobody comes to own by writing them.
var neverOwned = paths(
	[]string{"apiVersion"}, []string{"kind"}, []string{"metadata"},
	[]string{"metadata", "name"}, []string{"metadata", "namespace"}, []string{"metadata", "creationTimestamp"},
	[]string{"metadata", "selfLink"}, []string{"metadata", "uid"}, []string{"metadata", "clusterName"},
	[]string{"metadata", "generation"}, []string{"metadata", "managedFields"}, []string{"metadata", "resourceVersion"},
)

// Update sets the managedFields of obj, which takes the place of live by any
// write but an apply; live is nil for a create. Both are of the hub type. It is
// called with the object as the request made it, before the server sets what it
// owns. On an error, which is not the client's fault, obj is left without
// managedFields and may be written all the same.
func (m *Manager) Update(live, obj api.Object, w Write) error {
	sent := obj.GetManagedFields()
	obj.SetManagedFields(nil)
	os := present(live, sent, w.Subresource != "")
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

// present reads the owners that an object has before it is written. They may be
// set by who writes, but not through a subresource; what is missing or cannot
// be read is as it was, and a list that is empty begins anew.
func present(live api.Object, sent []metav1.ManagedFieldsEntry, subresource bool) owners {
	var old []metav1.ManagedFieldsEntry
	if live != nil {
		old = live.GetManagedFields()
	}
	if !subresource {
		if reset(sent) {
			return nil
		}
		if os, err := decode(sent); err == nil && len(os) > 0 {
			return os
		}
	}
	os, err := decode(old)
	if err != nil {
		return nil
	}
	return os
}

// reset tells managedFields by which a client asks to forget them.
func reset(entries []metav1.ManagedFieldsEntry) bool {
	return entries != nil && len(entries) == 0 ||
		len(entries) == 1 && entries[0] == metav1.ManagedFieldsEntry{}
}

// update makes the owners of obj from those of live.
func (m *Manager) update(live, obj api.Object, os owners, w Write) (owners, error) {
	v, err := m.own(w)
	if err != nil {
		return nil, err
	}
	d := &differences{manager: m, subresource: w.Subresource, core: w.Version.Group == "", find: func(v *view) (Set, error) {
		return m.difference(v, live, obj)
	}}
	if os, err = m.reconcile(os); err != nil {
		return nil, err
	}
	difference, err := d.at(v)
	if err != nil {
		return nil, err
	}
	if os, err = d.takeAll(os); err != nil {
		return nil, err
	}
	written, _ := minus(difference.marked(member), neverOwned)
	if len(written) > 0 {
		os = os.give(owner{
			manager: w.Manager, operation: metav1.ManagedFieldsOperationUpdate, apiVersion: w.Version.String(),
			subresource: w.Subresource, fields: written, time: stamp(w.Now),
		})
	}
	return os.capped(), nil
}

// give adds what o has to what the same owner has already.
func (os owners) give(o owner) owners {
	if o.manager == "" {
		o.manager = unknownManager
	}
	there := os.find(&o)
	if there == nil {
		return append(os, o)
	}
	there.set(union(o.fields, there.fields))
	there.time = o.time
	return os
}

// takeAll takes from every owner what has changed, as seen in the owner's
// version. Owners that use a version which is not known are dropped, and so are
// those that are left with nothing.
func (d *differences) takeAll(os owners) (owners, error) {
	for i := range os {
		difference, known, err := d.seenBy(&os[i])
		if err != nil {
			return nil, err
		}
		if !known {
			os[i].set(nil)
			continue
		}
		os[i].take(difference)
	}
	return os.withoutEmpty(), nil
}

// versionOf returns the version that o uses, nil when it is not known.
func (m *Manager) versionOf(o *owner) (*view, error) {
	gv, err := schema.ParseGroupVersion(o.apiVersion)
	if err != nil {
		return nil, err
	}
	return m.view(gv)
}

// differences is what a write changes, as seen in every version that is asked
// for.
type differences struct {
	manager     *Manager
	subresource string
	// core: the write is by way of the core group. It does not know of the versions
	// of the others, nor they of its own.
	core  bool
	find  func(*view) (Set, error) // compares before and after in a version
	found []seen
}

type seen struct {
	view       *view
	difference Set
}

// at returns the difference as seen in version v, without what a write through
// the subresource has no say in.
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
	difference = d.manager.written(difference, d.subresource)
	d.found = append(d.found, seen{v, difference})
	return difference, nil
}

// seenBy returns the difference as seen in the version that o uses, if that is
// known.
func (d *differences) seenBy(o *owner) (difference Set, known bool, err error) {
	v, err := d.manager.versionOf(o)
	if v == nil || err != nil || (v.version.Group == "") != d.core {
		return nil, false, err
	}
	difference, err = d.at(v)
	return difference, err == nil, err
}

// difference compares two objects, the first of which may be nil, in version v.
func (m *Manager) difference(v *view, before, after api.Object) (Set, error) {
	from := v.empty
	var err error
	if before != nil {
		if from, err = m.resource.As(v.version, before); err != nil {
			return nil, errorf("failed to convert live object: %w", err)
		}
	}
	to, err := m.resource.As(v.version, after)
	if err != nil {
		return nil, errorf("failed to convert new object: %w", err)
	}
	return v.differ(from, to)
}
