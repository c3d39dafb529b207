package clients

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/server"
	"github.com/miniapiserver/miniapiserver/server/servertest"
)

// cacheFaults are Faults of the lab from which a cache recovers.
var cacheFaults = map[string]string{
	"close":        "{match: {verbs: [watch]}, when: {times: 6}, inject: {watch: {close: {afterEvents: 2}}}}",
	"expire":       "{match: {verbs: [watch]}, when: {times: 4}, inject: {watch: {expire: {}}}}",
	"freeze":       "{match: {verbs: [watch]}, when: {times: 3}, inject: {watch: {freeze: 500ms}}}",
	"delay":        "{match: {verbs: [watch]}, when: {times: 3}, inject: {watch: {delay: 20ms}}}",
	"no-bookmarks": "{match: {verbs: [watch]}, when: {times: 3}, inject: {watch: {noBookmarks: {}}}}",
	"lose-request": "{match: {verbs: [list, watch]}, when: {times: 4}, inject: {lose: Request}}",
	"error-410":    "{match: {verbs: [list, watch]}, when: {times: 4}, inject: {error: {code: 410}}}",
	"error-503":    "{match: {verbs: [list, watch]}, when: {times: 4}, inject: {error: {code: 503}}}",
	"compact":      "{match: {verbs: [list, watch]}, when: {times: 3}, inject: {compact: {}}}",
}

// TestCacheWithFaults runs a controller-runtime cache with each fault while objects change. The fault must hit all that it may, and the
// cache then contain the objects of the server.
func TestCacheWithFaults(t *testing.T) {
	log.SetLogger(logr.Discard()) // otherwise it prints a warning
	s := servertest.New(t, server.Options{Lab: server.Lab{Enabled: true}})
	faults := s.Dynamic.Resource(v1alpha1.GroupVersion.WithResource("faults"))
	direct, err := client.New(s.Config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	for name, spec := range cacheFaults {
		t.Run(name, func(t *testing.T) {
			var content map[string]any
			if err := yaml.Unmarshal([]byte(spec), &content); err != nil {
				t.Fatal(err)
			}
			config := rest.CopyConfig(s.Config)
			config.UserAgent = "cache-" + name
			content["match"].(map[string]any)["userAgents"] = []any{config.UserAgent}
			fault := &unstructured.Unstructured{Object: map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Fault",
				"metadata": map[string]any{"name": name}, "spec": content}}
			if _, err := faults.Create(t.Context(), fault, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			churning, rest := context.WithCancel(ctx)
			var wg sync.WaitGroup
			var writes atomic.Int64
			for _, v := range views() {
				wg.Go(func() { churn(t, ctx, churning, direct, v, &writes) })
			}
			cached, wait := startCache(t, ctx, config)
			defer wait()
			defer cancel()
			defer rest()
			eventually.True(t, "the last hit", func() bool {
				now, err := faults.Get(ctx, name, metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				times, _, _ := unstructured.NestedInt64(now.Object, "spec", "when", "times")
				injected, _, _ := unstructured.NestedInt64(now.Object, "status", "injected")
				return injected >= times
			})
			if err := faults.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			rest()
			wg.Wait()
			for _, v := range views() {
				compare(t, ctx, direct, cached, v)
			}
		})
	}
}
