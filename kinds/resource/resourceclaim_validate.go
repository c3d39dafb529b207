package resource

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
)

// claimedDevices has the parameters of the validation of one claim.
type claimedDevices struct {
	*Rules
	// requests has the names of requests, and "request/subrequest" for each of
	// their alternatives.
	requests map[string]bool
	// constrained has the attributes that constraints compare, by the name of the request, or "" for
	// all requests.
	constrained map[string][]resourcev1.FullyQualifiedName
	// derivedCost is the estimated cost of the derived attributes so far.
	derivedCost uint64
}

func (r *Rules) newClaimedDevices(d *resourcev1.DeviceClaim) *claimedDevices {
	c := &claimedDevices{Rules: r, requests: map[string]bool{}}
	for i := range d.Requests {
		r := &d.Requests[i]
		c.requests[r.Name] = true
		for j := range r.FirstAvailable {
			c.requests[r.Name+"/"+r.FirstAvailable[j].Name] = true
		}
	}
	return c
}

func (r *Rules) resourceClaimRules(at *validation.Path, c *resourcev1.ResourceClaim) {
	r.deviceClaimRules(at.Child("spec").Child("devices"), &c.Spec.Devices)
}

// resourceClaimChanges does not validate the spec again: it is unchanged, or the change is the error.
func resourceClaimChanges(at *validation.Path, obj, old *resourcev1.ResourceClaim) {
	validation.Immutable(at.Child("spec"), obj.Spec, old.Spec)
}

func (r *Rules) resourceClaimTemplateRules(at *validation.Path, t *resourcev1.ResourceClaimTemplate) {
	pod.TemplateMetadataRules(at.Child("spec").Child("metadata"), &t.Spec.ObjectMeta)
	r.deviceClaimRules(at.Child("spec").Child("spec").Child("devices"), &t.Spec.Spec.Devices)
}

// resourceClaimTemplateChanges reports the errors of the spec, too, although a spec must not change:
// an empty list counts as no change, and may be an error.
func (r *Rules) resourceClaimTemplateChanges(at *validation.Path, obj, old *resourcev1.ResourceClaimTemplate) {
	r.resourceClaimTemplateRules(at, obj)
	validation.Immutable(at.Child("spec"), obj.Spec, old.Spec)
}

// EachUpTo applies rules to each element of a list, unless the list is longer than limit.
func EachUpTo[T any](at *validation.Path, list []T, limit int, rules func(at *validation.Path, value *T)) bool {
	if len(list) > limit {
		at.TooMany(len(list), limit)
		return false
	}
	validation.Each(at, list, rules)
	return true
}

// eachDistinct is like EachUpTo and requires that the keys of the elements are unique.
func eachDistinct[T any, K comparable](at *validation.Path, list []T, limit int, key func(*T) K,
	rules func(at *validation.Path, value *T)) {
	if !EachUpTo(at, list, limit, rules) {
		return
	}
	var seen validation.Unique[K]
	for i := range list {
		seen.Add(at.Index(i), key(&list[i]))
	}
}

func stringKey(s *string) string { return *s }

func (r *Rules) deviceClaimRules(at *validation.Path, d *resourcev1.DeviceClaim) {
	c := r.newClaimedDevices(d)
	c.constrained = constrainedAttributes(d.Constraints)
	eachDistinct(at.Child("requests"), d.Requests, resourcev1.DeviceRequestsMaxSize,
		func(r *resourcev1.DeviceRequest) string { return r.Name }, c.requestRules)
	EachUpTo(at.Child("constraints"), d.Constraints, resourcev1.DeviceConstraintsMaxSize, c.constraintRules)
	EachUpTo(at.Child("config"), d.Config, resourcev1.DeviceConfigMaxSize,
		func(at *validation.Path, config *resourcev1.DeviceClaimConfiguration) {
			c.requestRefs(at.Child("requests"), config.Requests)
			deviceConfigRules(at, &config.DeviceConfiguration, false)
		})
	if c.derivedCost > resourcev1.DeviceClaimDerivedAttributeCELMaxCost {
		at.Forbidden("too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit")
	}
}

func (c *claimedDevices) requestRules(at *validation.Path, r *resourcev1.DeviceRequest) {
	validation.Format(at.Child("name"), r.Name, validation.DNSLabel)
	const one = "exactly one of `exactly` or `firstAvailable` is required"
	switch {
	case r.Exactly == nil && len(r.FirstAvailable) == 0:
		at.Required(one)
	case r.Exactly != nil && len(r.FirstAvailable) > 0:
		at.Invalid(nil, one+", but multiple fields are set")
	case r.Exactly != nil:
		at, e := at.Child("exactly"), r.Exactly
		c.deviceRules(at, e.DeviceClassName, e.Selectors, func() { c.derivedRules(at.Child("derivedAttributes"), e.DerivedAttributes, r.Name) },
			e.AllocationMode, e.Count, e.Tolerations)
	default:
		eachDistinct(at.Child("firstAvailable"), r.FirstAvailable, resourcev1.FirstAvailableDeviceRequestMaxSize,
			func(s *resourcev1.DeviceSubRequest) string { return s.Name },
			func(at *validation.Path, s *resourcev1.DeviceSubRequest) {
				validation.Format(at.Child("name"), s.Name, validation.DNSLabel)
				c.deviceRules(at, s.DeviceClassName, s.Selectors,
					func() { c.derivedRules(at.Child("derivedAttributes"), s.DerivedAttributes, r.Name, r.Name+"/"+s.Name) },
					s.AllocationMode, s.Count, s.Tolerations)
			})
	}
}

// deviceRules validates the selection and the number of requested devices, and between them their
// derived attributes.
func (c *claimedDevices) deviceRules(at *validation.Path, class string, selectors []resourcev1.DeviceSelector, derived func(),
	mode resourcev1.DeviceAllocationMode, count int64, tolerations []resourcev1.DeviceToleration,
) {
	validation.RequiredFormatOf(at.Child("deviceClassName"), class, "k8s-long-name", validation.DNSSubdomain)
	c.selectorRules(at.Child("selectors"), selectors, false)
	derived()
	switch mode {
	case resourcev1.DeviceAllocationModeAll:
		if count != 0 {
			at.Child("count").Invalid(count, fmt.Sprintf("must not be specified when allocationMode is '%s'", mode))
		}
	case resourcev1.DeviceAllocationModeExactCount:
		if count <= 0 {
			at.Child("count").Invalid(count, "must be greater than zero")
		}
	default:
		validation.OneOf(at.Child("allocationMode"), mode, resourcev1.DeviceAllocationModeAll, resourcev1.DeviceAllocationModeExactCount)
	}
	validation.Each(at.Child("tolerations"), tolerations, deviceTolerationRules)
}

func (r *Rules) selectorRules(at *validation.Path, list []resourcev1.DeviceSelector, stored bool) {
	EachUpTo(at, list, resourcev1.DeviceSelectorsMaxSize, func(at *validation.Path, s *resourcev1.DeviceSelector) {
		if s.CEL == nil {
			at.Child("cel").Required("")
			return
		}
		if !stored {
			r.selectorExpression(at.Child("cel").Child("expression"), s.CEL.Expression)
		}
	})
}

// constrainedAttributes returns the attributes that constraints compare, by the name of the request.
func constrainedAttributes(constraints []resourcev1.DeviceConstraint) map[string][]resourcev1.FullyQualifiedName {
	attributes := map[string][]resourcev1.FullyQualifiedName{}
	for i := range constraints {
		k := &constraints[i]
		name := k.MatchAttribute
		if name == nil {
			name = k.DistinctAttribute
		}
		if name == nil {
			continue
		}
		requests := k.Requests
		if len(requests) == 0 {
			requests = []string{""}
		}
		for _, r := range requests {
			attributes[r] = append(attributes[r], *name)
		}
	}
	return attributes
}

// derivedRules validates derived attributes. A constraint that targets one of the requests, or all, must
// refer to each of them.
func (c *claimedDevices) derivedRules(at *validation.Path, list []resourcev1.DeviceDerivedAttribute, requests ...string) {
	requests = append(requests, "")
	eachDistinct(at, list, len(list), func(d *resourcev1.DeviceDerivedAttribute) resourcev1.FullyQualifiedName { return d.Name },
		func(at *validation.Path, d *resourcev1.DeviceDerivedAttribute) {
			isCompared := slices.ContainsFunc(requests, func(r string) bool { return slices.Contains(c.constrained[r], d.Name) })
			if d.Name != "" && !isCompared {
				at.Child("name").Invalid(d.Name, "must be referenced by at least one matchAttribute or distinctAttribute constraint targeting this request")
			}
			if d.Expression != "" {
				c.derivedCost += c.derivedExpression(at.Child("expression"), d.Expression)
			}
		})
}

func (c *claimedDevices) constraintRules(at *validation.Path, k *resourcev1.DeviceConstraint) {
	c.requestRefs(at.Child("requests"), k.Requests)
	switch {
	case k.MatchAttribute != nil:
		fullAttributeName(at.Child("matchAttribute"), *k.MatchAttribute)
	case k.DistinctAttribute != nil:
		fullAttributeName(at.Child("distinctAttribute"), *k.DistinctAttribute)
	case !c.consumableCapacity:
		at.Child("matchAttribute").Required("")
	default:
		at.Required(`exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set`)
	}
}

func (c *claimedDevices) requestRefs(at *validation.Path, names []string) {
	eachDistinct(at, names, resourcev1.DeviceRequestsMaxSize, stringKey, func(at *validation.Path, name *string) { c.requestRef(at, *name) })
}

func (c *claimedDevices) requestRef(at *validation.Path, name string) {
	const unknown = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
	parts := strings.Split(name, "/")
	if len(parts) > 2 {
		at.Invalid(name, unknown)
		return
	}
	for _, part := range parts {
		validation.Format(at, part, validation.DNSLabel)
	}
	if !c.requests[name] {
		at.Invalid(name, unknown)
	}
}

func deviceConfigRules(at *validation.Path, config *resourcev1.DeviceConfiguration, stored bool) {
	if config.Opaque == nil {
		at.Child("opaque").Required("")
		return
	}
	validation.DriverName(at.Child("opaque").Child("driver"), config.Opaque.Driver)
	rawObjectRules(at.Child("opaque").Child("parameters"), config.Opaque.Parameters, stored, resourcev1.OpaqueParametersMaxLength)
}

// rawObjectRules requires a JSON object of any content.
func rawObjectRules(at *validation.Path, raw runtime.RawExtension, stored bool, limit int) {
	var value any
	switch {
	case len(raw.Raw) == 0:
		at.Required("")
		return
	case !stored && len(raw.Raw) > limit:
		at.TooLong(limit)
		return
	}
	if err := json.Unmarshal(raw.Raw, &value); err != nil {
		at.Invalid("<value omitted>", fmt.Sprintf("error parsing data as JSON: %v", err))
		return
	}
	switch value.(type) {
	case nil:
		at.Required("")
	case map[string]any:
	default:
		at.Invalid("<value omitted>", "must be a valid JSON object")
	}
}

func deviceTolerationRules(at *validation.Path, t *resourcev1.DeviceToleration) {
	validation.OptionalFormat(at.Child("key"), t.Key, validation.QualifiedName)
	switch t.Operator {
	case resourcev1.DeviceTolerationOpExists:
		if t.Value != "" {
			at.Child("value").Invalid(t.Value, "must be empty for operator `Exists`")
		}
	case resourcev1.DeviceTolerationOpEqual:
		validation.Format(at.Child("value"), t.Value, validation.LabelValue)
	default:
		validation.Enum(at.Child("operator"), t.Operator, resourcev1.DeviceTolerationOpEqual, resourcev1.DeviceTolerationOpExists)
	}
	if t.Effect != "" {
		deviceEffect(at.Child("effect"), t.Effect)
	}
}

func deviceEffect(at *validation.Path, e resourcev1.DeviceTaintEffect) {
	validation.Enum(at, e, resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNone)
}

// fullNameFormat is the origin of the declarative rule of a full attribute name.
const fullNameFormat = "format=k8s-resource-fully-qualified-name"

// attributeName requires an identifier, optionally with a domain.
func attributeName(at *validation.Path, name string) {
	domain, id, ok := strings.Cut(name, "/")
	switch {
	case !ok:
		deviceIdentifier(at, name)
		return
	case strings.Contains(id, "/"):
		return
	case domain == "":
		at.Invalid("", "the domain must not be empty")
	default:
		validation.DriverName(at, domain)
	}
	if id == "" {
		at.Invalid("", "the name must not be empty")
		return
	}
	deviceIdentifier(at, id)
}

func fullAttributeName(at *validation.Path, name resourcev1.FullyQualifiedName) {
	errs := validation.Collect(at, func(at *validation.Path) {
		attributeName(at, string(name))
		if !strings.Contains(string(name), "/") {
			at.Invalid(name, "a fully qualified name must be a domain and a name separated by a slash")
		}
	})
	at.Add(errs.WithOrigin(fullNameFormat)...)
}

func deviceIdentifier(at *validation.Path, id string) {
	if len(id) > resourcev1.DeviceMaxIDLength {
		at.TooLong(resourcev1.DeviceMaxIDLength)
	}
	validation.Format(at, id, utilvalidation.IsCIdentifier)
}

func (r *Rules) deviceClassRules(at *validation.Path, c *resourcev1.DeviceClass) {
	r.deviceClassChanges(at, c, &resourcev1.DeviceClass{})
}

// deviceClassChanges does not compile unchanged selectors again.
func (r *Rules) deviceClassChanges(at *validation.Path, obj, old *resourcev1.DeviceClass) {
	at = at.Child("spec")
	r.selectorRules(at.Child("selectors"), obj.Spec.Selectors, equality.Semantic.DeepEqual(obj.Spec.Selectors, old.Spec.Selectors))
	stored := equality.Semantic.DeepEqual(obj.Spec.Config, old.Spec.Config)
	EachUpTo(at.Child("config"), obj.Spec.Config, resourcev1.DeviceConfigMaxSize,
		func(at *validation.Path, c *resourcev1.DeviceClassConfiguration) {
			deviceConfigRules(at, &c.DeviceConfiguration, stored)
		})
	if name := obj.Spec.ExtendedResourceName; name != nil && !validation.IsExtendedResource(corev1.ResourceName(*name)) {
		at.Child("extendedResourceName").InvalidOrigin("format=k8s-extended-resource-name", *name, "must be a valid extended resource name")
	}
}

func defaultClaim(c *resourcev1.ResourceClaim) {
	defaultDeviceClaim(&c.Spec.Devices)
	defaultResults(c)
}

func defaultResults(c *resourcev1.ResourceClaim) {
	if a := c.Status.Allocation; a != nil {
		for i := range a.Devices.Results {
			defaultTolerations(a.Devices.Results[i].Tolerations)
		}
	}
}

func defaultDeviceClaim(d *resourcev1.DeviceClaim) {
	for i := range d.Requests {
		if e := d.Requests[i].Exactly; e != nil {
			defaultDeviceRequest(&e.AllocationMode, &e.Count, e.Tolerations)
		}
	}
	defaultAlternatives(d)
}

// defaultDeviceClaimV1beta1 sets no mode and no count in requests without a device class: in
// v1beta1, these are requests with alternatives.
func defaultDeviceClaimV1beta1(d *resourcev1.DeviceClaim) {
	for i := range d.Requests {
		switch e := d.Requests[i].Exactly; {
		case e == nil:
		case e.DeviceClassName == "":
			defaultTolerations(e.Tolerations)
		default:
			defaultDeviceRequest(&e.AllocationMode, &e.Count, e.Tolerations)
		}
	}
	defaultAlternatives(d)
}

func defaultAlternatives(d *resourcev1.DeviceClaim) {
	for i := range d.Requests {
		for j := range d.Requests[i].FirstAvailable {
			s := &d.Requests[i].FirstAvailable[j]
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
	defaultTolerations(tolerations)
}

func defaultTolerations(tolerations []resourcev1.DeviceToleration) {
	for i := range tolerations {
		if tolerations[i].Operator == "" {
			tolerations[i].Operator = resourcev1.DeviceTolerationOpEqual
		}
	}
}
