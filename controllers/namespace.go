package controllers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

const namespaceControllerName = "namespace-controller"

// namespaceController deletes the content of namespaces that are being deleted, and then
// finalizes them.
type namespaceController struct {
	Config
	client *reconcile.Client
}

func newNamespaceController(c Config) Controller {
	n := &namespaceController{Config: c, client: reconcile.NewClient(c.Handler, namespaceControllerName)}
	return &reconcile.Loop[string]{BaseConfig: c.BaseConfig, Name: namespaceControllerName, Sync: n.sync, Sources: []reconcile.Source[string]{{
		Resource: c.Served(corev1.SchemeGroupVersion, "namespaces"),
		Keys: func(c reconcile.Change) []string {
			if c.Deleted || c.Object.GetDeletionTimestamp() == nil {
				return nil
			}
			return reconcile.NameKey(c)
		},
	}}}
}

// sync deletes the content of a namespace and finalizes it if it is empty.
func (n *namespaceController) sync(ctx context.Context, name string) (reconcile.Result, error) {
	var ns corev1.Namespace
	path := "/api/v1/namespaces/" + name
	err := n.client.Do(ctx, http.MethodGet, path, "", nil, &ns)
	switch {
	case apierrors.IsNotFound(err):
		return reconcile.Done, nil
	case err != nil:
		return reconcile.Retry, err
	case ns.DeletionTimestamp == nil || !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes):
		return reconcile.Done, nil
	}
	left, err := n.deleteContent(ctx, name)
	if n.reportsConditions(&ns) {
		if condErr := n.writeConditions(ctx, &ns, left, err); condErr != nil {
			return reconcile.Retry, errors.Join(err, condErr)
		}
	}
	if err != nil || left.any() {
		return reconcile.Retry, err
	}
	ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
	err = n.client.Do(ctx, http.MethodPut, path+"/finalize", "application/json", &ns, nil)
	if apierrors.IsNotFound(err) {
		err = nil
	}
	return reconcile.Done, err
}

// reportsConditions reports whether the deletion of a namespace has lasted long enough to
// set its conditions. kube-controller-manager delays the deletion of the content; here the
// content is deleted immediately, and only the conditions are delayed.
func (n *namespaceController) reportsConditions(ns *corev1.Namespace) bool {
	return n.NamespaceConditionDelay == 0 || n.Now().Sub(ns.DeletionTimestamp.Time) >= n.NamespaceConditionDelay
}

// remainingContent counts the objects that remain in a namespace.
type remainingContent struct {
	// number of objects by resource, and by finalizer.
	resources, finalizers map[string]int
}

func (l remainingContent) any() bool { return len(l.resources) > 0 }

// deleteContent deletes the content of a namespace and returns what remains.
func (n *namespaceController) deleteContent(ctx context.Context, name string) (remainingContent, error) {
	left := remainingContent{resources: map[string]int{}, finalizers: map[string]int{}}
	var errs []error
	for _, res := range n.Catalogue.Resources() {
		if !res.Namespaced || !reconcile.SupportsVerb(res, api.VerbDeleteCollection) {
			continue
		}
		items, err := n.Items(ctx, res, name, registry.Selection{})
		if err == nil && slices.ContainsFunc(items, func(i *storage.Item) bool { return !isDeletingItem(i) }) {
			err = n.client.Do(ctx, http.MethodDelete, reconcile.ObjectPath(res, name, ""), "application/json",
				&metav1.DeleteOptions{PropagationPolicy: ptr(metav1.DeletePropagationBackground)}, nil)
			if err == nil {
				items, err = n.Items(ctx, res, name, registry.Selection{})
			}
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		left.add(res, items)
	}
	return left, errors.Join(errs...)
}

func isDeletingItem(item *storage.Item) bool {
	obj, err := item.Object()
	return err == nil && obj.GetDeletionTimestamp() != nil
}

func (l remainingContent) add(res *api.Resource, items []*storage.Item) {
	if len(items) == 0 {
		return
	}
	l.resources[res.Name+"."+res.Versions[0].Group] += len(items)
	for _, item := range items {
		if obj, err := item.Object(); err == nil {
			for _, f := range obj.GetFinalizers() {
				l.finalizers[f]++
			}
		}
	}
}

// writeConditions sets the conditions of a namespace. It sets none if the namespace is empty
// at once.
func (n *namespaceController) writeConditions(ctx context.Context, ns *corev1.Namespace, left remainingContent, failure error) error {
	if len(ns.Status.Conditions) == 0 && !left.any() && failure == nil {
		return nil
	}
	before := len(ns.Status.Conditions)
	changed := false
	for _, c := range namespaceConditions(left, failure) {
		changed = n.setCondition(ns, c) || changed
	}
	if !changed && before > 0 {
		return nil
	}
	var updated corev1.Namespace
	err := n.client.Do(ctx, http.MethodPut, "/api/v1/namespaces/"+ns.Name+"/status", "application/json", ns, &updated)
	if err == nil {
		*ns = updated
	}
	return err
}

// setCondition sets a condition and reports whether it changed.
func (n *namespaceController) setCondition(ns *corev1.Namespace, c corev1.NamespaceCondition) bool {
	c.LastTransitionTime = metav1.NewTime(n.Now()).Rfc3339Copy()
	for i := range ns.Status.Conditions {
		was := &ns.Status.Conditions[i]
		if was.Type != c.Type {
			continue
		}
		if was.Status == c.Status && was.Message == c.Message && was.Reason == c.Reason {
			return false
		}
		*was = c
		return true
	}
	ns.Status.Conditions = append(ns.Status.Conditions, c)
	return true
}

func namespaceConditions(left remainingContent, failure error) []corev1.NamespaceCondition {
	no := func(t corev1.NamespaceConditionType, reason, message string) corev1.NamespaceCondition {
		return corev1.NamespaceCondition{Type: t, Status: corev1.ConditionFalse, Reason: reason, Message: message}
	}
	yes := func(t corev1.NamespaceConditionType, reason, message string) corev1.NamespaceCondition {
		return corev1.NamespaceCondition{Type: t, Status: corev1.ConditionTrue, Reason: reason, Message: message}
	}
	content := no(corev1.NamespaceDeletionContentFailure, "ContentDeleted", "All content successfully deleted, may be waiting on finalization")
	if failure != nil {
		content = yes(corev1.NamespaceDeletionContentFailure, "ContentDeletionFailed", "Failed to delete all resource types: "+failure.Error())
	}
	remaining := no(corev1.NamespaceContentRemaining, "ContentRemoved", "All content successfully removed")
	if left.any() {
		remaining = yes(corev1.NamespaceContentRemaining, "SomeResourcesRemain",
			"Some resources are remaining: "+joinCounts(left.resources, "%s has %d resource instances"))
	}
	finalizers := no(corev1.NamespaceFinalizersRemaining, "ContentHasNoFinalizers", "All content-preserving finalizers finished")
	if len(left.finalizers) > 0 {
		finalizers = yes(corev1.NamespaceFinalizersRemaining, "SomeFinalizersRemain",
			"Some content in the namespace has finalizers remaining: "+joinCounts(left.finalizers, "%s in %d resource instances"))
	}
	return []corev1.NamespaceCondition{
		no(corev1.NamespaceDeletionDiscoveryFailure, "ResourcesDiscovered", "All resources successfully discovered"),
		no(corev1.NamespaceDeletionGVParsingFailure, "ParsedGroupVersions", "All legacy kube types successfully parsed"),
		content, remaining, finalizers,
	}
}

func joinCounts(counts map[string]int, format string) string {
	var parts []string
	for name, n := range counts {
		parts = append(parts, fmt.Sprintf(format, name, n))
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}

func ptr[T any](v T) *T { return &v }
