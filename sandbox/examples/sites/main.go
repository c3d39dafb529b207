// Command sites is a controller for learners: it makes a Deployment of every Site, a custom kind that
// the tour in docs/sandbox.md defines, and reports in the Site's status how many pods are ready.
// It runs on your machine, with the cluster of KUBECONFIG:
//
//	go run ./examples/sites
//
// Reading order: run starts the caches and the worker; reconcile has the logic of the controller.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
)

// sites is the resource of the kind Site.
var sites = schema.GroupVersionResource{Group: "tour.example.com", Version: "v1", Resource: "sites"}

// fieldManager owns the fields that the controller applies.
const fieldManager = "sites-controller"

func main() {
	ctx, end := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer end()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "sites:", err)
		os.Exit(1)
	}
}

// controller has what reconcile reads and writes. Reads come from caches, which watches keep up to date.
type controller struct {
	client      kubernetes.Interface
	custom      dynamic.Interface
	sites       cache.GenericLister
	deployments appslisters.DeploymentLister
	// queue has the names of the Sites that may not be as they should be. A name is in it once.
	queue workqueue.TypedRateLimitingInterface[cache.ObjectName]
}

// run reconciles Sites until ctx ends.
func run(ctx context.Context) error {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return err
	}
	c := &controller{queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())}
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if c.custom, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	custom := dynamicinformer.NewDynamicSharedInformerFactory(c.custom, 0)
	builtin := informers.NewSharedInformerFactory(c.client, 0)
	c.sites, c.deployments = custom.ForResource(sites).Lister(), builtin.Apps().V1().Deployments().Lister()
	// A Deployment has the name of its Site, so that an event of either leads to the same reconcile.
	enqueue := func(object any) {
		if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
			c.queue.Add(name)
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, object any) { enqueue(object) }, DeleteFunc: enqueue}
	for _, informer := range []cache.SharedIndexInformer{custom.ForResource(sites).Informer(), builtin.Apps().V1().Deployments().Informer()} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	custom.Start(ctx.Done())
	builtin.Start(ctx.Done())
	defer custom.Shutdown()
	defer builtin.Shutdown()
	custom.WaitForCacheSync(ctx.Done())
	builtin.WaitForCacheSync(ctx.Done())
	defer context.AfterFunc(ctx, c.queue.ShutDown)()
	for c.next(ctx) {
	}
	return nil
}

// next reconciles one Site, and later again if that fails. It returns false when the queue has ended.
func (c *controller) next(ctx context.Context) bool {
	name, ended := c.queue.Get()
	if ended {
		return false
	}
	defer c.queue.Done(name)
	if err := c.reconcile(ctx, name); err != nil {
		fmt.Fprintf(os.Stderr, "site %s: %v; trying again\n", name, err)
		c.queue.AddRateLimited(name)
		return true
	}
	c.queue.Forget(name)
	return true
}

// reconcile makes the Deployment of a Site as the Site wants it, and the Site's status as the Deployment
// is. It looks at the state alone, never at the event that led to it: then a missed event does no harm.
func (c *controller) reconcile(ctx context.Context, name cache.ObjectName) error {
	object, err := c.sites.ByNamespace(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) {
		return nil // the garbage collector deletes the Deployment, whose owner the Site was
	}
	if err != nil {
		return err
	}
	site := object.(*unstructured.Unstructured)
	want, err := deploymentOf(site)
	if err != nil {
		return err
	}
	if _, err := c.client.AppsV1().Deployments(name.Namespace).Apply(ctx, want, metav1.ApplyOptions{FieldManager: fieldManager, Force: true}); err != nil {
		return err
	}
	deployment, err := c.deployments.Deployments(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) {
		return nil // not in the cache yet: the event of its creation leads here again
	}
	if err != nil {
		return err
	}
	return c.report(ctx, site, deployment)
}

// deploymentOf returns the fields of a Site's Deployment that the controller decides.
func deploymentOf(site *unstructured.Unstructured) (*appsapply.DeploymentApplyConfiguration, error) {
	image, found, err := unstructured.NestedString(site.Object, "spec", "image")
	if err != nil || !found {
		return nil, errors.Join(errors.New("spec.image is missing"), err)
	}
	replicas, _, err := unstructured.NestedInt64(site.Object, "spec", "replicas")
	if err != nil {
		return nil, err
	}
	labels := map[string]string{"site": site.GetName()}
	owner := metaapply.OwnerReference().WithAPIVersion(site.GetAPIVersion()).WithKind(site.GetKind()).
		WithName(site.GetName()).WithUID(site.GetUID()).WithController(true)
	return appsapply.Deployment(site.GetName(), site.GetNamespace()).WithOwnerReferences(owner).WithSpec(
		appsapply.DeploymentSpec().WithReplicas(int32(replicas)).WithSelector(metaapply.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(coreapply.PodTemplateSpec().WithLabels(labels).WithSpec(
				coreapply.PodSpec().WithContainers(coreapply.Container().WithName("web").WithImage(image))))), nil
}

// report writes the status of a Site, unless it says the same already.
func (c *controller) report(ctx context.Context, site *unstructured.Unstructured, deployment *appsv1.Deployment) error {
	ready := int64(deployment.Status.ReadyReplicas)
	if old, found, _ := unstructured.NestedInt64(site.Object, "status", "ready"); found && old == ready {
		return nil
	}
	status := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": site.GetAPIVersion(), "kind": site.GetKind(),
		"metadata": map[string]any{"name": site.GetName(), "namespace": site.GetNamespace()},
		"status":   map[string]any{"ready": ready},
	}}
	_, err := c.custom.Resource(sites).Namespace(site.GetNamespace()).ApplyStatus(ctx, site.GetName(), status, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	return err
}
