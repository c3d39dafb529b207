package controllers

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/aggregation"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/registry"
)

// remoteTimeout bounds the deletion of the objects of one resource of a remote server.
const remoteTimeout = 30 * time.Second

// namespaceContent is the content that remains in a namespace after an attempt to delete it.
type namespaceContent struct {
	// undiscovered are the group versions of remote servers that do not respond, so that it is
	// unknown which resources they have.
	undiscovered []schema.GroupVersion
	// failures are the errors of deletions.
	failures []error
	// resources and finalizers are the numbers of remaining objects, by resource and by finalizer.
	resources, finalizers map[string]int
}

// isEmpty reports whether nothing remains for certain.
func (n *namespaceContent) isEmpty() bool {
	return len(n.undiscovered) == 0 && len(n.failures) == 0 && len(n.resources) == 0
}

// contentResource is a resource with objects in a namespace.
type contentResource struct {
	// names are the resource in its preferred version in each of its groups.
	names []schema.GroupVersionResource
	// list returns the objects, of which only the metadata may be set.
	list func(context.Context) ([]api.Object, error)
	// deleteAll deletes these objects.
	deleteAll func(context.Context, []api.Object) error
	// isUnlisted means that the objects cannot be listed, so deleteAll is always called.
	isUnlisted bool
	// isGraceful reports whether an object may still be within its grace period; nil means never.
	isGraceful func(api.Object) bool
}

// deleteContent deletes the content of a namespace and returns what remains. As long as pods
// remain, everything else stays, because pods may depend on it, such as on a network policy.
func (n *namespaceController) deleteContent(ctx context.Context, ns *corev1.Namespace) *namespaceContent {
	content := &namespaceContent{resources: map[string]int{}, finalizers: map[string]int{}}
	remote, undiscovered := n.Remotes.NamespacedResources()
	content.undiscovered = undiscovered
	var pods, others []contentResource
	for _, res := range n.Catalogue.Resources() {
		switch {
		case !res.Namespaced || !reconcile.SupportsVerb(res, api.VerbDeleteCollection):
		case res.GroupResource() == corev1.Resource("pods"):
			pods = append(pods, n.podContent(res, ns))
		default:
			others = append(others, n.localContent(res, ns.Name))
		}
	}
	for _, r := range remote {
		if slices.Contains(r.Verbs, api.VerbDelete) {
			others = append(others, n.remoteContent(r, ns.Name))
		}
	}
	for _, resources := range [][]contentResource{pods, others} {
		for _, r := range resources {
			if err := content.delete(ctx, r, ns.Name); err != nil {
				content.failures = append(content.failures, err)
			}
		}
		if len(content.failures) > 0 || len(content.resources) > 0 {
			break
		}
	}
	return content
}

// delete deletes the objects of a resource and counts those that remain.
func (n *namespaceContent) delete(ctx context.Context, r contentResource, namespace string) error {
	objects, err := r.list(ctx)
	if err != nil {
		return err
	}
	if r.isUnlisted || slices.ContainsFunc(objects, func(obj api.Object) bool { return obj.GetDeletionTimestamp() == nil }) {
		if err := r.deleteAll(ctx, objects); err != nil {
			return err
		}
		if objects, err = r.list(ctx); err != nil {
			return err
		}
	}
	if len(objects) == 0 {
		return nil
	}
	isAwaited := false
	for _, name := range r.names {
		n.resources[name.Resource+"."+name.Group] += len(objects)
		for _, obj := range objects {
			for _, f := range obj.GetFinalizers() {
				n.finalizers[f]++
				isAwaited = true
			}
		}
	}
	if isAwaited || r.isGraceful != nil && slices.ContainsFunc(objects, r.isGraceful) {
		return nil
	}
	return fmt.Errorf("unexpected items still remain in namespace: %s for gvr: %v", namespace, r.names[0])
}

// localContent returns a resource of this server.
func (n *namespaceController) localContent(res *api.Resource, namespace string) contentResource {
	r := contentResource{
		list: func(ctx context.Context) ([]api.Object, error) {
			items, err := n.Items(ctx, res, namespace, registry.Selection{})
			if err != nil {
				return nil, err
			}
			objects := make([]api.Object, len(items))
			for i, item := range items {
				if objects[i], err = item.Object(); err != nil { // it can only be deleted by hand
					objects[i] = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: item.Name()}}
				}
			}
			return objects, nil
		},
		deleteAll: func(ctx context.Context, _ []api.Object) error {
			return n.client.Do(ctx, http.MethodDelete, reconcile.ObjectPath(res, namespace, ""), "application/json", inBackground(), nil)
		},
	}
	for i := range res.Versions {
		gv := res.Versions[i].GroupVersion
		if !slices.ContainsFunc(r.names, func(other schema.GroupVersionResource) bool { return other.Group == gv.Group }) {
			r.names = append(r.names, gv.WithResource(res.Name))
		}
	}
	return r
}

func inBackground() *metav1.DeleteOptions {
	return &metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
}

// podContent returns the pods, which remain for their grace period.
func (n *namespaceController) podContent(res *api.Resource, ns *corev1.Namespace) contentResource {
	r := n.localContent(res, ns.Name)
	elapsed := n.Now().Sub(ns.DeletionTimestamp.Time)
	r.isGraceful = func(obj api.Object) bool {
		pod, ok := obj.(*corev1.Pod)
		return ok && !podEnded(pod) && pod.Spec.TerminationGracePeriodSeconds != nil &&
			elapsed < time.Duration(*pod.Spec.TerminationGracePeriodSeconds)*time.Second
	}
	return r
}

// remoteContent returns a resource of a remote server. Its objects are deleted one by one if the
// server cannot delete a collection.
func (n *namespaceController) remoteContent(remote aggregation.RemoteResource, namespace string) contentResource {
	path := "/apis/" + remote.GroupVersion().String() + "/namespaces/" + url.PathEscape(namespace) + "/" + remote.Resource
	isUnlisted := !slices.Contains(remote.Verbs, api.VerbList)
	return contentResource{
		isUnlisted: isUnlisted,
		names:      []schema.GroupVersionResource{remote.GroupVersionResource},
		list: func(ctx context.Context) ([]api.Object, error) {
			ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
			defer cancel()
			if isUnlisted {
				return nil, nil
			}
			return n.listRemote(ctx, path)
		},
		deleteAll: func(ctx context.Context, objects []api.Object) error {
			ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
			defer cancel()
			if slices.Contains(remote.Verbs, api.VerbDeleteCollection) {
				err := n.client.Do(ctx, http.MethodDelete, path, "application/json", inBackground(), nil)
				if !isUnsupported(err) {
					return err
				}
			}
			for _, obj := range objects {
				err := n.client.Do(ctx, http.MethodDelete, path+"/"+url.PathEscape(obj.GetName()), "application/json", inBackground(), nil)
				if err != nil && !isUnsupported(err) {
					return err
				}
			}
			return nil
		},
	}
}

// listRemote returns the metadata of the objects of a collection of a remote server, which may
// answer in pages.
func (n *namespaceController) listRemote(ctx context.Context, path string) ([]api.Object, error) {
	const pageSize = 500
	var objects []api.Object
	for token := ""; ; {
		var page metav1.PartialObjectMetadataList
		query := url.Values{"limit": {fmt.Sprint(pageSize)}}
		if token != "" {
			query.Set("continue", token)
		}
		err := n.client.Do(ctx, http.MethodGet, path+"?"+query.Encode(), "", nil, &page)
		if isUnsupported(err) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			objects = append(objects, &page.Items[i])
		}
		if token = page.Continue; token == "" {
			return objects, nil
		}
	}
}

// isUnsupported reports whether a server does not have a resource, an object or a verb.
func isUnsupported(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}
