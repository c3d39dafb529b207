package controllers

import (
	"context"
	"maps"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
)

const rootCAName = "root-ca-certificate-publisher-controller"

// The published ConfigMap and its description.
const (
	rootCAConfigMap      = "kube-root-ca.crt"
	rootCAKey            = "ca.crt"
	rootCADescriptionKey = "kubernetes.io/description"
	rootCADescription    = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. " +
		"No other usage is guaranteed across distributions of Kubernetes clusters."
)

// rootCAPublisher publishes the CA bundle by which pods verify the server in every namespace.
type rootCAPublisher struct {
	Config
	client                 *reconcile.Client
	namespaces, configMaps *api.Resource
	repairs                reconcile.RepairLimiter
}

func newRootCAPublisher(c Config) Controller {
	r := &rootCAPublisher{Config: c, repairs: reconcile.RepairLimiter{}, client: reconcile.NewClient(c.Handler, "root-ca-cert-publisher"),
		namespaces: c.Served(corev1.SchemeGroupVersion, "namespaces"),
		configMaps: c.Served(corev1.SchemeGroupVersion, "configmaps")}
	if r.namespaces == nil || r.configMaps == nil || len(c.RootCA) == 0 {
		return nil
	}
	return &reconcile.Loop[string]{BaseConfig: c.BaseConfig, Name: rootCAName, Sync: r.sync, Sources: []reconcile.Source[string]{
		{Resource: r.namespaces, Keys: reconcile.NameKey},
		{Resource: r.configMaps, Fields: reconcile.ByName(rootCAConfigMap), Keys: reconcile.NamespaceKey},
	}}
}

// sync creates or repairs the ConfigMap of one namespace.
func (r *rootCAPublisher) sync(ctx context.Context, name string) (reconcile.Result, error) {
	ns, err := reconcile.GetObject[*corev1.Namespace](ctx, r.BaseConfig, r.namespaces, "", name)
	if err != nil || !isActiveNamespace(ns) {
		delete(r.repairs, name)
		return reconcile.Done, err
	}
	have, err := reconcile.GetObject[*corev1.ConfigMap](ctx, r.BaseConfig, r.configMaps, name, rootCAConfigMap)
	if err != nil {
		return reconcile.Done, err
	}
	data := map[string]string{rootCAKey: string(r.RootCA)}
	if have == nil {
		err := r.client.Do(ctx, http.MethodPost, reconcile.ObjectPath(r.configMaps, name, ""), "application/json", &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: rootCAConfigMap, Namespace: name,
				Annotations: map[string]string{rootCADescriptionKey: rootCADescription}},
			Data: data,
		}, nil)
		return reconcile.Done, reconcile.IgnoreNotCreatable(err)
	}
	if maps.Equal(have.Data, data) && have.Annotations[rootCADescriptionKey] != "" {
		return reconcile.Done, nil
	}
	if left := r.repairs.UntilRepair(name, time.Now()); left != reconcile.Done {
		return left, nil
	}
	mended := have.DeepCopy()
	mended.Data = data
	if mended.Annotations == nil {
		mended.Annotations = map[string]string{}
	}
	mended.Annotations[rootCADescriptionKey] = rootCADescription
	err = r.client.Do(ctx, http.MethodPut, reconcile.ObjectPath(r.configMaps, name, rootCAConfigMap), "application/json", mended, nil)
	if apierrors.IsNotFound(err) {
		err = nil // the deletion triggers a sync
	}
	return reconcile.Done, err
}
