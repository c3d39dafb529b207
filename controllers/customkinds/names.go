package customkinds

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/storage"
)

// kindNames has the accepted names of all definitions. It holds names only, because there
// may be thousands of definitions, and is updated by a cursor.
type kindNames struct {
	mu      sync.Mutex
	cursor  *storage.Cursor
	outline reconcile.ItemReader
	claims  map[string]*nameClaim            // by definition
	groups  map[string]map[string]*nameClaim // the same by group, then by definition
}

// nameClaim is the accepted names of a definition. complete is set if these are all names of its
// spec.
type nameClaim struct {
	rev      int64
	group    string
	names    apiextensionsv1.CustomResourceDefinitionNames
	complete bool
}

// update applies the changes since the last call; the caller holds n.mu.
func (n *kindNames) update() {
	steps, all := n.cursor.Next()
	before := n.claims
	if all {
		n.claims, n.groups = make(map[string]*nameClaim, len(steps)), map[string]map[string]*nameClaim{}
	}
	for _, s := range steps {
		name := s.Item.Key()
		if s.Deleted {
			n.set(name, nil)
			continue
		}
		c, ok := before[name]
		if !ok || c.rev != s.Item.Revision() {
			obj, err := n.outline(s.Item)
			if err != nil {
				continue // the store has logged it
			}
			d := obj.(*definition)
			c = &nameClaim{s.Item.Revision(), d.Spec.Group, d.Status.AcceptedNames, isTrue(d, apiextensionsv1.NamesAccepted)}
		}
		n.set(name, c)
	}
}

// set records the claim of a definition; nil removes it.
func (n *kindNames) set(name string, c *nameClaim) {
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
		n.groups[c.group] = map[string]*nameClaim{}
	}
	n.groups[c.group][name] = c
}

// waiting returns the definitions with names that were not accepted, of one group or of all.
func (n *kindNames) waiting(all bool, group string) (names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.update()
	claims := n.groups[group]
	if all {
		claims = n.claims
	}
	for name, c := range claims {
		if !c.complete {
			names = append(names, name)
		}
	}
	return names
}

// accept accepts the names of d that no other definition of its group has, and returns the
// reason for the last name that was not accepted.
func (n *kindNames) accept(ctx context.Context, d *definition) (reason, message string, err error) {
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

// acceptNames sets the accepted names of d. anybody reports whether a predicate holds for
// the accepted names of any definition of the group, including d.
func acceptNames(d *definition, anybody func(taken func(*apiextensionsv1.CustomResourceDefinitionNames) bool) bool) (reason,
	message string) {
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
