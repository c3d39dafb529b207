package validation

import "github.com/miniapiserver/miniapiserver/internal/features"

// Strictness says which rules apply, because some depend on feature gates. The zero value has the
// gates of a server without --feature-gates. A path has that of its root, so that a rule deep in an
// object, such as in a pod template, need not be given the gates.
type Strictness struct {
	// changed has a bit for each Gate that is not in its default state. It is small because it is
	// copied to each path.
	changed uint32
}

// Gate is a feature gate on which rules depend.
type Gate uint8

// Gates on which rules depend, named as in --feature-gates.
const (
	ContainerRestartRules Gate = iota
	EnvFiles
	InPlacePodLevelResourcesVerticalScaling
	InPlacePodVerticalScalingInitContainers
	InPlacePodVerticalScalingMemoryBackedVolumes
	MatchLabelKeysInPodTopologySpreadSelectorMerge
	MutableCSINodeAllocatableCount
	MutablePVNodeAffinity
	PodDeletionCost
	PodLevelResources
	PreferSameTrafficDistribution
	RestartAllContainersOnContainerExits
	SELinuxMount
	StrictIPCIDRValidation
	TaintTolerationComparisonOperators
	UserNamespacesHostNetworkSupport
	VolumeAttributesClass
)

// ruleGates has the name and the default state of each Gate.
var ruleGates = [...]struct {
	name      string
	byDefault bool
}{
	ContainerRestartRules:                          {features.ContainerRestartRules, true},
	EnvFiles:                                       {features.EnvFiles, true},
	InPlacePodLevelResourcesVerticalScaling:        {features.InPlacePodLevelResourcesVerticalScaling, true},
	InPlacePodVerticalScalingInitContainers:        {features.InPlacePodVerticalScalingInitContainers, true},
	InPlacePodVerticalScalingMemoryBackedVolumes:   {features.InPlacePodVerticalScalingMemoryBackedVolumes, false},
	MatchLabelKeysInPodTopologySpreadSelectorMerge: {features.MatchLabelKeysInPodTopologySpreadSelectorMerge, true},
	MutableCSINodeAllocatableCount:                 {features.MutableCSINodeAllocatableCount, true},
	MutablePVNodeAffinity:                          {features.MutablePVNodeAffinity, false},
	PodDeletionCost:                                {features.PodDeletionCost, true},
	PodLevelResources:                              {features.PodLevelResources, true},
	PreferSameTrafficDistribution:                  {features.PreferSameTrafficDistribution, true},
	RestartAllContainersOnContainerExits:           {features.RestartAllContainersOnContainerExits, true},
	SELinuxMount:                                   {features.SELinuxMount, true},
	StrictIPCIDRValidation:                         {features.StrictIPCIDRValidation, true},
	TaintTolerationComparisonOperators:             {features.TaintTolerationComparisonOperators, false},
	UserNamespacesHostNetworkSupport:               {features.UserNamespacesHostNetworkSupport, false},
	VolumeAttributesClass:                          {features.VolumeAttributesClass, true},
}

// StrictnessOf returns the strictness of a server with the given gates.
func StrictnessOf(gates features.Gates) Strictness {
	var s Strictness
	for i, g := range ruleGates {
		if gates.Enabled(g.name) != g.byDefault {
			s.changed |= 1 << i
		}
	}
	return s
}

// Enabled reports whether a feature gate is enabled, for a rule that depends on it.
func (p *Path) Enabled(g Gate) bool {
	return ruleGates[g].byDefault != (p.strictness.changed>>g&1 != 0)
}
