package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
)

// observer is an informer, and the objects that its notifications make.
type observer struct {
	name     string
	resource schema.GroupVersionResource
	informer cache.SharedIndexInformer

	mu        sync.Mutex
	revisions map[string]int64 // by key
	deletions int
	wrong     []string
}

// isCustom reports whether only the dynamic client has a type for the objects.
func isCustom(r schema.GroupVersionResource) bool { return strings.Contains(r.Group, "example") }

// startObservers starts informers of the typed, the dynamic and the metadata client for each of the resources, which begin with a list
// and with a watch.
func (w *world) startObservers(resources ...schema.GroupVersionResource) []*observer {
	w.t.Helper()
	var all []*observer
	for mode, streams := range map[string]bool{"list": false, "watch": true} {
		// A subtest, because a feature is set for a test. The informers live as long as the test.
		w.t.(*testing.T).Run("informers that begin with a "+mode, func(t *testing.T) {
			featurestesting.SetFeatureDuringTest(t, features.WatchListClient, streams)
			all = append(all, w.observe(mode, resources)...)
		})
	}
	return all
}

func (w *world) observe(mode string, resources []schema.GroupVersionResource) (all []*observer) {
	w.t.Helper()
	config, client := w.victim("observers/1")
	untyped, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		w.t.Fatal(err)
	}
	partial, err := metadata.NewForConfigAndClient(config, client)
	if err != nil {
		w.t.Fatal(err)
	}
	typed := informers.NewSharedInformerFactory(w.typed("observers/1"), 0)
	objects, metas := dynamicinformer.NewDynamicSharedInformerFactory(untyped, 0), metadatainformer.NewSharedInformerFactory(partial, 0)
	for _, r := range resources {
		of := map[string]cache.SharedIndexInformer{"dynamic": objects.ForResource(r).Informer()}
		if !isCustom(r) {
			i, err := typed.ForResource(r)
			if err != nil {
				w.t.Fatal(err)
			}
			of["typed"], of["metadata"] = i.Informer(), metas.ForResource(r).Informer()
		}
		for client, i := range of {
			name := fmt.Sprintf("%s %s informer (%s)", client, r.Resource, mode)
			o := &observer{name: name, resource: r, informer: i, revisions: map[string]int64{}}
			if _, err := i.AddEventHandler(o); err != nil {
				w.t.Fatal(err)
			}
			all = append(all, o)
		}
	}
	ctx, stop := context.WithCancel(w.t.Context())
	typed.Start(ctx.Done())
	objects.Start(ctx.Done())
	metas.Start(ctx.Done())
	w.t.Cleanup(func() {
		stop()
		typed.Shutdown()
		objects.Shutdown()
		metas.Shutdown()
	})
	for _, o := range all {
		if !cache.WaitForCacheSync(ctx.Done(), o.informer.HasSynced) {
			w.t.Fatalf("the %s does not begin", o.name)
		}
	}
	return all
}

// OnAdd implements cache.ResourceEventHandler.
func (o *observer) OnAdd(obj any, _ bool) { o.note("ADDED", obj) }

// OnUpdate implements cache.ResourceEventHandler.
func (o *observer) OnUpdate(_, obj any) { o.note("MODIFIED", obj) }

// OnDelete implements cache.ResourceEventHandler.
func (o *observer) OnDelete(obj any) {
	if _, late := obj.(cache.DeletedFinalStateUnknown); late {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.wrong = append(o.wrong, fmt.Sprintf("the watch missed the deletion %v", obj))
		return
	}
	o.note("DELETED", obj)
}

// note applies a notification, which must follow from the ones before: an object is added once, and each change of it is newer.
func (o *observer) note(kind string, obj any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key, rev, err := identity(obj)
	if err != nil {
		o.wrong = append(o.wrong, err.Error())
		return
	}
	before, exists := o.revisions[key]
	if exists == (kind == "ADDED") || rev <= before {
		o.wrong = append(o.wrong, fmt.Sprintf("%s %s at %d, after %d", kind, key, rev, before))
	}
	if o.revisions[key] = rev; kind == "DELETED" {
		delete(o.revisions, key)
		o.deletions++
	}
}

// identity returns the namespace, name and UID of an object, and its revision.
func identity(obj any) (key string, rev int64, err error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return "", 0, err
	}
	rev, err = strconv.ParseInt(m.GetResourceVersion(), 10, 64)
	return fmt.Sprintf("%s/%s %s", m.GetNamespace(), m.GetName(), m.GetUID()), rev, err
}

// checkObservers waits until the stores of the informers, and the objects that their notifications make, are those of fresh lists.
func (w *world) checkObservers(all []*observer) {
	w.t.Helper()
	d, err := dynamic.NewForConfigAndClient(w.victim("observers/1"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, o := range all {
		eventually.Succeeds(w.t, o.name, func() error {
			if err := holdsList(w.t.Context(), d, o.resource, o.informer.GetStore()); err != nil {
				return err
			}
			held, err := revisionsOf(o.informer.GetStore().List())
			if err != nil {
				return err
			}
			o.mu.Lock()
			defer o.mu.Unlock()
			if !maps.Equal(o.revisions, held) {
				return fmt.Errorf("its notifications make %v, it has %v", o.revisions, held)
			}
			return nil
		})
		o.mu.Lock()
		if o.deletions == 0 {
			w.t.Errorf("%s: no deletions", o.name)
		}
		if len(o.wrong) > 0 {
			w.t.Errorf("%s: %d wrong notifications, such as %v", o.name, len(o.wrong), o.wrong[:min(5, len(o.wrong))])
		}
		o.mu.Unlock()
	}
}

func revisionsOf(objects []any) (map[string]int64, error) {
	out := map[string]int64{}
	for _, obj := range objects {
		key, rev, err := identity(obj)
		if err != nil {
			return nil, err
		}
		if _, twice := out[key]; twice {
			return nil, fmt.Errorf("%s is there twice", key)
		}
		out[key] = rev
	}
	return out, nil
}

// holdsList returns an error if the store of an informer differs from a fresh list.
func holdsList(ctx context.Context, d dynamic.Interface, r schema.GroupVersionResource, store cache.Store) error {
	list, err := d.Resource(r).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	fresh := make([]any, len(list.Items))
	for i := range list.Items {
		fresh[i] = &list.Items[i]
	}
	want, err := revisionsOf(fresh)
	if err != nil {
		return err
	}
	got, err := revisionsOf(store.List())
	if err != nil {
		return err
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("the informer has\n%v\nand a list\n%v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	return nil
}
