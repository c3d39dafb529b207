package controllers

import (
	"context"
	"slices"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/storage"
)

type definitionCondition = apiextensionsv1.CustomResourceDefinitionCondition

// schemaChecks finds out which stored schemas cannot be used, for the condition
// NonStructuralSchema. A schema is checked when it is written, so that a bad one is
// rare; but to check it takes many times as long as to serve its kind, which reads no
// schema until it has to. Definitions are therefore checked one by one, in a fraction
// of the time of one processor.
type schemaChecks struct {
	kinds *CustomKinds
	queue workqueue.TypedInterface[string]

	mu       sync.Mutex
	verdicts map[string]schemaVerdict // by the name of the definition
}

// schemaVerdict is the condition that a spec should have; nil for none. A definition
// that cannot be read in full cannot be written either: its conditions stay.
type schemaVerdict struct {
	spec       specID
	condition  *definitionCondition
	unreadable error
}

// checkShare is the part of the time that checks may take, as a divisor.
const checkShare = 5

func newSchemaChecks(k *CustomKinds) *schemaChecks {
	return &schemaChecks{kinds: k, queue: workqueue.NewTyped[string](), verdicts: map[string]schemaVerdict{}}
}

// judge sets or removes the condition in d as its schemas have it. If they have not
// been checked yet the condition stays as it is, and d is looked at again after that.
func (s *schemaChecks) judge(d *definition, spec specID, item *storage.Item) {
	s.mu.Lock()
	v, ok := s.verdicts[d.Name]
	s.mu.Unlock()
	switch {
	case d.Spec.PreserveUnknownFields: // few are, and they are always read as a whole
		v = verdictOn(item, spec)
	case !ok || v.spec != spec:
		s.queue.Add(d.Name)
		return
	}
	switch {
	case v.unreadable != nil:
	case v.condition == nil:
		d.Status.Conditions = slices.DeleteFunc(d.Status.Conditions, func(c definitionCondition) bool {
			return c.Type == apiextensionsv1.NonStructuralSchema
		})
	default:
		d.Status.Conditions = api.SetDefinitionCondition(d.Status.Conditions, *v.condition, s.kinds.Now())
	}
}

func verdictOn(item *storage.Item, spec specID) schemaVerdict {
	obj, err := item.Object()
	if err != nil {
		return schemaVerdict{spec: spec, unreadable: err}
	}
	return schemaVerdict{spec: spec, condition: api.SchemaCondition(obj.(*definition))}
}

// forget drops the verdict about a definition that is gone.
func (s *schemaChecks) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.verdicts, name)
}

// run checks definitions until ctx is done.
func (s *schemaChecks) run(ctx context.Context) {
	defer context.AfterFunc(ctx, s.queue.ShutDown)()
	for {
		name, shutdown := s.queue.Get()
		if shutdown {
			return
		}
		begun := time.Now()
		s.checkNamed(ctx, name)
		s.queue.Done(name)
		select {
		case <-ctx.Done():
		case <-time.After((checkShare - 1) * time.Since(begun)):
		}
	}
}

// checkNamed checks the definition of a name, and has it looked at again if its
// condition is not what it should be.
func (s *schemaChecks) checkNamed(ctx context.Context, name string) {
	k := s.kinds
	t := k.definitions
	t.Name = name
	item, err := k.Registry.Get(ctx, t, storage.Read{Match: storage.Any})
	if err != nil {
		return // it is gone, or the loop tries again
	}
	d, err := k.outlineOf(item)
	if err != nil {
		return
	}
	v := verdictOn(item, k.specOf(d, item))
	s.mu.Lock()
	s.verdicts[name] = v
	s.mu.Unlock()
	i := slices.IndexFunc(d.Status.Conditions, func(c definitionCondition) bool { return c.Type == apiextensionsv1.NonStructuralSchema })
	switch {
	case v.unreadable != nil:
		k.Logger.Error("the schema of a custom resource definition cannot be read", "definition", name, "error", v.unreadable)
		return
	case v.condition != nil:
		k.Logger.Error("the schema of a custom resource definition cannot be used", "definition", name,
			"reason", v.condition.Reason, "message", v.condition.Message)
	case i < 0:
		return
	}
	k.loop.queue.Add(name)
}
