package api

import (
	"fmt"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Bounds of an answer.
const (
	maxPools          = 1000
	maxPoolConditions = 10
	maxPoolError      = 256
)

func poolStatusRequestRules(at *place, r *resourcev1alpha3.ResourcePoolStatusRequest) {
	spec, s := at.of("spec"), &r.Spec
	needs(spec.of("driver"), s.Driver, content.IsDNS1123SubdomainCaseless)
	present(spec.of("poolName"), s.PoolName, func(at *place, name *string) { segmentedPoolName(at, *name) })
	if s.Limit == nil {
		spec.of("limit").required("")
		return
	}
	atMost(spec.of("limit"), *s.Limit, resourcev1alpha3.ResourcePoolStatusRequestLimitMax)
	atLeast(spec.of("limit"), *s.Limit, 1)
}

// segmentedPoolName is poolName with the messages of the declared format.
func segmentedPoolName(at *place, name string) {
	if len(name) > resourcev1.PoolNameMaxLength {
		at.tooLong(resourcev1.PoolNameMaxLength)
	}
	for i, part := range strings.Split(name, "/") {
		if part == "" {
			at.invalid(name, fmt.Sprintf("segment %d: must not be empty", i))
			continue
		}
		for _, fault := range content.IsDNS1123Subdomain(part) {
			at.invalid(part, fmt.Sprintf("segment %d: %s", i, fault))
		}
	}
}

func poolStatusRequestChanges(at *place, is, was *resourcev1alpha3.ResourcePoolStatusRequest) {
	neverChanged(at.of("spec"), is.Spec, was.Spec)
}

// poolStatusChanges: an answer that was given stays.
func poolStatusChanges(at *place, is, was *resourcev1alpha3.ResourcePoolStatusRequest) {
	status := at.of("status")
	if equality.Semantic.DeepEqual(is.Status, was.Status) {
		return
	}
	if was.Status != nil {
		status.invalid(is.Status, validation.FieldImmutableErrorMsg)
	}
	if is.Status == nil {
		return
	}
	old := resourcev1alpha3.ResourcePoolStatusRequestStatus{}
	if was.Status == nil {
		conditionRules(status.of("conditions"), is.Status.Conditions)
	} else {
		old = *was.Status
	}
	poolStatusRules(status, is.Status, &old)
}

// poolStatusRules leave alone what did not change.
func poolStatusRules(at *place, is, was *resourcev1alpha3.ResourcePoolStatusRequestStatus) {
	if is.PoolCount == nil {
		at.of("poolCount").required("")
	} else {
		atLeast(at.of("poolCount"), *is.PoolCount, 0)
	}
	if !equality.Semantic.DeepEqual(is.Pools, was.Pools) {
		some(at.of("pools"), is.Pools, maxPools, poolAnswerRules)
	}
	if equality.Semantic.DeepEqual(is.Conditions, was.Conditions) {
		return
	}
	conditions := at.of("conditions")
	if n := len(is.Conditions); n > maxPoolConditions {
		conditions.tooMany(n, maxPoolConditions)
		return
	}
	onceEach(conditions, is.Conditions, func(c *metav1.Condition) string { return c.Type })
}

func poolAnswerRules(at *place, p *resourcev1alpha3.PoolStatus) {
	needs(at.of("driver"), p.Driver, content.IsDNS1123SubdomainCaseless)
	if name := at.of("poolName"); required(name, p.PoolName) {
		segmentedPoolName(name, p.PoolName)
	}
	if generation := at.of("generation"); required(generation, p.Generation) {
		atLeast(generation, p.Generation, 0)
	}
	for _, n := range []struct {
		name  string
		value *int32
		low   int32
	}{
		{"resourceSliceCount", p.ResourceSliceCount, 1},
		{"totalDevices", p.TotalDevices, 0},
		{"allocatedDevices", p.AllocatedDevices, 0},
		{"availableDevices", p.AvailableDevices, 0},
		{"unavailableDevices", p.UnavailableDevices, 0},
	} {
		if n.value != nil {
			atLeast(at.of(n.name), *n.value, n.low)
		}
	}
	present(at.of("nodeName"), p.NodeName, func(at *place, name *string) { format(at, *name, dnsSubdomain) })
	if e := p.ValidationError; e != nil && len(*e) > maxPoolError {
		at.of("validationError").tooLong(maxPoolError)
	}
}
