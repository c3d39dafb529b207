package lab

import (
	"cmp"
	"context"
	"io"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/lab/conversation"
)

// formatHAR is the format of the log that browsers' tools read.
const formatHAR = "har"

// writeLog writes what a Recording has kept, as far as the user of ctx may get the objects.
func (l *Lab) writeLog(ctx context.Context, obj api.Object, format string, w io.Writer) error {
	all := l.recordingState().all
	i := slices.IndexFunc(all, func(a *armedRecording) bool { return a.uid == string(obj.GetUID()) })
	if i < 0 {
		return apierrors.NewNotFound(l.recorded.GroupResource(), obj.GetName())
	}
	steps, hidden := all[i].visible(l.readerOf(ctx))
	head := conversation.Head{Name: obj.GetName(), Begin: all[i].begin.UTC(), Hidden: hidden, Reason: all[i].status().Reason}
	if format == formatHAR {
		return conversation.WriteHAR(w, head, steps)
	}
	out, err := conversation.NewWriter(w, head)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if err := out.Write(s); err != nil {
			return err
		}
	}
	return nil
}

// visible returns the steps that a reader may see, in the order of their start, and how many there are besides.
func (t *traffic) visible(mayRead func(*part) bool) (steps []*conversation.Step, hidden int) {
	t.mu.Lock()
	kept := slices.Clone(t.kept)
	t.mu.Unlock()
	kept = slices.DeleteFunc(kept, func(p *part) bool {
		if mayRead(p) {
			return false
		}
		hidden++
		return true
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range kept {
		if step := p.withEvents(); step != nil {
			steps = append(steps, step)
		}
	}
	slices.SortStableFunc(steps, func(a, b *conversation.Step) int { return cmp.Compare(a.Timing.Start, b.Timing.Start) })
	return steps, hidden
}

// readerOf returns whether the user of ctx may get the object of an exchange. Each object is asked for once.
func (l *Lab) readerOf(ctx context.Context) func(*part) bool {
	type target struct {
		ref  ObjectRef
		path string
	}
	known := map[target]bool{}
	return func(p *part) bool {
		key := target{p.ref, p.path}
		may, isKnown := known[key]
		if !isKnown {
			if p.path != "" {
				may = l.connections.MayReadPath == nil || l.connections.MayReadPath(ctx, p.path)
			} else {
				may = l.connections.MayRead == nil || l.connections.MayRead(ctx, p.ref.Group, p.ref.Resource, p.ref.Namespace, p.ref.Name)
			}
			known[key] = may
		}
		return may
	}
}
