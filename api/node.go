package api

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// node is a machine that pods run on.
func node() *Resource {
	return &Resource{
		Name: "nodes", Singular: "node", Kind: "Node",
		ShortNames:     []string{"no"},
		Versions:       selectable(served(corev1.SchemeGroupVersion), nameLabel, "spec.unschedulable"),
		New:            func() Object { return &corev1.Node{} },
		Rows:           &Table{Columns: nodeColumns, Cells: nodeCells},
		Prefix:         "minions",
		ValidateCreate: rulesOf(nodeRules),
		ValidateUpdate: changesOf(func(at *place, is, was *corev1.Node) {
			nodeRules(at, is)
			nodeChanges(at, is, was)
		}),
		ValidateStatusUpdate: changesOf(nodeChanges),
		ObjectWarnings:       nodeWarnings,
		MetadataRevalidated:  true,
		HasStatus:            true,
		Subresources:         []*Subresource{nodeProxy()},
		PrepareCreate:        func(obj Object) { dropConfigSource(obj.(*corev1.Node), nil) },
		PrepareUpdate:        func(obj, old Object) { dropConfigSource(obj.(*corev1.Node), old.(*corev1.Node)) },
		PrepareStatusUpdate: func(obj, old Object) {
			if old.(*corev1.Node).Status.Config == nil {
				obj.(*corev1.Node).Status.Config = nil
			}
		},
		// A kubelet registers itself together with its status.
		KeepStatusOnCreate: true,
		Default: func(obj Object) {
			n := obj.(*corev1.Node)
			alignPodCIDRs(&n.Spec)
			defaultNodeStatus(&n.Status)
		},
		Fields: func(obj Object) map[string]string {
			return map[string]string{"spec.unschedulable": strconv.FormatBool(obj.(*corev1.Node).Spec.Unschedulable)}
		},
	}
}

// alignPodCIDRs makes the one range and the first of all ranges the same. Where
// they differ the older field rules, because only old clients write it.
func alignPodCIDRs(s *corev1.NodeSpec) {
	switch {
	case s.PodCIDR == "" && len(s.PodCIDRs) > 0:
		s.PodCIDR = s.PodCIDRs[0]
	case s.PodCIDR != "" && (len(s.PodCIDRs) == 0 || s.PodCIDRs[0] != s.PodCIDR):
		s.PodCIDRs = []string{s.PodCIDR}
	}
}
