package controllers

import (
	"context"
	"hash/maphash"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/crd"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/registry/hooks"
	"github.com/miniapiserver/miniapiserver/storage"
)

// CustomKinds brings the kinds that CustomResourceDefinitions describe into the
// catalogue and takes them away again, and writes into the definitions how it
// stands. It is no controller that can be turned off: without it a definition
// has no meaning.
//
// A kind is in the catalogue before its definition says that it is established,
// so that who reads that can use it at once.
type CustomKinds struct {
	Config
	definitions registry.Target
	outline     reader
	forget      func(*api.Resource)
	loop        *loop[string]
	names       kindNames
	converters  *converters
	schemas     *schemaChecks
	compared    func(time.Duration)

	// turns are held while names are given: to definitions of different groups at
	// the same time, to those of one group one after the other.
	turns [16]sync.Mutex
	seed  maphash.Seed

	mu    sync.Mutex
	kinds map[string]*customKind // by the name of the definition
	held  map[string]bool        // definitions that wait until their objects are gone
	waits sync.WaitGroup         // for them
}

// customKind is one that is in the catalogue, with what it was made of.
type customKind struct {
	*crd.Kind
	specID
	names  apiextensionsv1.CustomResourceDefinitionNames
	source *definitionSource
}

// specID identifies the spec of a definition without holding it. The digest finds
// changes by writers to etcd that do not raise the generation.
type specID struct {
	uid        types.UID
	generation int64
	digest     uint64
}

func (k *CustomKinds) specOf(d *definition, item *storage.Item) specID {
	return specID{d.UID, d.Generation, maphash.Bytes(k.seed, crd.Spec(item.Value()))}
}

// keeps tells whether a definition describes the kind as it is, and notes where it
// is now. One that was deleted and made again is another one, also if
// nothing was seen of what was between.
func (k *customKind) keeps(d *definition, spec specID, item *storage.Item) bool {
	if k.specID != spec || !equality.Semantic.DeepEqual(k.names, d.Status.AcceptedNames) {
		return false
	}
	k.source.item.Store(item)
	return true
}

type definition = apiextensionsv1.CustomResourceDefinition

// definitionSource is where a kind reads its definition when it needs more than an
// outline: the newest item that has it, which the cache holds anyway.
type definitionSource struct{ item atomic.Pointer[storage.Item] }

func (s *definitionSource) whole() (*definition, error) {
	obj, err := s.item.Load().Object()
	if err != nil {
		return nil, err
	}
	return obj.(*definition), nil
}

// outliner reads definitions without their schemas, but for those from before
// schemas had to be structural: their status says what is wrong with theirs.
func outliner(definitions *api.Resource) reader {
	return func(item *storage.Item) (api.Object, error) {
		obj, err := definitions.DecodeStored(crd.Outline(item.Value()))
		if err != nil {
			return nil, err
		}
		if obj.(*definition).Spec.PreserveUnknownFields {
			return item.Object()
		}
		obj.SetResourceVersion(strconv.FormatInt(item.Revision(), 10))
		return obj, nil
	}
}

// NewCustomKinds makes it; nil if there are no definitions in the catalogue. Forget
// is told of resources that are no more; by way of clients, webhooks convert
// objects, which metrics are registered about.
func NewCustomKinds(c Config, forget func(*api.Resource), clients *hooks.Clients, metrics prometheus.Registerer) (*CustomKinds, error) {
	c = c.complete()
	res, version, ok := c.Catalogue.Lookup(apiextensionsv1.SchemeGroupVersion, api.CustomResourceDefinitions)
	if !ok {
		return nil, nil
	}
	converters, err := newConverters(clients, metrics)
	if err != nil {
		return nil, err
	}
	compared, err := newComparisons(metrics)
	if err != nil {
		return nil, err
	}
	k := &CustomKinds{
		Config: c, definitions: registry.Target{Resource: res, Version: version},
		forget: forget, kinds: map[string]*customKind{}, held: map[string]bool{}, converters: converters, seed: maphash.MakeSeed(),
		compared: compared,
	}
	k.outline = outliner(res)
	k.schemas = newSchemaChecks(k)
	k.names.cursor, k.names.outline = c.Registry.CursorOf(res), k.outline
	k.loop = &loop[string]{Config: c, name: "custom-kinds", sync: k.sync, workers: 4, sources: []source[string]{{
		resource: res, keys: k.affected, read: k.outline,
	}}}
	return k, nil
}

// Load brings the kinds that are established, at the start.
func (k *CustomKinds) Load(ctx context.Context) error {
	items, err := k.items(ctx, k.definitions.Resource, "", registry.Selection{})
	if err != nil {
		return err
	}
	made, err := k.compileAll(items)
	if err == nil {
		err = k.installAll(made)
	}
	if err == nil {
		return nil
	}
	for _, item := range items { // all but those that are in the way
		d, err := k.outlineOf(item)
		if err == nil && isTrue(d, apiextensionsv1.Established) {
			err = k.install(d, item)
		}
		if err != nil {
			k.Logger.Error("a custom kind cannot be served", "definition", item.Name(), "error", err)
		}
	}
	return nil
}

// outlineOf is a definition as outliner reads it. It must not be changed.
func (k *CustomKinds) outlineOf(item *storage.Item) (*definition, error) {
	obj, err := k.outline(item)
	if err != nil {
		return nil, err
	}
	return obj.(*definition), nil
}

// compileAll makes the kinds of the definitions that are established.
func (k *CustomKinds) compileAll(items []*storage.Item) (map[string]*customKind, error) {
	var mu sync.Mutex
	made := make(map[string]*customKind, len(items))
	return made, inParallel(items, func(item *storage.Item) error {
		d, err := k.outlineOf(item)
		if err != nil || !isTrue(d, apiextensionsv1.Established) {
			return err
		}
		kind, err := k.compile(d, item)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		made[d.Name] = kind
		return nil
	})
}

// installAll is install for many kinds, where there are none yet. On an error
// there are none.
func (k *CustomKinds) installAll(made map[string]*customKind) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := make([]*api.Resource, 0, len(made))
	for _, kind := range made {
		all = append(all, kind.Resource)
	}
	var mu sync.Mutex
	var added []*api.Resource
	err := inParallel(all, func(res *api.Resource) error {
		err := k.Registry.Add(res, 0)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			added = append(added, res)
		}
		return err
	})
	if err == nil {
		err = k.Catalogue.Change(nil, all)
	}
	if err == nil {
		k.kinds = made
		return nil
	}
	for _, res := range added { // and not what was there before
		k.Registry.Remove(res)
	}
	return err
}

// compile makes the kind of a definition, of which d may be an outline.
func (k *CustomKinds) compile(d *definition, item *storage.Item) (*customKind, error) {
	source := &definitionSource{}
	source.item.Store(item)
	compiled, err := crd.Compile(d, source.whole, crd.Options{Remotes: k.converters.of, Compared: k.compared})
	if err != nil {
		return nil, err
	}
	compiled.Terminating.Store(isTrue(d, apiextensionsv1.Terminating))
	return &customKind{compiled, k.specOf(d, item), *d.Status.AcceptedNames.DeepCopy(), source}, nil
}

// Run follows the definitions until ctx is done.
func (k *CustomKinds) Run(ctx context.Context) {
	k.waits.Go(func() { recovery.Keep(ctx, k.Logger, "schemas of custom kinds", func() { k.schemas.run(ctx) }) })
	k.loop.Run(ctx)
	k.waits.Wait()
}

// affected are the definitions that a change is about: those of the same group,
// which may want the same names, where one is gone or changed its own.
func (k *CustomKinds) affected(c change) []string {
	names := []string{c.object.GetName()}
	d, ok := c.object.(*definition)
	if ok && !c.gone {
		return names
	}
	if !ok {
		return append(names, k.names.waiting(true, "")...)
	}
	return append(names, k.names.waiting(false, d.Spec.Group)...)
}

// sync takes one definition a step further.
func (k *CustomKinds) sync(ctx context.Context, name string) (verdict, error) {
	ctx = asServer(ctx)
	t := k.definitions
	t.Name = name
	item, err := k.Registry.Get(ctx, t, storage.Read{})
	if apierrors.IsNotFound(err) {
		k.schemas.forget(name)
		return done, k.remove(name)
	}
	if err != nil {
		return soon, err
	}
	d, err := k.outlineOf(item)
	if err != nil {
		return done, err
	}
	if err := k.refuseNew(d); err != nil {
		return done, err
	}
	if d.DeletionTimestamp != nil && slices.Contains(d.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer) {
		return k.cleanUp(ctx, d, item)
	}
	// What others of the group were given must be known.
	turn := &k.turns[maphash.String(k.seed, d.Spec.Group)%uint64(len(k.turns))]
	turn.Lock()
	defer turn.Unlock()
	want := d.DeepCopy()
	reason, message, err := k.names.give(ctx, want)
	if err != nil {
		return soon, err
	}
	k.judge(want, reason, message)
	k.schemas.judge(want, k.specOf(d, item), item)
	if isTrue(want, apiextensionsv1.Established) {
		if err := k.install(want, item); err != nil {
			return done, err
		}
	}
	_, err = k.tell(ctx, d, want.Status)
	return done, err
}

// tell writes a status, if it is another one, and returns the definition that has
// it, as change does.
func (k *CustomKinds) tell(ctx context.Context, d *definition, want apiextensionsv1.CustomResourceDefinitionStatus) (*definition, error) {
	if equality.Semantic.DeepEqual(d.Status, want) {
		return d, nil
	}
	t := k.definitions
	t.Name, t.Status = d.Name, true
	return k.change(ctx, t, d, func(now *definition) { now.Status = want }, registry.UpdateOptions{})
}

// change changes a definition that is still as it was, and returns it; nil if it is
// not: the change that came between is looked at next.
func (k *CustomKinds) change(ctx context.Context, t registry.Target, d *definition, change func(*definition), o registry.UpdateOptions) (*definition, error) {
	o.Manager = serverName
	out, err := k.Registry.Update(ctx, t, func(_ context.Context, old api.Object) (api.Object, error) {
		now := old.(*definition)
		now.ResourceVersion = d.ResourceVersion
		change(now)
		return now, nil
	}, o)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return out.Object.(*definition), nil
}

// install puts the kind of a definition into the catalogue, or a new one in the
// place of what it was before. The item is where the definition is stored.
func (k *CustomKinds) install(d *definition, item *storage.Item) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	was := k.kinds[d.Name]
	if was != nil && was.keeps(d, k.specOf(d, item), item) {
		return nil
	}
	is, err := k.compile(d, item)
	if err != nil {
		return err
	}
	if was != nil && was.uid == d.UID {
		return k.replace(d.Name, was, is)
	}
	if was != nil {
		if err := k.drop(d.Name, was); err != nil {
			return err
		}
	}
	if err := k.Registry.Add(is.Resource, item.Revision()); err != nil {
		return err
	}
	if err := k.Catalogue.Change(nil, []*api.Resource{is.Resource}); err != nil {
		k.Registry.Remove(is.Resource)
		return err
	}
	k.kinds[d.Name] = is
	return nil
}

// replace puts a kind into the place of what it was before the definition
// changed. There is no moment without it: from the new catalogue on, requests are
// as the kind is now, on objects that are read so from the next line on. k.mu is
// held.
func (k *CustomKinds) replace(name string, was, is *customKind) error {
	if err := k.Catalogue.Change([]*api.Resource{was.Resource}, []*api.Resource{is.Resource}); err != nil {
		return err
	}
	k.kinds[name] = is
	k.Registry.Replace(was.Resource, is.Resource)
	k.forget(was.Resource)
	return nil
}

// remove takes the kind of a definition that is gone out of the catalogue, and
// ends its watches.
func (k *CustomKinds) remove(name string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if was := k.kinds[name]; was != nil {
		return k.drop(name, was)
	}
	return nil
}

// drop is remove of a kind; k.mu is held.
func (k *CustomKinds) drop(name string, was *customKind) error {
	delete(k.kinds, name)
	err := k.Catalogue.Change([]*api.Resource{was.Resource}, nil)
	k.Registry.Remove(was.Resource)
	k.forget(was.Resource)
	return err
}

func isTrue(d *definition, t apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	return slices.ContainsFunc(d.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == t && c.Status == apiextensionsv1.ConditionTrue
	})
}

// judge sets the conditions of d, of whose names reason tells why it was not given
// one.
func (k *CustomKinds) judge(d *definition, reason, message string) {
	set := func(t apiextensionsv1.CustomResourceDefinitionConditionType, ok bool, reason, message string) {
		status := apiextensionsv1.ConditionFalse
		if ok {
			status = apiextensionsv1.ConditionTrue
		}
		d.Status.Conditions = api.SetDefinitionCondition(d.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
			Type: t, Status: status, Reason: reason, Message: message,
		}, k.Now())
	}
	if reason == "" {
		set(apiextensionsv1.NamesAccepted, true, "NoConflicts", "no conflicts found")
	} else {
		set(apiextensionsv1.NamesAccepted, false, reason, message)
	}
	fault := api.ConversionFault(d)
	switch {
	case isTrue(d, apiextensionsv1.Established): // and stays so
	case reason == "" && fault != nil:
		set(apiextensionsv1.Established, false, "InvalidCABundle", "The conversion webhook CABundle is invalid: "+fault.Error())
	case reason == "":
		set(apiextensionsv1.Established, true, "InitialNamesAccepted", "the initial names have been accepted")
	default:
		set(apiextensionsv1.Established, false, "NotAccepted", "not all names are accepted")
	}
	if needed, status, reason, message := api.DefinitionApproval(d); needed {
		set(apiextensionsv1.KubernetesAPIApprovalPolicyConformant, status == apiextensionsv1.ConditionTrue, reason, message)
	}
}
