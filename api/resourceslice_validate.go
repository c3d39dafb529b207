package api

import (
	"fmt"
	"regexp"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func resourceSliceRules(at *place, s *resourcev1.ResourceSlice) { resourceSliceChanges(at, s, nil) }

func resourceSliceChanges(at *place, is, was *resourcev1.ResourceSlice) {
	at = at.of("spec")
	s := &is.Spec
	driverName(at.of("driver"), s.Driver)
	poolRules(at.of("pool"), &s.Pool)
	old := map[string]*resourcev1.Device{}
	if was != nil {
		fixed(at.of("pool").of("name"), s.Pool.Name, was.Spec.Pool.Name)
		fixed(at.of("driver"), s.Driver, was.Spec.Driver)
		fixed(at.of("nodeName"), s.NodeName, was.Spec.NodeName)
		for i := range was.Spec.Devices {
			old[was.Spec.Devices[i].Name] = &was.Spec.Devices[i]
		}
	}
	sliceNodeRules(at, s)
	if s.SharedCounters != nil && s.Devices != nil {
		at.invalid("", "only one of `sharedCounters` or `devices` is allowed")
	}
	limit := resourcev1.ResourceSliceMaxDevices
	if demanding(s.Devices) {
		limit = resourcev1.ResourceSliceMaxDevicesWithAdvancedFeatures
	}
	perDevice := s.PerDeviceNodeSelection != nil && *s.PerDeviceNodeSelection
	distinct(at.of("devices"), s.Devices, limit, func(d *resourcev1.Device) string { return d.Name },
		func(at *place, d *resourcev1.Device) { sliceDeviceRules(at, d, old[d.Name], perDevice) })
	distinct(at.of("sharedCounters"), s.SharedCounters, resourcev1.ResourceSliceMaxCounterSets,
		func(c *resourcev1.CounterSet) string { return c.Name },
		func(at *place, c *resourcev1.CounterSet) {
			needs(at.of("name"), c.Name, dnsLabel)
			counterRules(at.of("counters"), c.Counters, resourcev1.ResourceSliceMaxCountersPerCounterSet)
		})
}

func poolRules(at *place, p *resourcev1.ResourcePool) {
	poolName(at.of("name"), p.Name)
	if p.ResourceSliceCount <= 0 {
		at.of("resourceSliceCount").invalid(p.ResourceSliceCount, "must be greater than zero")
	}
	if p.Generation < 0 {
		at.of("generation").invalid(p.Generation, "must be greater than or equal to zero")
	}
}

// sliceNodeRules: the nodes that reach the devices are told in one of four ways.
func sliceNodeRules(at *place, s *resourcev1.ResourceSliceSpec) {
	var set []string
	if s.NodeName != nil {
		if *s.NodeName == "" {
			at.of("nodeName").invalid(*s.NodeName, "must be either unset or set to a non-empty string")
		} else {
			set = append(set, "`nodeName`")
			format(at.of("nodeName"), *s.NodeName, dnsSubdomain)
		}
	}
	if s.NodeSelector != nil {
		set = append(set, "`nodeSelector`")
		nodeSelectorRules(at.of("nodeSelector"), s.NodeSelector, false)
		if terms := s.NodeSelector.NodeSelectorTerms; len(terms) != 1 {
			at.of("nodeSelector").of("nodeSelectorTerms").invalid(terms, "must have exactly one node selector term")
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
			at.of(f.name).invalid(false, "must be either unset or set to true")
		}
	}
	const one = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
	switch len(set) {
	case 0:
		at.required(one)
	case 1:
	default:
		at.invalid(setFields(set), one+", but multiple fields are set")
	}
}

// demanding tells of devices with features that fewer of them may have.
func demanding(devices []resourcev1.Device) bool {
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

func sliceDeviceRules(at *place, d, old *resourcev1.Device, perDevice bool) {
	format(at.of("name"), d.Name, dnsLabel)
	if n := len(d.Attributes) + len(d.Capacity); n > resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice {
		at.invalid(n, fmt.Sprintf("the total number of attributes and capacities must not exceed %d", resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice))
	}
	if n := attributeValues(d.Attributes); n > resourcev1.ResourceSliceMaxAttributeValuesPerDevice {
		at.invalid(n, fmt.Sprintf("the total number of attribute values must not exceed %d", resourcev1.ResourceSliceMaxAttributeValuesPerDevice))
	}
	for _, name := range sortedKeys(d.Attributes) {
		attributeName(at.of("attributes"), string(name))
		deviceAttributeRules(at.of("attributes").key(shortened(string(name))), d.Attributes[name])
	}
	if old == nil || !equality.Semantic.DeepEqual(old.Capacity, d.Capacity) {
		deviceCapacityRules(at.of("capacity"), d)
	}
	if old == nil || !equality.Semantic.DeepEqual(old.Taints, d.Taints) {
		some(at.of("taints"), d.Taints, resourcev1.DeviceTaintsMaxLength, func(at *place, t *resourcev1.DeviceTaint) {
			format(at.of("key"), t.Key, qualifiedName)
			optional(at.of("value"), t.Value, labelValue)
			deviceEffect(at.of("effect"), t.Effect)
		})
	}
	distinct(at.of("consumesCounters"), d.ConsumesCounters, resourcev1.ResourceSliceMaxDeviceCounterConsumptionsPerDevice,
		func(c *resourcev1.DeviceCounterConsumption) string { return c.CounterSet },
		func(at *place, c *resourcev1.DeviceCounterConsumption) {
			needs(at.of("counterSet"), c.CounterSet, dnsLabel)
			counterRules(at.of("counters"), c.Counters, resourcev1.ResourceSliceMaxCountersPerDeviceCounterConsumption)
		})
	deviceNodeRules(at, d, perDevice)
	bindingConditionRules(at, d.BindingConditions, d.BindingFailureConditions)
}

func deviceNodeRules(at *place, d *resourcev1.Device, perDevice bool) {
	if !perDevice {
		if d.NodeName != nil || d.NodeSelector != nil || d.AllNodes != nil {
			at.invalid(nil, "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec")
		}
		return
	}
	var set []string
	if d.NodeName != nil {
		if *d.NodeName == "" {
			at.of("nodeName").invalid(*d.NodeName, "must not be empty")
		} else {
			set = append(set, "`nodeName`")
			format(at.of("nodeName"), *d.NodeName, dnsSubdomain)
		}
	}
	if d.NodeSelector != nil {
		set = append(set, "`nodeSelector`")
		nodeSelectorRules(at.of("nodeSelector"), d.NodeSelector, false)
	}
	if d.AllNodes != nil {
		if *d.AllNodes {
			set = append(set, "`allNodes`")
		} else {
			at.of("allNodes").invalid(false, "must be either unset or set to true")
		}
	}
	const one = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
	switch len(set) {
	case 0:
		at.required(one)
	case 1:
	default:
		at.invalid(setFields(set), one)
	}
}

func counterRules(at *place, counters map[string]resourcev1.Counter, limit int) {
	switch {
	case len(counters) == 0:
		at.required("")
	case len(counters) > limit:
		at.tooMany(len(counters), limit)
	default:
		for _, name := range sortedKeys(counters) {
			format(at, name, dnsLabel)
		}
	}
}

// attributeValues counts the values, of which lists have several.
func attributeValues(attributes map[resourcev1.QualifiedName]resourcev1.DeviceAttribute) int {
	n := 0
	for _, a := range attributes {
		n += max(1, len(a.BoolValues)+len(a.IntValues)+len(a.StringValues)+len(a.VersionValues))
	}
	return n
}

// shortened cuts the middle out of a key that is too long to be one.
func shortened(key string) string {
	const limit, gap = resourcev1.DeviceMaxDomainLength + 1 + resourcev1.DeviceMaxIDLength, "..."
	if len(key) <= limit {
		return key
	}
	rest := limit - len(gap)
	return key[:(rest+1)/2] + gap + key[len(key)-rest/2:]
}

func deviceAttributeRules(at *place, a resourcev1.DeviceAttribute) {
	set := 0
	for _, present := range []bool{
		a.BoolValue != nil, a.IntValue != nil, a.StringValue != nil, a.VersionValue != nil,
		a.BoolValues != nil, a.IntValues != nil, a.StringValues != nil, a.VersionValues != nil,
	} {
		if present {
			set++
		}
	}
	present(at.of("string"), a.StringValue, attributeText)
	present(at.of("version"), a.VersionValue, attributeVersion)
	const empty = "must not be empty if specified"
	if a.BoolValues != nil && len(a.BoolValues) == 0 {
		at.of("bools").invalid(a.BoolValues, empty)
	}
	if a.IntValues != nil && len(a.IntValues) == 0 {
		at.of("ints").invalid(a.IntValues, empty)
	}
	if a.StringValues != nil && len(a.StringValues) == 0 {
		at.of("strings").invalid(a.StringValues, empty)
	}
	each(at.of("strings"), a.StringValues, attributeText)
	if a.VersionValues != nil && len(a.VersionValues) == 0 {
		at.of("versions").invalid(a.VersionValues, empty)
	}
	each(at.of("versions"), a.VersionValues, attributeVersion)
	switch set {
	case 0:
		at.invalid("", "exactly one value must be specified")
	case 1:
	default:
		at.invalid(a, "exactly one value must be specified")
	}
}

func attributeText(at *place, value *string) {
	if len(*value) > resourcev1.DeviceAttributeMaxValueLength {
		at.tooLong(resourcev1.DeviceAttributeMaxValueLength)
	}
}

func attributeVersion(at *place, value *string) {
	const number, before, build = `(0|[1-9]\d*)`, `(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)`, `[0-9a-zA-Z-]+`
	form := `^` + number + `\.` + number + `\.` + number + `(-` + before + `(\.` + before + `)*)?(\+` + build + `(\.` + build + `)*)?$`
	if ok, err := regexp.MatchString(form, *value); err != nil || !ok {
		at.invalid(*value, "must be a string compatible with semver.org spec 2.0.0")
	}
	attributeText(at, value)
}

// stampTaints tells since when devices are tainted.
func stampTaints(obj Object, now time.Time) {
	devices := obj.(*resourcev1.ResourceSlice).Spec.Devices
	for i := range devices {
		for j := range devices[i].Taints {
			if t := &devices[i].Taints[j]; t.TimeAdded == nil {
				t.TimeAdded = &metav1.Time{Time: now.Truncate(time.Second)}
			}
		}
	}
}
