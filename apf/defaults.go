package apf

import (
	"slices"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
)

// autoUpdate is the annotation that says whether the servers or the users
// control the spec of a suggested object.
const autoUpdate = "apf.kubernetes.io/autoupdate-spec"

// defaults are the objects that every server maintains.
type defaults struct {
	levels  []*flowcontrolv1.PriorityLevelConfiguration
	schemas []*flowcontrolv1.FlowSchema
}

// suggested is a configuration that suits most clusters. Users may change it.
func suggested() defaults {
	all := []flowcontrolv1.PolicyRulesWithSubjects{everything(
		inGroup("system:unauthenticated"), inGroup("system:authenticated"))}
	lease := flowcontrolv1.ResourcePolicyRule{
		APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Namespaces: anything(), Verbs: anything()}
	election := lease
	election.Verbs = []string{"get", "create", "update"}
	nodes := flowcontrolv1.ResourcePolicyRule{
		APIGroups: []string{""}, Resources: []string{"nodes", "nodes/status"}, ClusterScope: true, Namespaces: anything(), Verbs: anything()}
	manager, scheduler := user("system:kube-controller-manager"), user("system:kube-scheduler")
	system := account("kube-system", flowcontrolv1.NameAll)
	byUser, byNamespace := flowcontrolv1.FlowDistinguisherMethodByUserType, flowcontrolv1.FlowDistinguisherMethodByNamespaceType
	return defaults{
		levels: []*flowcontrolv1.PriorityLevelConfiguration{
			queued("system", 30, 33, 64, 6),
			queued("node-high", 40, 25, 64, 6),
			queued("leader-election", 10, 0, 16, 4),
			queued("workload-high", 40, 50, 128, 6),
			queued("workload-low", 100, 90, 128, 6),
			queued("global-default", 20, 50, 128, 6),
		},
		schemas: []*flowcontrolv1.FlowSchema{
			schemaOf("system-nodes", "system", 500, byUser, everything(inGroup("system:nodes"))),
			schemaOf("system-node-high", "node-high", 400, byUser, resources([]flowcontrolv1.ResourcePolicyRule{nodes, lease}, inGroup("system:nodes"))),
			schemaOf("probes", "exempt", 2, "", paths([]string{"/healthz", "/readyz", "/livez"}, all[0].Subjects...)),
			schemaOf("system-leader-election", "leader-election", 100, byUser, resources([]flowcontrolv1.ResourcePolicyRule{election}, manager, scheduler, system)),
			schemaOf("kube-controller-manager", "workload-high", 800, byNamespace, everything(manager)),
			schemaOf("kube-scheduler", "workload-high", 800, byNamespace, everything(scheduler)),
			schemaOf("kube-system-service-accounts", "workload-high", 900, byNamespace, everything(system)),
			schemaOf("service-accounts", "workload-low", 9000, byUser, everything(inGroup("system:serviceaccounts"))),
			schemaOf("global-default", "global-default", 9900, byUser, all...),
		},
	}
}

// mandatory is what no server can do without: those who mend it are exempt, and
// every request is of some class. Its specs are fixed.
func mandatory() defaults {
	var d defaults
	for _, name := range []string{flowcontrolv1.FlowSchemaNameExempt, flowcontrolv1.FlowSchemaNameCatchAll} {
		d.schemas = append(d.schemas, &flowcontrolv1.FlowSchema{ObjectMeta: maintained(name), Spec: *api.MandatoryFlowSchema(name)})
		level := &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: maintained(name)}
		level.Spec = *api.MandatoryPriorityLevel(level)
		d.levels = append(d.levels, level)
	}
	return d
}

func maintained(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Annotations: map[string]string{autoUpdate: "true"}}
}

func queued(name string, shares, lendable, queues, hand int32) *flowcontrolv1.PriorityLevelConfiguration {
	return &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: maintained(name), Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
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

func schemaOf(name, level string, precedence int32, by flowcontrolv1.FlowDistinguisherMethodType, rules ...flowcontrolv1.PolicyRulesWithSubjects) *flowcontrolv1.FlowSchema {
	s := &flowcontrolv1.FlowSchema{ObjectMeta: maintained(name), Spec: flowcontrolv1.FlowSchemaSpec{
		PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: level},
		MatchingPrecedence:         precedence, Rules: rules,
	}}
	if by != "" {
		s.Spec.DistinguisherMethod = &flowcontrolv1.FlowDistinguisherMethod{Type: by}
	}
	return s
}

func anything() []string { return []string{"*"} }

func everything(subjects ...flowcontrolv1.Subject) flowcontrolv1.PolicyRulesWithSubjects {
	r := paths(anything(), subjects...)
	r.NonResourceRules[0].Verbs = anything()
	r.ResourceRules = []flowcontrolv1.ResourcePolicyRule{{
		Verbs: anything(), APIGroups: anything(), Resources: anything(), ClusterScope: true, Namespaces: anything()}}
	return r
}

func paths(urls []string, subjects ...flowcontrolv1.Subject) flowcontrolv1.PolicyRulesWithSubjects {
	return flowcontrolv1.PolicyRulesWithSubjects{Subjects: slices.Clone(subjects),
		NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: []string{"get"}, NonResourceURLs: urls}}}
}

func resources(rules []flowcontrolv1.ResourcePolicyRule, subjects ...flowcontrolv1.Subject) flowcontrolv1.PolicyRulesWithSubjects {
	return flowcontrolv1.PolicyRulesWithSubjects{Subjects: subjects, ResourceRules: rules}
}

func inGroup(name string) flowcontrolv1.Subject {
	return flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: name}}
}

func user(name string) flowcontrolv1.Subject {
	return flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: name}}
}

func account(namespace, name string) flowcontrolv1.Subject {
	return flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindServiceAccount,
		ServiceAccount: &flowcontrolv1.ServiceAccountSubject{Namespace: namespace, Name: name}}
}
