package server

import (
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/apiregistration"
	"github.com/miniapiserver/miniapiserver/api/scheduling"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/controllers/apiservices"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// bootstrap creates the objects that every cluster has, where they are missing.
func bootstrap(ctx context.Context, p *publication) error {
	reg := p.registry
	var objects []registry.InitialObject
	add := func(gr schema.GroupResource, obj api.Object) error {
		res, err := reg.FindResource(gr)
		objects = append(objects, registry.InitialObject{Resource: res, Object: obj})
		return err
	}
	for _, name := range controllers.SystemNamespaces() {
		if err := add(corev1.Resource("namespaces"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
	}
	for _, class := range scheduling.SystemPriorityClasses() {
		if err := add(schedulingv1.Resource("priorityclasses"), class); err != nil {
			return err
		}
	}
	for _, a := range apiservices.BuiltInServices(p.catalogue) {
		if err := add(apiregistrationv1.Resource(apiregistration.APIServices), a); err != nil {
			return err
		}
	}
	if err := add(corev1.Resource("configmaps"), apiservices.NewExtensionConfigMap(p.trust, p.now())); err != nil {
		return err
	}
	if err := add(corev1.Resource("configmaps"), controllers.NewTokenTrackingConfigMap(p.now())); err != nil {
		return err
	}
	if p.kubeletClient {
		if err := add(rbacv1.Resource("clusterrolebindings"), kubeletClientBinding()); err != nil {
			return err
		}
	}
	others := len(objects)
	for _, obj := range authz.BootstrapPolicy(p.gates) {
		if err := add(authz.PolicyResource(obj), obj); err != nil {
			return err
		}
	}
	if err := authz.ReconcileBootstrapPolicy(ctx, reg, objects[others:], ownManager); err != nil {
		return fmt.Errorf("default roles: %w", err)
	}
	if err := reg.CreateMissing(ctx, objects, ownManager); err != nil {
		return fmt.Errorf("default objects: %w", err)
	}
	return nil
}

// bootstrapResources returns the resources of the objects that a start creates, in the
// order in which it creates them.
func bootstrapResources() []schema.GroupResource {
	of := func(group string, names ...string) []schema.GroupResource {
		var all []schema.GroupResource
		for _, name := range names {
			all = append(all, schema.GroupResource{Group: group, Resource: name})
		}
		return all
	}
	return slices.Concat(
		of(rbacv1.GroupName, "clusterroles", "clusterrolebindings", "roles", "rolebindings"),
		of(corev1.GroupName, "namespaces"), of(schedulingv1.GroupName, "priorityclasses"),
		of(apiregistrationv1.GroupName, apiregistration.APIServices), of(corev1.GroupName, "configmaps"),
		of(networkingv1.GroupName, "servicecidrs"), of(corev1.GroupName, "services", "endpoints"),
		of(discoveryv1.GroupName, "endpointslices"),
		of(flowcontrolv1.GroupName, "flowschemas", "prioritylevelconfigurations"),
		of(coordinationv1.GroupName, "leases"),
	)
}

// asServer returns a context for the server's own writes.
func asServer(ctx context.Context) context.Context { return request.AsServer(ctx) }

// repairInterval is the interval between repairs of allocations.
const repairInterval = 3 * time.Minute
