package controllers

import (
	"context"
	"errors"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
)

const namespaceControllerName = "namespace-controller"

// namespaceWorkers is the number of namespaces that are emptied at the same time, so that a remote
// server that is slow to respond does not delay the others.
const namespaceWorkers = 10

// namespaceController deletes the content of namespaces that are being deleted, and then
// finalizes them.
//
// No object is created in a namespace after the revision of its deletion (registry.Guard), so a
// namespace that a consistent read finds empty stays empty.
type namespaceController struct {
	Config
	client *reconcile.Client
}

func newNamespaceController(c Config) Controller {
	n := &namespaceController{Config: c, client: reconcile.NewClient(c.Handler, namespaceControllerName)}
	return &reconcile.Loop[string]{BaseConfig: c.BaseConfig, Name: namespaceControllerName, Sync: n.sync,
		Workers: namespaceWorkers, Sources: []reconcile.Source[string]{{
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
	content := n.deleteContent(ctx, &ns)
	if n.reportsConditions(&ns) {
		if err := n.writeConditions(ctx, &ns, content); err != nil {
			result, err := reconcile.AfterWrite(err)
			return result, errors.Join(append(content.failures, err)...)
		}
	}
	if !content.isEmpty() {
		return reconcile.Retry, errors.Join(content.failures...)
	}
	// The resourceVersion is a precondition: the namespace is the one whose content was deleted.
	ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
	return reconcile.AfterWrite(n.client.Do(ctx, http.MethodPut, path+"/finalize", "application/json", &ns, nil))
}

// reportsConditions reports whether the deletion of a namespace has lasted long enough to
// set its conditions. kube-controller-manager delays the deletion of the content; here the
// content is deleted immediately, and only the conditions are delayed.
func (n *namespaceController) reportsConditions(ns *corev1.Namespace) bool {
	return n.NamespaceConditionDelay == 0 || n.Now().Sub(ns.DeletionTimestamp.Time) >= n.NamespaceConditionDelay
}

// writeConditions sets the conditions of a namespace. It sets none if the namespace is empty
// at once.
func (n *namespaceController) writeConditions(ctx context.Context, ns *corev1.Namespace, content *namespaceContent) error {
	if len(ns.Status.Conditions) == 0 && content.isEmpty() {
		return nil
	}
	if !setNamespaceConditions(&ns.Status, content, n.Now()) {
		return nil
	}
	var updated corev1.Namespace
	err := n.client.Do(ctx, http.MethodPut, "/api/v1/namespaces/"+ns.Name+"/status", "application/json", ns, &updated)
	if err == nil {
		*ns = updated
	}
	return err
}
