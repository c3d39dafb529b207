// Package features defines the feature gates of a server: which gates exist, which are
// enabled by default in a release of Kubernetes, and which the user has changed.
//
// Few gates change the behaviour of this server; Effective lists them. The others belong to
// other components, or to behaviour that this server always or never has. They are
// accepted, so that a configuration for kube-apiserver works unchanged.
package features

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// Gates that change the behaviour of this server.
const (
	APIResponseCompression                              = "APIResponseCompression"
	APIServerIdentity                                   = "APIServerIdentity"
	APIServerWebhookAuthenticationToken                 = "APIServerWebhookAuthenticationToken"
	AllowInsecureKubeletCertificateSigningRequests      = "AllowInsecureKubeletCertificateSigningRequests"
	AllowParsingUserUIDFromCertAuth                     = "AllowParsingUserUIDFromCertAuth"
	AllowUnsafeMalformedObjectDeletion                  = "AllowUnsafeMalformedObjectDeletion"
	AuthorizePodWebsocketUpgradeCreatePermission        = "AuthorizePodWebsocketUpgradeCreatePermission"
	CBORServingAndStorage                               = "CBORServingAndStorage"
	CSIServiceAccountTokenSecrets                       = "CSIServiceAccountTokenSecrets"
	CSIVolumeHealth                                     = "CSIVolumeHealth"
	ClearingNominatedNodeNameAfterBinding               = "ClearingNominatedNodeNameAfterBinding"
	ClusterTrustBundle                                  = "ClusterTrustBundle"
	ClusterTrustBundleProjection                        = "ClusterTrustBundleProjection"
	ComponentFlagz                                      = "ComponentFlagz"
	ComponentStatusz                                    = "ComponentStatusz"
	CompositePodGroup                                   = "CompositePodGroup"
	ConstrainedImpersonation                            = "ConstrainedImpersonation"
	ContainerRestartRules                               = "ContainerRestartRules"
	CoordinatedLeaderElection                           = "CoordinatedLeaderElection"
	CrossNamespaceVolumeDataSource                      = "CrossNamespaceVolumeDataSource"
	DRAConsumableCapacity                               = "DRAConsumableCapacity"
	DRADeviceTaintRules                                 = "DRADeviceTaintRules"
	DRADeviceTaints                                     = "DRADeviceTaints"
	DRAExtendedResource                                 = "DRAExtendedResource"
	DRAFractionalCapacityRange                          = "DRAFractionalCapacityRange"
	DRAListTypeAttributes                               = "DRAListTypeAttributes"
	DRANodeAllocatableResources                         = "DRANodeAllocatableResources"
	DRAResourceClaimGranularStatusAuthorization         = "DRAResourceClaimGranularStatusAuthorization"
	DRAResourcePoolStatus                               = "DRAResourcePoolStatus"
	DRAWorkloadResourceClaims                           = "DRAWorkloadResourceClaims"
	DeclarativeValidationBeta                           = "DeclarativeValidationBeta"
	DetectCacheInconsistency                            = "DetectCacheInconsistency"
	EnvFiles                                            = "EnvFiles"
	EvictionRequestAPI                                  = "EvictionRequestAPI"
	ExcludeAdmissionWebhookVirtualResources             = "ExcludeAdmissionWebhookVirtualResources"
	ExtendWebSocketsToKubelet                           = "ExtendWebSocketsToKubelet"
	GenericWorkload                                     = "GenericWorkload"
	GitRepoVolumeDriver                                 = "GitRepoVolumeDriver"
	H2CContainerProbe                                   = "H2CContainerProbe"
	HPAGeneration                                       = "HPAGeneration"
	HPAScaleToZero                                      = "HPAScaleToZero"
	ImageVolume                                         = "ImageVolume"
	InPlacePodLevelResourcesVerticalScaling             = "InPlacePodLevelResourcesVerticalScaling"
	InPlacePodVerticalScalingInitContainers             = "InPlacePodVerticalScalingInitContainers"
	InPlacePodVerticalScalingMemoryBackedVolumes        = "InPlacePodVerticalScalingMemoryBackedVolumes"
	KMSv1                                               = "KMSv1"
	KubeletFineGrainedAuthz                             = "KubeletFineGrainedAuthz"
	KubeletServiceAccountTokenForCredentialProviders    = "KubeletServiceAccountTokenForCredentialProviders"
	LoggingBetaOptions                                  = "LoggingBetaOptions"
	ManifestBasedAdmissionControlConfig                 = "ManifestBasedAdmissionControlConfig"
	MatchLabelKeysInPodTopologySpreadSelectorMerge      = "MatchLabelKeysInPodTopologySpreadSelectorMerge"
	MaxUnavailableStatefulSet                           = "MaxUnavailableStatefulSet"
	MutableCSINodeAllocatableCount                      = "MutableCSINodeAllocatableCount"
	MutablePVNodeAffinity                               = "MutablePVNodeAffinity"
	MutablePodResourcesForSuspendedJobs                 = "MutablePodResourcesForSuspendedJobs"
	MutableSchedulingDirectivesForSuspendedJobs         = "MutableSchedulingDirectivesForSuspendedJobs"
	MutatingAdmissionPolicy                             = "MutatingAdmissionPolicy"
	NativeHistograms                                    = "NativeHistograms"
	NodeDeclaredFeatures                                = "NodeDeclaredFeatures"
	OpenAPIEnums                                        = "OpenAPIEnums"
	PersistentVolumeClaimUnusedSinceTime                = "PersistentVolumeClaimUnusedSinceTime"
	PodCertificateRequest                               = "PodCertificateRequest"
	PodDeletionCost                                     = "PodDeletionCost"
	PodGroupPreemptionPolicy                            = "PodGroupPreemptionPolicy"
	PodLevelResources                                   = "PodLevelResources"
	PodLevelResourcesFixDefaulting                      = "PodLevelResourcesFixDefaulting"
	PodLevelResourcesFixKubeletQOSClass                 = "PodLevelResourcesFixKubeletQOSClass"
	PodLogsQuerySplitStreams                            = "PodLogsQuerySplitStreams"
	PodTopologyLabelsAdmission                          = "PodTopologyLabelsAdmission"
	PortForwardWebsockets                               = "PortForwardWebsockets"
	PreferSameTrafficDistribution                       = "PreferSameTrafficDistribution"
	ProcMountType                                       = "ProcMountType"
	RelaxedServiceNameValidation                        = "RelaxedServiceNameValidation"
	RemoteRequestHeaderUID                              = "RemoteRequestHeaderUID"
	RestartAllContainersOnContainerExits                = "RestartAllContainersOnContainerExits"
	SELinuxMount                                        = "SELinuxMount"
	ServiceAccountNodeAudienceRestriction               = "ServiceAccountNodeAudienceRestriction"
	ServiceCIDRStatusFieldWiping                        = "ServiceCIDRStatusFieldWiping"
	ShardedListAndWatch                                 = "ShardedListAndWatch"
	SizeBasedListCostEstimate                           = "SizeBasedListCostEstimate"
	StatefulSetRecreateStrategy                         = "StatefulSetRecreateStrategy"
	StorageVersionAPI                                   = "StorageVersionAPI"
	StorageVersionHash                                  = "StorageVersionHash"
	StorageVersionMigrator                              = "StorageVersionMigrator"
	StrictIPCIDRValidation                              = "StrictIPCIDRValidation"
	StructuredAuthenticationConfigurationEgressSelector = "StructuredAuthenticationConfigurationEgressSelector"
	StructuredAuthenticationConfigurationJWKSMetrics    = "StructuredAuthenticationConfigurationJWKSMetrics"
	TaintTolerationComparisonOperators                  = "TaintTolerationComparisonOperators"
	TokenRequestServiceAccountUIDValidation             = "TokenRequestServiceAccountUIDValidation"
	TopologyAwareWorkloadScheduling                     = "TopologyAwareWorkloadScheduling"
	TranslateStreamCloseWebsocketRequests               = "TranslateStreamCloseWebsocketRequests"
	UnauthenticatedHTTP2DOSMitigation                   = "UnauthenticatedHTTP2DOSMitigation"
	UnknownVersionInteroperabilityProxy                 = "UnknownVersionInteroperabilityProxy"
	UserNamespacesHostNetworkSupport                    = "UserNamespacesHostNetworkSupport"
	VolumeAttributesClass                               = "VolumeAttributesClass"
	VolumeLimitScaling                                  = "VolumeLimitScaling"
	WatchCacheInitializationPostStartHook               = "WatchCacheInitializationPostStartHook"
	WatchList                                           = "WatchList"
	WatchListCompression                                = "WatchListCompression"
	WebhookRoundTripLoadBalancing                       = "WebhookRoundTripLoadBalancing"
	WorkloadWithJob                                     = "WorkloadWithJob"
)

// Effective returns the names of the gates that change the behaviour of this server.
func Effective() []string {
	return []string{
		APIResponseCompression, APIServerIdentity, APIServerWebhookAuthenticationToken, AllowInsecureKubeletCertificateSigningRequests,
		AllowParsingUserUIDFromCertAuth, AllowUnsafeMalformedObjectDeletion, AuthorizePodWebsocketUpgradeCreatePermission, CBORServingAndStorage,
		CSIServiceAccountTokenSecrets, CSIVolumeHealth, ClearingNominatedNodeNameAfterBinding, ClusterTrustBundle, ClusterTrustBundleProjection,
		ComponentFlagz, ComponentStatusz, CompositePodGroup, ConstrainedImpersonation, ContainerRestartRules, CoordinatedLeaderElection,
		CrossNamespaceVolumeDataSource, DRAConsumableCapacity, DRADeviceTaintRules, DRADeviceTaints, DRAExtendedResource,
		DRAFractionalCapacityRange, DRAListTypeAttributes, DRANodeAllocatableResources, DRAResourceClaimGranularStatusAuthorization,
		DRAResourcePoolStatus, DRAWorkloadResourceClaims, DeclarativeValidationBeta, DetectCacheInconsistency, EnvFiles, EvictionRequestAPI,
		ExcludeAdmissionWebhookVirtualResources, ExtendWebSocketsToKubelet, GenericWorkload, GitRepoVolumeDriver, H2CContainerProbe,
		HPAGeneration, HPAScaleToZero, ImageVolume, InPlacePodLevelResourcesVerticalScaling, InPlacePodVerticalScalingInitContainers,
		InPlacePodVerticalScalingMemoryBackedVolumes, KMSv1, KubeletFineGrainedAuthz, KubeletServiceAccountTokenForCredentialProviders,
		LoggingBetaOptions, ManifestBasedAdmissionControlConfig, MatchLabelKeysInPodTopologySpreadSelectorMerge, MaxUnavailableStatefulSet,
		MutableCSINodeAllocatableCount, MutablePVNodeAffinity, MutablePodResourcesForSuspendedJobs, MutableSchedulingDirectivesForSuspendedJobs,
		MutatingAdmissionPolicy, NativeHistograms, NodeDeclaredFeatures, OpenAPIEnums, PersistentVolumeClaimUnusedSinceTime,
		PodCertificateRequest, PodDeletionCost, PodGroupPreemptionPolicy, PodLevelResources, PodLevelResourcesFixDefaulting,
		PodLevelResourcesFixKubeletQOSClass, PodLogsQuerySplitStreams, PodTopologyLabelsAdmission, PortForwardWebsockets,
		PreferSameTrafficDistribution, ProcMountType, RelaxedServiceNameValidation, RemoteRequestHeaderUID, RestartAllContainersOnContainerExits,
		SELinuxMount, ServiceAccountNodeAudienceRestriction, ServiceCIDRStatusFieldWiping, ShardedListAndWatch, SizeBasedListCostEstimate,
		StatefulSetRecreateStrategy, StorageVersionAPI, StorageVersionHash, StorageVersionMigrator, StrictIPCIDRValidation,
		StructuredAuthenticationConfigurationEgressSelector, StructuredAuthenticationConfigurationJWKSMetrics, TaintTolerationComparisonOperators,
		TokenRequestServiceAccountUIDValidation, TopologyAwareWorkloadScheduling, TranslateStreamCloseWebsocketRequests,
		UnauthenticatedHTTP2DOSMitigation, UnknownVersionInteroperabilityProxy, UserNamespacesHostNetworkSupport, VolumeAttributesClass,
		VolumeLimitScaling, WatchCacheInitializationPostStartHook, WatchList, WatchListCompression, WebhookRoundTripLoadBalancing,
		WorkloadWithJob,
	}
}

// Names of groups of gates.
const (
	allAlpha = "AllAlpha"
	allBeta  = "AllBeta"
)

//go:embed gates.txt
var gatesText string

//go:embed effects.txt
var effectsText string

// Headings of effects.txt besides the names of components.
const (
	Always = "always"
	Never  = "never"
	Inside = "inside"
)

// Elsewhere returns the gates that no code reads and that guard no field, by name, with their heading in effects.txt:
// what they mean on this server.
func Elsewhere() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(effectsText) {
		heading, names, ok := strings.Cut(line, ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for _, name := range strings.Fields(names) {
			out[name] = heading
		}
	}
	return out
}

// Gate is one feature gate of a release.
type Gate struct {
	Name string
	// Stage is alpha, beta, ga or deprecated.
	Stage string
	// Default is the state of the gate unless the user changes it. A Locked gate cannot be
	// changed.
	Default, Locked bool
	// Requires are gates that must be enabled if this one is.
	Requires []string
}

// Known returns the gates of a release, by name. Gates of later releases have no stage and cannot
// be enabled. The map is shared and must not be changed.
func Known(release kubeversion.Effective) map[string]Gate {
	if gates, ok := known.Load(release); ok {
		return gates.(map[string]Gate)
	}
	gates, _ := known.LoadOrStore(release, readGates(gatesText, release))
	return gates.(map[string]Gate)
}

// known has the result of Known, which several steps of a start need, by release.
var known sync.Map

func readGates(text string, release kubeversion.Effective) map[string]Gate {
	gates := map[string]Gate{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 || strings.HasPrefix(line, "#") {
			continue
		}
		g := Gate{Name: words[0]}
		for _, w := range words[1:] {
			key, value, _ := strings.Cut(w, "=")
			if key == "needs" {
				g.Requires = strings.Split(value, ",")
				continue
			}
			if !release.Emulated.Before(kubeversion.MustParse(key)) {
				g.enter(strings.Split(value, ","), release.MinCompatibility)
			}
		}
		gates[g.Name] = g
	}
	return gates
}

// enter gives the gate the stage of a release: its name, the default, and conditions. A stage can
// require that no other server on the same data is of an earlier release.
func (g *Gate) enter(stage []string, minCompatibility kubeversion.Minor) {
	for _, condition := range stage[2:] {
		if minimum, ok := strings.CutPrefix(condition, "min="); ok && minCompatibility.Before(kubeversion.MustParse(minimum)) {
			return
		}
	}
	g.Stage, g.Default, g.Locked = stage[0], stage[1] == "on", slices.Contains(stage, "locked")
}

// Gates are the enabled gates of one server. The nil map has all gates disabled.
type Gates map[string]bool

// Default returns the gates in their default states.
func Default() Gates { return defaults(Known(kubeversion.Default())) }

func defaults(all map[string]Gate) Gates {
	g := make(Gates, len(all))
	for name, gate := range all {
		g[name] = gate.Default
	}
	return g
}

// Enabled reports whether a gate is enabled.
func (g Gates) Enabled(name string) bool { return g[name] }

// New returns the gates of the default release with the changes of --feature-gates.
func New(chosen map[string]bool) (Gates, error) { return Emulated(kubeversion.Default(), chosen) }

// Emulated returns the gates of an emulated release with the changes of --feature-gates. AllAlpha
// and AllBeta change the gates of a stage that are not named themselves.
func Emulated(release kubeversion.Effective, chosen map[string]bool) (Gates, error) {
	all := Known(release)
	g := defaults(all)
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		on := chosen[name]
		gate, ok := all[name]
		switch {
		case name == allAlpha || name == allBeta:
			g[name] = on
			for other, gate := range all {
				if _, named := chosen[other]; !named && allOf(gate.Stage) == name {
					g[other] = on
				}
			}
		case !ok:
			return nil, fmt.Errorf("unrecognized feature gate: %s", name)
		case gate.Locked && on != gate.Default:
			return nil, fmt.Errorf("cannot set feature gate %s to %t, feature is locked to %t", name, on, gate.Default)
		case gate.Stage == "":
			return nil, fmt.Errorf("cannot set feature gate %s to %t, feature is PreAlpha at emulated version %s, min compatibility version %s",
				name, on, release.Emulated, release.MinCompatibility)
		default:
			g[name] = on
		}
	}
	return g, g.checkNeeds(all)
}

// allOf returns the name of the group of gates of a stage.
func allOf(stage string) string {
	switch stage {
	case "alpha":
		return allAlpha
	case "beta":
		return allBeta
	}
	return ""
}

// checkNeeds returns an error if a gate is enabled but not one that it requires.
func (g Gates) checkNeeds(all map[string]Gate) error {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !g.Enabled(name) {
			continue
		}
		missing := slices.DeleteFunc(slices.Clone(all[name].Requires), g.Enabled)
		if len(missing) > 0 {
			return fmt.Errorf("%s is enabled, but depends on features that are disabled: [%s]", name, strings.Join(missing, " "))
		}
	}
	return nil
}

// WithoutEffect returns the names of gates that differ from their defaults in a release and have
// no effect on this server.
func (g Gates) WithoutEffect(release kubeversion.Effective) []string {
	var names []string
	for name, gate := range Known(release) {
		if g[name] != gate.Default && name != allAlpha && name != allBeta && !slices.Contains(Effective(), name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
