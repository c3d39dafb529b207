package core

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
)

// Node describes the kind Node, a machine on which pods run.
func Node(gates features.Gates) *api.Resource {
	return api.NewResource(api.Kind[*corev1.Node]{
		Names:    api.Names{Name: "nodes", Singular: "node", Kind: "Node", ShortNames: []string{"no"}},
		Versions: api.WithFieldLabels(api.Served(corev1.SchemeGroupVersion), api.NameLabel, "spec.unschedulable"),
		Default: func(n *corev1.Node) {
			alignPodCIDRs(&n.Spec)
			defaultNodeStatus(&n.Status)
		},
		Storage: api.Storage{Prefix: "minions"},
		// A kubelet registers its node together with the status.
		KeepStatus: api.KeepOnCreate,
		Prepare:    api.PrepareChange(dropConfigSource),
		Checks: api.Checks(
			api.NewMetadata,
			api.Rules(nodeRules),
			api.Changes(nodeChanges),
			api.Declared,
			api.Warn(nodeWarnings),
		),
		Status: api.NewStatus(func(obj, old *corev1.Node) {
			if old.Status.Config == nil {
				obj.Status.Config = nil
			}
		}, api.Metadata, api.Changes(nodeChanges), api.Declared),
		Selectable: func(obj *corev1.Node) map[string]string {
			return map[string]string{"spec.unschedulable": strconv.FormatBool(obj.Spec.Unschedulable)}
		},
		Subresources: []api.Subresource{nodeProxy()},
		Table:        api.Rows(nodeRow),
	})
}

// alignPodCIDRs makes podCIDR equal to the first of podCIDRs. If they differ, podCIDR has
// precedence, because only old clients write it.
func alignPodCIDRs(s *corev1.NodeSpec) {
	switch {
	case s.PodCIDR == "" && len(s.PodCIDRs) > 0:
		s.PodCIDR = s.PodCIDRs[0]
	case s.PodCIDR != "" && (len(s.PodCIDRs) == 0 || s.PodCIDRs[0] != s.PodCIDR):
		s.PodCIDRs = []string{s.PodCIDR}
	}
}

func nodeRow(row *table.Row, n *corev1.Node) {
	info := &n.Status.NodeInfo
	kernel := cmp.Or(info.KernelVersion, table.CellUnknown)
	if info.Architecture != "" {
		kernel += " (" + info.Architecture + ")"
	}
	row.Name(n.Name)
	row.Text("Status", "The status of the node", nodeState(n))
	row.Text("Roles", "The roles of the node", cmp.Or(strings.Join(nodeRoles(n.Labels), ","), table.CellNone))
	row.Age(n)
	row.Text("Version", ".status.nodeInfo.kubeletVersion", info.KubeletVersion)
	row.Wide().Text("Internal-IP", ".status.addresses", nodeAddress(n, corev1.NodeInternalIP))
	row.Wide().Text("External-IP", ".status.addresses", nodeAddress(n, corev1.NodeExternalIP))
	row.Wide().Text("OS-Image", ".status.nodeInfo.osImage", cmp.Or(info.OSImage, table.CellUnknown))
	row.Wide().Text("Kernel-Version", ".status.nodeInfo.kernelVersion", kernel)
	row.Wide().Text("Container-Runtime", ".status.nodeInfo.containerRuntimeVersion",
		cmp.Or(info.ContainerRuntimeVersion, table.CellUnknown))
}

// nodeState returns the cell Status: whether a node is ready and whether it is cordoned.
func nodeState(n *corev1.Node) string {
	state := "Unknown"
	for _, c := range n.Status.Conditions {
		switch {
		case c.Type != corev1.NodeReady:
		case c.Status == corev1.ConditionTrue:
			state = "Ready"
		default:
			state = "NotReady"
		}
	}
	if n.Spec.Unschedulable {
		state += ",SchedulingDisabled"
	}
	return state
}

// nodeRoles returns the roles in the labels of a node, in both supported forms.
func nodeRoles(labels map[string]string) []string {
	var roles []string
	for label, value := range labels {
		if role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/"); ok && role != "" {
			roles = append(roles, role)
		} else if label == "kubernetes.io/role" && value != "" {
			roles = append(roles, value)
		}
	}
	slices.Sort(roles)
	return slices.Compact(roles)
}

func nodeAddress(n *corev1.Node, kind corev1.NodeAddressType) string {
	for _, a := range n.Status.Addresses {
		if a.Type == kind {
			return a.Address
		}
	}
	return table.CellNone
}

func nodeRules(at *validation.Path, n *corev1.Node) {
	nodeAnnotationRules(at.Child("metadata"), n.Annotations)
	taintRules(at.Child("metadata").Child("taints"), n.Spec.Taints)
	nodeResourceRules(at, n)
	if swap := n.Status.NodeInfo.Swap; swap != nil && swap.Capacity != nil && *swap.Capacity <= 0 {
		// This is the path in kube-apiserver's error.
		at.Child("metadata").Child("nodeSwapStatus").Child("capacity").Invalid(*swap.Capacity, "must be greater than zero")
	}
	declaredFeatureRules(at.Child("status").Child("declaredFeatures"), n.Status.DeclaredFeatures)
	ranges := at.Child("spec").Child("podCIDRs")
	for i, cidr := range n.Spec.PodCIDRs {
		validation.CIDROrStored(ranges.Index(i), cidr, nil)
	}
	if len(n.Spec.PodCIDRs) > 1 {
		dual, err := netutils.IsDualStackCIDRStrings(n.Spec.PodCIDRs)
		if err != nil { // as in kube-apiserver, in addition to the error of the CIDR
			ranges.Add(field.InternalError(ranges.ToField(), fmt.Errorf("invalid PodCIDRs. failed to check with dual stack with error:%w", err)))
		}
		if len(n.Spec.PodCIDRs) > 2 || !dual {
			ranges.Invalid(n.Spec.PodCIDRs, "may specify no more than one CIDR for each IP family")
		}
	}
}

// declaredFeatureRules validates the names of features, which must be sorted and unique.
func declaredFeatureRules(at *validation.Path, features []string) {
	for i, name := range features {
		switch at := at.Index(i); {
		case len(name) > utilvalidation.DNS1123SubdomainMaxLength:
			at.Invalid(name, fmt.Sprintf("invalid feature name %q: must be no more than %d characters", name, utilvalidation.DNS1123SubdomainMaxLength))
		case !isFeatureName(name):
			at.Invalid(name, fmt.Sprintf("invalid feature name %q: must start with an UpperCamelCase segment, with subsequent segments separated by '/' "+
				"(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes", name))
		}
		if i+1 == len(features) {
			continue
		}
		switch next := features[i+1]; {
		case next == name:
			at.Index(i + 1).Duplicate(next)
		case next < name:
			at.Index(i+1).Invalid(next, "list must be sorted alphabetically")
		}
	}
}

// isFeatureName reports whether a name consists of segments separated by slashes, each of
// letters and digits and starting with a letter, the first one with a capital.
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

// dropConfigSource removes spec.configSource unless the stored node has it: kube-apiserver
// removed the feature.
func dropConfigSource(n, old *corev1.Node) {
	if old == nil {
		n.Status.Config = nil
	}
	if old == nil || old.Spec.ConfigSource == nil {
		n.Spec.ConfigSource = nil
	}
}

// nodeChanges validates updates of a node and of its status.
func nodeChanges(at *validation.Path, obj, old *corev1.Node) {
	nodeAnnotationRules(at.Child("metadata"), obj.Annotations)
	nodeResourceRules(at, obj)
	declaredFeatureRules(at.Child("status").Child("declaredFeatures"), obj.Status.DeclaredFeatures)
	var addresses validation.Unique[corev1.NodeAddress]
	validation.Each(at.Child("status").Child("addresses"), obj.Status.Addresses,
		func(at *validation.Path, a *corev1.NodeAddress) { addresses.Add(at, *a) })
	podCIDRChanges(at.Child("spec").Child("podCIDRs"), obj.Spec.PodCIDRs, old.Spec.PodCIDRs)
	switch id, before := obj.Spec.ProviderID, old.Spec.ProviderID; {
	case before == "" || id == before:
	case id == "":
		at.Child("spec").Child("providerID").InvalidOrigin("update", nil, "field cannot be cleared once set")
	default:
		at.Child("spec").Child("providerID").InvalidOrigin("update", nil, "field cannot be modified once set")
	}
	configSourceRules(at.Child("spec").Child("configSource"), obj.Spec.ConfigSource, false)
	if config := obj.Status.Config; config != nil {
		at := at.Child("status").Child("config")
		configSourceRules(at.Child("assigned"), config.Assigned, true)
		configSourceRules(at.Child("active"), config.Active, true)
		configSourceRules(at.Child("lastKnownGood"), config.LastKnownGood, true)
	}
	taintRules(at.Child("metadata").Child("taints"), obj.Spec.Taints)
	if obj.Spec.DoNotUseExternalID != old.Spec.DoNotUseExternalID {
		at.Child("spec").Child("externalID").Forbidden("may not be updated")
	}
}

// configSourceRules validates a source of a kubelet's configuration, which only nodes of older servers
// have.
func configSourceRules(at *validation.Path, s *corev1.NodeConfigSource, isStatus bool) {
	switch {
	case s == nil:
		return
	case s.ConfigMap == nil:
		at.Invalid(s, "exactly one reference subfield must be non-nil")
		return
	}
	at, m := at.Child("configMap"), s.ConfigMap
	uid, version := at.Child("uid"), at.Child("resourceVersion")
	if isStatus {
		validation.Required(uid, m.UID)
		validation.Required(version, m.ResourceVersion)
	} else {
		if m.UID != "" {
			uid.Forbidden("uid must not be set in spec")
		}
		if m.ResourceVersion != "" {
			version.Forbidden("resourceVersion must not be set in spec")
		}
	}
	validation.RequiredFormat(at.Child("namespace"), m.Namespace, validation.DNSLabel)
	validation.RequiredFormat(at.Child("name"), m.Name, validation.DNSSubdomain)
	validation.RequiredFormat(at.Child("kubeletConfigKey"), m.KubeletConfigKey, utilvalidation.IsConfigMapKey)
}

// podCIDRChanges validates that pod CIDRs, once set, are immutable.
func podCIDRChanges(at *validation.Path, list, old []string) {
	const fault = `node updates may not change podCIDR except from "" to valid`
	if len(old) > 0 && len(list) != len(old) {
		at.Forbidden(fault)
		return
	}
	for i := range old {
		if list[i] != old[i] {
			at.Forbidden(fault)
		}
	}
}

func nodeResourceRules(at *validation.Path, n *corev1.Node) {
	for _, f := range []struct {
		name string
		list corev1.ResourceList
	}{{"capacity", n.Status.Capacity}, {"allocatable", n.Status.Allocatable}} {
		for _, name := range validation.SortedKeys(f.list) {
			validation.ResourceQuantity(at.Child("status").Child(f.name).Child(string(name)), name, f.list[name])
		}
	}
}

func taintRules(at *validation.Path, taints []corev1.Taint) {
	type keyEffect struct {
		key    string
		effect corev1.TaintEffect
	}
	var seen validation.Unique[keyEffect]
	validation.Each(at, taints, func(at *validation.Path, t *corev1.Taint) {
		validation.Format(at.Child("key"), t.Key, validation.QualifiedName)
		if faults := validation.LabelValue(t.Value); len(faults) > 0 {
			at.Child("value").Invalid(t.Value, strings.Join(faults, ";"))
		}
		pod.TaintEffect(at.Child("effect"), t.Effect)
		if id := (keyEffect{t.Key, t.Effect}); seen.Has(id) {
			err := field.Duplicate(at.ToField(), validation.InternalForm(t))
			err.Detail = "taints must be unique by key and effect pair"
			at.Add(err)
		} else {
			seen.Insert(id)
		}
	})
}

// defaultNodeStatus sets allocatable to capacity if it is missing.
func defaultNodeStatus(s *corev1.NodeStatus) {
	validation.RoundToMillis(s.Capacity)
	if s.Allocatable == nil && s.Capacity != nil {
		s.Allocatable = s.Capacity.DeepCopy()
	}
	validation.RoundToMillis(s.Allocatable)
}

func nodeWarnings(n *corev1.Node) []string {
	var warnings []string
	if n.Spec.ConfigSource != nil {
		warnings = append(warnings, "spec.configSource: the feature is removed")
	}
	if n.Spec.DoNotUseExternalID != "" {
		warnings = append(warnings, "spec.externalID: this field is deprecated, and is unused by Kubernetes")
	}
	return append(warnings, validation.Warn(func(at *validation.Path) {
		for i, cidr := range n.Spec.PodCIDRs {
			validation.WarnCIDRForm(at.Child("spec").Child("podCIDRs").Index(i), cidr)
		}
	})...)
}
