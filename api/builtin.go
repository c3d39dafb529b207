package api

import "time"

// BuiltIn is the list of kinds. A new kind has a file of its own and one line
// here.
func BuiltIn() []*Resource {
	return []*Resource{
		// core
		binding(),
		componentStatus(),
		configMap(),
		endpoints(),
		event(),
		limitRange(),
		namespace(),
		node(),
		persistentVolume(time.Now),
		persistentVolumeClaim(),
		pod(),
		podTemplate(),
		replicationController(),
		resourceQuota(),
		secret(),
		service(),
		serviceAccount(),
		// apiextensions.k8s.io
		customResourceDefinition(time.Now),
		// apiregistration.k8s.io
		apiService(time.Now),
		// apps
		controllerRevision(),
		daemonSet(),
		deployment(),
		replicaSet(),
		statefulSet(),
		// authentication.k8s.io
		selfSubjectReview(),
		tokenReview(),
		// authorization.k8s.io
		localSubjectAccessReview(),
		selfSubjectAccessReview(),
		selfSubjectRulesReview(),
		subjectAccessReview(),
		// autoscaling
		horizontalPodAutoscaler(),
		// batch
		cronJob(),
		job(),
		// certificates.k8s.io
		certificateSigningRequest(time.Now),
		// coordination.k8s.io
		lease(),
		// discovery.k8s.io
		endpointSlice(),
		// flowcontrol.apiserver.k8s.io
		flowSchema(),
		priorityLevelConfiguration(),
		// networking.k8s.io
		ingress(),
		ingressClass(),
		ipAddresses(),
		networkPolicy(),
		serviceCIDR(),
		// node.k8s.io
		runtimeClass(),
		// policy
		podDisruptionBudget(),
		// rbac.authorization.k8s.io
		clusterRole(),
		clusterRoleBinding(),
		role(),
		roleBinding(),
		// resource.k8s.io
		deviceClass(),
		resourceClaim(),
		resourceClaimTemplate(),
		resourceSlice(time.Now),
		// scheduling.k8s.io
		priorityClass(),
		// storage.k8s.io
		csiDriver(),
		csiNode(),
		csiStorageCapacity(),
		storageClass(),
		volumeAttachment(),
		volumeAttributesClass(),
		// admissionregistration.k8s.io
		mutatingAdmissionPolicy(),
		mutatingAdmissionPolicyBinding(),
		mutatingWebhookConfiguration(),
		validatingAdmissionPolicy(),
		validatingAdmissionPolicyBinding(),
		validatingWebhookConfiguration(),
	}
}
