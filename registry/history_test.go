package registry

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/kinds"
	"github.com/miniapiserver/miniapiserver/storage"
)

// withSecretsElsewhere returns a registry whose Secrets are in another etcd, and whose Leases are in memory.
func withSecretsElsewhere(t *testing.T) *Registry {
	t.Helper()
	var stores []*storage.Store
	for range 2 {
		s, err := storage.Open(t.Context(), storage.Options{Ephemeral: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		stores = append(stores, s)
	}
	local := storage.NewLocal(storage.Options{})
	t.Cleanup(func() { local.Close() })
	catalogue, err := api.New(kinds.All()...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(stores[0], catalogue, Options{Stores: map[schema.GroupResource]*storage.Store{
		{Resource: "secrets"}: stores[1], {Group: "coordination.k8s.io", Resource: "leases"}: local}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stores {
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func describeWritten(written []Written) string {
	var out []string
	for _, w := range written {
		out = append(out, fmt.Sprintf("%s %s/%s created %v", w.Target.Resource.Name, w.Target.Namespace, w.Target.Name, w.Version.Created))
	}
	return strings.Join(out, "; ")
}

// TestHistory checks the versions of objects in several stores.
func TestHistory(t *testing.T) {
	r := withSecretsElsewhere(t)
	at := r.configMap(t, "c")
	created := create(t, r, at, configMap("c", "1"))
	if _, err := r.Update(t.Context(), at, changeBy(func(c *corev1.ConfigMap) { c.Data["key"] = "2" }), UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	secrets := r.at(t, corev1.SchemeGroupVersion, "secrets", "s")
	create(t, r, secrets, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}})
	nodes := r.at(t, corev1.SchemeGroupVersion, "nodes", "n")
	create(t, r, nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	leases := r.at(t, schema.GroupVersion{Group: "coordination.k8s.io", Version: "v1"}, "leases", "l")
	lease := leases.Resource.New()
	lease.SetName("l")
	create(t, r, leases, lease)

	check := func(want string, written []Written, err error) {
		t.Helper()
		if got := describeWritten(written); got != want || err != nil {
			t.Errorf("%v\n got %s\nwant %s", err, got, want)
		}
	}
	const ofMap = "configmaps ns/c created false; configmaps ns/c created true"
	written, err := r.History(t.Context(), at, storage.HistoryOptions{})
	check(ofMap, written, err)
	written, err = r.History(t.Context(), leases, storage.HistoryOptions{})
	check("", written, err)
	written, err = r.Recent(t.Context(), storage.HistoryOptions{})
	check("nodes /n created true; "+ofMap+"; secrets ns/s created true", written, err)
	written, err = r.Recent(t.Context(), storage.HistoryOptions{Limit: 2})
	check("nodes /n created true; secrets ns/s created true", written, err)
	rev, ok := parseRevision(created.GetResourceVersion())
	if !ok {
		t.Fatal(created.GetResourceVersion())
	}
	written, err = r.WrittenAt(t.Context(), rev+1)
	check("configmaps ns/c created false", written, err)
	if _, err := r.History(t.Context(), r.configMap(t, "a/b"), storage.HistoryOptions{}); !apierrors.IsBadRequest(err) {
		t.Errorf("a name that cannot be: %v", err)
	}
	r.RemoveResource(at.Resource)
	if _, err := r.History(t.Context(), at, storage.HistoryOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a removed resource: %v", err)
	}
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Recent(t.Context(), storage.HistoryOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("a closed store: %v", err)
	}
}

func parseRevision(s string) (rev int64, ok bool) {
	n, err := fmt.Sscan(s, &rev)
	return rev, n == 1 && err == nil
}
