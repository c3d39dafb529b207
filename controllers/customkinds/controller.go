// Package customkinds serves the kinds of CustomResourceDefinitions. Its Controller follows the
// definitions, adds their kinds to the catalogue, and writes their status.
//
//   - controller.go: Controller, from a definition to a kind in the catalogue.
//   - names.go: accepted names, which no two definitions of a group share.
//   - conditions.go: the conditions of definitions.
//   - schemas.go: the checks of schemas, in the background.
//   - removal.go: deleted definitions, whose objects are deleted first.
//   - conversion.go, conversion_check.go: conversion webhooks, and what they may change.
//   - conversion_metrics.go, ratcheting_metrics.go: metrics.
package customkinds

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/internal/hooks"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/kinds/apiextensions"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Controller serves the kinds of CustomResourceDefinitions: it adds them to the catalogue,
// replaces and removes them, and writes the conditions and accepted names of the
// definitions. It cannot be turned off.
//
// A kind is in the catalogue before its definition is Established, so a client that sees the
// condition can use the kind immediately. Discovery has the kind after the condition, so a
// client that discovers a kind can update its definition without a conflict.
type Controller struct {
	reconcile.BaseConfig
	definitions registry.Target
	outline     reconcile.ItemReader
	forget      func(*api.Resource)
	loop        *reconcile.Loop[string]
	names       kindNames
	converters  *converters
	schemas     *schemaChecks
	// options has what all kinds share.
	options custom.Options

	// groupLocks are held while names are accepted. They are indexed by a hash of the group, so
	// that definitions of one group are handled one at a time.
	groupLocks [16]sync.Mutex
	seed       maphash.Seed

	mu               sync.Mutex
	kinds            map[string]*customKind // by the name of the definition
	awaitingDeletion map[string]bool        // definitions whose deletion waits for their objects
	approvals        map[string]string      // the annotations by which the condition was last set, by definition
	background       sync.WaitGroup         // for the goroutines that wait for these objects
}

// customKind is an installed kind with the definition that it was made from.
type customKind struct {
	*custom.Kind
	specID
	names  apiextensionsv1.CustomResourceDefinitionNames
	source *definitionSource
	// established closes api.Custom.Established of the kind.
	established func()
}

// specID identifies the spec of a definition. The digest detects changes by writers to etcd
// that do not raise the generation.
type specID struct {
	uid        types.UID
	generation int64
	digest     uint64
}

func (k *Controller) specOf(d *definition, item *storage.Item) specID {
	return specID{d.UID, d.Generation, maphash.Bytes(k.seed, custom.Spec(item.Value()))}
}

// matches reports whether the definition yields the same kind, and if so records its newest
// item. A definition that was deleted and created again is a different one, even if the
// deletion was not observed.
func (k *customKind) matches(d *definition, spec specID, item *storage.Item) bool {
	if k.specID != spec || !equality.Semantic.DeepEqual(k.names, d.Status.AcceptedNames) {
		return false
	}
	k.source.item.Store(item)
	return true
}

type definition = apiextensionsv1.CustomResourceDefinition

// definitionSource is the newest item with a kind's definition, from which the parts that
// are not in the outline are decoded on demand.
type definitionSource struct{ item atomic.Pointer[storage.Item] }

func (s *definitionSource) full() (*definition, error) {
	obj, err := s.item.Load().Object()
	if err != nil {
		return nil, err
	}
	return obj.(*definition), nil
}

// OutlineReader returns a reader of definitions without their schemas. It reads definitions with
// preserveUnknownFields in full, because the NonStructuralSchema condition needs their
// schemas.
func OutlineReader(definitions *api.Resource) reconcile.ItemReader {
	return func(item *storage.Item) (api.Object, error) {
		outline := custom.Outline(item.Value())
		if err := definitions.CheckStored(outline); err != nil {
			return nil, err
		}
		obj, err := definitions.DecodeStored(outline)
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

// New returns a Controller, or nil if the catalogue has no definitions. It calls
// forget for resources that were removed. shared has options of all kinds. clients call the conversion webhooks, whose
// metrics are registered with metrics.
func New(c reconcile.BaseConfig, forget func(*api.Resource), shared custom.Options, clients *hooks.Clients,
	metrics prometheus.Registerer) (*Controller, error) {
	c = c.Complete()
	res, version, ok := c.Catalogue.Lookup(apiextensionsv1.SchemeGroupVersion, apiextensions.CustomResourceDefinitions)
	if !ok {
		return nil, nil
	}
	converters, err := newConverters(clients, res.ObjectLimit(), metrics)
	if err != nil {
		return nil, err
	}
	compared, err := newComparisons(metrics)
	if err != nil {
		return nil, err
	}
	k := &Controller{
		BaseConfig: c, definitions: registry.Target{Resource: res, Version: version},
		forget: forget, kinds: map[string]*customKind{}, awaitingDeletion: map[string]bool{}, approvals: map[string]string{}, converters: converters, seed: maphash.MakeSeed(),
		options: shared,
	}
	k.options.NewConverter, k.options.ObserveComparison, k.options.MaxObjectBytes = converters.converterOf, compared, res.MaxObjectBytes
	k.outline = OutlineReader(res)
	k.schemas = newSchemaChecks(k)
	k.names.cursor, k.names.outline = c.Registry.CursorOf(res), k.outline
	k.loop = &reconcile.Loop[string]{BaseConfig: c, Name: "custom-kinds", Sync: k.sync, Workers: 4, Sources: []reconcile.Source[string]{{
		Resource: res, Keys: k.affected, Read: k.outline,
	}}}
	return k, nil
}

// Load installs the kinds of all established definitions at the start of the server.
func (k *Controller) Load(ctx context.Context) error {
	items, err := k.Items(ctx, k.definitions.Resource, "", registry.Selection{})
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
	for _, item := range items { // one by one, so that a bad definition does not affect the others
		d, err := k.outlineOf(item)
		if err == nil && isTrue(d, apiextensionsv1.Established) {
			err = k.installEstablished(d, item)
		}
		if err != nil {
			k.Logger.Error(installFailed, "definition", item.Name(), "error", err)
		}
	}
	return nil
}

const installFailed = "installing custom kind failed"

// errUninstallable is the error of a definition from which no kind can be made. It remains until the
// definition changes.
type errUninstallable struct{ error }

// outlineOf returns the outline of a definition. It must not be changed.
func (k *Controller) outlineOf(item *storage.Item) (*definition, error) {
	obj, err := k.outline(item)
	if err != nil {
		return nil, err
	}
	return obj.(*definition), nil
}

// compileAll returns the kinds of the established definitions.
func (k *Controller) compileAll(items []*storage.Item) (map[string]*customKind, error) {
	var mu sync.Mutex
	made := make(map[string]*customKind, len(items))
	return made, reconcile.ForEachParallel(items, func(item *storage.Item) error {
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

// installAll installs many kinds at once, before any kind is installed. On an error it
// installs none.
func (k *Controller) installAll(made map[string]*customKind) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := make([]*api.Resource, 0, len(made))
	for _, kind := range made {
		kind.established()
		all = append(all, kind.Resource)
	}
	var mu sync.Mutex
	var added []*api.Resource
	err := reconcile.ForEachParallel(all, func(res *api.Resource) error {
		err := k.Registry.AddResource(res, 0)
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
	for _, res := range added { // Add failed for the others
		k.Registry.RemoveResource(res)
	}
	return err
}

// compile returns the kind of a definition. d may be an outline.
func (k *Controller) compile(d *definition, item *storage.Item) (*customKind, error) {
	source := &definitionSource{}
	source.item.Store(item)
	var compiled *custom.Kind
	var err error
	established := make(chan struct{})
	options := k.options
	options.Established = established
	panicked := recovery.Call(k.Logger, "compiling a custom kind", func() {
		compiled, err = custom.Compile(d, source.full, options)
	})
	if err = errors.Join(panicked, err); err != nil {
		return nil, errUninstallable{err}
	}
	compiled.Terminating.Store(isTrue(d, apiextensionsv1.Terminating))
	return &customKind{compiled, k.specOf(d, item), *d.Status.AcceptedNames.DeepCopy(), source,
		sync.OnceFunc(func() { close(established) })}, nil
}

// Run follows the definitions until ctx is done.
func (k *Controller) Run(ctx context.Context) {
	k.background.Go(func() {
		recovery.RestartOnPanic(ctx, k.Logger, "schemas of custom kinds", func() { k.schemas.run(ctx) })
	})
	k.loop.Run(ctx)
	k.background.Wait()
}

// affected returns the definitions to sync after a change. If a definition was deleted,
// others of its group may now get the names that they asked for.
func (k *Controller) affected(c reconcile.Change) []string {
	names := []string{c.Object.GetName()}
	d, ok := c.Object.(*definition)
	if ok && !c.Deleted {
		return names
	}
	if !ok {
		return append(names, k.names.waiting(true, "")...)
	}
	return append(names, k.names.waiting(false, d.Spec.Group)...)
}

// sync updates the kind and the status of one definition.
func (k *Controller) sync(ctx context.Context, name string) (reconcile.Result, error) {
	ctx = reconcile.AsServer(ctx)
	t := k.definitions
	t.Name = name
	item, err := k.Registry.Get(ctx, t, storage.Read{})
	if apierrors.IsNotFound(err) {
		k.schemas.forget(name)
		k.forgetApproval(name)
		return reconcile.Done, k.remove(name)
	}
	if err != nil {
		return reconcile.Retry, err
	}
	d, err := k.outlineOf(item)
	if err != nil {
		return reconcile.Done, err
	}
	if err := k.markTerminating(d); err != nil {
		return reconcile.Done, err
	}
	if d.DeletionTimestamp != nil && slices.Contains(d.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer) {
		return k.cleanUp(ctx, d, item)
	}
	// The accepted names of the other definitions of the group must not change meanwhile.
	turn := &k.groupLocks[maphash.String(k.seed, d.Spec.Group)%uint64(len(k.groupLocks))]
	turn.Lock()
	defer turn.Unlock()
	want := d.DeepCopy()
	if !equality.Semantic.DeepEqual(d.Spec.Names, d.Status.AcceptedNames) {
		reason, message, err := k.names.accept(ctx, want)
		if err != nil {
			return reconcile.Retry, err
		}
		k.setNameConditions(want, reason, message)
	}
	k.setEstablished(want)
	setsApproval := k.setApproval(want)
	setsSchema := k.schemas.setSchemaCondition(want, k.specOf(d, item), item)
	established := func() {}
	var failed error // the status is written nevertheless
	switch {
	case isTrue(want, apiextensionsv1.Established):
		kind, err := k.install(want, item)
		switch uninstallable := (errUninstallable{}); {
		case err == nil:
			established = kind.established
		case errors.As(err, &uninstallable):
			k.Logger.Error(installFailed, "definition", name, "error", err)
		default:
			failed = err
		}
	case !isTrue(want, apiextensionsv1.NamesAccepted): // a client took both conditions
		if err := k.remove(name); err != nil {
			return reconcile.Done, err
		}
	}
	written, err := k.writeStatus(ctx, d, want.Status)
	if written != nil {
		established()
		if setsApproval {
			k.approvalWritten(written)
		}
		if setsSchema {
			k.schemas.conditionWritten(written)
		}
		k.freeNames(d, written)
	}
	return reconcile.Done, cmp.Or(err, failed)
}

// freeNames queues the definitions that may now get names which a definition gave up.
func (k *Controller) freeNames(d, written *definition) {
	if equality.Semantic.DeepEqual(d.Status.AcceptedNames, written.Status.AcceptedNames) {
		return
	}
	for _, name := range k.names.waiting(false, d.Spec.Group) {
		if name != d.Name {
			k.loop.Queue.Add(name)
		}
	}
}

// writeStatus writes a status if it differs, and returns the definition as updateDefinition
// does.
func (k *Controller) writeStatus(ctx context.Context, d *definition,
	want apiextensionsv1.CustomResourceDefinitionStatus) (*definition, error) {
	if equality.Semantic.DeepEqual(d.Status, want) {
		return d, nil
	}
	t := k.definitions
	t.Name, t.Status = d.Name, true
	return k.updateDefinition(ctx, t, d, func(now *definition) { now.Status = want }, registry.UpdateOptions{})
}

// updateDefinition updates a definition that is still at the resourceVersion of d and returns
// it. It returns nil after a conflict, because the other change triggers a sync.
func (k *Controller) updateDefinition(ctx context.Context, t registry.Target, d *definition, change func(*definition),
	o registry.UpdateOptions) (*definition, error) {
	o.Manager = reconcile.ServerManager
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

// install adds the kind of a definition to the catalogue or replaces the previous one. item
// is the stored definition. The caller calls established of the returned kind.
func (k *Controller) install(d *definition, item *storage.Item) (*customKind, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	was := k.kinds[d.Name]
	if was != nil && was.matches(d, k.specOf(d, item), item) {
		return was, nil
	}
	is, err := k.compile(d, item)
	if err != nil {
		return nil, err
	}
	if was != nil && was.uid == d.UID {
		return is, k.replace(d.Name, was, is)
	}
	if was != nil {
		if err := k.removeKind(d.Name, was); err != nil {
			return nil, err
		}
	}
	if err := k.Registry.AddResource(is.Resource, item.Revision()); err != nil {
		return nil, err
	}
	if err := k.Catalogue.Change(nil, []*api.Resource{is.Resource}); err != nil {
		k.Registry.RemoveResource(is.Resource)
		return nil, err
	}
	k.kinds[d.Name] = is
	return is, nil
}

// installEstablished installs the kind of a definition that is stored as established.
func (k *Controller) installEstablished(d *definition, item *storage.Item) error {
	kind, err := k.install(d, item)
	if err == nil {
		kind.established()
	}
	return err
}

// replace replaces a kind in the registry and the catalogue. Requests find the kind at any
// moment. The caller holds k.mu.
func (k *Controller) replace(name string, was, is *customKind) error {
	err := k.Registry.ReplaceResource(was.Resource, is.Resource, func() error {
		return k.Catalogue.Change([]*api.Resource{was.Resource}, []*api.Resource{is.Resource})
	})
	if err != nil {
		return err
	}
	k.kinds[name] = is
	was.established() // nothing waits for a kind that is gone
	k.forget(was.Resource)
	return nil
}

// remove removes the kind of a definition that is deleted or no longer served, and ends its watches.
func (k *Controller) remove(name string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if was := k.kinds[name]; was != nil {
		return k.removeKind(name, was)
	}
	return nil
}

// removeKind removes a kind from the catalogue and the registry; the caller holds k.mu.
func (k *Controller) removeKind(name string, was *customKind) error {
	delete(k.kinds, name)
	was.established()
	err := k.Catalogue.Change([]*api.Resource{was.Resource}, nil)
	k.Registry.RemoveResource(was.Resource)
	k.forget(was.Resource)
	return err
}
