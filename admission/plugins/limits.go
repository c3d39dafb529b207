package plugins

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresource "k8s.io/component-helpers/resource"

	"github.com/miniapiserver/miniapiserver/admission/quota"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// checkLimits returns an error for each violated constraint of a limit range.
func checkLimits(r *corev1.LimitRange, obj api.Object, x quota.Exclusions) error {
	var errs []error
	for i := range r.Spec.Limits {
		l := &r.Spec.Limits[i]
		switch o := obj.(type) {
		case *corev1.Pod:
			errs = append(errs, podLimits(l, o, x)...)
		case *corev1.PersistentVolumeClaim:
			if l.Type == corev1.LimitTypePersistentVolumeClaim {
				b := limitedUsage{kind: l.Type, requests: o.Spec.Resources.Requests}
				errs = b.each(errs, l.Min, b.min)
				errs = b.each(errs, l.Max, b.maxRequest)
			}
		}
	}
	return validation.Join(errs)
}

func podLimits(l *corev1.LimitRangeItem, pod *corev1.Pod, x quota.Exclusions) (errs []error) {
	switch l.Type {
	case corev1.LimitTypeContainer:
		for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range list {
				b := limitedUsage{l.Type, list[i].Resources.Requests, list[i].Resources.Limits}
				errs = append(errs, b.checkAll(l)...)
			}
		}
	case corev1.LimitTypePod:
		o := podresource.PodResourcesOptions{}
		b := limitedUsage{l.Type, podresource.AggregateContainerRequests(pod, o), podresource.AggregateContainerLimits(pod, o)}
		// kube-apiserver's LimitRanger ignores huge pages at pod level, which PodRequests counts.
		if r := pod.Spec.Resources; r != nil && !x.PodLevel {
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				if q, ok := r.Requests[name]; ok {
					b.requests[name] = q
				}
				if q, ok := r.Limits[name]; ok {
					b.limits[name] = q
				}
			}
		}
		errs = b.checkAll(l)
	}
	return errs
}

// limitedUsage holds the requests and limits that a limit range constrains.
type limitedUsage struct {
	kind             corev1.LimitType
	requests, limits corev1.ResourceList
}

func (b limitedUsage) checkAll(l *corev1.LimitRangeItem) (errs []error) {
	errs = b.each(errs, l.Min, b.min)
	errs = b.each(errs, l.Max, b.max)
	return b.each(errs, l.MaxLimitRequestRatio, b.ratio)
}

func (b limitedUsage) each(errs []error, bounds corev1.ResourceList, check func(corev1.ResourceName, resource.Quantity) error) []error {
	for _, name := range slices.Sorted(maps.Keys(bounds)) {
		if err := check(name, bounds[name]); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

func (b limitedUsage) min(name corev1.ResourceName, least resource.Quantity) error {
	return b.check("minimum", name, least, -1, amounts{"request", b.requests}, amounts{"limit", b.limits})
}

func (b limitedUsage) max(name corev1.ResourceName, most resource.Quantity) error {
	return b.check("maximum", name, most, 1, amounts{"limit", b.limits}, amounts{"request", b.requests})
}

// maxRequest is max for claims, which have no limits.
func (b limitedUsage) maxRequest(name corev1.ResourceName, most resource.Quantity) error {
	return b.check("maximum", name, most, 1, amounts{"request", b.requests})
}

// amounts are the requests or the limits of an object.
type amounts struct {
	name string
	list corev1.ResourceList
}

// check returns an error if the first list has no amount, or if an amount compares with the bound as wrong, the
// result of Cmp.
func (b limitedUsage) check(
	kind string, name corev1.ResourceName, bound resource.Quantity, wrong int, lists ...amounts,
) error {
	message := fmt.Sprintf("%s %s usage per %s is %s", kind, name, b.kind, bound.String())
	for i, a := range lists {
		switch amount, ok := a.list[name]; {
		case !ok && i == 0:
			return fmt.Errorf("%s.  No %s is specified", message, a.name)
		case ok && amount.Cmp(bound) == wrong:
			return fmt.Errorf("%s, but %s is %s", message, a.name, amount.String())
		}
	}
	return nil
}

func (b limitedUsage) ratio(name corev1.ResourceName, most resource.Quantity) error {
	request, limit := b.requests[name], b.limits[name]
	message := fmt.Sprintf("%s max limit to request ratio per %s is %s", name, b.kind, most.String())
	switch {
	case request.Sign() == 0:
		return fmt.Errorf("%s, but no request is specified or request is 0", message)
	case limit.Sign() == 0:
		return fmt.Errorf("%s, but no limit is specified or limit is 0", message)
	}
	if is := limit.AsApproximateFloat64() / request.AsApproximateFloat64(); is > most.AsApproximateFloat64() {
		return fmt.Errorf("%s, but provided ratio is %f", message, is)
	}
	return nil
}
