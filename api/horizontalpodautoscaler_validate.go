package api

import (
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func autoscalerRules(at *place, a *autoscalingv2.HorizontalPodAutoscaler) {
	autoscalerSpecRules(at.of("spec"), &a.Spec, &autoscalingv2.HorizontalPodAutoscalerSpec{})
}

// autoscalerSpecRules check a spec. was is the spec before an update, or an empty
// one: what was invalid before may stay.
func autoscalerSpecRules(at *place, s, was *autoscalingv2.HorizontalPodAutoscalerSpec) {
	if s.MinReplicas != nil {
		var least int32 = 1
		if was.MinReplicas != nil && *was.MinReplicas == 0 {
			least = 0
		}
		atLeast(at.of("minReplicas"), *s.MinReplicas, least)
	}
	switch {
	case s.MaxReplicas == 0:
		at.of("maxReplicas").required("must be set and greater than 0")
	case s.MaxReplicas < 0:
		at.of("maxReplicas").invalid(s.MaxReplicas, "must be greater than or equal to 1")
	}
	if s.MinReplicas != nil && s.MaxReplicas < *s.MinReplicas {
		at.of("maxReplicas").invalid(s.MaxReplicas, "must be greater than or equal to `minReplicas`")
	}
	target := &s.ScaleTargetRef
	scaledReference(at.of("scaleTargetRef"), target)
	if was.MaxReplicas == 0 || target.Kind != was.ScaleTargetRef.Kind || target.APIVersion != was.ScaleTargetRef.APIVersion {
		groupRules(at.of("scaleTargetRef").of("apiVersion"), target.APIVersion, target.Kind == "ReplicationController")
	}
	lenient := slices.ContainsFunc(was.Metrics, hasInvalidVersion)
	each(at.of("metrics"), s.Metrics, func(at *place, m *autoscalingv2.MetricSpec) { metricRules(at, m, lenient) })
	if s.MinReplicas != nil && *s.MinReplicas == 0 && !slices.ContainsFunc(s.Metrics, countsFromZero) {
		at.of("metrics").forbidden("must specify at least one Object or External metric to support scaling to zero replicas")
	}
	if b := s.Behavior; b != nil {
		present(at.of("behavior").of("scaleUp"), b.ScaleUp, scalingRules)
		present(at.of("behavior").of("scaleDown"), b.ScaleDown, scalingRules)
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

// countsFromZero reports whether a metric has a value where no pods are.
func countsFromZero(m autoscalingv2.MetricSpec) bool {
	return m.Type == autoscalingv2.ObjectMetricSourceType || m.Type == autoscalingv2.ExternalMetricSourceType
}

// groupRules check an apiVersion, whose group may be empty for kinds of the core
// group only.
func groupRules(at *place, version string, core bool) {
	switch gv, err := schema.ParseGroupVersion(version); {
	case err != nil:
		at.invalid(version, err.Error())
	case gv.Group == "" && !core:
		at.invalid(version, "apiVersion must specify API group")
	}
}

func autoscalerChanges(at *place, is, was *autoscalingv2.HorizontalPodAutoscaler) {
	autoscalerSpecRules(at.of("spec"), &is.Spec, &was.Spec)
}

func autoscalerStatusChanges(at *place, is, _ *autoscalingv2.HorizontalPodAutoscaler) {
	countRules(at.of("status"), count{"currentReplicas", is.Status.CurrentReplicas}, count{"desiredReplicas", is.Status.DesiredReplicas})
}

func scaledReference(at *place, r *autoscalingv2.CrossVersionObjectReference) {
	needs(at.of("kind"), r.Kind, segment)
	needs(at.of("name"), r.Name, segment)
}

// metricField is where the source of a type of metric stands.
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

func knownMetricType(at *place, t autoscalingv2.MetricSourceType) {
	oneOf(at, t, autoscalingv2.ContainerResourceMetricSourceType, autoscalingv2.ExternalMetricSourceType,
		autoscalingv2.ObjectMetricSourceType, autoscalingv2.PodsMetricSourceType, autoscalingv2.ResourceMetricSourceType)
}

// metricRules check a metric. If lenient, the apiVersion of an object may be anything.
func metricRules(at *place, m *autoscalingv2.MetricSpec, lenient bool) {
	if m.Type == "" {
		at.of("type").required("must specify a metric source type")
	}
	knownMetricType(at.of("type"), m.Type)
	// Only the first source is looked at.
	var found []string
	first := func(name string, set bool) bool {
		if set {
			found = append(found, name)
		}
		return set && len(found) == 1
	}
	if first("object", m.Object != nil) {
		objectMetricRules(at.of("object"), m.Object, lenient)
	}
	if first("external", m.External != nil) {
		externalMetricRules(at.of("external"), m.External)
	}
	if first("pods", m.Pods != nil) {
		podsMetricRules(at.of("pods"), m.Pods)
	}
	if first("resource", m.Resource != nil) {
		at := at.of("resource")
		if m.Resource.Name == "" {
			at.of("name").required("must specify a resource name")
		}
		resourceTargetRules(at.of("target"), &m.Resource.Target)
	}
	if first("containerResource", m.ContainerResource != nil) {
		containerMetricRules(at.of("containerResource"), m.ContainerResource)
	}
	wanted := metricField(m.Type)
	switch {
	case wanted == "":
		knownMetricType(at.of("type"), m.Type) // kube-apiserver lists this fault twice
	case !among(wanted, found...):
		at.of(wanted).required("must populate information for the given metric source")
	}
	if len(found) > 1 {
		for _, name := range found {
			if name != wanted {
				at.of(name).forbidden("must populate the given metric source only")
			}
		}
	}
}

func objectMetricRules(at *place, m *autoscalingv2.ObjectMetricSource, lenient bool) {
	scaledReference(at.of("describedObject"), &m.DescribedObject)
	if !lenient {
		groupRules(at.of("describedObject").of("apiVersion"), m.DescribedObject.APIVersion, true)
	}
	metricNameRules(at.of("metric"), &m.Metric)
	targetRules(at.of("target"), &m.Target)
	if m.Target.Value == nil && m.Target.AverageValue == nil {
		at.of("target").of("averageValue").required("must set either a target value or averageValue")
	}
}

func externalMetricRules(at *place, m *autoscalingv2.ExternalMetricSource) {
	metricNameRules(at.of("metric"), &m.Metric)
	targetRules(at.of("target"), &m.Target)
	switch value, average := m.Target.Value != nil, m.Target.AverageValue != nil; {
	case !value && !average:
		at.of("target").of("averageValue").required("must set either a target value for metric or a per-pod target")
	case value && average:
		at.of("target").of("value").forbidden("may not set both a target value for metric and a per-pod target")
	}
}

func podsMetricRules(at *place, m *autoscalingv2.PodsMetricSource) {
	metricNameRules(at.of("metric"), &m.Metric)
	targetRules(at.of("target"), &m.Target)
	if m.Target.AverageValue == nil {
		at.of("target").of("averageValue").required("must specify a positive target averageValue")
	}
}

func containerMetricRules(at *place, m *autoscalingv2.ContainerResourceMetricSource) {
	if m.Name == "" {
		at.of("name").required("must specify a resource name")
	} else {
		containerResourceName(at.of("name"), m.Name)
	}
	if m.Container == "" {
		at.of("container").required("must specify a container")
	} else {
		format(at.of("container"), m.Container, dnsLabel)
	}
	resourceTargetRules(at.of("target"), &m.Target)
}

func resourceTargetRules(at *place, t *autoscalingv2.MetricTarget) {
	targetRules(at, t)
	switch raw, share := t.AverageValue != nil, t.AverageUtilization != nil; {
	case !raw && !share:
		at.of("averageUtilization").required("must set either a target raw value or a target utilization")
	case raw && share:
		at.of("averageValue").forbidden("may not set both a target raw value and a target utilization")
	}
}

func metricNameRules(at *place, m *autoscalingv2.MetricIdentifier) {
	if m.Name == "" {
		at.of("name").required("must specify a metric name")
		return
	}
	format(at.of("name"), m.Name, segment)
}

func targetRules(at *place, t *autoscalingv2.MetricTarget) {
	if t.Type == "" {
		at.of("type").required("must specify a metric target type")
	}
	if !among(t.Type, autoscalingv2.UtilizationMetricType, autoscalingv2.ValueMetricType, autoscalingv2.AverageValueMetricType) {
		at.of("type").invalid(t.Type, "must be either Utilization, Value, or AverageValue")
	}
	aboveNothing := func(at *place, q *resource.Quantity) {
		if q != nil && q.Sign() != 1 {
			at.invalid(q.String(), "must be positive")
		}
	}
	aboveNothing(at.of("value"), t.Value)
	aboveNothing(at.of("averageValue"), t.AverageValue)
	if u := t.AverageUtilization; u != nil && *u < 1 {
		at.of("averageUtilization").invalid(*u, "must be greater than 0")
	}
}

// Bounds of how slowly an autoscaler reacts, in seconds.
const (
	maxStabilization = 3600
	maxPolicyPeriod  = 1800
)

func scalingRules(at *place, r *autoscalingv2.HPAScalingRules) {
	if w := r.StabilizationWindowSeconds; w != nil {
		if *w < 0 {
			at.of("stabilizationWindowSeconds").invalid(*w, "must be greater than or equal to zero")
		}
		if *w > maxStabilization {
			at.of("stabilizationWindowSeconds").invalid(*w, fmt.Sprintf("must be less than or equal to %d", maxStabilization))
		}
	}
	optionalEnum(at.of("selectPolicy"), r.SelectPolicy,
		autoscalingv2.DisabledPolicySelect, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect)
	if len(r.Policies) == 0 {
		at.of("policies").required("must specify at least one Policy")
	}
	each(at.of("policies"), r.Policies, func(at *place, p *autoscalingv2.HPAScalingPolicy) {
		const none = "must be greater than zero"
		oneOf(at.of("type"), p.Type, autoscalingv2.PercentScalingPolicy, autoscalingv2.PodsScalingPolicy)
		if p.Value <= 0 {
			at.of("value").invalid(p.Value, none)
		}
		if p.PeriodSeconds <= 0 {
			at.of("periodSeconds").invalid(p.PeriodSeconds, none)
		}
		if p.PeriodSeconds > maxPolicyPeriod {
			at.of("periodSeconds").invalid(p.PeriodSeconds, fmt.Sprintf("must be less than or equal to %d", maxPolicyPeriod))
		}
	})
	if r.Tolerance != nil {
		nonNegativeQuantity(at.of("tolerance"), *r.Tolerance)
	}
}

// defaultBehavior: growth is fast, and shrinking waits for the controller's own
// time.
func defaultBehavior(b *autoscalingv2.HorizontalPodAutoscalerBehavior) {
	const period = 15
	if b.ScaleUp == nil {
		b.ScaleUp = &autoscalingv2.HPAScalingRules{}
	}
	if b.ScaleDown == nil {
		b.ScaleDown = &autoscalingv2.HPAScalingRules{}
	}
	setDefault(&b.ScaleUp.StabilizationWindowSeconds, 0)
	setDefault(&b.ScaleUp.SelectPolicy, autoscalingv2.MaxChangePolicySelect)
	setDefault(&b.ScaleDown.SelectPolicy, autoscalingv2.MaxChangePolicySelect)
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
