// Package bootstrap creates the objects that every cluster has: system namespaces, default roles,
// priority classes, APIServices, and the objects by which a cluster finds the server: the service
// kubernetes with its endpoints, the ServiceCIDR, and the Lease of the server.
//
// bootstrap.go has the list of these objects, service.go the service, lease.go the Lease.
package bootstrap

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
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
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/controllers/apiservices"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/apiregistration"
	"github.com/miniapiserver/miniapiserver/kinds/scheduling"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/registry/allocation"
	"github.com/miniapiserver/miniapiserver/server/credentials"
)

// Publication describes this server to the cluster. Catalogue, Registry, Allocator, Ranges and Now are
// required.
type Publication struct {
	Catalogue *api.Catalogue
	Registry  *registry.Registry
	Allocator *allocation.Allocator
	// Ranges are the ranges of service addresses; the service has the first address of the
	// first range.
	Ranges []netip.Prefix
	// Advertise and Port are the address of the server for other machines. An invalid address
	// means that there is none.
	Advertise netip.Addr
	Port      int32
	// Trust has the CAs and headers that other API servers should trust.
	Trust apiservices.Trust
	Gates features.Gates
	// NodePort is the node port of the service, or 0.
	NodePort int32
	// KubeletClient means that the server presents a generated certificate to kubelets.
	KubeletClient bool
	Logger        *slog.Logger
	Now           func() time.Time
}

// CreateObjects creates the objects that every cluster has and that do not depend on the address of
// this server, where they are missing.
func (p *Publication) CreateObjects(ctx context.Context) error {
	reg := p.Registry
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
	for _, a := range apiservices.BuiltInServices(p.Catalogue) {
		if err := add(apiregistrationv1.Resource(apiregistration.APIServices), a); err != nil {
			return err
		}
	}
	if err := add(corev1.Resource("configmaps"), apiservices.NewExtensionConfigMap(p.Trust, p.Now())); err != nil {
		return err
	}
	if err := add(corev1.Resource("configmaps"), controllers.NewTokenTrackingConfigMap(p.Now())); err != nil {
		return err
	}
	if p.KubeletClient {
		if err := add(rbacv1.Resource("clusterrolebindings"), KubeletClientBinding()); err != nil {
			return err
		}
	}
	others := len(objects)
	for _, obj := range authz.BootstrapPolicy(p.Gates) {
		if err := add(authz.PolicyResource(obj), obj); err != nil {
			return err
		}
	}
	if err := authz.ReconcileBootstrapPolicy(ctx, reg, objects[others:], reconcile.ServerManager, p.Logger); err != nil {
		return fmt.Errorf("default roles: %w", err)
	}
	if err := reg.CreateMissing(ctx, objects, reconcile.ServerManager); err != nil {
		return fmt.Errorf("default objects: %w", err)
	}
	return nil
}

// Resources returns the resources of the objects that a start creates, in the
// order in which it creates them.
func Resources() []schema.GroupResource {
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

// KubeletClientBinding grants the server's kubelet client the access to kubelets that an
// API server needs.
func KubeletClientBinding() *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "miniapiserver:kubelet-api-admin"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:kubelet-api-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: credentials.KubeletClientGroup}},
	}
}
