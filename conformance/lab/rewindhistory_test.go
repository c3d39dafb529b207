package lab

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab"
	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/try"
	"github.com/miniapiserver/miniapiserver/server"
)

// TestRewindHistories takes histories of creations, changes and deletions of several kinds, with definitions, owners,
// finalizers, addresses and quotas, and goes back to random checkpoints of them. When the controllers have followed, the
// objects are those at the checkpoint but for their resourceVersions, and informers have what a new list has.
func TestRewindHistories(t *testing.T) {
	// A history takes about a second. -rapid.checks asks for more.
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := checks.Value.Set("5"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = checks.Value.Set(checks.DefValue) }) // which it had
	}
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	const encryption = `{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [
{resources: [configmaps, services, widgets.example.com], providers: [{aescbc: {keys: [{name: a, secret: RcX2fBbLNGtggcqz46+yWN8jk2ddmvod/X80IDbksxc=}]}}]}]}`
	if err := os.WriteFile(file, []byte(encryption), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]server.Options{
		"embedded":  {},
		"encrypted": {Encryption: server.Encryption{ConfigFile: file}},
		"external":  {Etcd: server.Etcd{Servers: []string{externalEtcd(t)}}},
	} {
		t.Run(name, func(t *testing.T) {
			h := startRewindHistory(t, o)
			rapid.Check(t, h.check)
			h.compareInformers()
		})
	}
}

// rewindHistory is a server with what happens to it.
type rewindHistory struct {
	*testing.T
	s         *server.Server
	dynamic   dynamic.Interface
	start     lab.Mark
	informers map[schema.GroupVersionResource]cache.Store
}

// The resources of a history.
var (
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	services    = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	quotas      = schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	replicaSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	crds        = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	customs     = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
)

func startRewindHistory(t *testing.T, o server.Options) *rewindHistory {
	t.Helper()
	o.Lab.Enabled = true
	s := start(t, o).s
	d, err := dynamic.NewForConfig(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	h := &rewindHistory{T: t, s: s, dynamic: d, informers: map[schema.GroupVersionResource]cache.Store{}}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(d, 0)
	for _, r := range []schema.GroupVersionResource{configMaps, services, namespaces, quotas, deployments, replicaSets, crds} {
		h.informers[r] = factory.ForResource(r).Informer().GetStore()
	}
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown)
	factory.WaitForCacheSync(t.Context().Done())
	h.settled()
	if h.start, err = s.Lab().Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

// settled waits until the controllers have followed.
func (h *rewindHistory) settled() {
	h.Helper()
	if _, err := try.Begin(h.Context(), h.s.RESTConfig()); err != nil {
		h.Fatal(err)
	}
}

// dump returns all objects but those that a rewind leaves out, without their resourceVersions.
func (h *rewindHistory) dump() map[string]string {
	h.Helper()
	c, err := client.New(h.s.RESTConfig())
	if err != nil {
		h.Fatal(err)
	}
	resources, err := c.Resources(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	out := map[string]string{}
	for _, r := range resources {
		if !r.Can("list") || !r.Can("watch") || r.Group == "lab.miniapiserver.io" || r.Name == "leases" || r.Name == "events" {
			continue
		}
		_, err := c.List(h.Context(), client.Target{Group: r.Group, Version: r.Version, Resource: r.Name}, client.ListOptions{}, func(item json.RawMessage) error {
			u := &unstructured.Unstructured{}
			if err := json.Unmarshal(item, &u.Object); err != nil {
				return err
			}
			u.SetResourceVersion("")
			text, err := json.Marshal(u.Object)
			out[r.String()+"/"+r.Version+"/"+u.GetNamespace()+"/"+u.GetName()] = string(text)
			return err
		})
		if err != nil {
			h.Fatalf("%s: %v", r, err)
		}
	}
	return out
}

// moment is a checkpoint with the objects at it.
type moment struct {
	mark    lab.Mark
	objects map[string]string
}

// check is a history.
func (h *rewindHistory) check(rt *rapid.T) {
	if err := h.s.Lab().Rewind(h.Context(), h.start); err != nil {
		rt.Fatal(err)
	}
	h.settled()
	var moments []moment
	keep := func() {
		h.settled()
		mark, err := h.s.Lab().Checkpoint(h.Context())
		if err != nil {
			rt.Fatal(err)
		}
		moments = append(moments, moment{mark, h.dump()})
	}
	for _, namespace := range []string{"a", "b"} {
		h.create(rt, namespaces, "", namespace, nil)
	}
	keep()
	for range rapid.IntRange(1, 4).Draw(rt, "rounds") {
		for range rapid.IntRange(0, 12).Draw(rt, "actions") {
			h.act(rt)
		}
		if rapid.Bool().Draw(rt, "checkpoint") {
			keep()
		}
		for range rapid.IntRange(0, 3).Draw(rt, "more actions") { // which the controllers have not followed when the rewind comes
			h.act(rt)
		}
		to := moments[rapid.IntRange(0, len(moments)-1).Draw(rt, "moment")]
		if err := h.s.Lab().Rewind(h.Context(), to.mark); err != nil {
			rt.Fatal(err)
		}
		h.settled()
		h.compare(rt, to.objects)
	}
}

// compare compares the objects with those at a checkpoint.
func (h *rewindHistory) compare(rt *rapid.T, want map[string]string) {
	var wrong []string
	for range 20 { // controllers may be slow
		got := h.dump()
		wrong = wrong[:0]
		for key := range want {
			if got[key] != want[key] {
				wrong = append(wrong, fmt.Sprintf("%s: is\n   %s\nwas\n   %s", key, got[key], want[key]))
			}
		}
		for key := range got {
			if _, found := want[key]; !found {
				wrong = append(wrong, key+" was not there: "+got[key])
			}
		}
		if len(wrong) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	slices.Sort(wrong)
	rt.Fatalf("after the rewind:\n%s", strings.Join(wrong, "\n"))
}

// compareInformers compares the informers, which have seen all rewinds, with new lists.
func (h *rewindHistory) compareInformers() {
	for r, store := range h.informers {
		eventually.Succeeds(h, "the informer of "+r.Resource, func() error {
			return holdsList(h.Context(), h.dynamic, r, store)
		})
	}
}

// do reports what a request must not do: fail in a way that a history does not explain.
func (h *rewindHistory) do(rt *rapid.T, what string, err error) {
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsForbidden(err) && !apierrors.IsConflict(err) && !apierrors.IsInvalid(err) {
		rt.Fatalf("%s: %v", what, err)
	}
}

func (h *rewindHistory) create(rt *rapid.T, r schema.GroupVersionResource, namespace, name string, content map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	maps.Copy(u.Object, content)
	u.SetGroupVersionKind(r.GroupVersion().WithKind(kindsOfHistory[r.Resource]))
	u.SetName(name)
	made, err := h.dynamic.Resource(r).Namespace(namespace).Create(h.Context(), u, metav1.CreateOptions{})
	h.do(rt, "creating "+r.Resource, err)
	if err != nil {
		return nil
	}
	return made
}

var kindsOfHistory = map[string]string{"configmaps": "ConfigMap", "services": "Service", "namespaces": "Namespace", "resourcequotas": "ResourceQuota",
	"deployments": "Deployment", "replicasets": "ReplicaSet", "customresourcedefinitions": "CustomResourceDefinition", "widgets": "Widget"}

// act does something.
func (h *rewindHistory) act(rt *rapid.T) {
	namespace := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "namespace")
	name := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(rt, "name")
	actions := h.actions(rt, namespace, name)
	actions[rapid.SampledFrom(slices.Sorted(maps.Keys(actions))).Draw(rt, "action")]()
}

func (h *rewindHistory) actions(rt *rapid.T, namespace, name string) map[string]func() {
	patch := func(r schema.GroupVersionResource, text string) {
		in := h.dynamic.Resource(r).Namespace(namespace)
		_, err := in.Patch(h.Context(), name, "application/merge-patch+json", []byte(text), metav1.PatchOptions{})
		h.do(rt, "patching "+r.Resource, err)
	}
	remove := func(r schema.GroupVersionResource, namespace, name string, policy metav1.DeletionPropagation) {
		h.do(rt, "deleting "+r.Resource, h.dynamic.Resource(r).Namespace(namespace).Delete(h.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}))
	}
	policy := rapid.SampledFrom([]metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan}).Draw(rt, "policy")
	value := rapid.StringN(1, 3, 9).Draw(rt, "value")
	quoted, _ := json.Marshal(value) // a text
	template := map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": name}}, "template": map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": name}}, "spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}}}
	return map[string]func(){
		"create a ConfigMap": func() {
			h.create(rt, configMaps, namespace, name, map[string]any{"data": map[string]any{"a": value}})
		},
		"change a ConfigMap":      func() { patch(configMaps, `{"data":{"a":`+string(quoted)+`}}`) },
		"hold a ConfigMap":        func() { patch(configMaps, `{"metadata":{"finalizers":["example.com/hold"]}}`) },
		"let a ConfigMap go":      func() { patch(configMaps, `{"metadata":{"finalizers":null}}`) },
		"delete a ConfigMap":      func() { remove(configMaps, namespace, name, policy) },
		"create a Service":        func() { h.create(rt, services, namespace, name, service("NodePort")) },
		"create a ClusterIP":      func() { h.create(rt, services, namespace, name, service("ClusterIP")) },
		"delete a Service":        func() { remove(services, namespace, name, policy) },
		"create a Deployment":     func() { h.createOwners(rt, namespace, name, template) },
		"delete a Deployment":     func() { remove(deployments, namespace, name, policy) },
		"create a quota":          func() { h.create(rt, quotas, namespace, name, quota(6)) },
		"delete a quota":          func() { remove(quotas, namespace, name, policy) },
		"create a namespace":      func() { h.create(rt, namespaces, "", namespace, nil) },
		"delete a namespace":      func() { remove(namespaces, "", namespace, policy) },
		"create a definition":     func() { h.create(rt, crds, "", "widgets.example.com", definition()) },
		"delete a definition":     func() { remove(crds, "", "widgets.example.com", policy) },
		"create a custom object":  func() { h.create(rt, customs, namespace, name, map[string]any{"spec": map[string]any{"a": value}}) },
		"create another":          func() { h.create(rt, customs, namespace, name, map[string]any{"spec": map[string]any{"a": value}}) },
		"change a custom object":  func() { patch(customs, `{"spec":{"a":`+string(quoted)+`}}`) },
		"hold a custom object":    func() { patch(customs, `{"metadata":{"finalizers":["example.com/hold"]}}`) },
		"delete a custom object":  func() { remove(customs, namespace, name, policy) },
		"let a custom object go":  func() { patch(customs, `{"metadata":{"finalizers":null}}`) },
		"delete all ConfigMaps":   func() { h.deleteAll(rt, configMaps, namespace) },
		"delete all Deployments":  func() { h.deleteAll(rt, deployments, namespace) },
		"nothing for some moment": func() { h.settled() },
	}
}

func (h *rewindHistory) deleteAll(rt *rapid.T, r schema.GroupVersionResource, namespace string) {
	in := h.dynamic.Resource(r).Namespace(namespace)
	h.do(rt, "deleting all "+r.Resource, in.DeleteCollection(h.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
}

// createOwners creates a Deployment with a ReplicaSet, which has a ConfigMap.
func (h *rewindHistory) createOwners(rt *rapid.T, namespace, name string, spec map[string]any) {
	owner := h.create(rt, deployments, namespace, name, map[string]any{"spec": spec})
	for _, r := range []schema.GroupVersionResource{replicaSets, configMaps} {
		if owner == nil {
			return
		}
		content := map[string]any{"metadata": map[string]any{"ownerReferences": []any{map[string]any{"apiVersion": owner.GetAPIVersion(), "kind": owner.GetKind(),
			"name": owner.GetName(), "uid": string(owner.GetUID()), "controller": true, "blockOwnerDeletion": true}}}}
		if r == replicaSets {
			content["spec"] = spec
		}
		owner = h.create(rt, r, namespace, name+"-owned", content)
	}
}

func service(kind string) map[string]any {
	return map[string]any{"spec": map[string]any{"type": kind, "ports": []any{map[string]any{"port": int64(80)}}}}
}

func quota(n int) map[string]any {
	return map[string]any{"spec": map[string]any{"hard": map[string]any{"count/configmaps": fmt.Sprint(n), "services": fmt.Sprint(n)}}}
}

func definition() map[string]any {
	return map[string]any{"spec": map[string]any{"group": "example.com", "scope": "Namespaced",
		"names": map[string]any{"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}}
}
