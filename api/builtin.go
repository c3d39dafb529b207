package api

import (
	"time"

	"github.com/miniapiserver/miniapiserver/internal/features"
)

// BuiltIn is the list of kinds, with all feature gates at their defaults.
func BuiltIn() []*Resource { return BuiltInWith(features.Default()) }

// BuiltInWith is the list of kinds, which follow feature gates.
func BuiltInWith(gates features.Gates) []*Resource {
	kinds := kindsOf(gates)
	for _, r := range kinds {
		r.follow(gates)
	}
	return kinds
}

// kindsOf is the list of kinds. A new kind has a file of its own and one line here.
func kindsOf(gates features.Gates) []*Resource {
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
		clusterTrustBundle(),
		podCertificateRequest(time.Now),
		// coordination.k8s.io
		lease(gates),
		leaseCandidate(),
		// discovery.k8s.io
		endpointSlice(),
		// flowcontrol.apiserver.k8s.io
		flowSchema(),
		priorityLevelConfiguration(),
		// internal.apiserver.k8s.io
		storageVersion(),
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
		deviceTaintRule(time.Now),
		resourceClaim(),
		resourceClaimTemplate(),
		resourcePoolStatusRequest(),
		resourceSlice(time.Now),
		// scheduling.k8s.io
		podGroup(gates),
		priorityClass(),
		workload(gates),
		// storage.k8s.io
		csiDriver(),
		csiNode(),
		csiStorageCapacity(),
		storageClass(),
		volumeAttachment(),
		volumeAttributesClass(),
		// storagemigration.k8s.io
		storageVersionMigration(),
		// admissionregistration.k8s.io
		mutatingAdmissionPolicy(),
		mutatingAdmissionPolicyBinding(),
		mutatingWebhookConfiguration(),
		validatingAdmissionPolicy(),
		validatingAdmissionPolicyBinding(),
		validatingWebhookConfiguration(),
	}
}
