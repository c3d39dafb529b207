package controllers

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/miniapiserver/miniapiserver/storage"
)

// kindNames knows which names definitions were given. It keeps no definition:
// there may be thousands, which are not to be read again for each of them.
type kindNames struct {
	mu      sync.Mutex
	cursor  *storage.Cursor
	outline reader
	claims  map[string]*claim            // by definition
	groups  map[string]map[string]*claim // the same by group, then by definition
}

// claim is what a definition was given; settled: that is all that it asked for.
type claim struct {
	rev     int64
	group   string
	names   apiextensionsv1.CustomResourceDefinitionNames
	settled bool
}

// update takes in what changed; n.mu is held.
func (n *kindNames) update() {
	steps, all := n.cursor.Next()
	before := n.claims
	if all {
		n.claims, n.groups = make(map[string]*claim, len(steps)), map[string]map[string]*claim{}
	}
	for _, s := range steps {
		name := s.Item.Key()
		if s.Gone {
			n.set(name, nil)
			continue
		}
		c, ok := before[name]
		if !ok || c.rev != s.Item.Revision() {
			obj, err := n.outline(s.Item)
			if err != nil {
				continue // told of by the store
			}
			d := obj.(*definition)
			c = &claim{s.Item.Revision(), d.Spec.Group, d.Status.AcceptedNames, isTrue(d, apiextensionsv1.NamesAccepted)}
		}
		n.set(name, c)
	}
}

// set notes what a definition was given; nil: it is gone.
func (n *kindNames) set(name string, c *claim) {
	if was := n.claims[name]; was != nil {
		delete(n.claims, name)
		delete(n.groups[was.group], name)
		if len(n.groups[was.group]) == 0 {
			delete(n.groups, was.group)
		}
	}
	if c == nil {
		return
	}
	n.claims[name] = c
	if n.groups[c.group] == nil {
		n.groups[c.group] = map[string]*claim{}
	}
	n.groups[c.group][name] = c
}

// waiting are the definitions that do not have the names that they asked for: all
// of them, or those of a group.
func (n *kindNames) waiting(all bool, group string) (names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.update()
	claims := n.groups[group]
	if all {
		claims = n.claims
	}
	for name, c := range claims {
		if !c.settled {
			names = append(names, name)
		}
	}
	return names
}

// give gives d those of its names that are free in its group, or its own already,
// and tells of the last that is neither.
func (n *kindNames) give(ctx context.Context, d *definition) (reason, message string, err error) {
	if err := n.cursor.Wait(ctx); err != nil {
		return "", "", err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.update()
	given := d.Status.AcceptedNames
	reason, message = acceptNames(d, func(taken func(*apiextensionsv1.CustomResourceDefinitionNames) bool) bool {
		for name, c := range n.groups[d.Spec.Group] {
			if name != d.Name && taken(&c.names) {
				return true
			}
		}
		return taken(&given)
	})
	return reason, message, nil
}

// acceptNames is give, where anybody tells whether a thing is true of the names
// that some definition of the group was given, d among them.
func acceptNames(d *definition, anybody func(taken func(*apiextensionsv1.CustomResourceDefinitionNames) bool) bool) (reason, message string) {
	asked, accepted := d.Spec.Names, &d.Status.AcceptedNames
	inUse := func(name string) error { return fmt.Errorf("%q is already in use", name) }
	resource := func(name string) bool {
		return name != "" && anybody(func(o *apiextensionsv1.CustomResourceDefinitionNames) bool {
			return o.Plural == name || o.Singular == name || slices.Contains(o.ShortNames, name)
		})
	}
	kind := func(name string) bool {
		return name != "" && anybody(func(o *apiextensionsv1.CustomResourceDefinitionNames) bool {
			return o.Kind == name || o.ListKind == name
		})
	}
	take := func(taken func(string) bool, to *string, name, why string) {
		if name != *to && taken(name) {
			reason, message = why, inUse(name).Error()
			return
		}
		*to = name
	}
	take(resource, &accepted.Plural, asked.Plural, "PluralConflict")
	take(resource, &accepted.Singular, asked.Singular, "SingularConflict")
	var faults []error
	for _, n := range asked.ShortNames {
		if !slices.Contains(accepted.ShortNames, n) && resource(n) {
			faults = append(faults, inUse(n))
		}
	}
	if err := utilerrors.NewAggregate(faults); err != nil {
		reason, message = "ShortNamesConflict", err.Error()
	} else {
		accepted.ShortNames = asked.ShortNames
	}
	take(kind, &accepted.Kind, asked.Kind, "KindConflict")
	take(kind, &accepted.ListKind, asked.ListKind, "ListKindConflict")
	accepted.Categories = asked.Categories
	return reason, message
}
