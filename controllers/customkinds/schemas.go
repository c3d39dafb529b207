package customkinds

import (
	"context"
	"slices"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/miniapiserver/miniapiserver/kinds/apiextensions"
	"github.com/miniapiserver/miniapiserver/storage"
)

type definitionCondition = apiextensionsv1.CustomResourceDefinitionCondition

// schemaChecks checks stored schemas for the condition NonStructuralSchema. Schemas are
// checked when they are written, so invalid ones are rare. A check takes many times as long
// as installing the kind, which reads schemas only on demand, so definitions are checked one
// at a time in a fraction of one processor's time.
type schemaChecks struct {
	kinds *Controller
	queue workqueue.TypedInterface[string]

	mu      sync.Mutex
	results map[string]schemaCheckResult // by the name of the definition
	written map[string]int64             // the generation for which the condition was last written, by definition
}

// schemaCheckResult is the condition of a spec; nil for none. If the definition cannot be
// decoded, its conditions are not changed.
type schemaCheckResult struct {
	spec       specID
	condition  *definitionCondition
	unreadable error
}

// checkShare is the divisor of the time that checks may use.
const checkShare = 5

func newSchemaChecks(k *Controller) *schemaChecks {
	return &schemaChecks{kinds: k, queue: workqueue.NewTyped[string](), results: map[string]schemaCheckResult{}, written: map[string]int64{}}
}

// setSchemaCondition sets or removes the condition of d, and reports whether it changed. As in kube-apiserver,
// it does so once for each generation, and what a client writes afterwards stays. If the schemas were not
// checked yet, it queues the check, after which d is synced again.
func (s *schemaChecks) setSchemaCondition(d *definition, spec specID, item *storage.Item) bool {
	s.mu.Lock()
	v, ok := s.results[d.Name]
	written, wasWritten := s.written[d.Name]
	s.mu.Unlock()
	switch {
	case wasWritten && d.Generation <= written:
		return false
	case d.Spec.PreserveUnknownFields: // such definitions are rare and always decoded in full
		v = checkSchemas(item, spec)
	case !ok || v.spec != spec:
		s.queue.Add(d.Name)
		return false
	}
	is := conditionOf(d, apiextensionsv1.NonStructuralSchema)
	switch {
	case v.unreadable != nil, v.condition == nil && is == nil:
		return false
	case v.condition == nil:
		d.Status.Conditions = slices.DeleteFunc(d.Status.Conditions, func(c definitionCondition) bool {
			return c.Type == apiextensionsv1.NonStructuralSchema
		})
		if len(d.Status.Conditions) == 0 {
			d.Status.Conditions = nil // as the list is read from kube-apiserver's store
		}
	case is != nil && is.Status == v.condition.Status && is.Reason == v.condition.Reason && is.Message == v.condition.Message:
		return false
	default:
		d.Status.Conditions = apiextensions.SetDefinitionCondition(d.Status.Conditions, *v.condition, s.kinds.Now())
	}
	return true
}

// conditionWritten records that the condition of a definition was written.
func (s *schemaChecks) conditionWritten(d *definition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written[d.Name] = d.Generation
}

func checkSchemas(item *storage.Item, spec specID) schemaCheckResult {
	obj, err := item.Object()
	if err != nil {
		return schemaCheckResult{spec: spec, unreadable: err}
	}
	return schemaCheckResult{spec: spec, condition: apiextensions.SchemaCondition(obj.(*definition))}
}

// forget drops what is known of a deleted definition.
func (s *schemaChecks) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.results, name)
	delete(s.written, name)
}

// run checks queued definitions until ctx is done.
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

// checkNamed checks a definition, and queues a sync if its condition differs.
func (s *schemaChecks) checkNamed(ctx context.Context, name string) {
	k := s.kinds
	t := k.definitions
	t.Name = name
	item, err := k.Registry.Get(ctx, t, storage.Read{Match: storage.Any})
	if err != nil {
		return // it was deleted, or the loop retries
	}
	d, err := k.outlineOf(item)
	if err != nil {
		return
	}
	v := checkSchemas(item, k.specOf(d, item))
	s.mu.Lock()
	s.results[name] = v
	s.mu.Unlock()
	i := slices.IndexFunc(d.Status.Conditions, func(c definitionCondition) bool { return c.Type == apiextensionsv1.NonStructuralSchema })
	switch {
	case v.unreadable != nil:
		k.Logger.Error("decoding the schemas of a CustomResourceDefinition failed", "definition", name, "error", v.unreadable)
		return
	case v.condition != nil:
		k.Logger.Error("CustomResourceDefinition has an invalid schema", "definition", name,
			"reason", v.condition.Reason, "message", v.condition.Message)
	case i < 0:
		return
	}
	k.loop.Queue.Add(name)
}
