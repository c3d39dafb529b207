package lab

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

var requestsResource = v1alpha1.GroupVersion.WithResource("requests")

// dynamicClient returns a client of client-go for the administrator.
func (w *world) dynamicClient() dynamic.Interface {
	w.t.Helper()
	config := w.s.RESTConfig()
	config.UserAgent = "dynamic/1.0"
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(client.CloseIdleConnections)
	c, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// TestInformer checks that an informer of client-go gets the requests that are there, and then new ones, by a watch alone.
func TestInformer(t *testing.T) {
	w := startLab(t)
	first := w.do("GET /version", "").id
	w.request(first)
	var mu sync.Mutex
	seen := map[string]int{}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(w.dynamicClient(), 0, "", nil)
	informer := factory.ForResource(requestsResource).Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		mu.Lock()
		defer mu.Unlock()
		seen[obj.(*unstructured.Unstructured).GetName()]++
	}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer cancel()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("the informer did not sync")
	}
	count := func(id string) int {
		mu.Lock()
		defer mu.Unlock()
		return seen[id]
	}
	eventually.True(t, "the request from before", func() bool { return count(first) == 1 })
	var ids []string
	for range 50 {
		ids = append(ids, w.do("GET "+configs, "").id)
	}
	for _, id := range ids {
		eventually.True(t, "the request "+id, func() bool { return count(id) == 1 })
	}
	if _, ok, err := informer.GetStore().GetByKey(first); err != nil || !ok {
		t.Errorf("the store has no %s: %v", first, err)
	}
	// The informer's own watch is a request as well, and says that it needed no list.
	list := w.list("?fieldSelector=userAgent%3Ddynamic%2F1.0")
	if len(list) != 1 || list[0].Spec.Verb != "watch" || !strings.Contains(list[0].Spec.URI, "sendInitialEvents=true") {
		t.Errorf("requests of the informer: %+v", list)
	}
}

// list returns the requests that a query selects.
func (w *world) list(query string) []v1alpha1.Request {
	w.t.Helper()
	var list struct{ Items []v1alpha1.Request }
	if err := json.Unmarshal(w.do("GET "+requests+query, "").body, &list); err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

// TestSelectors checks the field selectors of requests in lists and watches.
func TestSelectors(t *testing.T) {
	w := startLab(t)
	w.load("world.yaml", "Namespace", "ConfigMap")
	c := w.dynamicClient().Resource(requestsResource)
	denied := w.call(call{as: "jane", do: "DELETE " + configs + "/one", header: map[string]string{"User-Agent": "special/2"}}).id
	w.request(denied)
	other := w.do("GET /version", "").id
	w.request(other)
	for _, selector := range []string{"user=jane", "verb=delete", "resource=configmaps,verb=delete", "namespace=a,code=403", "objectName=one,user=jane", "code=403",
		"userAgent=special/2", "phase=Complete,user=jane", "metadata.name=" + denied, "user!=kubernetes-admin,verb!=get,user=jane"} {
		names := map[string]bool{}
		list, err := c.List(t.Context(), metav1.ListOptions{FieldSelector: selector})
		if err != nil {
			t.Errorf("%s: %v", selector, err)
			continue
		}
		for i := range list.Items {
			names[list.Items[i].GetName()] = true
		}
		if !names[denied] || names[other] {
			t.Errorf("list %s: %v", selector, names)
		}
		watcher, err := c.Watch(t.Context(), metav1.ListOptions{FieldSelector: selector, ResourceVersion: "0"})
		if err != nil {
			t.Errorf("%s: %v", selector, err)
			continue
		}
		event := <-watcher.ResultChan()
		watcher.Stop()
		if obj, ok := event.Object.(*unstructured.Unstructured); event.Type != watch.Added || !ok || obj.GetName() != denied {
			t.Errorf("watch %s: %+v", selector, event)
		}
	}
	for _, selector := range []string{"spec.user=jane", "user", "message=x", "why=x"} {
		if _, err := c.List(t.Context(), metav1.ListOptions{FieldSelector: selector}); !apierrors.IsBadRequest(err) {
			t.Errorf("%s: %v", selector, err)
		}
	}
	if list := w.list("?fieldSelector=phase%3DRunning,verb%3Dlist"); len(list) != 0 {
		t.Errorf("running lists: %+v", list)
	}
}

// TestBookmarks checks that a watch says with a bookmark where its initial events end, and that a watch can begin there.
func TestBookmarks(t *testing.T) {
	w := startLab(t)
	w.request(w.do("GET /version", "").id)
	c := w.dynamicClient().Resource(requestsResource)
	yes := true
	watcher, err := c.Watch(t.Context(), metav1.ListOptions{AllowWatchBookmarks: true, SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	var at string
	for event := range watcher.ResultChan() {
		if event.Type == watch.Bookmark {
			obj := event.Object.(*unstructured.Unstructured)
			if at = obj.GetResourceVersion(); obj.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
				break
			}
		}
	}
	if at == "" {
		t.Fatal("no bookmark")
	}
	next := w.do("GET "+configs, "").id
	again, err := c.Watch(t.Context(), metav1.ListOptions{ResourceVersion: at, FieldSelector: "resource=configmaps,userAgent=tester/1.0"})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Stop()
	event := <-again.ResultChan()
	if obj, ok := event.Object.(*unstructured.Unstructured); !ok || obj.GetName() != next {
		t.Errorf("after the bookmark: %+v", event)
	}
}

// TestPages checks that the pages of a list are one snapshot in the order of time, whatever arrives meanwhile.
func TestPages(t *testing.T) {
	w := startLab(t)
	var ids []string
	for range 40 {
		ids = append(ids, w.do("GET "+configs, "").id)
	}
	w.request(ids[len(ids)-1])
	c := w.dynamicClient().Resource(requestsResource)
	var got []string
	o := metav1.ListOptions{Limit: 7, FieldSelector: "resource=configmaps,userAgent=tester/1.0"}
	for pages := 1; ; pages++ {
		list, err := c.List(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			got = append(got, list.Items[i].GetName())
		}
		if o.Continue = list.GetContinue(); o.Continue == "" {
			if pages != 6 {
				t.Errorf("%d pages", pages)
			}
			break
		}
		w.request(w.do("GET "+configs, "").id)
	}
	if !slices.Equal(got, ids) {
		t.Errorf("pages %q, want %q", got, ids)
	}
}

// TestTooOld checks that a watch from an earlier process, or from before the window, tells the client to list again.
func TestTooOld(t *testing.T) {
	w := startLab(t)
	w.request(w.do("GET /version", "").id)
	c := w.dynamicClient().Resource(requestsResource)
	watcher, err := c.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "12345"})
	if err == nil {
		event := <-watcher.ResultChan()
		watcher.Stop()
		err = apierrors.FromObject(event.Object)
	}
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Fatalf("watch from an old revision: %v", err)
	}
	if _, err := c.List(t.Context(), metav1.ListOptions{ResourceVersion: "12345", ResourceVersionMatch: metav1.ResourceVersionMatchExact}); !apierrors.IsResourceExpired(err) {
		t.Errorf("list of an old revision: %v", err)
	}
	list, err := c.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	id := w.do("GET "+configs, "").id
	watcher, err = c.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		if event.Object.(*unstructured.Unstructured).GetName() == id {
			return
		}
	}
	t.Error("the watch after the new list ended")
}

// TestTable checks the rows that kubectl prints.
func TestTable(t *testing.T) {
	w := startLab(t)
	w.load("world.yaml", "Namespace", "ConfigMap")
	id := w.call(call{as: "jane", do: "DELETE " + configs + "/one"}).id
	w.request(id)
	accept := map[string]string{"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"}
	for _, path := range []string{requests + "?limit=500", requests + "/" + id, requests + "?watch=1&timeoutSeconds=1"} {
		a := w.call(call{do: "GET " + path, header: accept})
		text := string(a.body)
		if strings.Contains(path, "watch") {
			var event struct{ Object json.RawMessage }
			if err := json.NewDecoder(strings.NewReader(text)).Decode(&event); err != nil {
				t.Fatal(err)
			}
			a.body = event.Object
		}
		var table metav1.Table
		if err := json.Unmarshal(a.body, &table); err != nil || table.Kind != "Table" {
			t.Fatalf("%v in %.300s", err, a.body)
		}
		var columns []string
		for _, c := range table.ColumnDefinitions {
			columns = append(columns, c.Name)
			if c.Description == "" {
				t.Errorf("the column %s has no description", c.Name)
			}
		}
		if want := []string{"Name", "Time", "User", "Verb", "Resource", "Object", "Code", "Took", "Why", "Agent"}; !slices.Equal(columns, want) {
			t.Errorf("columns %q", columns)
		}
		for _, want := range []string{`"jane"`, `"delete"`, `"configmaps"`, `"a/one"`, `"403"`, `authorization: configmaps`} {
			if !strings.Contains(text, want) {
				t.Errorf("no %s in %.500s", want, text)
			}
		}
	}
}

// TestWatchInStorm checks that a client which reads a watch of requests gets all of them while many arrive.
func TestWatchInStorm(t *testing.T) {
	w := startLab(t)
	w.request(w.do("GET /version", "").id)
	c := w.dynamicClient().Resource(requestsResource)
	watcher, err := c.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	const clients, each = 8, 400
	sent := make([][]string, clients)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for range each {
				a, err := w.send(t.Context(), call{do: "GET " + configs})
				if err != nil || a.code != http.StatusOK {
					t.Errorf("%v %+v", err, a)
					return
				}
				sent[i] = append(sent[i], a.id)
			}
		})
	}
	seen := map[string]int{}
	all := make(chan []string, 1)
	go func() {
		wg.Wait()
		all <- slices.Concat(sent...)
	}()
	var want []string
	deadline := time.After(time.Minute)
	isMissing := func(id string) bool { return seen[id] == 0 }
	for len(want) == 0 || slices.ContainsFunc(want, isMissing) {
		select {
		case event, ok := <-watcher.ResultChan():
			if !ok {
				t.Fatalf("the watch ended after %d events", len(seen))
			}
			if obj, isObject := event.Object.(*unstructured.Unstructured); isObject && event.Type == watch.Added {
				seen[obj.GetName()]++
			} else if event.Type == watch.Error {
				t.Fatalf("%+v", event.Object)
			}
		case want = <-all:
		case <-deadline:
			t.Fatalf("%d of %d seen", len(seen), len(want))
		}
	}
	for _, id := range want {
		if seen[id] != 1 {
			t.Fatalf("%s was seen %d times", id, seen[id])
		}
	}
}
