package validation

import (
	"reflect"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// internalShape returns the fields of the internal counterpart of a published
// type, in order, where they are not those of the published type. A field
// followed by "!" is a value where the published type has a pointer: it is zero
// where the pointer is nil. Fields that no published type has (templateGeneration
// of a DaemonSet, rollbackTo of a Deployment) are left out.
func internalShape(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[admissionv1.NamedRuleWithOperations]():
		return "ResourceNames RuleWithOperations"
	case reflect.TypeFor[admissionv1.ServiceReference]():
		return "Namespace Name Path Port!"
	case reflect.TypeFor[admissionv1.ValidatingAdmissionPolicySpec]():
		return "ParamKind MatchConstraints Validations MatchConditions FailurePolicy AuditAnnotations Variables"
	case reflect.TypeFor[appsv1.DeploymentSpec]():
		return "Replicas! Selector Template Strategy MinReadySeconds RevisionHistoryLimit Paused ProgressDeadlineSeconds"
	case reflect.TypeFor[appsv1.ReplicaSetSpec]():
		return "Replicas! MinReadySeconds Selector Template"
	case reflect.TypeFor[appsv1.StatefulSetSpec]():
		return "Replicas! Selector Template VolumeClaimTemplates ServiceName PodManagementPolicy UpdateStrategy RevisionHistoryLimit " +
			"MinReadySeconds PersistentVolumeClaimRetentionPolicy Ordinals"
	case reflect.TypeFor[appsv1.RollingUpdateDaemonSet](), reflect.TypeFor[appsv1.RollingUpdateDeployment]():
		return "MaxUnavailable! MaxSurge!"
	case reflect.TypeFor[appsv1.RollingUpdateStatefulSetStrategy]():
		return "Partition! MaxUnavailable"
	case reflect.TypeFor[autoscalingv2.ContainerResourceMetricSource]():
		return "Name Container Target"
	case reflect.TypeFor[autoscalingv2.ContainerResourceMetricStatus]():
		return "Name Container Current"
	case reflect.TypeFor[batchv1.JobSpec]():
		return "Parallelism Completions PodFailurePolicy SuccessPolicy ActiveDeadlineSeconds BackoffLimit BackoffLimitPerIndex " +
			"MaxFailedIndexes Selector ManualSelector Template TTLSecondsAfterFinished CompletionMode Suspend PodReplacementPolicy ManagedBy Scheduling"
	case reflect.TypeFor[batchv1.JobStatus]():
		return "Conditions StartTime CompletionTime Active Terminating Ready Succeeded Failed CompletedIndexes FailedIndexes UncountedTerminatedPods"
	case reflect.TypeFor[flowcontrolv1.LimitedPriorityLevelConfiguration]():
		return "NominalConcurrencyShares! LimitResponse LendablePercent BorrowingLimitPercent"
	case reflect.TypeFor[storagev1.CSIDriverSpec]():
		return "AttachRequired FSGroupPolicy PodInfoOnMount VolumeLifecycleModes StorageCapacity TokenRequests RequiresRepublish " +
			"SELinuxMount NodeAllocatableUpdatePeriodSeconds ServiceAccountTokenInSecrets PreventPodSchedulingIfMissing"
	}
	return coreInternalShape(t)
}

func coreInternalShape(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[corev1.NodeSpec]():
		return "PodCIDRs ProviderID Unschedulable Taints ConfigSource DoNotUseExternalID PodPreemptionPolicy"
	case reflect.TypeFor[corev1.PodStatus]():
		return "ObservedGeneration Phase Conditions Message Reason NominatedNodeName HostIP HostIPs PodIPs StartTime QOSClass " +
			"InitContainerStatuses ContainerStatuses EphemeralContainerStatuses Resize ResourceClaimStatuses ExtendedResourceClaimStatus " +
			"AllocatedResources Resources NodeAllocatableResourceClaimStatuses VolumeHealth"
	case reflect.TypeFor[corev1.ServiceAccountTokenProjection]():
		return "Audience ExpirationSeconds! Path User"
	case reflect.TypeFor[corev1.ServiceSpec]():
		return "Type Ports Selector ClusterIP ClusterIPs IPFamilies IPFamilyPolicy ExternalName ExternalIPs LoadBalancerIP SessionAffinity " +
			"SessionAffinityConfig LoadBalancerSourceRanges ExternalTrafficPolicy HealthCheckNodePort PublishNotReadyAddresses " +
			"AllocateLoadBalancerNodePorts LoadBalancerClass InternalTrafficPolicy TrafficDistribution"
	}
	return ""
}

// shapedFields returns the fields of a struct that a shape lists, in its order.
func shapedFields(v reflect.Value, shape string) orderedFields {
	var fields orderedFields
	for name := range strings.FieldsSeq(shape) {
		name, value := strings.TrimSuffix(name, "!"), strings.HasSuffix(name, "!")
		f := v.FieldByName(name)
		if value && f.IsNil() {
			f = reflect.Zero(f.Type().Elem())
		}
		fields = append(fields, orderedField{name, internalFormOf(f)})
	}
	return fields
}
