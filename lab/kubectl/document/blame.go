package document

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// Origin is where the value of a line comes from.
type Origin struct {
	// Change is the change that set the value; nil if it is older than the history.
	Change *v1alpha1.Change
	// Owner is the entry of managedFields that has the field, for values without a change; nil if there is none.
	Owner *metav1.ManagedFieldsEntry
}

// BlamedLine is a line with its origin.
type BlamedLine struct {
	Line
	Origin Origin
}

// Blame returns the lines of an object, without its managedFields, with the change that last touched each. The changes are
// the newest first, in the version of the object. They are undone one after the other: an undone change is the origin of the values
// that were not there before it. Values that are older than the last change that could be undone get the owner in
// managedFields. The error tells why a change could not be undone; the lines are valid nevertheless.
func Blame(object map[string]any, changes []v1alpha1.Change) ([]BlamedLine, error) {
	owners := managedFields(object)
	shown := WithoutManagedFields(object)
	lines, err := Lines(shown)
	if err != nil {
		return nil, err
	}
	root := newNode(shown)
	undoErr := root.follow(shown, changes)
	for _, o := range owners {
		root.own(shown, o.fields, o.entry)
	}
	var blamed []BlamedLine
	for _, l := range lines {
		blamed = append(blamed, BlamedLine{l, root.at(l.Path).origin})
	}
	return blamed, undoErr
}

// follow undoes changes and notes the origins. It stops when all origins are known or a change cannot be undone.
func (n *node) follow(object any, changes []v1alpha1.Change) error {
	state := object
	for i := range changes {
		change := &changes[i]
		if i == 0 { // every change sets it, so that changes do not mention it
			n.setResourceVersion(change)
		}
		switch {
		case n.open == 0 || change.Spec.Type == v1alpha1.ChangeDeleted || change.Spec.Hidden != "":
			return nil
		case change.Spec.Type == v1alpha1.ChangeCreated:
			n.close(change)
			return nil
		}
		before, err := Undo(state, change.Spec.Fields)
		if err != nil {
			return err
		}
		n.step(state, before, change)
		state = before
	}
	return nil
}

func (n *node) setResourceVersion(change *v1alpha1.Change) {
	if metadata := n.fields["metadata"]; metadata != nil && metadata.fields["resourceVersion"] != nil {
		n.open -= metadata.open
		metadata.open -= metadata.fields["resourceVersion"].close(change)
		n.open += metadata.open
	}
}

// node is a value of the object, with the values in it.
type node struct {
	fields   map[string]*node
	elements []*node
	// index is that of an element in the state that is being looked at, in which elements may be in another order.
	index  int
	origin Origin
	// open is the number of values from here on whose origin is not known.
	open int
}

func newNode(value any) *node {
	n := &node{open: 1}
	switch value := value.(type) {
	case map[string]any:
		n.fields = make(map[string]*node, len(value))
		for name, child := range value {
			n.fields[name] = newNode(child)
			n.open += n.fields[name].open
		}
	case []any:
		for i, child := range value {
			e := newNode(child)
			e.index = i
			n.elements = append(n.elements, e)
			n.open += e.open
		}
	}
	return n
}

// at returns the node at the path of a line of the object.
func (n *node) at(path Path) *node {
	for _, s := range path {
		if s.Index >= 0 {
			n = n.elements[s.Index]
		} else {
			n = n.fields[s.Field]
		}
	}
	return n
}

// close notes the origin of all values from here on that have none, and returns how many they were.
func (n *node) close(change *v1alpha1.Change) int {
	closed := n.open
	if closed == 0 {
		return 0
	}
	if n.origin.Change == nil {
		n.origin.Change = change
	}
	for _, child := range n.fields {
		child.close(change)
	}
	for _, child := range n.elements {
		child.close(change)
	}
	n.open = 0
	return closed
}

// step compares the states after and before a change, notes the change as the origin of what differs, and returns the number of
// values whose origin became known.
func (n *node) step(now, before any, change *v1alpha1.Change) (closed int) {
	if n.open == 0 {
		return 0
	}
	defer func() { n.open = max(n.open-closed, 0) }()
	switch now := now.(type) {
	case map[string]any:
		before, same := before.(map[string]any)
		if !same || len(now) == 0 && len(before) > 0 {
			return n.close(change)
		}
		for name, child := range n.fields {
			if old, found := before[name]; found {
				closed += child.step(now[name], old, change)
			} else {
				closed += child.close(change)
			}
		}
	case []any:
		before, same := before.([]any)
		if !same || len(now) == 0 && len(before) > 0 {
			return n.close(change)
		}
		places := align(now, before)
		for _, child := range n.elements {
			if child.open == 0 {
				continue
			}
			if place := places[child.index]; place >= 0 {
				closed += child.step(now[child.index], before[place], change)
				child.index = place
			} else {
				closed += child.close(change)
			}
		}
	default:
		if !reflect.DeepEqual(now, before) {
			return n.close(change)
		}
	}
	return closed
}

// identities are the fields that tell the elements of lists apart, as the API's lists of maps have them as keys.
var identities = []string{"name", "uid", "key", "type", "ip", "containerPort", "port", "mountPath", "devicePath", "topologyKey", "id"}

// align returns for each element of a list the index of the same element in an earlier state of the list, or -1.
func align(now, before []any) []int {
	for _, field := range identities {
		a, b := positions(now, field), positions(before, field)
		if a == nil || b == nil {
			continue
		}
		places := make([]int, len(now))
		for identity, i := range a {
			places[i] = -1
			if place, found := b[identity]; found {
				places[i] = place
			}
		}
		return places
	}
	return alignValues(now, before)
}

// positions returns the elements by the value of a field, or nil if it does not tell them apart.
func positions(list []any, field string) map[any]int {
	found := make(map[any]int, len(list))
	for i, element := range list {
		fields, _ := element.(map[string]any)
		switch identity := fields[field].(type) {
		case string, int64, float64:
			if _, twice := found[identity]; twice {
				return nil
			}
			found[identity] = i
		default:
			return nil
		}
	}
	return found
}

// alignValues matches equal elements, and lets the others match what is at their place if it matches nothing else.
func alignValues(now, before []any) []int {
	free := map[string][]int{}
	for i, element := range before {
		text := encode(element)
		free[text] = append(free[text], i)
	}
	places, used := make([]int, len(now)), make([]bool, len(before))
	for i, element := range now {
		text := encode(element)
		places[i] = -1
		if same := free[text]; len(same) > 0 {
			places[i], free[text] = same[0], same[1:]
			used[same[0]] = true
		}
	}
	for i := range now {
		if places[i] < 0 && i < len(before) && !used[i] {
			places[i] = i
		}
	}
	return places
}

func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "" // decoded JSON is always encoded
	}
	return string(text)
}
