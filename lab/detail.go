package lab

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/internal/quickjson"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/ssa"
)

// details are what only a get of a Request shows. They are kept as the states of the object, because the differences between
// them cost more to compute than the request itself; those of large objects, and of objects with secrets, are computed when
// the request ends, and the states are dropped.
type details struct {
	states  []request.ObjectState
	changes []v1alpha1.FieldChange // if the states were dropped
	digest  string                 // of a body that was dropped
	patch   request.Patch
	ref     ObjectRef
	sent    string // resourceVersion in the body of an update that met a conflict
	write   indexedWrite
	quoted  quoted
}

// maxStates is the size of the states of an object up to which they are kept as they are, in bytes.
const maxStates = 64 << 10

// detailsOf returns the details of a request.
func detailsOf(r *record, found *request.Found, res *api.Resource, ref ObjectRef) (d details) {
	d = details{ref: ref, states: found.States, patch: found.Patch}
	if r.code == 409 && len(found.States) > 0 {
		d.sent = sentVersion(found.States)
	}
	size := int64(len(d.patch.Data))
	for i := range d.states {
		size += int64(len(d.states[i].Data))
	}
	if r.lightened {
		d.digest = r.digest
		d.changes = []v1alpha1.FieldChange{{Path: "(not kept, because many large objects were written at once)"}}
	}
	isConfidential := res != nil && len(res.Confidential) > 0
	if isConfidential || size > maxStates {
		var confidential []string
		if isConfidential {
			confidential = res.Confidential
		}
		if len(d.patch.Data) > 0 {
			d.digest = digestOf(d.patch.Data)
		} else if len(d.states) > 0 {
			d.digest = digestOf(d.states[0].Data)
		}
		d.changes = changesOf(d.states, confidential)
		d.states, d.patch.Data = nil, nil
	}
	return d
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// sentVersion returns the resourceVersion in a body, or in the object that a patch made.
func sentVersion(states []request.ObjectState) string {
	sent := &states[0]
	for i := range states {
		if by := states[i].By; by == request.ChangedByPatch || by == request.ChangedByApply {
			sent = &states[i]
		}
	}
	var body struct{ Metadata metav1.ObjectMeta }
	text, err := sent.JSON()
	if err != nil || json.Unmarshal(text, &body) != nil {
		return ""
	}
	return body.Metadata.ResourceVersion
}

// isEmpty reports whether a get shows no more than a list.
func (d *details) isEmpty() bool {
	return len(d.states) == 0 && len(d.changes) == 0 && len(d.patch.Data) == 0 && d.digest == "" && d.quoted.isEmpty()
}

// size estimates the memory of the details in bytes.
func (d *details) size() int64 {
	n := int64(400+len(d.patch.Data)) + d.quoted.size()
	for i := range d.states {
		n += int64(120 + len(d.states[i].Data))
	}
	for i := range d.changes {
		c := &d.changes[i]
		n += int64(64 + len(c.Path) + len(c.Before) + len(c.After) + len(c.By))
	}
	return n
}

// changesOf returns the differences between the states, with the author of each.
func changesOf(states []request.ObjectState, confidential []string) []v1alpha1.FieldChange {
	var out []v1alpha1.FieldChange
	var before map[string]any
	for i := range states {
		after, err := contentOf(&states[i])
		if err != nil {
			out = append(out, v1alpha1.FieldChange{Path: fmt.Sprintf("(not readable: %v)", err), By: states[i].By})
			before = nil
			continue
		}
		if before != nil && states[i].By != "" {
			changes := fieldChanges(before, after, confidential)
			for n := range changes {
				changes[n].By = authorOf(states[i].By, &changes[n])
			}
			out = append(out, changes...)
		}
		before = after
	}
	return out
}

func contentOf(s *request.ObjectState) (map[string]any, error) {
	text, err := s.JSON()
	if err != nil {
		return nil, err
	}
	content, err := quickjson.Read(text)
	if err != nil {
		return nil, err
	}
	delete(content, "kind")
	delete(content, "apiVersion")
	dropEmpty(content)
	return content, nil
}

// dropEmpty removes the fields that an encoding has although they are not set: creationTimestamp, status and the empty structs in
// objects of Go types.
func dropEmpty(content map[string]any) {
	for name, value := range content {
		switch v := value.(type) {
		case nil:
			delete(content, name)
		case map[string]any:
			if len(v) > 0 {
				if dropEmpty(v); len(v) == 0 {
					delete(content, name)
				}
			}
		}
	}
	for _, name := range []string{"status", "spec"} {
		if v, ok := content[name].(map[string]any); ok && len(v) == 0 {
			delete(content, name)
		}
	}
}

// authorOf returns what changed a field. Decoding sets defaults, and drops fields that the kind does not have.
func authorOf(by string, c *v1alpha1.FieldChange) string {
	if by != request.ChangedByDecoding {
		return by
	}
	switch {
	case c.After == "":
		return "pruning"
	case c.Before == "":
		return "default"
	}
	return "decoding"
}

// detail returns a Request as a get shows it to the user of ctx.
func (l *Lab) detail(ctx context.Context, obj api.Object) (api.Object, error) {
	l.mu.Lock()
	k := l.kept[obj.GetName()]
	var d *details
	if k != nil {
		d = k.detail
	}
	l.mu.Unlock()
	var r v1alpha1.Request
	if err := recode(obj, &r); err != nil {
		return nil, err
	}
	l.explainAllowed(&r)
	if d == nil {
		return encode(&r)
	}
	if mayRead := l.connections.MayRead; mayRead != nil && !mayRead(ctx, d.ref.Group, d.ref.Resource, d.ref.Namespace, d.ref.Name) {
		r.Status.Hidden = fmt.Sprintf("you may not get %s", d.ref)
	} else {
		l.show(ctx, &r, d)
	}
	return encode(&r)
}

// show adds the details to a Request.
func (l *Lab) show(ctx context.Context, r *v1alpha1.Request, d *details) {
	d.quoted.show(r)
	r.Spec.BodyDigest = d.digest
	r.Status.Changes = d.changes
	if len(d.states) > 0 {
		r.Status.Changes = changesOf(d.states, nil)
	}
	if d.patch.Type != "" {
		r.Status.Owners = ownersOf(d.states)
	}
	if s := r.Status.Stored; s != nil && s.Retries > 0 {
		s.Writes = l.collided(d, s.ResourceVersion)
	}
	if len(d.patch.Data) > 0 {
		r.Spec.Patch = patchText(d.patch)
	}
	c := r.Status.Cause
	if c == nil || c.By != v1alpha1.CauseConflict || l.connections.Between == nil {
		return
	}
	after, err := strconv.ParseInt(d.sent, 10, 64)
	if err != nil {
		return
	}
	for _, change := range l.connections.Between(ctx, d.ref, after) {
		w := v1alpha1.ConflictingWrite{Request: change.Spec.Request, User: change.Spec.User, Manager: change.Spec.Manager,
			ResourceVersion: change.Spec.ResourceVersion, Fields: change.Spec.Fields}
		if change.Spec.Time != nil {
			w.Time = *change.Spec.Time
		}
		if c.Writes = append(c.Writes, w); len(c.Writes) == maxWrites {
			return
		}
	}
}

// collided returns the kept writes of the object of a request from its arrival until its own write.
func (l *Lab) collided(d *details, resourceVersion string) (out []v1alpha1.ConflictingWrite) {
	rev, err := strconv.ParseInt(resourceVersion, 10, 64)
	if err != nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.writes[d.ref] {
		if w.rev < rev && w.ended.After(d.write.at) && len(out) < maxWrites {
			out = append(out, v1alpha1.ConflictingWrite{Request: w.request, User: w.user, Manager: w.manager,
				Time: metav1.NewMicroTime(w.at), ResourceVersion: strconv.FormatInt(w.rev, 10)})
		}
	}
	return out
}

// explainAllowed adds to the step of authorization the rule that allows the request now, if it is one of RBAC.
func (l *Lab) explainAllowed(r *v1alpha1.Request) {
	for i := range r.Status.Steps {
		s := &r.Status.Steps[i]
		if s.Name != stepAuthorization || s.Facts["decision"] != "allow" || s.Facts["mode"] != "RBAC" || l.connections.Allowing == nil {
			continue
		}
		resource, subresource, _ := strings.Cut(r.Spec.Resource, "/")
		path, _, _ := strings.Cut(r.Spec.URI, "?")
		info := &request.Info{Verb: r.Spec.Verb, IsResource: resource != "", Path: path, Group: r.Spec.Group, Version: r.Spec.Version,
			Resource: resource, Subresource: subresource, Namespace: r.Spec.Namespace}
		if r.Spec.Verb != api.VerbCreate {
			info.Name = r.Spec.ObjectName
		}
		if rule := l.connections.Allowing(&request.User{Name: r.Spec.User, Groups: r.Spec.Groups}, info); rule != "" {
			s.Facts["rule"] = rule
		}
	}
}

// maxWrites is the maximum number of the writes that a conflict shows.
const maxWrites = 20

// patchText returns a patch as text: as the client sent it, or as JSON if that is no text.
func patchText(p request.Patch) string { return cut(string(p.Data), maxStates) }

// recode converts between an object and its Go type.
func recode(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// integers makes the numbers of a status integers, as they are in decoded objects of the server.
func integers(content map[string]any) {
	for key, value := range content {
		if n, ok := value.(float64); ok {
			content[key] = int64(n)
		}
	}
}

// encode returns a value of a Go type of the API as an object of the server.
func encode(value any) (*untyped.Object, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return untyped.Read(data)
}

// ownersOf returns which field managers own other fields after the write than before it.
func ownersOf(states []request.ObjectState) []v1alpha1.OwnerChange {
	first := slices.IndexFunc(states, func(s request.ObjectState) bool { return s.By == "" })
	if first < 0 || first == len(states)-1 {
		return nil
	}
	var out []v1alpha1.OwnerChange
	for _, c := range ssa.OwnerChanges(managersIn(&states[first]), managersIn(&states[len(states)-1]), maxOwned) {
		out = append(out, v1alpha1.OwnerChange{Manager: c.Manager, Gained: c.Gained, Lost: c.Lost})
	}
	return out
}

// maxOwned is the maximum number of the fields that a manager gained or lost.
const maxOwned = 200

// managersIn returns the managedFields of a state.
func managersIn(s *request.ObjectState) []metav1.ManagedFieldsEntry {
	text, err := s.JSON()
	if err != nil {
		return nil
	}
	var obj struct{ Metadata metav1.ObjectMeta }
	if json.Unmarshal(text, &obj) != nil {
		return nil
	}
	return obj.Metadata.ManagedFields
}
