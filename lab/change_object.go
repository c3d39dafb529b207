package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// maxListedText is the length of all values in a list of changes in bytes, after which fields are not listed.
const maxListedText = 8 << 20

// changeReader makes the changes of one request.
type changeReader struct {
	*Changes
	mayRead func(ObjectRef) bool
	left    int // of maxListedText
}

func (c *Changes) reader(ctx context.Context) *changeReader {
	decided := map[ObjectRef]bool{} // lists have many changes of few objects
	return &changeReader{Changes: c, left: maxListedText, mayRead: func(ref ObjectRef) bool {
		may, ok := decided[ref]
		if !ok {
			may = c.MayRead(ctx, ref.Group, ref.Resource, ref.Namespace, ref.Name)
			decided[ref] = may
		}
		return may
	}}
}

// change makes the Change of a version.
func (r *changeReader) change(w *registry.Written) *v1alpha1.Change {
	res, v := w.Target.Resource, &w.Version
	gr := res.GroupResource()
	ref := ObjectRef{gr.Group, gr.Resource, w.Target.Namespace, w.Target.Name}
	out := &v1alpha1.Change{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Change"},
		ObjectMeta: metav1.ObjectMeta{Name: changeName(v)},
		Spec: v1alpha1.ChangeSpec{
			Object: ref.String(), APIVersion: res.Versions[0].GroupVersion.String(), Kind: res.Kind,
			Type: typeOf(v), ResourceVersion: strconv.FormatInt(v.Revision, 10),
		},
	}
	s := &out.Spec
	if v.Previous != nil {
		s.Previous = v.Previous.ResourceVersion()
	}
	after, errAfter := objectOf(v.Item)
	before, errBefore := objectOf(v.Previous)
	for _, obj := range []api.Object{before, after} { // only objects without a Go type have their version
		if u, ok := obj.(*untyped.Object); ok {
			s.APIVersion = u.GetAPIVersion()
		}
	}
	r.describeWriter(s, ref, v.Revision, before, after)
	if s.Time != nil {
		out.CreationTimestamp = metav1.NewTime(s.Time.Time.Truncate(time.Second))
	}
	switch {
	case !r.mayRead(ref):
		s.Hidden = fmt.Sprintf("you may not get %s", ref)
	case errAfter != nil || errBefore != nil:
		s.Hidden = "the stored value cannot be read"
	case v.Previous != nil || s.Type != v1alpha1.ChangeModified: // else the value before was compacted
		s.Fields = r.fields(res, before, after)
	}
	return out
}

func typeOf(v *storage.Version) string {
	switch {
	case v.Deleted:
		return v1alpha1.ChangeDeleted
	case v.Created:
		return v1alpha1.ChangeCreated
	}
	return v1alpha1.ChangeModified
}

// objectOf returns the object of an item, which must not be changed; nil if there is no item.
func objectOf(item *storage.Item) (api.Object, error) {
	if item == nil {
		return nil, nil
	}
	return item.Object()
}

// describeWriter sets who wrote a revision: by the request if that is kept, or by the fields that changed owners.
func (r *changeReader) describeWriter(s *v1alpha1.ChangeSpec, ref ObjectRef, rev int64, before, after api.Object) {
	var at time.Time
	if entry := writerOf(before, after); entry != nil {
		if s.Manager = entry.Manager; entry.Subresource != "" {
			s.Manager += "/" + entry.Subresource
		}
		if entry.Time != nil {
			at = entry.Time.Time
		}
	} else if before == nil && after != nil {
		at = after.GetCreationTimestamp().Time
	}
	if id, user, manager, verb, arrived, ok := r.Requests.RequestOf(ref.Group, ref.Resource, ref.Namespace, ref.Name, rev); ok {
		s.Request, s.User, s.Verb, at = id, user, verb, arrived
		if manager != "" { // an entry is a guess if several changed within a second
			s.Manager = manager
		}
	}
	if !at.IsZero() {
		s.Time = &metav1.MicroTime{Time: at}
	}
}

// fieldOwner identifies an entry of managedFields.
type fieldOwner struct {
	manager, apiVersion, subresource string
	operation                        metav1.ManagedFieldsOperationType
}

func ownersIn(obj api.Object) map[fieldOwner]*metav1.ManagedFieldsEntry {
	out := map[fieldOwner]*metav1.ManagedFieldsEntry{}
	if obj == nil {
		return out
	}
	entries := obj.GetManagedFields()
	for i := range entries {
		e := &entries[i]
		out[fieldOwner{e.Manager, e.APIVersion, e.Subresource, e.Operation}] = e
	}
	return out
}

// writerOf returns the entry of managedFields of the manager that wrote after: the one that is new or has another time, or has gained
// fields within the second that times distinguish; an entry that only lost fields is that of another manager. If there are several, or
// none, it is the newest. A deletion leaves no entry.
func writerOf(before, after api.Object) *metav1.ManagedFieldsEntry {
	if after == nil {
		return nil
	}
	old := ownersIn(before)
	var best *metav1.ManagedFieldsEntry
	bestRank := 0
	entries := after.GetManagedFields()
	for i := range entries {
		e := &entries[i]
		was, rank := old[fieldOwner{e.Manager, e.APIVersion, e.Subresource, e.Operation}], 1
		switch {
		case was == nil, !was.Time.Equal(e.Time):
			rank = 3
		case len(fieldSet(e)) > len(fieldSet(was)):
			rank = 2
		}
		if rank > bestRank || rank == bestRank && isNewer(e, best) {
			best, bestRank = e, rank
		}
	}
	return best
}

// fieldSet returns the fields of an entry as JSON.
func fieldSet(e *metav1.ManagedFieldsEntry) string {
	if e.FieldsV1 == nil {
		return ""
	}
	return e.FieldsV1.GetRawString()
}

// isNewer reports whether e is not older than other.
func isNewer(e, other *metav1.ManagedFieldsEntry) bool {
	return e.Time != nil && (other.Time == nil || !e.Time.Before(other.Time))
}

// fields returns the differences of two objects, as far as the list has room.
func (r *changeReader) fields(res *api.Resource, before, after api.Object) []v1alpha1.FieldChange {
	if r.left <= 0 {
		return []v1alpha1.FieldChange{{Path: "… (not listed, get the change to see its fields)"}}
	}
	changes := fieldChanges(contentOfObject(before, false), contentOfObject(after, false), res.Confidential)
	for i := range changes {
		r.left -= len(changes[i].Path) + len(changes[i].Before) + len(changes[i].After)
	}
	return changes
}

// after returns the object after a change as JSON, without confidential values.
func (r *changeReader) after(w *registry.Written) string {
	obj, err := objectOf(w.Version.Item)
	if obj == nil || err != nil {
		return ""
	}
	res, content := w.Target.Resource, contentOfObject(obj, true)
	if _, ok := content["kind"]; !ok { // objects with a Go type are stored without
		content["kind"], content["apiVersion"] = res.Kind, res.Versions[0].GroupVersion.String()
	}
	text, err := json.Marshal(redacted(content, res.Confidential))
	if err != nil { // decoded JSON can be encoded
		return ""
	}
	return string(text)
}

// contentOfObject returns an object as decoded JSON, which shares memory with the object only if that has no Go type and isComplete is
// false: then there are no managedFields. The content of no object is nil.
func contentOfObject(obj api.Object, isComplete bool) map[string]any {
	switch u := obj.(type) {
	case nil:
		return nil
	case *untyped.Object:
		if !isComplete {
			return u.Object
		}
		return u.DeepCopyObject().(*untyped.Object).UnstructuredContent()
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil { // objects with a Go type that was decoded can be converted
		return map[string]any{}
	}
	dropEmpty(content)
	return content
}
