package controllers

import (
	"context"
	"maps"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
)

const rootCAName = "root-ca-certificate-publisher-controller"

// The ConfigMap that is published, and what it says of itself.
const (
	rootCAConfigMap   = "kube-root-ca.crt"
	rootCAKey         = "ca.crt"
	aboutRootCA       = "kubernetes.io/description"
	rootCADescription = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. " +
		"No other usage is guaranteed across distributions of Kubernetes clusters."
)

// rootCA publishes in every namespace the certificates by which pods verify the
// server.
type rootCA struct {
	Config
	client                 *Client
	namespaces, configMaps *api.Resource
	mending                mending
}

func newRootCA(c Config) Controller {
	r := &rootCA{Config: c, mending: mending{}, client: newClient(c.Handler, "root-ca-cert-publisher"),
		namespaces: c.served(corev1.SchemeGroupVersion, "namespaces"),
		configMaps: c.served(corev1.SchemeGroupVersion, "configmaps")}
	if r.namespaces == nil || r.configMaps == nil || len(c.RootCA) == 0 {
		return nil
	}
	return &loop[string]{Config: c, name: rootCAName, sync: r.sync, sources: []source[string]{
		{resource: r.namespaces, keys: nameOf},
		{resource: r.configMaps, fields: named(rootCAConfigMap), keys: namespaceOf},
	}}
}

// sync makes or mends the ConfigMap of one namespace.
func (r *rootCA) sync(ctx context.Context, name string) (verdict, error) {
	ns, err := get[*corev1.Namespace](ctx, r.Config, r.namespaces, "", name)
	if err != nil || !active(ns) {
		delete(r.mending, name)
		return done, err
	}
	have, err := get[*corev1.ConfigMap](ctx, r.Config, r.configMaps, name, rootCAConfigMap)
	if err != nil {
		return done, err
	}
	data := map[string]string{rootCAKey: string(r.RootCA)}
	if have == nil {
		err := r.client.do(ctx, http.MethodPost, pathOf(r.configMaps, name, ""), "application/json", &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: rootCAConfigMap, Namespace: name, Annotations: map[string]string{aboutRootCA: rootCADescription}},
			Data:       data,
		}, nil)
		return done, ignoreNoRoom(err)
	}
	if maps.Equal(have.Data, data) && have.Annotations[aboutRootCA] != "" {
		return done, nil
	}
	if left := r.mending.left(name, r.Now()); left != done {
		return left, nil
	}
	mended := have.DeepCopy()
	mended.Data = data
	if mended.Annotations == nil {
		mended.Annotations = map[string]string{}
	}
	mended.Annotations[aboutRootCA] = rootCADescription
	err = r.client.do(ctx, http.MethodPut, pathOf(r.configMaps, name, rootCAConfigMap), "application/json", mended, nil)
	if apierrors.IsNotFound(err) {
		err = nil // told of, and made anew
	}
	return done, err
}
