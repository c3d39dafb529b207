package clients

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	namespace = "default"
	label     = "churn"
	// history is the time for which the server retains history.
	history  = 300 * time.Millisecond
	patience = time.Minute
)

// view is one of the three ways in which a cache stores objects: typed, as metadata only, and
// unstructured.
type view struct {
	name string
	// list is an empty list of the view; object converts an object to the view.
	list func() client.ObjectList
	made func(name, value string) client.Object
}

func views() []view {
	meta := func(name, value string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{label: value}}
	}
	return []view{
		{"typed", func() client.ObjectList { return &corev1.ConfigMapList{} },
			func(name, value string) client.Object {
				return &corev1.ConfigMap{ObjectMeta: meta(name, value), Data: map[string]string{"v": value}}
			}},
		{"metadata", func() client.ObjectList {
			l := &metav1.PartialObjectMetadataList{}
			l.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
			return l
		}, func(name, value string) client.Object { return &corev1.Secret{ObjectMeta: meta(name, value)} }},
		{"unstructured", func() client.ObjectList {
			l := &unstructured.UnstructuredList{}
			l.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ControllerRevisionList"))
			return l
		}, func(name, value string) client.Object {
			return &appsv1.ControllerRevision{ObjectMeta: meta(name, value), Data: runtime.RawExtension{Raw: []byte(`{}`)}, Revision: int64(len(value))}
		}},
	}
}

// content returns the revisions and a label of a list's objects by name.
func content(t *testing.T, l client.ObjectList) map[string]string {
	t.Helper()
	out := map[string]string{}
	add := func(o client.Object) {
		if value, ok := o.GetLabels()[label]; ok {
			out[o.GetName()] = o.GetResourceVersion() + " " + value
		}
	}
	switch l := l.(type) {
	case *corev1.ConfigMapList:
		for i := range l.Items {
			add(&l.Items[i])
		}
	case *metav1.PartialObjectMetadataList:
		for i := range l.Items {
			add(&l.Items[i])
		}
	case *unstructured.UnstructuredList:
		for i := range l.Items {
			add(&l.Items[i])
		}
	default:
		t.Fatalf("%T", l)
	}
	return out
}

// TestCache runs a controller-runtime cache on constantly changing objects, with a server that
// compacts its history at once and is repeatedly killed and restarted. In the end the cache must
// contain the objects of the server.
func TestCache(t *testing.T) {
	log.SetLogger(logr.Discard()) // otherwise it prints a warning
	p := buildServer(t)
	p.start(t)
	config := p.config(t)
	direct, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cached, wait := startCache(t, ctx, config)
	defer wait()
	defer cancel()

	churning, rest := context.WithCancel(ctx)
	defer rest()
	var wg sync.WaitGroup
	var writes atomic.Int64
	for _, v := range views() {
		wg.Go(func() { churn(t, ctx, churning, direct, v, &writes) })
	}
	for range 3 * factor() {
		pause(ctx, 2*time.Second)
		p.kill()
		pause(ctx, 2*history)
		began := time.Now()
		p.start(t)
		t.Logf("started again in %v", time.Since(began).Round(time.Millisecond))
	}
	pause(ctx, 2*time.Second)
	rest()
	wg.Wait()
	t.Logf("%d writes", writes.Load())
	for _, v := range views() {
		compare(t, ctx, direct, cached, v)
	}
}

// compare waits until the cache has the content of the server.
func compare(t *testing.T, ctx context.Context, direct client.Client, cached cache.Cache, v view) {
	t.Helper()
	list := v.list()
	if err := direct.List(ctx, list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	want := content(t, list)
	if len(want) == 0 {
		t.Errorf("%s: there is nothing", v.name)
	}
	began := time.Now()
	for {
		got := v.list()
		if err := cached.List(ctx, got, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		have := content(t, got)
		if maps.Equal(have, want) {
			t.Logf("%s: the cache has caught up after %v", v.name, time.Since(began).Round(time.Millisecond))
			return
		}
		if time.Since(began) > patience {
			t.Errorf("%s: the cache has %v, the server %v", v.name, have, want)
			return
		}
		pause(ctx, 20*time.Millisecond)
	}
}

// startCache returns a synchronised cache and a function that waits for its end.
func startCache(t *testing.T, ctx context.Context, config *rest.Config) (cache.Cache, func()) {
	t.Helper()
	c, err := cache.New(config, cache.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := c.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	if !c.WaitForCacheSync(ctx) {
		t.Fatal("the cache does not start")
	}
	for _, v := range views() {
		if err := c.List(ctx, v.list(), client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
	}
	return c, wg.Wait
}

// churn creates, changes and deletes objects until rest is done. It completes a request in
// progress, so that nothing changes afterwards.
func churn(t *testing.T, ctx, rest context.Context, c client.Client, v view, writes *atomic.Int64) {
	const objects = 20
	for n := 0; rest.Err() == nil; n++ {
		o := v.made(fmt.Sprint("o", rand.IntN(objects)), strconv.Itoa(n))
		var err error
		switch rand.IntN(4) {
		case 0:
			err = c.Delete(ctx, o)
		default:
			if err = c.Update(ctx, o); apierrors.IsNotFound(err) {
				err = c.Create(ctx, o)
			}
		}
		if err == nil {
			writes.Add(1)
		} else if apierrors.IsInvalid(err) {
			t.Error(err)
			return
		} else if !apierrors.IsNotFound(err) {
			pause(rest, 50*time.Millisecond) // the server is down
		}
		pause(rest, 3*time.Millisecond)
	}
}

// factor returns FAULTS_FACTOR.
func factor() int {
	if n, err := strconv.Atoi(os.Getenv("FAULTS_FACTOR")); err == nil && n > 0 {
		return n
	}
	return 1
}
