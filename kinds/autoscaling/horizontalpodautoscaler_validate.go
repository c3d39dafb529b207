package autoscaling

import (
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/workload"
)

// autoscalerCheck validates autoscalers for the enabled feature gates.
type autoscalerCheck struct{ gates features.Gates }

func (c autoscalerCheck) create(at *validation.Path, a *autoscalingv2.HorizontalPodAutoscaler) {
	c.specRules(at.Child("spec"), &a.Spec, nil)
}

// specRules validates a spec. old is the old spec, or nil for a create:
// the update may keep some values that were invalid before.
func (c autoscalerCheck) specRules(at *validation.Path, s, old *autoscalingv2.HorizontalPodAutoscalerSpec) {
	isNew := old == nil
	if isNew {
		old = &autoscalingv2.HorizontalPodAutoscalerSpec{}
	}
	if s.MinReplicas != nil {
		var least int32 = 1
		if c.gates.Enabled(features.HPAScaleToZero) || old.MinReplicas != nil && *old.MinReplicas == 0 {
			least = 0
		}
		validation.Minimum(at.Child("minReplicas"), *s.MinReplicas, least)
	}
	switch {
	case s.MaxReplicas == 0:
		at.Child("maxReplicas").Required("must be set and greater than 0")
	case s.MaxReplicas < 0:
		at.Child("maxReplicas").Invalid(s.MaxReplicas, "must be greater than or equal to 1")
	}
	if s.MinReplicas != nil && s.MaxReplicas < *s.MinReplicas {
		at.Child("maxReplicas").Invalid(s.MaxReplicas, "must be greater than or equal to `minReplicas`")
	}
	target := &s.ScaleTargetRef
	scaledReference(at.Child("scaleTargetRef"), target)
	if isNew || target.Kind != old.ScaleTargetRef.Kind || target.APIVersion != old.ScaleTargetRef.APIVersion {
		groupRules(at.Child("scaleTargetRef").Child("apiVersion"), target.APIVersion, target.Kind == "ReplicationController")
	}
	lenient := slices.ContainsFunc(old.Metrics, hasInvalidVersion)
	validation.Each(at.Child("metrics"), s.Metrics, func(at *validation.Path, m *autoscalingv2.MetricSpec) { metricRules(at, m, lenient) })
	if s.MinReplicas != nil && *s.MinReplicas == 0 && !slices.ContainsFunc(s.Metrics, countsFromZero) {
		at.Child("metrics").Forbidden("must specify at least one Object or External metric to support scaling to zero replicas")
	}
	if b := s.Behavior; b != nil {
		validation.IfPresent(at.Child("behavior").Child("scaleUp"), b.ScaleUp, scalingRules)
		validation.IfPresent(at.Child("behavior").Child("scaleDown"), b.ScaleDown, scalingRules)
	}
}

// hasInvalidVersion reports whether a metric describes an object whose apiVersion
// cannot be read.
func hasInvalidVersion(m autoscalingv2.MetricSpec) bool {
	if m.Type != autoscalingv2.ObjectMetricSourceType || m.Object == nil {
		return false
	}
	_, err := schema.ParseGroupVersion(m.Object.DescribedObject.APIVersion)
	return err != nil
}

// countsFromZero reports whether a metric has a value without pods.
func countsFromZero(m autoscalingv2.MetricSpec) bool {
	return m.Type == autoscalingv2.ObjectMetricSourceType || m.Type == autoscalingv2.ExternalMetricSourceType
}

// groupRules validates an apiVersion, whose group may be empty only for kinds of the core
// group.
func groupRules(at *validation.Path, version string, core bool) {
	switch gv, err := schema.ParseGroupVersion(version); {
	case err != nil:
		at.Invalid(version, err.Error())
	case gv.Group == "" && !core:
		at.Invalid(version, "apiVersion must specify API group")
	}
}

func (c autoscalerCheck) update(at *validation.Path, obj, old *autoscalingv2.HorizontalPodAutoscaler) {
	c.specRules(at.Child("spec"), &obj.Spec, &old.Spec)
}

func autoscalerStatusChanges(at *validation.Path, obj, _ *autoscalingv2.HorizontalPodAutoscaler) {
	for i, c := range obj.Status.Conditions {
		validation.OptionalNonNegative(at.Child("status").Child("conditions").Index(i).Child("observedGeneration"), c.ObservedGeneration)
	}
	workload.NonNegativeCounts(at.Child("status"),
		workload.PodCount{Name: "currentReplicas", Value: obj.Status.CurrentReplicas},
		workload.PodCount{Name: "desiredReplicas", Value: obj.Status.DesiredReplicas})
}

func scaledReference(at *validation.Path, r *autoscalingv2.CrossVersionObjectReference) {
	validation.RequiredFormat(at.Child("kind"), r.Kind, validation.Segment)
	validation.RequiredFormat(at.Child("name"), r.Name, validation.Segment)
}

// metricField returns the name of the field with the source of a metric of type t.
func metricField(t autoscalingv2.MetricSourceType) string {
	switch t {
	case autoscalingv2.ObjectMetricSourceType:
		return "object"
	case autoscalingv2.PodsMetricSourceType:
		return "pods"
	case autoscalingv2.ResourceMetricSourceType:
		return "resource"
	case autoscalingv2.ContainerResourceMetricSourceType:
		return "containerResource"
	case autoscalingv2.ExternalMetricSourceType:
		return "external"
	}
	return ""
}

func knownMetricType(at *validation.Path, t autoscalingv2.MetricSourceType) {
	validation.OneOf(at, t, autoscalingv2.ContainerResourceMetricSourceType, autoscalingv2.ExternalMetricSourceType,
		autoscalingv2.ObjectMetricSourceType, autoscalingv2.PodsMetricSourceType, autoscalingv2.ResourceMetricSourceType)
}

// metricRules validates a metric. If lenient, the apiVersion of an object is not validated.
func metricRules(at *validation.Path, m *autoscalingv2.MetricSpec, lenient bool) {
	if m.Type == "" {
		at.Child("type").Required("must specify a metric source type")
	}
	knownMetricType(at.Child("type"), m.Type)
	// Only the first source is validated.
	var found []string
	first := func(name string, set bool) bool {
		if set {
			found = append(found, name)
		}
		return set && len(found) == 1
	}
	if first("object", m.Object != nil) {
		objectMetricRules(at.Child("object"), m.Object, lenient)
	}
	if first("external", m.External != nil) {
		externalMetricRules(at.Child("external"), m.External)
	}
	if first("pods", m.Pods != nil) {
		podsMetricRules(at.Child("pods"), m.Pods)
	}
	if first("resource", m.Resource != nil) {
		at := at.Child("resource")
		if m.Resource.Name == "" {
			at.Child("name").Required("must specify a resource name")
		}
		resourceTargetRules(at.Child("target"), &m.Resource.Target)
	}
	if first("containerResource", m.ContainerResource != nil) {
		containerMetricRules(at.Child("containerResource"), m.ContainerResource)
	}
	wanted := metricField(m.Type)
	switch {
	case wanted == "":
		knownMetricType(at.Child("type"), m.Type) // kube-apiserver reports this error twice
	case !validation.IsOneOf(wanted, found...):
		at.Child(wanted).Required("must populate information for the given metric source")
	}
	if len(found) > 1 {
		for _, name := range found {
			if name != wanted {
				at.Child(name).Forbidden("must populate the given metric source only")
			}
		}
	}
}

func objectMetricRules(at *validation.Path, m *autoscalingv2.ObjectMetricSource, lenient bool) {
	scaledReference(at.Child("describedObject"), &m.DescribedObject)
	if !lenient {
		groupRules(at.Child("describedObject").Child("apiVersion"), m.DescribedObject.APIVersion, true)
	}
	metricNameRules(at.Child("metric"), &m.Metric)
	targetRules(at.Child("target"), &m.Target)
	if m.Target.Value == nil && m.Target.AverageValue == nil {
		at.Child("target").Child("averageValue").Required("must set either a target value or averageValue")
	}
}

func externalMetricRules(at *validation.Path, m *autoscalingv2.ExternalMetricSource) {
	metricNameRules(at.Child("metric"), &m.Metric)
	targetRules(at.Child("target"), &m.Target)
	switch value, average := m.Target.Value != nil, m.Target.AverageValue != nil; {
	case !value && !average:
		at.Child("target").Child("averageValue").Required("must set either a target value for metric or a per-pod target")
	case value && average:
		at.Child("target").Child("value").Forbidden("may not set both a target value for metric and a per-pod target")
	}
}

func podsMetricRules(at *validation.Path, m *autoscalingv2.PodsMetricSource) {
	metricNameRules(at.Child("metric"), &m.Metric)
	targetRules(at.Child("target"), &m.Target)
	if m.Target.AverageValue == nil {
		at.Child("target").Child("averageValue").Required("must specify a positive target averageValue")
	}
}

func containerMetricRules(at *validation.Path, m *autoscalingv2.ContainerResourceMetricSource) {
	if m.Name == "" {
		at.Child("name").Required("must specify a resource name")
	} else {
		validation.ContainerResourceName(at.Child("name"), m.Name)
	}
	if m.Container == "" {
		at.Child("container").Required("must specify a container")
	} else {
		validation.Format(at.Child("container"), m.Container, validation.DNSLabel)
	}
	resourceTargetRules(at.Child("target"), &m.Target)
}

func resourceTargetRules(at *validation.Path, t *autoscalingv2.MetricTarget) {
	targetRules(at, t)
	switch raw, share := t.AverageValue != nil, t.AverageUtilization != nil; {
	case !raw && !share:
		at.Child("averageUtilization").Required("must set either a target raw value or a target utilization")
	case raw && share:
		at.Child("averageValue").Forbidden("may not set both a target raw value and a target utilization")
	}
}

func metricNameRules(at *validation.Path, m *autoscalingv2.MetricIdentifier) {
	if m.Name == "" {
		at.Child("name").Required("must specify a metric name")
		return
	}
	validation.Format(at.Child("name"), m.Name, validation.Segment)
}

func targetRules(at *validation.Path, t *autoscalingv2.MetricTarget) {
	if t.Type == "" {
		at.Child("type").Required("must specify a metric target type")
	}
	if !validation.IsOneOf(t.Type, autoscalingv2.UtilizationMetricType, autoscalingv2.ValueMetricType, autoscalingv2.AverageValueMetricType) {
		at.Child("type").Invalid(t.Type, "must be either Utilization, Value, or AverageValue")
	}
	aboveNothing := func(at *validation.Path, q *resource.Quantity) {
		if q != nil && q.Sign() != 1 {
			at.Invalid(q.String(), "must be positive")
		}
	}
	aboveNothing(at.Child("value"), t.Value)
	aboveNothing(at.Child("averageValue"), t.AverageValue)
	if u := t.AverageUtilization; u != nil && *u < 1 {
		at.Child("averageUtilization").Invalid(*u, "must be greater than 0")
	}
}

// Limits of the scaling behavior, in seconds.
const (
	maxStabilization = 3600
	maxPolicyPeriod  = 1800
)

func scalingRules(at *validation.Path, r *autoscalingv2.HPAScalingRules) {
	if w := r.StabilizationWindowSeconds; w != nil {
		if *w < 0 {
			at.Child("stabilizationWindowSeconds").Invalid(*w, "must be greater than or equal to zero")
		}
		if *w > maxStabilization {
			at.Child("stabilizationWindowSeconds").Invalid(*w, fmt.Sprintf("must be less than or equal to %d", maxStabilization))
		}
	}
	validation.OptionalEnum(at.Child("selectPolicy"), r.SelectPolicy,
		autoscalingv2.DisabledPolicySelect, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect)
	if len(r.Policies) == 0 {
		at.Child("policies").Required("must specify at least one Policy")
	}
	validation.Each(at.Child("policies"), r.Policies, func(at *validation.Path, p *autoscalingv2.HPAScalingPolicy) {
		const none = "must be greater than zero"
		validation.OneOf(at.Child("type"), p.Type, autoscalingv2.PercentScalingPolicy, autoscalingv2.PodsScalingPolicy)
		if p.Value <= 0 {
			at.Child("value").Invalid(p.Value, none)
		}
		if p.PeriodSeconds <= 0 {
			at.Child("periodSeconds").Invalid(p.PeriodSeconds, none)
		}
		if p.PeriodSeconds > maxPolicyPeriod {
			at.Child("periodSeconds").Invalid(p.PeriodSeconds, fmt.Sprintf("must be less than or equal to %d", maxPolicyPeriod))
		}
	})
	if r.Tolerance != nil {
		validation.NonNegativeQuantity(at.Child("tolerance"), *r.Tolerance)
	}
}

// defaultBehavior sets defaults that scale up fast. Scaling down has no default window: the
// controller uses its own.
func defaultBehavior(b *autoscalingv2.HorizontalPodAutoscalerBehavior) {
	const period = 15
	if b.ScaleUp == nil {
		b.ScaleUp = &autoscalingv2.HPAScalingRules{}
	}
	if b.ScaleDown == nil {
		b.ScaleDown = &autoscalingv2.HPAScalingRules{}
	}
	api.SetDefault(&b.ScaleUp.StabilizationWindowSeconds, 0)
	api.SetDefault(&b.ScaleUp.SelectPolicy, autoscalingv2.MaxChangePolicySelect)
	api.SetDefault(&b.ScaleDown.SelectPolicy, autoscalingv2.MaxChangePolicySelect)
	all := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: period}
	if b.ScaleUp.Policies == nil {
		b.ScaleUp.Policies = []autoscalingv2.HPAScalingPolicy{
			{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: period}, all,
		}
	}
	if b.ScaleDown.Policies == nil {
		b.ScaleDown.Policies = []autoscalingv2.HPAScalingPolicy{all}
	}
}
