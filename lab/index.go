package lab

import (
	"slices"
	"time"
)

// ObjectRef names an object of the API.
type ObjectRef struct{ Group, Resource, Namespace, Name string }

// String returns RESOURCE.GROUP/NAMESPACE/NAME, as field selectors of Changes have it.
func (o ObjectRef) String() string {
	s := o.Resource
	if o.Group != "" {
		s += "." + o.Group
	}
	if o.Namespace != "" {
		s += "/" + o.Namespace
	}
	return s + "/" + o.Name
}

// writeIndex has the kept requests that wrote an object, in the order of the revisions that they made.
type writeIndex map[ObjectRef][]indexedWrite

// indexedWrite is a write of an object.
type indexedWrite struct {
	rev                          int64
	request, user, manager, verb string
	at, ended                    time.Time
	kept                         *keptRequest
}

// add adds a request that wrote an object. A request that changed nothing answers with the revision of an earlier write, and is left out.
func (x writeIndex) add(k *keptRequest) {
	if k.rev == 0 {
		return
	}
	w := k.detail.write
	w.rev, w.request, w.kept = k.rev, k.name, k
	list := x[k.object]
	at, found := slices.BinarySearchFunc(list, k.rev, func(w indexedWrite, rev int64) int { return int(min(max(w.rev-rev, -1), 1)) })
	if found {
		if list[at].at.After(w.at) { // the requests came out of order
			list[at] = w
		}
		return
	}
	x[k.object] = slices.Insert(list, at, w)
}

func (x writeIndex) remove(k *keptRequest) {
	if k.rev == 0 {
		return
	}
	list := slices.DeleteFunc(x[k.object], func(w indexedWrite) bool { return w.kept == k })
	if len(list) == 0 {
		delete(x, k.object)
		return
	}
	x[k.object] = list
}

// RequestOf returns the request that made a revision of an object, if it is kept.
func (l *Lab) RequestOf(group, resource, namespace, name string, rev int64) (id, user, manager, verb string, at time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.writes[ObjectRef{group, resource, namespace, name}] {
		if w.rev == rev {
			return w.request, w.user, w.manager, w.verb, w.at, true
		}
	}
	return "", "", "", "", time.Time{}, false
}

// ObjectAt returns the object whose write by a kept request made a revision.
func (l *Lab) ObjectAt(rev int64) (ObjectRef, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ref, list := range l.writes {
		for _, w := range list {
			if w.rev == rev {
				return ref, true
			}
		}
	}
	return ObjectRef{}, false
}
