package server

import (
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// TestWatchUnreadable checks that a watch skips a value that cannot be decoded, and ends
// when it is deleted, because the client may have seen an earlier state of it. A watch that
// begins with the current state fails like a list.
func TestWatchUnreadable(t *testing.T) {
	b := startBroken(t, Options{})
	ctx, maps := t.Context(), b.client.CoreV1().ConfigMaps("default")
	list, err := maps.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	next := func(w watch.Interface) watch.Event {
		t.Helper()
		timeout := time.After(30 * time.Second)
		for {
			select {
			case e := <-w.ResultChan():
				if cm, ok := e.Object.(*corev1.ConfigMap); ok && cm.Name == "kube-root-ca.crt" {
					continue // a controller creates it at some time
				}
				return e
			case <-timeout:
				t.Fatal("no event")
			}
		}
	}
	storeReadError := func(e watch.Event) bool {
		s, ok := e.Object.(*metav1.Status)
		return ok && e.Type == watch.Error && s.Reason == metav1.StatusReasonStoreReadError
	}
	b.unreadableMap("default", "bad")
	if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "good"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	e := next(w)
	if cm, ok := e.Object.(*corev1.ConfigMap); !ok || cm.Name != "good" {
		t.Fatalf("%s %+v", e.Type, e.Object)
	}
	all := true
	initial, err := maps.Watch(ctx, metav1.ListOptions{SendInitialEvents: &all, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	if err != nil {
		t.Fatal(err)
	}
	defer initial.Stop()
	if e := next(initial); !storeReadError(e) {
		t.Errorf("the state before a watch: %s %+v", e.Type, e.Object)
	}
	if code, status := b.do(http.MethodDelete, mapsOf+"/bad"+unsafely); code != http.StatusOK {
		t.Fatalf("unsafe delete: %d %+v", code, status)
	}
	if e := next(w); !storeReadError(e) {
		t.Errorf("after the deletion: %s %+v", e.Type, e.Object)
	}
	if e, more := <-w.ResultChan(); more {
		t.Errorf("the watch goes on with %s %+v", e.Type, e.Object)
	}
}
