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
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

const namespacesName = "namespace-controller"

// namespaces deletes what is in a namespace that is being deleted, and then
// lets the namespace go.
type namespaces struct {
	Config
	client *Client
}

func newNamespaces(c Config) Controller {
	n := &namespaces{Config: c, client: newClient(c.Handler, namespacesName)}
	return &loop[string]{Config: c, name: namespacesName, sync: n.sync, sources: []source[string]{{
		resource: c.served(corev1.SchemeGroupVersion, "namespaces"),
		keys: func(c change) []string {
			if c.gone || c.object.GetDeletionTimestamp() == nil {
				return nil
			}
			return nameOf(c)
		},
	}}}
}

// sync takes a namespace one step further.
func (n *namespaces) sync(ctx context.Context, name string) (verdict, error) {
	var ns corev1.Namespace
	path := "/api/v1/namespaces/" + name
	err := n.client.do(ctx, http.MethodGet, path, "", nil, &ns)
	switch {
	case apierrors.IsNotFound(err):
		return done, nil
	case err != nil:
		return soon, err
	case ns.DeletionTimestamp == nil || !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes):
		return done, nil
	}
	left, err := n.empty(ctx, name)
	if n.reportsConditions(&ns) {
		if condErr := n.tell(ctx, &ns, left, err); condErr != nil {
			return soon, errors.Join(err, condErr)
		}
	}
	if err != nil || left.any() {
		return soon, err
	}
	ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
	err = n.client.do(ctx, http.MethodPut, path+"/finalize", "application/json", &ns, nil)
	if apierrors.IsNotFound(err) {
		err = nil
	}
	return done, err
}

// reportsConditions reports whether the deletion of a namespace has taken so long
// that its conditions say why. kube-controller-manager waits before it looks at the
// content; here the content is deleted at once, and only the conditions wait.
func (n *namespaces) reportsConditions(ns *corev1.Namespace) bool {
	return n.NamespaceConditionDelay == 0 || n.Now().Sub(ns.DeletionTimestamp.Time) >= n.NamespaceConditionDelay
}

// leftover is what a namespace still holds.
type leftover struct {
	// instances by resource, and by finalizer.
	resources, finalizers map[string]int
}

func (l leftover) any() bool { return len(l.resources) > 0 }

// empty deletes everything in a namespace and returns what is still there.
func (n *namespaces) empty(ctx context.Context, name string) (leftover, error) {
	left := leftover{resources: map[string]int{}, finalizers: map[string]int{}}
	var errs []error
	for _, res := range n.Catalogue.Resources() {
		if !res.Namespaced || !answers(res, api.VerbDeleteCollection) {
			continue
		}
		items, err := n.items(ctx, res, name, registry.Selection{})
		if err == nil && slices.ContainsFunc(items, func(i *storage.Item) bool { return !deleting(i) }) {
			err = n.client.do(ctx, http.MethodDelete, pathOf(res, name, ""), "application/json",
				&metav1.DeleteOptions{PropagationPolicy: ptr(metav1.DeletePropagationBackground)}, nil)
			if err == nil {
				items, err = n.items(ctx, res, name, registry.Selection{})
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

func deleting(item *storage.Item) bool {
	obj, err := item.Object()
	return err == nil && obj.GetDeletionTimestamp() != nil
}

func (l leftover) add(res *api.Resource, items []*storage.Item) {
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

// tell writes into the conditions of a namespace what keeps it. A namespace
// that is emptied at once is told nothing of.
func (n *namespaces) tell(ctx context.Context, ns *corev1.Namespace, left leftover, failure error) error {
	if len(ns.Status.Conditions) == 0 && !left.any() && failure == nil {
		return nil
	}
	before := len(ns.Status.Conditions)
	changed := false
	for _, c := range conditionsOf(left, failure) {
		changed = n.setCondition(ns, c) || changed
	}
	if !changed && before > 0 {
		return nil
	}
	var updated corev1.Namespace
	err := n.client.do(ctx, http.MethodPut, "/api/v1/namespaces/"+ns.Name+"/status", "application/json", ns, &updated)
	if err == nil {
		*ns = updated
	}
	return err
}

// setCondition tells whether the condition was not there like that.
func (n *namespaces) setCondition(ns *corev1.Namespace, c corev1.NamespaceCondition) bool {
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

func conditionsOf(left leftover, failure error) []corev1.NamespaceCondition {
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
			"Some resources are remaining: "+counted(left.resources, "%s has %d resource instances"))
	}
	finalizers := no(corev1.NamespaceFinalizersRemaining, "ContentHasNoFinalizers", "All content-preserving finalizers finished")
	if len(left.finalizers) > 0 {
		finalizers = yes(corev1.NamespaceFinalizersRemaining, "SomeFinalizersRemain",
			"Some content in the namespace has finalizers remaining: "+counted(left.finalizers, "%s in %d resource instances"))
	}
	return []corev1.NamespaceCondition{
		no(corev1.NamespaceDeletionDiscoveryFailure, "ResourcesDiscovered", "All resources successfully discovered"),
		no(corev1.NamespaceDeletionGVParsingFailure, "ParsedGroupVersions", "All legacy kube types successfully parsed"),
		content, remaining, finalizers,
	}
}

func counted(counts map[string]int, format string) string {
	var parts []string
	for name, n := range counts {
		parts = append(parts, fmt.Sprintf(format, name, n))
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}

func ptr[T any](v T) *T { return &v }
