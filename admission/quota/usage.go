// Package quota computes the usage of ResourceQuotas: the quota names that count an object, the
// amounts, and whether the scopes of a quota match the object.
//
// It also has the admission plugin ResourceQuota (plugin.go, config.go, queue.go), which charges
// writes to quotas. The controller that updates the status of quotas computes usage by the same
// rules, and shares the writes in progress with the plugin in a Ledger.
package quota

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// plainCounts are the resources that have an unprefixed name as well: "secrets" is "count/secrets".
var plainCounts = []string{"configmaps", "resourcequotas", "replicationcontrollers", "secrets"}

// Suffixes of quota names for the claims of a class.
const (
	storageClassSuffix = ".storageclass.storage.k8s.io/"
	deviceClassSuffix  = ".deviceclass.resource.k8s.io/devices"
)

// Exclusions are parts of objects that do not count, because their features are disabled.
type Exclusions struct {
	// PodLevel excludes resources at pod level.
	PodLevel bool
	// AttributesClasses excludes claims from the scopes of volume attributes classes.
	AttributesClasses bool
}

// ExclusionsOf returns the exclusions of a server with the given gates.
func ExclusionsOf(gates features.Gates) Exclusions {
	return Exclusions{PodLevel: !gates.Enabled(features.PodLevelResources), AttributesClasses: !gates.Enabled(features.VolumeAttributesClass)}
}

// usageOf returns the usage of an object of resource gr.
func usageOf(gr schema.GroupResource, obj api.Object, now time.Time, x Exclusions) corev1.ResourceList {
	switch o := obj.(type) {
	case *corev1.Pod:
		return podUsage(o, now, x)
	case *corev1.Service:
		return serviceUsage(o)
	case *corev1.PersistentVolumeClaim:
		return claimUsage(o)
	case *resourcev1.ResourceClaim:
		return deviceUsage(o)
	}
	used := corev1.ResourceList{countName(gr): quantityOne()}
	if gr.Group == "" && slices.Contains(plainCounts, gr.Resource) {
		used[corev1.ResourceName(gr.Resource)] = quantityOne()
	}
	return used
}

// HasVariableUsage reports whether the usage of an object of a resource depends on its content, or
// scopes match it by its content.
func HasVariableUsage(gr schema.GroupResource) bool {
	switch gr {
	case corev1.Resource("pods"), corev1.Resource("services"), corev1.Resource("persistentvolumeclaims"),
		resourcev1.Resource("resourceclaims"):
		return true
	}
	return false
}

// countName returns the quota name that counts all objects of a resource.
func countName(gr schema.GroupResource) corev1.ResourceName {
	return corev1.ResourceName("count/" + gr.String())
}

// countsResource reports whether a quota name counts objects of a resource.
func countsResource(name corev1.ResourceName, gr schema.GroupResource) bool {
	if name == countName(gr) {
		return true
	}
	s := string(name)
	switch gr {
	case corev1.Resource("pods"):
		return countsPods(name)
	case corev1.Resource("services"):
		return name == corev1.ResourceServices || name == corev1.ResourceServicesNodePorts || name == corev1.ResourceServicesLoadBalancers
	case corev1.Resource("persistentvolumeclaims"):
		return name == corev1.ResourcePersistentVolumeClaims || name == corev1.ResourceRequestsStorage || strings.Contains(s, storageClassSuffix)
	case resourcev1.Resource("resourceclaims"):
		return strings.HasSuffix(s, deviceClassSuffix)
	}
	return gr.Group == "" && slices.Contains(plainCounts, gr.Resource) && s == gr.Resource
}

func serviceUsage(s *corev1.Service) corev1.ResourceList {
	count := func(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }
	used := corev1.ResourceList{
		"count/services": quantityOne(), corev1.ResourceServices: quantityOne(),
		corev1.ResourceServicesLoadBalancers: count(0), corev1.ResourceServicesNodePorts: count(0),
	}
	switch s.Spec.Type {
	case corev1.ServiceTypeNodePort:
		used[corev1.ResourceServicesNodePorts] = count(len(s.Spec.Ports))
	case corev1.ServiceTypeLoadBalancer:
		used[corev1.ResourceServicesLoadBalancers] = quantityOne()
		ports := len(s.Spec.Ports)
		if allocate := s.Spec.AllocateLoadBalancerNodePorts; allocate != nil && !*allocate {
			ports = 0
			for i := range s.Spec.Ports {
				if s.Spec.Ports[i].NodePort != 0 {
					ports++
				}
			}
		}
		used[corev1.ResourceServicesNodePorts] = count(ports)
	}
	return used
}

func claimUsage(c *corev1.PersistentVolumeClaim) corev1.ResourceList {
	used := corev1.ResourceList{"count/persistentvolumeclaims": quantityOne(), corev1.ResourcePersistentVolumeClaims: quantityOne()}
	class := ""
	if c.Spec.StorageClassName != nil {
		class = *c.Spec.StorageClassName
	}
	if old, ok := c.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		class = old
	}
	prefix := corev1.ResourceName(class + storageClassSuffix)
	if class != "" {
		used[prefix+"persistentvolumeclaims"] = quantityOne()
	}
	if size, ok := c.Spec.Resources.Requests[corev1.ResourceStorage]; ok {
		// A claim that shrinks may still occupy the allocated size.
		if granted, ok := c.Status.AllocatedResources[corev1.ResourceStorage]; ok && granted.Cmp(size) > 0 {
			size = granted
		}
		used[corev1.ResourceRequestsStorage] = size
		if class != "" {
			used[prefix+"requests.storage"] = size
		}
	}
	return used
}

// deviceUsage counts the devices that a claim requests by class. Of alternatives, only one of which
// will be allocated, the largest counts.
func deviceUsage(c *resourcev1.ResourceClaim) corev1.ResourceList {
	used := corev1.ResourceList{countName(resourcev1.Resource("resourceclaims")): quantityOne()}
	count := func(class string, mode resourcev1.DeviceAllocationMode, n int64) corev1.ResourceList {
		if mode == resourcev1.DeviceAllocationModeAll {
			n = resourcev1.AllocationResultsMaxSize
		}
		return corev1.ResourceList{corev1.ResourceName(class + deviceClassSuffix): *resource.NewQuantity(n, resource.DecimalSI)}
	}
	for i := range c.Spec.Devices.Requests {
		r := &c.Spec.Devices.Requests[i]
		largest := corev1.ResourceList{}
		if e := r.Exactly; e != nil {
			largest = count(e.DeviceClassName, e.AllocationMode, e.Count)
		}
		for _, a := range r.FirstAvailable {
			raiseAmounts(largest, count(a.DeviceClassName, a.AllocationMode, a.Count))
		}
		addAmounts(used, largest)
	}
	return used
}
