package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// maxCheckpoints is the maximum number of Checkpoints.
const maxCheckpoints = 1000

// marks are the states of Checkpoints, and the revisions of the last hour by time.
type marks struct {
	mu    sync.Mutex
	byUID map[types.UID]*mark
	times []revisionAt // in their order
}

// mark is the state of a Checkpoint.
type mark struct {
	*storage.Mark
	made time.Time
}

// revisionAt is the revision of the store at a time.
type revisionAt struct {
	at  time.Time
	rev int64
}

const (
	// markEvery is the interval at which the revision is noted, for a Rewind by time.
	markEvery = time.Second
	// maxTimes is the number of noted revisions.
	maxTimes = 7200
	// unstoredMark is the age from which on a mark is dropped that no Checkpoint has: it was not stored, or is deleted.
	unstoredMark = 10 * time.Second
)

// newCheckpoints returns the resource of Checkpoints, which take their state while they are created.
func (l *Lab) newCheckpoints() *api.Resource {
	res := newKind[v1alpha1.Checkpoint](api.Names{
		Name: resourceCheckpoints, Singular: "checkpoint", Kind: "Checkpoint", Categories: []string{"lab"},
		Verbs: []string{api.VerbCreate, api.VerbDelete, api.VerbDeleteCollection, api.VerbGet, api.VerbList, api.VerbWatch},
	}, nil, func(row *table.Row, obj api.Object) {
		row.Name(obj.GetName())
		row.Text("Revision", "resourceVersion of the state.", text(obj, "status", "resourceVersion"))
		row.Text("Objects", "Number of objects in the state.", text(obj, "status", "objects"))
		row.Text("Bytes", "Size of the objects in bytes.", text(obj, "status", "bytes"))
		row.Age(obj)
	})
	res.Subresources = []api.Subresource{&api.Download{Name: "snapshot", ContentType: "application/octet-stream", Write: l.writeSnapshot}}
	res.Prepare = l.takeCheckpoint
	res.Checks = api.Checks(api.ObjectMeta, func(w *api.Write[api.Object]) {
		if w.IsNew() && text(w.Object, "status", "resourceVersion") == "" {
			rev := text(w.Object, "spec", "resourceVersion")
			w.Add(field.Invalid(field.NewPath("spec", "resourceVersion"), rev, l.whyNoState(w.Context, rev)))
		}
	})
	return res
}

// takeCheckpoint keeps the state of a new Checkpoint, and sets its status. The status stays empty if there is no such state.
func (l *Lab) takeCheckpoint(w *api.Write[api.Object]) {
	content := w.Object.(*untyped.Object).Object
	delete(content, "status")
	if !w.IsNew() {
		return
	}
	m, err := l.stateAt(w.Context, text(w.Object, "spec", "resourceVersion"))
	if err != nil {
		return // the check says why
	}
	l.marks.mu.Lock()
	defer l.marks.mu.Unlock()
	if len(l.marks.byUID) >= maxCheckpoints {
		return
	}
	l.marks.byUID[w.Object.GetUID()] = &mark{m, l.config.Now()}
	objects, bytes := m.Size()
	content["status"] = map[string]any{
		"resourceVersion": strconv.FormatInt(m.Revision(), 10), "objects": int64(objects), "bytes": bytes,
	}
}

// stateAt returns the state at a resourceVersion; empty means the present one.
func (l *Lab) stateAt(ctx context.Context, resourceVersion string) (*storage.Mark, error) {
	if resourceVersion == "" {
		return l.connections.Registry.Mark(ctx)
	}
	rev, err := strconv.ParseInt(resourceVersion, 10, 64)
	if err != nil || rev <= 0 {
		return nil, fmt.Errorf("%q is not a resourceVersion of a stored object", cut(resourceVersion, maxName))
	}
	return l.connections.Registry.MarkAt(ctx, rev)
}

// whyNoState returns why there is no state at a resourceVersion.
func (l *Lab) whyNoState(ctx context.Context, resourceVersion string) string {
	if _, err := l.stateAt(ctx, resourceVersion); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("there are %d checkpoints already; delete some", maxCheckpoints)
}

// checkpoint returns the state of a Checkpoint.
func (l *Lab) checkpoint(ctx context.Context, name string) (*storage.Mark, error) {
	t := registry.Target{Resource: l.checkpoints, Version: &l.checkpoints.Versions[0], Name: name}
	item, err := l.connections.Registry.Get(ctx, t, storage.Read{})
	if err != nil {
		return nil, err
	}
	obj, err := item.Object()
	if err != nil {
		return nil, err
	}
	l.marks.mu.Lock()
	defer l.marks.mu.Unlock()
	m := l.marks.byUID[obj.GetUID()]
	if m == nil {
		return nil, apierrors.NewGone(fmt.Sprintf("the state of checkpoint %s is not kept any more", name))
	}
	return m.Mark, nil
}

// writeSnapshot writes the state of a Checkpoint as an etcd snapshot, from which another server can start.
func (l *Lab) writeSnapshot(ctx context.Context, obj api.Object, _ string, w io.Writer) error {
	if l.connections.Save == nil {
		return apierrors.NewConflict(l.checkpoints.GroupResource(), obj.GetName(), errors.New("the etcd of the server is not embedded"))
	}
	m, err := l.checkpoint(ctx, obj.GetName())
	if err != nil {
		return err
	}
	return l.connections.Save(ctx, m, w)
}

// dropMarks drops the states that no Checkpoint has.
func (l *Lab) dropMarks(ctx context.Context) {
	t := registry.Target{Resource: l.checkpoints, Version: &l.checkpoints.Versions[0]}
	list, err := l.connections.Registry.List(ctx, t, registry.ListOptions{})
	if err != nil {
		return // the server ends
	}
	objects, err := list.Objects()
	if err != nil {
		l.config.Logger.Error("checkpoints cannot be read", "error", err)
		return
	}
	stored := map[types.UID]bool{}
	for _, obj := range objects {
		stored[obj.GetUID()] = true
	}
	l.marks.mu.Lock()
	defer l.marks.mu.Unlock()
	for uid, m := range l.marks.byUID {
		if !stored[uid] && l.config.Now().Sub(m.made) > unstoredMark {
			delete(l.marks.byUID, uid)
		}
	}
}

// noteTime notes the present revision, for a Rewind by time.
func (l *Lab) noteTime(ctx context.Context) {
	m, err := l.connections.Registry.Mark(ctx)
	if err != nil {
		return // there is no state to go back to
	}
	l.marks.mu.Lock()
	defer l.marks.mu.Unlock()
	if n := len(l.marks.times); n > 0 && l.marks.times[n-1].rev == m.Revision() {
		return
	}
	l.marks.times = append(l.marks.times, revisionAt{l.config.Now(), m.Revision()})
	if n := len(l.marks.times) - maxTimes; n > 0 {
		l.marks.times = append([]revisionAt(nil), l.marks.times[n:]...)
	}
}

// revisionBefore returns the revision of a time ago.
func (l *Lab) revisionBefore(ago time.Duration) (int64, error) {
	l.marks.mu.Lock()
	defer l.marks.mu.Unlock()
	at := l.config.Now().Add(-ago)
	for i := len(l.marks.times) - 1; i >= 0; i-- {
		if !l.marks.times[i].at.After(at) {
			return l.marks.times[i].rev, nil
		}
	}
	return 0, fmt.Errorf("the lab does not know the state of %v ago; it began later, or the history is shorter", ago)
}
