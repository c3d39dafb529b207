package api

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func nodeRules(at *place, n *corev1.Node) {
	taintRules(at.of("metadata").of("taints"), n.Spec.Taints)
	nodeResourceRules(at, n)
	if swap := n.Status.NodeInfo.Swap; swap != nil && swap.Capacity != nil && *swap.Capacity <= 0 {
		// kube-apiserver names this path.
		at.of("metadata").of("nodeSwapStatus").of("capacity").invalid(*swap.Capacity, "must be greater than zero")
	}
	declaredFeatureRules(at.of("status").of("declaredFeatures"), n.Status.DeclaredFeatures)
	ranges := at.of("spec").of("podCIDRs")
	for i, cidr := range n.Spec.PodCIDRs {
		knownNetwork(ranges.item(i), cidr, nil)
	}
	if len(n.Spec.PodCIDRs) > 1 && (len(n.Spec.PodCIDRs) > 2 || !bothFamilies(n.Spec.PodCIDRs)) {
		ranges.invalid(n.Spec.PodCIDRs, "may specify no more than one CIDR for each IP family")
	}
}

// bothFamilies tells whether there is a network of IPv4 and one of IPv6.
func bothFamilies(cidrs []string) bool {
	var v4, v6 bool
	for _, cidr := range cidrs {
		if strings.Contains(cidr, ":") {
			v6 = true
		} else {
			v4 = true
		}
	}
	return v4 && v6
}

// declaredFeatureRules check the names of features, which are in order and unique.
func declaredFeatureRules(at *place, features []string) {
	for i, name := range features {
		switch at := at.item(i); {
		case len(name) > utilvalidation.DNS1123SubdomainMaxLength:
			at.invalid(name, fmt.Sprintf("invalid feature name %q: must be no more than %d characters", name, utilvalidation.DNS1123SubdomainMaxLength))
		case !isFeatureName(name):
			at.invalid(name, fmt.Sprintf("invalid feature name %q: must start with an UpperCamelCase segment, with subsequent segments separated by '/' "+
				"(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes", name))
		}
		if i+1 == len(features) {
			continue
		}
		switch next := features[i+1]; {
		case next == name:
			at.item(i + 1).duplicate(next)
		case next < name:
			at.item(i+1).invalid(next, "list must be sorted alphabetically")
		}
	}
}

// isFeatureName reports whether a name is segments of letters and digits, separated by
// slashes, that start with a letter, the first one with a capital.
func isFeatureName(name string) bool {
	for i, segment := range strings.Split(name, "/") {
		for j, r := range segment {
			upper, lower, digit := r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r >= '0' && r <= '9'
			if j == 0 && (!upper && (i == 0 || !lower)) || !upper && !lower && !digit {
				return false
			}
		}
		if segment == "" {
			return false
		}
	}
	return true
}

// dropConfigSource removes the configuration source of a new node, and of one that had
// none: kube-apiserver has removed the feature.
func dropConfigSource(n, old *corev1.Node) {
	if old == nil {
		n.Status.Config = nil
	}
	if old == nil || old.Spec.ConfigSource == nil {
		n.Spec.ConfigSource = nil
	}
}

// nodeChanges are for updates of a node and of its status alike.
func nodeChanges(at *place, is, was *corev1.Node) {
	nodeResourceRules(at, is)
	declaredFeatureRules(at.of("status").of("declaredFeatures"), is.Status.DeclaredFeatures)
	var addresses unique[corev1.NodeAddress]
	each(at.of("status").of("addresses"), is.Status.Addresses, func(at *place, a *corev1.NodeAddress) { addresses.add(at, *a) })
	podCIDRChanges(at.of("spec").of("podCIDRs"), is.Spec.PodCIDRs, was.Spec.PodCIDRs)
	if was.Spec.ProviderID != "" && was.Spec.ProviderID != is.Spec.ProviderID {
		at.of("spec").of("providerID").forbidden(`node updates may not change providerID except from "" to valid`)
	}
	taintRules(at.of("metadata").of("taints"), is.Spec.Taints)
	if is.Spec.DoNotUseExternalID != was.Spec.DoNotUseExternalID {
		at.of("spec").of("externalID").forbidden("may not be updated")
	}
}

// podCIDRChanges: the ranges that pods got addresses from stay.
func podCIDRChanges(at *place, is, was []string) {
	const fault = `node updates may not change podCIDR except from "" to valid`
	if len(was) > 0 && len(is) != len(was) {
		at.forbidden(fault)
		return
	}
	for i := range was {
		if is[i] != was[i] {
			at.forbidden(fault)
		}
	}
}

func nodeResourceRules(at *place, n *corev1.Node) {
	for _, f := range []struct {
		name string
		list corev1.ResourceList
	}{{"capacity", n.Status.Capacity}, {"allocatable", n.Status.Allocatable}} {
		for _, name := range sortedKeys(f.list) {
			amount(at.of("status").of(f.name).of(string(name)), name, f.list[name])
		}
	}
}

func taintRules(at *place, taints []corev1.Taint) {
	type keyEffect struct {
		key    string
		effect corev1.TaintEffect
	}
	var seen unique[keyEffect]
	each(at, taints, func(at *place, t *corev1.Taint) {
		format(at.of("key"), t.Key, qualifiedName)
		if faults := labelValue(t.Value); len(faults) > 0 {
			at.of("value").invalid(t.Value, strings.Join(faults, ";"))
		}
		taintEffect(at.of("effect"), t.Effect)
		if id := (keyEffect{t.Key, t.Effect}); seen.has(id) {
			err := field.Duplicate(at.path(), internalForm(t))
			err.Detail = "taints must be unique by key and effect pair"
			at.add(err)
		} else {
			seen.put(id)
		}
	})
}

// defaultNodeStatus: what is there can be allocated, unless some is kept back.
func defaultNodeStatus(s *corev1.NodeStatus) {
	wholeMillis(s.Capacity)
	if s.Allocatable == nil && s.Capacity != nil {
		s.Allocatable = s.Capacity.DeepCopy()
	}
	wholeMillis(s.Allocatable)
}

func nodeWarnings(obj, _ Object) []string {
	n := obj.(*corev1.Node)
	var warnings []string
	if n.Spec.ConfigSource != nil {
		warnings = append(warnings, "spec.configSource: the feature is no longer supported")
	}
	if n.Spec.DoNotUseExternalID != "" {
		warnings = append(warnings, "spec.externalID: this field is deprecated, and is unused by Kubernetes")
	}
	return warnings
}
