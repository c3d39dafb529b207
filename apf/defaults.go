package apf

import (
	"slices"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/kinds/flowcontrol"
	"github.com/miniapiserver/miniapiserver/request"
)

// autoUpdate is the annotation that decides whether servers or users control the spec of a
// suggested object.
const autoUpdate = "apf.kubernetes.io/autoupdate-spec"

// defaultObjects are the objects that every server maintains.
type defaultObjects struct {
	levels  []*flowcontrolv1.PriorityLevelConfiguration
	schemas []*flowcontrolv1.FlowSchema
}

// suggestedObjects returns kube-apiserver's suggested configuration, which users may change.
func suggestedObjects() defaultObjects {
	all := []flowcontrolv1.PolicyRulesWithSubjects{allRequestsRule(
		groupSubject(request.GroupUnauthenticated), groupSubject(request.GroupAuthenticated))}
	lease := flowcontrolv1.ResourcePolicyRule{
		APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Namespaces: wildcard(), Verbs: wildcard()}
	election := lease
	election.Verbs = []string{"get", "create", "update"}
	nodes := flowcontrolv1.ResourcePolicyRule{
		APIGroups: []string{""}, Resources: []string{"nodes", "nodes/status"}, ClusterScope: true, Namespaces: wildcard(), Verbs: wildcard()}
	manager, scheduler := userSubject("system:kube-controller-manager"), userSubject("system:kube-scheduler")
	system := serviceAccountSubject("kube-system", flowcontrolv1.NameAll)
	byUser, byNamespace := flowcontrolv1.FlowDistinguisherMethodByUserType, flowcontrolv1.FlowDistinguisherMethodByNamespaceType
	return defaultObjects{
		levels: []*flowcontrolv1.PriorityLevelConfiguration{
			newQueuingLevel("system", 30, 33, 64, 6),
			newQueuingLevel("node-high", 40, 25, 64, 6),
			newQueuingLevel("leader-election", 10, 0, 16, 4),
			newQueuingLevel("workload-high", 40, 50, 128, 6),
			newQueuingLevel("workload-low", 100, 90, 128, 6),
			newQueuingLevel("global-default", 20, 50, 128, 6),
		},
		schemas: []*flowcontrolv1.FlowSchema{
			newFlowSchema("system-nodes", "system", 500, byUser, allRequestsRule(groupSubject("system:nodes"))),
			newFlowSchema("system-node-high", "node-high", 400, byUser,
				resourceRule([]flowcontrolv1.ResourcePolicyRule{nodes, lease}, groupSubject("system:nodes"))),
			newFlowSchema("probes", "exempt", 2, "", nonResourceRule([]string{"/healthz", "/readyz", "/livez"}, all[0].Subjects...)),
			newFlowSchema("system-leader-election", "leader-election", 100, byUser,
				resourceRule([]flowcontrolv1.ResourcePolicyRule{election}, manager, scheduler, system)),
			newFlowSchema("kube-controller-manager", "workload-high", 800, byNamespace, allRequestsRule(manager)),
			newFlowSchema("kube-scheduler", "workload-high", 800, byNamespace, allRequestsRule(scheduler)),
			newFlowSchema("kube-system-service-accounts", "workload-high", 900, byNamespace, allRequestsRule(system)),
			newFlowSchema("service-accounts", "workload-low", 9000, byUser, allRequestsRule(groupSubject(request.GroupServiceAccounts))),
			newFlowSchema("global-default", "global-default", 9900, byUser, all...),
		},
	}
}

// mandatoryObjects returns the objects that every server needs: an exempt level for
// administrators and a catch-all level. Their specs are immutable.
func mandatoryObjects() defaultObjects {
	var d defaultObjects
	for _, name := range []string{flowcontrolv1.FlowSchemaNameExempt, flowcontrolv1.FlowSchemaNameCatchAll} {
		d.schemas = append(d.schemas, &flowcontrolv1.FlowSchema{ObjectMeta: maintainedMeta(name), Spec: *flowcontrol.MandatoryFlowSchema(name)})
		level := &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: maintainedMeta(name)}
		level.Spec = *flowcontrol.MandatoryPriorityLevel(level)
		d.levels = append(d.levels, level)
	}
	return d
}

func maintainedMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Annotations: map[string]string{autoUpdate: "true"}}
}

func newQueuingLevel(name string, shares, lendable, queues, hand int32) *flowcontrolv1.PriorityLevelConfiguration {
	return &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: maintainedMeta(name), Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
		Type: flowcontrolv1.PriorityLevelEnablementLimited,
		Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
			NominalConcurrencyShares: &shares, LendablePercent: &lendable,
			LimitResponse: flowcontrolv1.LimitResponse{
				Type:    flowcontrolv1.LimitResponseTypeQueue,
				Queuing: &flowcontrolv1.QueuingConfiguration{Queues: queues, HandSize: hand, QueueLengthLimit: 50},
			},
		},
	}}
}

func newFlowSchema(name, level string, precedence int32, by flowcontrolv1.FlowDistinguisherMethodType,
	rules ...flowcontrolv1.PolicyRulesWithSubjects) *flowcontrolv1.FlowSchema {
	s := &flowcontrolv1.FlowSchema{ObjectMeta: maintainedMeta(name), Spec: flowcontrolv1.FlowSchemaSpec{
		PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: level},
		MatchingPrecedence:         precedence, Rules: rules,
	}}
	if by != "" {
		s.Spec.DistinguisherMethod = &flowcontrolv1.FlowDistinguisherMethod{Type: by}
	}
	return s
}

func wildcard() []string { return []string{"*"} }

func allRequestsRule(subjects ...flowcontrolv1.Subject) flowcontrolv1.PolicyRulesWithSubjects {
	r := nonResourceRule(wildcard(), subjects...)
	r.NonResourceRules[0].Verbs = wildcard()
	r.ResourceRules = []flowcontrolv1.ResourcePolicyRule{{
		Verbs: wildcard(), APIGroups: wildcard(), Resources: wildcard(), ClusterScope: true, Namespaces: wildcard()}}
	return r
}

func nonResourceRule(urls []string, subjects ...flowcontrolv1.Subject) flowcontrolv1.PolicyRulesWithSubjects {
	return flowcontrolv1.PolicyRulesWithSubjects{Subjects: slices.Clone(subjects),
		NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: []string{"get"}, NonResourceURLs: urls}}}
}

func resourceRule(rules []flowcontrolv1.ResourcePolicyRule, subjects ...flowcontrolv1.Subject) flowcontrolv1.PolicyRulesWithSubjects {
	return flowcontrolv1.PolicyRulesWithSubjects{Subjects: subjects, ResourceRules: rules}
}

func groupSubject(name string) flowcontrolv1.Subject {
	return flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: name}}
}

func userSubject(name string) flowcontrolv1.Subject {
	return flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: name}}
}

func serviceAccountSubject(namespace, name string) flowcontrolv1.Subject {
	return flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindServiceAccount,
		ServiceAccount: &flowcontrolv1.ServiceAccountSubject{Namespace: namespace, Name: name}}
}
