package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/miniapiserver/miniapiserver/server"
)

// gears returns a definition in a phase, which lists its versions and marks the storage version
// with a star. Each version has a field of its own.
func gears(plural, phase string) *unstructured.Unstructured {
	var versions []any
	for name := range strings.FieldsSeq(phase) {
		name, stored := strings.CutSuffix(name, "*")
		text := map[string]any{"type": "string"}
		versions = append(versions, map[string]any{"name": name, "served": true, "storage": stored,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
				"spec": map[string]any{"type": "object", "properties": map[string]any{
					"n": map[string]any{"type": "integer"}, name: text,
				}}}}},
			"additionalPrinterColumns": []any{map[string]any{"name": name, "type": "string", "jsonPath": ".spec." + name}},
		})
	}
	return definitionOf(plural, map[string]any{"group": "switch.example.com", "scope": "Namespaced",
		"names": map[string]any{"plural": plural, "kind": kindOfGears(plural)}, "versions": versions})
}

func kindOfGears(plural string) string { return strings.ToUpper(plural[:1]) + plural[1:] }

// gearVersion is a client of one version that checks every object.
type gearVersion struct {
	t             *testing.T
	kind, version string
	client        dynamic.ResourceInterface
	checked       *atomic.Int64
	arriving      bool // the version may not be served yet
}

func (g gearVersion) check(by string, u *unstructured.Unstructured) {
	g.checked.Add(1)
	if want := "switch.example.com/" + g.version; u.GetAPIVersion() != want || u.GetKind() != g.kind {
		g.t.Errorf("%s: answer to a request of %s is a %s %s", by, want, u.GetAPIVersion(), u.GetKind())
	}
	spec, _ := u.Object["spec"].(map[string]any)
	for name := range spec {
		if name != "n" && name != g.version {
			g.t.Errorf("%s: answer in version %s has spec.%s: %v", by, g.version, name, u.Object)
		}
	}
	if spec["n"] == nil {
		g.t.Errorf("%s: answer in version %s lost its spec: %v", by, g.version, u.Object)
	}
}

// mayFail reports whether a change of the definition may cause an error.
func (g gearVersion) mayFail(ctx context.Context, err error) bool {
	return ctx.Err() != nil || apierrors.IsConflict(err) || g.arriving && apierrors.IsNotFound(err)
}

func (g gearVersion) read(ctx context.Context, name string) {
	u, err := g.client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		if !g.mayFail(ctx, err) {
			g.t.Errorf("get in %s: %v", g.version, err)
		}
		return
	}
	g.check("get", u)
}

func (g gearVersion) list(ctx context.Context) {
	list, err := g.client.List(ctx, metav1.ListOptions{})
	if err != nil {
		if !g.mayFail(ctx, err) {
			g.t.Errorf("list in %s: %v", g.version, err)
		}
		return
	}
	for i := range list.Items {
		g.check("list", &list.Items[i])
	}
}

func (g gearVersion) write(ctx context.Context, name string, n int) {
	patch := fmt.Sprintf(`{"spec":{"n":%d,%q:"%d"}}`, n, g.version, n)
	u, err := g.client.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		if !g.mayFail(ctx, err) {
			g.t.Errorf("patch in %s: %v", g.version, err)
		}
		return
	}
	g.check("patch", u)
}

func (g gearVersion) watch(ctx context.Context) {
	w, err := g.client.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		if !g.mayFail(ctx, err) && !errors.Is(err, io.EOF) {
			g.t.Errorf("watch in %s: %v", g.version, err)
		}
		return
	}
	defer w.Stop()
	for e := range w.ResultChan() { // until the definition changes
		if u, ok := e.Object.(*unstructured.Unstructured); ok && u.GetKind() == g.kind {
			g.check("watch", u)
		}
	}
}

// gearLoad sends requests in several versions of a kind.
type gearLoad struct {
	t       *testing.T
	c       dynamic.Interface
	plural  string
	checked atomic.Int64
	stop    context.CancelFunc
	ctx     context.Context
	workers sync.WaitGroup
}

// gearObjects is the number of objects that all versions share.
const gearObjects = 6

func gearName(n int) string { return fmt.Sprintf("gear-%d", n%gearObjects) }

// newGearLoad creates a definition with the versions of a phase, and objects in v1.
func newGearLoad(t *testing.T, c dynamic.Interface, plural, phase string) *gearLoad {
	t.Helper()
	define(t, c, gears(plural, phase))
	l := &gearLoad{t: t, c: c, plural: plural}
	l.ctx, l.stop = context.WithCancel(t.Context())
	v1 := l.version("v1")
	for n := range gearObjects {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "switch.example.com/v1", "kind": v1.kind,
			"metadata": map[string]any{"name": gearName(n)}, "spec": map[string]any{"n": int64(n), "v1": "x"}}}
		if _, err := v1.client.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func (l *gearLoad) version(version string) gearVersion {
	gvr := schema.GroupVersionResource{Group: "switch.example.com", Version: version, Resource: l.plural}
	return gearVersion{l.t, kindOfGears(l.plural), version, l.c.Resource(gvr).Namespace("default"), &l.checked, false}
}

// add reads, lists, watches and writes in a version until the load ends.
func (l *gearLoad) add(version string, arriving bool) {
	g := l.version(version)
	g.arriving = arriving
	read := func(n int) { g.read(l.ctx, gearName(n)) }
	write := func(n int) { g.write(l.ctx, gearName(n), n) }
	for _, do := range []func(int){read, read, write, func(int) { g.list(l.ctx) }, func(int) { g.watch(l.ctx) }} {
		l.workers.Go(func() {
			for n := 0; l.ctx.Err() == nil; n++ {
				do(n)
			}
		})
	}
}

// awaitProgress waits until further responses have been checked.
func (l *gearLoad) awaitProgress(answers int64) {
	l.t.Helper()
	before := l.checked.Load()
	eventually(l.t, "answers", func(context.Context) (bool, error) {
		return l.checked.Load() >= before+answers || l.t.Failed(), nil
	})
}

func (l *gearLoad) end() {
	l.stop()
	l.workers.Wait()
}

// setPhase changes the definition to a phase.
func (l *gearLoad) setPhase(phase string) {
	l.t.Helper()
	spec, _, _ := unstructured.NestedFieldNoCopy(gears(l.plural, phase).Object, "spec", "versions")
	eventually(l.t, "phase "+phase, func(ctx context.Context) (bool, error) {
		d, err := l.c.Resource(definitionResource).Get(ctx, l.plural+".switch.example.com", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if err := unstructured.SetNestedField(d.Object, spec, "spec", "versions"); err != nil {
			return false, err
		}
		_, err = l.c.Resource(definitionResource).Update(ctx, d, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			return false, nil
		}
		return err == nil, err
	})
}

func switchServer(t *testing.T) dynamic.Interface {
	t.Helper()
	srv, _ := startWith(t, server.Options{})
	config := srv.RESTConfig()
	config.QPS = -1
	return dynamic.NewForConfigOrDie(config)
}

// TestVersionsChangeUnderLoad checks that each request is answered in its version while the
// versions of the definition change.
func TestVersionsChangeUnderLoad(t *testing.T) {
	phases := []string{"v1* v2", "v2 v1*", "v0 v2* v1", "v2* v1", "v1 v2*", "v2 v0 v1*"}
	l := newGearLoad(t, switchServer(t), "gears", phases[0])
	defer l.end()
	l.add("v1", false)
	l.add("v2", false)
	const changes = 40
	for n := 1; n <= changes && !t.Failed(); n++ {
		l.setPhase(phases[n%len(phases)])
		l.awaitProgress(50)
	}
}

// TestStoredVersionArrivesUnderLoad checks a change to a storage version that requests in progress
// do not know.
func TestStoredVersionArrivesUnderLoad(t *testing.T) {
	c := switchServer(t)
	for n := range 20 {
		if t.Failed() {
			return
		}
		first := "v1*"
		if n%2 == 1 {
			first = "v0 v1*"
		}
		l := newGearLoad(t, c, fmt.Sprintf("gears%d", n), first)
		l.add("v1", false)
		l.add("v2", true)
		l.awaitProgress(20)
		l.setPhase("v2* v1")
		l.awaitProgress(100)
		l.end()
	}
}
