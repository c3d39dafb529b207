package resource

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

func (r *Rules) resourceSliceRules(at *validation.Path, s *resourcev1.ResourceSlice) {
	r.resourceSliceChanges(at, s, nil)
}

func (r *Rules) resourceSliceChanges(at *validation.Path, obj, stored *resourcev1.ResourceSlice) {
	at = at.Child("spec")
	s := &obj.Spec
	validation.DriverName(at.Child("driver"), s.Driver)
	poolRules(at.Child("pool"), &s.Pool)
	old := map[string]*resourcev1.Device{}
	if stored != nil {
		validation.Immutable(at.Child("pool").Child("name"), s.Pool.Name, stored.Spec.Pool.Name)
		validation.Immutable(at.Child("driver"), s.Driver, stored.Spec.Driver)
		validation.Immutable(at.Child("nodeName"), s.NodeName, stored.Spec.NodeName)
		for i := range stored.Spec.Devices {
			old[stored.Spec.Devices[i].Name] = &stored.Spec.Devices[i]
		}
	}
	sliceNodeRules(at, s)
	if s.SharedCounters != nil && s.Devices != nil {
		at.Invalid("", "only one of `sharedCounters` or `devices` is allowed")
	}
	limit := resourcev1.ResourceSliceMaxDevices
	if usesAdvancedFeatures(s.Devices) {
		limit = resourcev1.ResourceSliceMaxDevicesWithAdvancedFeatures
	}
	perDevice := s.PerDeviceNodeSelection != nil && *s.PerDeviceNodeSelection
	eachDistinct(at.Child("devices"), s.Devices, limit, func(d *resourcev1.Device) string { return d.Name },
		func(at *validation.Path, d *resourcev1.Device) { r.sliceDeviceRules(at, d, old[d.Name], perDevice) })
	eachDistinct(at.Child("sharedCounters"), s.SharedCounters, resourcev1.ResourceSliceMaxCounterSets,
		func(c *resourcev1.CounterSet) string { return c.Name },
		func(at *validation.Path, c *resourcev1.CounterSet) {
			validation.RequiredFormatOf(at.Child("name"), c.Name, "k8s-short-name", validation.DNSLabel)
			counterRules(at.Child("counters"), c.Counters, resourcev1.ResourceSliceMaxCountersPerCounterSet)
		})
	if s.PartitionTypeAttribute != nil {
		partitionTypeRules(at, s, string(*s.PartitionTypeAttribute))
	}
	skipsRules(at.Child("skipNodeOperations"), s.SkipNodeOperations)
}

// partitionTypeRules requires that each device that consumes counters has the attribute with a name,
// a string. A name in the domain of the driver may stand without the domain. A declarative rule
// validates the name, which no device has if it is malformed.
func partitionTypeRules(at *validation.Path, s *resourcev1.ResourceSliceSpec, name string) {
	if !slices.ContainsFunc(s.Devices, func(d resourcev1.Device) bool { return len(d.ConsumesCounters) > 0 }) {
		at.Child("partitionTypeAttribute").Invalid(name, "may only be set on a slice which declares devices that consume counters")
		return
	}
	if !isFullAttributeName(name) {
		return
	}
	bare := strings.TrimPrefix(name, s.Driver+"/")
	for i := range s.Devices {
		d := &s.Devices[i]
		if len(d.ConsumesCounters) == 0 {
			continue
		}
		attribute, ok := d.Attributes[resourcev1.QualifiedName(name)]
		if !ok {
			attribute, ok = d.Attributes[resourcev1.QualifiedName(bare)]
		}
		at := at.Child("devices").Index(i).Child("attributes").Key(name)
		switch {
		case !ok:
			at.Required("device consumes counters and `partitionTypeAttribute` names this attribute, so it must be set")
		case attribute.StringValue == nil:
			at.Invalid(attribute, "must be a string value because `partitionTypeAttribute` names this attribute")
		}
	}
}

// isFullAttributeName reports whether a name is a domain and an identifier.
func isFullAttributeName(name string) bool {
	domain, id, ok := strings.Cut(name, "/")
	return ok && len(domain) <= resourcev1.DriverNameMaxLength && len(utilvalidation.IsDNS1123Subdomain(strings.ToLower(domain))) == 0 &&
		len(id) <= resourcev1.DeviceMaxIDLength && len(utilvalidation.IsCIdentifier(id)) == 0
}

func skipsRules(at *validation.Path, skipped []resourcev1.SkipNodeOperation) {
	if slices.Contains(skipped, resourcev1.SkipNodeOperationNodePrepareResources) &&
		!slices.Contains(skipped, resourcev1.SkipNodeOperationNodeUnprepareResources) &&
		!slices.Contains(skipped, resourcev1.SkipNodeOperationAll) {
		at.Invalid(skipped, "NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped")
	}
}

func poolRules(at *validation.Path, p *resourcev1.ResourcePool) {
	poolName(at.Child("name"), p.Name)
	if p.ResourceSliceCount <= 0 {
		at.Child("resourceSliceCount").Invalid(p.ResourceSliceCount, "must be greater than zero")
	}
	if p.Generation < 0 {
		at.Child("generation").Invalid(p.Generation, "must be greater than or equal to zero")
	}
}

// sliceNodeRules requires exactly one of the four fields that select the nodes.
func sliceNodeRules(at *validation.Path, s *resourcev1.ResourceSliceSpec) {
	var set []string
	if s.NodeName != nil {
		if *s.NodeName == "" {
			at.Child("nodeName").Invalid(*s.NodeName, "must be either unset or set to a non-empty string")
		} else {
			set = append(set, "`nodeName`")
			validation.Format(at.Child("nodeName"), *s.NodeName, validation.DNSSubdomain)
		}
	}
	if s.NodeSelector != nil {
		set = append(set, "`nodeSelector`")
		validation.NodeSelectorRules(at.Child("nodeSelector"), s.NodeSelector, false)
		if terms := s.NodeSelector.NodeSelectorTerms; len(terms) != 1 {
			at.Child("nodeSelector").Child("nodeSelectorTerms").Invalid(terms, "must have exactly one node selector term")
		}
	}
	for _, f := range []struct {
		name  string
		value *bool
	}{{"allNodes", s.AllNodes}, {"perDeviceNodeSelection", s.PerDeviceNodeSelection}} {
		switch {
		case f.value == nil:
		case *f.value:
			set = append(set, "`"+f.name+"`")
		default:
			at.Child(f.name).Invalid(false, "must be either unset or set to true")
		}
	}
	const one = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
	switch len(set) {
	case 0:
		at.Required(one)
	case 1:
	default:
		at.Invalid(validation.SetFields(set), one+", but multiple fields are set")
	}
}

// usesAdvancedFeatures reports whether a device uses a feature for which the maximum number
// of devices is lower.
func usesAdvancedFeatures(devices []resourcev1.Device) bool {
	for i := range devices {
		d := &devices[i]
		if len(d.Taints) > 0 || len(d.ConsumesCounters) > 0 {
			return true
		}
		for _, a := range d.Attributes {
			if a.BoolValues != nil || a.IntValues != nil || a.StringValues != nil || a.VersionValues != nil {
				return true
			}
		}
	}
	return false
}

func (r *Rules) sliceDeviceRules(at *validation.Path, d, old *resourcev1.Device, perDevice bool) {
	validation.Format(at.Child("name"), d.Name, validation.DNSLabel)
	if n := len(d.Attributes) + len(d.Capacity); n > resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice {
		at.Invalid(n, fmt.Sprintf("the total number of attributes and capacities must not exceed %d",
			resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice))
	}
	if n := attributeValues(d.Attributes); n > resourcev1.ResourceSliceMaxAttributeValuesPerDevice {
		at.Invalid(n, fmt.Sprintf("the total number of attribute values must not exceed %d", resourcev1.ResourceSliceMaxAttributeValuesPerDevice))
	}
	for _, name := range validation.SortedKeys(d.Attributes) {
		attributeName(at.Child("attributes"), string(name))
		deviceAttributeRules(at.Child("attributes").Key(shortenKey(string(name))), d.Attributes[name])
	}
	if old == nil || !equality.Semantic.DeepEqual(old.Capacity, d.Capacity) {
		r.deviceCapacityRules(at.Child("capacity"), d)
	}
	if old == nil || !equality.Semantic.DeepEqual(old.Taints, d.Taints) {
		EachUpTo(at.Child("taints"), d.Taints, resourcev1.DeviceTaintsMaxLength, func(at *validation.Path, t *resourcev1.DeviceTaint) {
			validation.Format(at.Child("key"), t.Key, validation.QualifiedName)
			validation.OptionalFormat(at.Child("value"), t.Value, validation.LabelValue)
			deviceEffect(at.Child("effect"), t.Effect)
		})
	}
	eachDistinct(at.Child("consumesCounters"), d.ConsumesCounters, resourcev1.ResourceSliceMaxDeviceCounterConsumptionsPerDevice,
		func(c *resourcev1.DeviceCounterConsumption) string { return c.CounterSet },
		func(at *validation.Path, c *resourcev1.DeviceCounterConsumption) {
			validation.RequiredFormatOf(at.Child("counterSet"), c.CounterSet, "k8s-short-name", validation.DNSLabel)
			counterRules(at.Child("counters"), c.Counters, resourcev1.ResourceSliceMaxCountersPerDeviceCounterConsumption)
		})
	deviceNodeRules(at, d, perDevice)
	bindingConditionRules(at, d.BindingConditions, d.BindingFailureConditions)
	for _, name := range validation.SortedKeys(d.NodeAllocatableResources) {
		nodeResourceRules(at.Child("nodeAllocatableResources").Key(string(name)), name, d)
	}
}

func deviceNodeRules(at *validation.Path, d *resourcev1.Device, perDevice bool) {
	if !perDevice {
		if d.NodeName != nil || d.NodeSelector != nil || d.AllNodes != nil {
			at.Invalid(nil, "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec")
		}
		return
	}
	var set []string
	if d.NodeName != nil {
		if *d.NodeName == "" {
			at.Child("nodeName").Invalid(*d.NodeName, "must not be empty")
		} else {
			set = append(set, "`nodeName`")
			validation.Format(at.Child("nodeName"), *d.NodeName, validation.DNSSubdomain)
		}
	}
	if d.NodeSelector != nil {
		set = append(set, "`nodeSelector`")
		validation.NodeSelectorRules(at.Child("nodeSelector"), d.NodeSelector, false)
	}
	if d.AllNodes != nil {
		if *d.AllNodes {
			set = append(set, "`allNodes`")
		} else {
			at.Child("allNodes").Invalid(false, "must be either unset or set to true")
		}
	}
	const one = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
	switch len(set) {
	case 0:
		at.Required(one)
	case 1:
	default:
		at.Invalid(validation.SetFields(set), one)
	}
}

func counterRules(at *validation.Path, counters map[string]resourcev1.Counter, limit int) {
	switch {
	case len(counters) == 0:
		at.Required("")
	case len(counters) > limit:
		at.TooMany(len(counters), limit)
	default:
		for _, name := range validation.SortedKeys(counters) {
			validation.FormatOf(at, name, "k8s-short-name", validation.DNSLabel)
		}
	}
}

// attributeValues returns the number of attribute values, counting each list element.
func attributeValues(attributes map[resourcev1.QualifiedName]resourcev1.DeviceAttribute) int {
	n := 0
	for _, a := range attributes {
		n += max(1, len(a.BoolValues)+len(a.IntValues)+len(a.StringValues)+len(a.VersionValues))
	}
	return n
}

// shortenKey removes the middle of a key that is longer than a valid one.
func shortenKey(key string) string {
	const limit, gap = resourcev1.DeviceMaxDomainLength + 1 + resourcev1.DeviceMaxIDLength, "..."
	if len(key) <= limit {
		return key
	}
	rest := limit - len(gap)
	return key[:(rest+1)/2] + gap + key[len(key)-rest/2:]
}

func deviceAttributeRules(at *validation.Path, a resourcev1.DeviceAttribute) {
	set := 0
	for _, present := range []bool{
		a.BoolValue != nil, a.IntValue != nil, a.StringValue != nil, a.VersionValue != nil,
		a.BoolValues != nil, a.IntValues != nil, a.StringValues != nil, a.VersionValues != nil,
	} {
		if present {
			set++
		}
	}
	validation.IfPresent(at.Child("string"), a.StringValue, attributeText)
	validation.IfPresent(at.Child("version"), a.VersionValue, attributeVersion)
	const empty = "must not be empty if specified"
	if a.BoolValues != nil && len(a.BoolValues) == 0 {
		at.Child("bools").Invalid(a.BoolValues, empty)
	}
	if a.IntValues != nil && len(a.IntValues) == 0 {
		at.Child("ints").Invalid(a.IntValues, empty)
	}
	if a.StringValues != nil && len(a.StringValues) == 0 {
		at.Child("strings").Invalid(a.StringValues, empty)
	}
	validation.Each(at.Child("strings"), a.StringValues, attributeText)
	if a.VersionValues != nil && len(a.VersionValues) == 0 {
		at.Child("versions").Invalid(a.VersionValues, empty)
	}
	validation.Each(at.Child("versions"), a.VersionValues, attributeVersion)
	switch set {
	case 0:
		at.InvalidOrigin("union", "", "exactly one value must be specified")
	case 1:
	default:
		at.InvalidOrigin("union", a, "exactly one value must be specified")
	}
}

func attributeText(at *validation.Path, value *string) {
	if len(*value) > resourcev1.DeviceAttributeMaxValueLength {
		at.TooLong(resourcev1.DeviceAttributeMaxValueLength)
	}
}

func attributeVersion(at *validation.Path, value *string) {
	const number, before, build = `(0|[1-9]\d*)`, `(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)`, `[0-9a-zA-Z-]+`
	form := `^` + number + `\.` + number + `\.` + number + `(-` + before + `(\.` + before + `)*)?(\+` + build + `(\.` + build + `)*)?$`
	if ok, err := regexp.MatchString(form, *value); err != nil || !ok {
		at.Invalid(*value, "must be a string compatible with semver.org spec 2.0.0")
	}
	attributeText(at, value)
}

// setTaintTimes sets timeAdded of taints without one.
func setTaintTimes(obj *resourcev1.ResourceSlice, now func() time.Time) {
	devices := obj.Spec.Devices
	for i := range devices {
		for j := range devices[i].Taints {
			if t := &devices[i].Taints[j]; t.TimeAdded == nil {
				t.TimeAdded = &metav1.Time{Time: now().Truncate(time.Second)}
			}
		}
	}
}
