package conformance

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// soon is the time limit for operations that take effect at once on a healthy server.
const soon = 30 * time.Second

// TestClientGo uses client-go's clients with all content types.
func TestClientGo(t *testing.T) {
	s := start(t)
	for name, contentType := range map[string]string{"json": "application/json", "protobuf": "application/vnd.kubernetes.protobuf"} {
		config := s.RESTConfig()
		config.ContentType = contentType
		config.AcceptContentTypes = contentType
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			httpClient, err := rest.HTTPClientFor(config)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(httpClient.CloseIdleConnections)
			clients, err := kubernetes.NewForConfigAndClient(config, httpClient)
			if err != nil {
				t.Fatal(err)
			}
			ns, err := clients.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "clients-"}}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			t.Run("crud", func(t *testing.T) { testCRUD(ctx, t, clients, ns.Name) })
			t.Run("conflict", func(t *testing.T) { testConflict(ctx, t, clients, ns.Name) })
			t.Run("watch", func(t *testing.T) { testWatch(ctx, t, clients, ns.Name) })
			t.Run("informer", func(t *testing.T) { testInformer(ctx, t, clients, ns.Name) })
		})
	}
	t.Run("dynamic", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		testDynamic(ctx, t, s.RESTConfig())
	})
}

// testCRUD creates, reads, updates and deletes a deployment.
func testCRUD(ctx context.Context, t *testing.T, clients kubernetes.Interface, ns string) {
	deployments := clients.AppsV1().Deployments(ns)
	labels := map[string]string{"app": "web"}
	made, err := deployments.Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if made.UID == "" || made.ResourceVersion == "" || made.Generation != 1 || made.CreationTimestamp.IsZero() {
		t.Errorf("created without what the server gives: %+v", made.ObjectMeta)
	}
	made.Spec.Template.Spec.Containers[0].Image = "nginx:2"
	changed, err := deployments.Update(ctx, made, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if changed.Generation != 2 || changed.UID != made.UID || changed.Spec.Template.Spec.Containers[0].Image != "nginx:2" {
		t.Errorf("updated to %+v", changed)
	}
	changed.Status.Replicas = 3
	if _, err := deployments.UpdateStatus(ctx, changed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	patched, err := deployments.Patch(ctx, "web", types.MergePatchType, []byte(`{"metadata":{"labels":{"tier":"front"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if patched.Labels["tier"] != "front" || patched.Labels["app"] != "web" || patched.Status.Replicas != 3 || patched.Generation != 2 {
		t.Errorf("patched to %+v", patched)
	}
	got, err := deployments.Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.ResourceVersion != patched.ResourceVersion {
		t.Errorf("got revision %s after %s was written", got.ResourceVersion, patched.ResourceVersion)
	}
	list, err := clients.AppsV1().Deployments("").List(ctx, metav1.ListOptions{LabelSelector: "tier=front", FieldSelector: "metadata.namespace=" + ns})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || list.Items[0].Name != "web" || list.ResourceVersion == "" {
		t.Errorf("listed %+v", list)
	}
	if err := deployments.Delete(ctx, "web", metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(got.UID))}); err != nil {
		t.Fatal(err)
	}
	if _, err := deployments.Get(ctx, "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("got after it was deleted: %v", err)
	}
}

// testConflict checks the errors that controllers depend on.
func testConflict(ctx context.Context, t *testing.T, clients kubernetes.Interface, ns string) {
	maps := clients.CoreV1().ConfigMaps(ns)
	first, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("created twice: %v", err)
	}
	stale := first.DeepCopy()
	first.Data = map[string]string{"a": "1"}
	if _, err := maps.Update(ctx, first, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	stale.Data = map[string]string{"a": "2"}
	if _, err := maps.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("updated a stale object: %v", err)
	}
	if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "No"}}, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("created with a wrong name: %v", err)
	}
	if err := maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=c"}); err != nil {
		t.Error(err)
	}
}

// testWatch checks that a watch from a revision receives every change once and in order.
func testWatch(ctx context.Context, t *testing.T, clients kubernetes.Interface, ns string) {
	secrets := clients.CoreV1().Secrets(ns)
	list, err := secrets.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secret, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"k": {0, 255}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := secrets.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	secret.Data["k"] = []byte("v")
	if _, err := secrets.Update(ctx, secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := secrets.Delete(ctx, "s", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		event watch.EventType
		data  string
	}{{watch.Added, "\x00\xff"}, {watch.Modified, "v"}, {watch.Deleted, "v"}} {
		select {
		case event := <-w.ResultChan():
			got, ok := event.Object.(*corev1.Secret)
			if event.Type != want.event || !ok || string(got.Data["k"]) != want.data {
				t.Fatalf("event %d: %s %+v, want %+v", i, event.Type, event.Object, want)
			}
		case <-ctx.Done():
			t.Fatalf("event %d did not come", i)
		}
	}
}

// testInformer follows a collection with a shared informer.
func testInformer(ctx context.Context, t *testing.T, clients kubernetes.Interface, ns string) {
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(ns))
	informer := factory.Core().V1().ConfigMaps()
	seen := make(chan string, 16)
	name := func(verb string, obj any) {
		if m, ok := obj.(*corev1.ConfigMap); ok && m.Name == "informed" {
			seen <- verb + m.Data["k"]
		}
	}
	_, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { name("added", obj) },
		UpdateFunc: func(_, obj any) { name("updated", obj) },
		DeleteFunc: func(obj any) { name("deleted", obj) },
	})
	if err != nil {
		t.Fatal(err)
	}
	informing, stop := context.WithCancel(ctx)
	factory.StartWithContext(informing)
	defer factory.Shutdown()
	defer stop()
	if !cache.WaitForCacheSync(ctx.Done(), informer.Informer().HasSynced) {
		t.Fatal("the informer has not synced")
	}
	next := func(want string) {
		t.Helper()
		select {
		case got := <-seen:
			if got != want {
				t.Fatalf("the informer saw %s, want %s", got, want)
			}
		case <-ctx.Done():
			t.Fatalf("the informer has not seen %s", want)
		}
	}
	maps := clients.CoreV1().ConfigMaps(ns)
	m, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "informed"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	next("added")
	m.Data = map[string]string{"k": " v"}
	if _, err := maps.Update(ctx, m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	next("updated v")
	if got, err := informer.Lister().ConfigMaps(ns).Get("informed"); err != nil || got.Data["k"] != " v" {
		t.Errorf("the lister has %+v, %v", got, err)
	}
	if err := maps.Delete(ctx, "informed", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	next("deleted v")
}

// testDynamic uses the dynamic client.
func testDynamic(ctx context.Context, t *testing.T, config *rest.Config) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer httpClient.CloseIdleConnections()
	client, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	classes := client.Resource(schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"})
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
		"metadata": map[string]any{"name": "dynamic"}, "value": int64(1000),
	}}
	if obj, err = classes.Create(ctx, obj, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w, err := classes.Watch(ctx, metav1.ListOptions{ResourceVersion: obj.GetResourceVersion(), FieldSelector: "metadata.name=dynamic"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	patch := []byte(`[{"op":"add","path":"/description","value":"d"}]`)
	if obj, err = classes.Patch(ctx, "dynamic", types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if d, _, _ := unstructured.NestedString(obj.Object, "description"); d != "d" {
		t.Errorf("patched to %v", obj)
	}
	select {
	case event := <-w.ResultChan():
		if got, ok := event.Object.(*unstructured.Unstructured); !ok || event.Type != watch.Modified || got.GetResourceVersion() != obj.GetResourceVersion() {
			t.Errorf("watched %s %v", event.Type, event.Object)
		}
	case <-ctx.Done():
		t.Error("the change was not watched")
	}
	list, err := classes.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=dynamic"})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("listed %v, %v", list, err)
	}
	if err := classes.Delete(ctx, "dynamic", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}
