package api

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

// claimedDevices carries what the rules of one claim refer to.
type claimedDevices struct {
	// requests has the names of requests, and "request/subrequest" for each of
	// their alternatives.
	requests map[string]bool
	// stored: expressions were compiled when they were written.
	stored bool
}

func newClaimedDevices(d *resourcev1.DeviceClaim, stored bool) *claimedDevices {
	c := &claimedDevices{requests: map[string]bool{}, stored: stored}
	for i := range d.Requests {
		r := &d.Requests[i]
		c.requests[r.Name] = true
		for j := range r.FirstAvailable {
			c.requests[r.Name+"/"+r.FirstAvailable[j].Name] = true
		}
	}
	return c
}

func resourceClaimRules(at *place, c *resourcev1.ResourceClaim) {
	deviceClaimRules(at.of("spec").of("devices"), &c.Spec.Devices, false)
}

func resourceClaimChanges(at *place, is, was *resourcev1.ResourceClaim) {
	resourceClaimRules(at, is)
	fixed(at.of("spec"), is.Spec, was.Spec)
	deviceClaimRules(at.of("spec").of("devices"), &is.Spec.Devices, true)
}

func resourceClaimTemplateRules(at *place, t *resourcev1.ResourceClaimTemplate) {
	templateMetadataRules(at.of("spec").of("metadata"), &t.Spec.ObjectMeta)
	deviceClaimRules(at.of("spec").of("spec").of("devices"), &t.Spec.Spec.Devices, false)
}

func resourceClaimTemplateChanges(at *place, is, was *resourcev1.ResourceClaimTemplate) {
	resourceClaimTemplateRules(at, is)
	fixed(at.of("spec"), is.Spec, was.Spec)
}

// some applies rules to a list that is not too long to be looked at.
func some[T any](at *place, list []T, limit int, rules func(at *place, value *T)) bool {
	if len(list) > limit {
		at.tooMany(len(list), limit)
		return false
	}
	each(at, list, rules)
	return true
}

// distinct is some for a list whose elements differ in a key.
func distinct[T any, K comparable](at *place, list []T, limit int, key func(*T) K, rules func(at *place, value *T)) {
	if !some(at, list, limit, rules) {
		return
	}
	var seen unique[K]
	for i := range list {
		seen.add(at.item(i), key(&list[i]))
	}
}

func itself(s *string) string { return *s }

func deviceClaimRules(at *place, d *resourcev1.DeviceClaim, stored bool) {
	c := newClaimedDevices(d, stored)
	distinct(at.of("requests"), d.Requests, resourcev1.DeviceRequestsMaxSize,
		func(r *resourcev1.DeviceRequest) string { return r.Name }, c.requestRules)
	some(at.of("constraints"), d.Constraints, resourcev1.DeviceConstraintsMaxSize, c.constraintRules)
	some(at.of("config"), d.Config, resourcev1.DeviceConfigMaxSize, func(at *place, config *resourcev1.DeviceClaimConfiguration) {
		c.requestRefs(at.of("requests"), config.Requests)
		deviceConfigRules(at, &config.DeviceConfiguration, stored)
	})
}

func (c *claimedDevices) requestRules(at *place, r *resourcev1.DeviceRequest) {
	format(at.of("name"), r.Name, dnsLabel)
	const one = "exactly one of `exactly` or `firstAvailable` is required"
	switch {
	case r.Exactly == nil && len(r.FirstAvailable) == 0:
		at.required(one)
	case r.Exactly != nil && len(r.FirstAvailable) > 0:
		at.invalid(nil, one+", but multiple fields are set")
	case r.Exactly != nil:
		at, e := at.of("exactly"), r.Exactly
		c.deviceRules(at, e.DeviceClassName, e.Selectors, e.AllocationMode, e.Count, e.Tolerations)
	default:
		distinct(at.of("firstAvailable"), r.FirstAvailable, resourcev1.FirstAvailableDeviceRequestMaxSize,
			func(s *resourcev1.DeviceSubRequest) string { return s.Name },
			func(at *place, s *resourcev1.DeviceSubRequest) {
				format(at.of("name"), s.Name, dnsLabel)
				c.deviceRules(at, s.DeviceClassName, s.Selectors, s.AllocationMode, s.Count, s.Tolerations)
			})
	}
}

// deviceRules are for which devices are asked for, and how many.
func (c *claimedDevices) deviceRules(at *place, class string, selectors []resourcev1.DeviceSelector,
	mode resourcev1.DeviceAllocationMode, count int64, tolerations []resourcev1.DeviceToleration,
) {
	needs(at.of("deviceClassName"), class, dnsSubdomain)
	deviceSelectorRules(at.of("selectors"), selectors, c.stored)
	switch mode {
	case resourcev1.DeviceAllocationModeAll:
		if count != 0 {
			at.of("count").invalid(count, fmt.Sprintf("must not be specified when allocationMode is '%s'", mode))
		}
	case resourcev1.DeviceAllocationModeExactCount:
		if count <= 0 {
			at.of("count").invalid(count, "must be greater than zero")
		}
	default:
		oneOf(at.of("allocationMode"), mode, resourcev1.DeviceAllocationModeAll, resourcev1.DeviceAllocationModeExactCount)
	}
	each(at.of("tolerations"), tolerations, deviceTolerationRules)
}

func deviceSelectorRules(at *place, list []resourcev1.DeviceSelector, stored bool) {
	some(at, list, resourcev1.DeviceSelectorsMaxSize, func(at *place, s *resourcev1.DeviceSelector) {
		if s.CEL == nil {
			at.of("cel").required("")
			return
		}
		expression := at.of("cel").of("expression")
		switch {
		case stored:
		case len(s.CEL.Expression) > resourcev1.CELSelectorExpressionMaxLength:
			expression.tooLong(resourcev1.CELSelectorExpressionMaxLength)
		default:
			deviceExpressionRules(expression, s.CEL.Expression)
		}
	})
}

func (c *claimedDevices) constraintRules(at *place, k *resourcev1.DeviceConstraint) {
	c.requestRefs(at.of("requests"), k.Requests)
	switch {
	case k.MatchAttribute != nil:
		fullAttributeName(at.of("matchAttribute"), *k.MatchAttribute)
	case k.DistinctAttribute != nil:
		fullAttributeName(at.of("distinctAttribute"), *k.DistinctAttribute)
	default:
		at.required(`exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set`)
	}
}

func (c *claimedDevices) requestRefs(at *place, names []string) {
	distinct(at, names, resourcev1.DeviceRequestsMaxSize, itself, func(at *place, name *string) { c.requestRef(at, *name) })
}

func (c *claimedDevices) requestRef(at *place, name string) {
	const unknown = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
	parts := strings.Split(name, "/")
	if len(parts) > 2 {
		at.invalid(name, unknown)
		return
	}
	for _, part := range parts {
		format(at, part, dnsLabel)
	}
	if !c.requests[name] {
		at.invalid(name, unknown)
	}
}

func deviceConfigRules(at *place, config *resourcev1.DeviceConfiguration, stored bool) {
	if config.Opaque == nil {
		at.of("opaque").required("")
		return
	}
	driverName(at.of("opaque").of("driver"), config.Opaque.Driver)
	rawObjectRules(at.of("opaque").of("parameters"), config.Opaque.Parameters, stored, resourcev1.OpaqueParametersMaxLength)
}

// rawObjectRules are for JSON objects of any content.
func rawObjectRules(at *place, raw runtime.RawExtension, stored bool, limit int) {
	var value any
	switch {
	case len(raw.Raw) == 0:
		at.required("")
		return
	case !stored && len(raw.Raw) > limit:
		at.tooLong(limit)
		return
	}
	if err := json.Unmarshal(raw.Raw, &value); err != nil {
		at.invalid("<value omitted>", fmt.Sprintf("error parsing data as JSON: %v", err))
		return
	}
	switch value.(type) {
	case nil:
		at.required("")
	case map[string]any:
	default:
		at.invalid("<value omitted>", "must be a valid JSON object")
	}
}

func deviceTolerationRules(at *place, t *resourcev1.DeviceToleration) {
	optional(at.of("key"), t.Key, qualifiedName)
	switch t.Operator {
	case resourcev1.DeviceTolerationOpExists:
		if t.Value != "" {
			at.of("value").invalid(t.Value, "must be empty for operator `Exists`")
		}
	case resourcev1.DeviceTolerationOpEqual:
		format(at.of("value"), t.Value, labelValue)
	default:
		enum(at.of("operator"), t.Operator, resourcev1.DeviceTolerationOpEqual, resourcev1.DeviceTolerationOpExists)
	}
	if t.Effect != "" {
		deviceEffect(at.of("effect"), t.Effect)
	}
}

func deviceEffect(at *place, e resourcev1.DeviceTaintEffect) {
	enum(at, e, resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNone)
}

// attributeName is a name of a driver's own, or one in another's domain.
func attributeName(at *place, name string) {
	domain, id, ok := strings.Cut(name, "/")
	switch {
	case !ok:
		identifier(at, name)
		return
	case strings.Contains(id, "/"):
		return
	case domain == "":
		at.invalid("", "the domain must not be empty")
	default:
		driverName(at, domain)
	}
	if id == "" {
		at.invalid("", "the name must not be empty")
		return
	}
	identifier(at, id)
}

func fullAttributeName(at *place, name resourcev1.FullyQualifiedName) {
	attributeName(at, string(name))
	if !strings.Contains(string(name), "/") {
		at.invalid(name, "a fully qualified name must be a domain and a name separated by a slash")
	}
}

func identifier(at *place, id string) {
	if len(id) > resourcev1.DeviceMaxIDLength {
		at.tooLong(resourcev1.DeviceMaxIDLength)
	}
	format(at, id, utilvalidation.IsCIdentifier)
}

func deviceClassRules(at *place, c *resourcev1.DeviceClass) {
	deviceClassChanges(at, c, &resourcev1.DeviceClass{})
}

// deviceClassChanges: what did not change was checked before.
func deviceClassChanges(at *place, is, was *resourcev1.DeviceClass) {
	at = at.of("spec")
	deviceSelectorRules(at.of("selectors"), is.Spec.Selectors, equality.Semantic.DeepEqual(is.Spec.Selectors, was.Spec.Selectors))
	stored := equality.Semantic.DeepEqual(is.Spec.Config, was.Spec.Config)
	some(at.of("config"), is.Spec.Config, resourcev1.DeviceConfigMaxSize, func(at *place, c *resourcev1.DeviceClassConfiguration) {
		deviceConfigRules(at, &c.DeviceConfiguration, stored)
	})
	if name := is.Spec.ExtendedResourceName; name != nil && !extendedResource(corev1.ResourceName(*name)) {
		at.of("extendedResourceName").invalid(*name, "must be a valid extended resource name")
	}
}

func defaultDeviceClaim(d *resourcev1.DeviceClaim) {
	if len(d.Requests) == 0 && d.Requests != nil {
		d.Requests = nil
	}
	for i := range d.Requests {
		r := &d.Requests[i]
		if e := r.Exactly; e != nil {
			defaultDeviceRequest(&e.AllocationMode, &e.Count, e.Tolerations)
		}
		for j := range r.FirstAvailable {
			s := &r.FirstAvailable[j]
			defaultDeviceRequest(&s.AllocationMode, &s.Count, s.Tolerations)
		}
	}
}

func defaultDeviceRequest(mode *resourcev1.DeviceAllocationMode, count *int64, tolerations []resourcev1.DeviceToleration) {
	if *mode == "" {
		*mode = resourcev1.DeviceAllocationModeExactCount
	}
	if *mode == resourcev1.DeviceAllocationModeExactCount && *count == 0 {
		*count = 1
	}
	for i := range tolerations {
		if tolerations[i].Operator == "" {
			tolerations[i].Operator = resourcev1.DeviceTolerationOpEqual
		}
	}
}
