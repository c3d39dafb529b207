package admission

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// newPodSecurity keeps pods within the security level that the labels of their
// namespace, or else the configuration, name. What makes pods is only warned of.
func newPodSecurity(c *Config, file []byte) (Plugin, error) {
	config, err := readPodSecurityConfig(file)
	if err != nil {
		return Plugin{}, err
	}
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return Plugin{}, err
	}
	p := &podSecurity{
		config: config, evaluator: evaluator,
		namespaces: namespacesOf(c.Objects), pods: read[*corev1.Pod](c.Objects, corev1.Resource("pods")),
	}
	write := []string{api.VerbCreate, api.VerbUpdate}
	makers := append(core("replicationcontrollers", "podtemplates"),
		appsv1.Resource("replicasets"), appsv1.Resource("deployments"), appsv1.Resource("statefulsets"), appsv1.Resource("daemonsets"),
		batchv1.Resource("jobs"), batchv1.Resource("cronjobs"))
	return Plugin{
		Handles: []Handles{
			{write, core("pods", "pods/ephemeralcontainers", "pods/resize", "namespaces")},
			{write, makers},
		},
		Validate: p.validate,
	}, nil
}

type podSecurity struct {
	config     *podSecurityConfig
	evaluator  policy.Evaluator
	namespaces *reader[*corev1.Namespace]
	pods       *reader[*corev1.Pod]
}

func (p *podSecurity) validate(ctx context.Context, a *registry.Attributes) error {
	switch obj := a.Object.(type) {
	case *corev1.Namespace:
		return p.namespace(ctx, a, obj)
	case *corev1.Pod:
		return p.pod(ctx, a, obj)
	}
	return p.maker(ctx, a)
}

// annotate notes something for the audit event under the plugin's domain.
func annotate(a *registry.Attributes, key, value string) {
	a.Annotate("pod-security.kubernetes.io/"+key, value)
}

// exempt tells whether a namespace or a user is not looked at.
func (p *podSecurity) exempt(a *registry.Attributes) bool {
	switch {
	case a.Namespace != "" && slices.Contains(p.config.Exemptions.Namespaces, a.Namespace):
		annotate(a, podsecurity.ExemptionReasonAnnotationKey, "namespace")
	case a.User.Name != "" && slices.Contains(p.config.Exemptions.Usernames, a.User.Name):
		annotate(a, podsecurity.ExemptionReasonAnnotationKey, "user")
	default:
		return false
	}
	return true
}

func (p *podSecurity) exemptClass(class *string) bool {
	return class != nil && *class != "" && slices.Contains(p.config.Exemptions.RuntimeClasses, *class)
}

func (p *podSecurity) pod(ctx context.Context, a *registry.Attributes, pod *corev1.Pod) error {
	if p.exempt(a) {
		return nil
	}
	ns, err := p.namespaces.get(ctx, "", a.Namespace)
	if err != nil {
		annotate(a, "error", fmt.Sprintf("failed to lookup namespace %q: %v", a.Namespace, err))
		return apierrors.NewInternalError(fmt.Errorf("failed to lookup namespace %q", a.Namespace))
	}
	levels, errs := podsecurity.PolicyToEvaluate(ns.Labels, p.config.policy)
	if len(errs) == 0 && levels.FullyPrivileged() {
		annotate(a, podsecurity.EnforcedPolicyAnnotationKey, levels.Enforce.String())
		return nil
	}
	if old, ok := a.Old.(*corev1.Pod); ok && !runsOther(pod, old) {
		return nil
	}
	return p.evaluate(a, levels, errs.ToAggregate(), &pod.ObjectMeta, &pod.Spec, true)
}

// maker looks at what makes pods.
func (p *podSecurity) maker(ctx context.Context, a *registry.Attributes) error {
	template := templateOf(a.Object)
	if template == nil || p.exempt(a) {
		return nil
	}
	ns, err := p.namespaces.get(ctx, "", a.Namespace)
	if err != nil {
		annotate(a, "error", fmt.Sprintf("failed to lookup namespace %q: %v", a.Namespace, err))
		return nil
	}
	levels, errs := podsecurity.PolicyToEvaluate(ns.Labels, p.config.policy)
	if len(errs) == 0 && levels.Warn.Level == podsecurity.LevelPrivileged && levels.Audit.Level == podsecurity.LevelPrivileged {
		return nil
	}
	return p.evaluate(a, levels, errs.ToAggregate(), &template.ObjectMeta, &template.Spec, false)
}

func templateOf(obj api.Object) *corev1.PodTemplateSpec {
	switch o := obj.(type) {
	case *corev1.PodTemplate:
		return &o.Template
	case *corev1.ReplicationController:
		return o.Spec.Template
	case *appsv1.ReplicaSet:
		return &o.Spec.Template
	case *appsv1.Deployment:
		return &o.Spec.Template
	case *appsv1.DaemonSet:
		return &o.Spec.Template
	case *appsv1.StatefulSet:
		return &o.Spec.Template
	case *batchv1.Job:
		return &o.Spec.Template
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template
	}
	return nil
}

// evaluate holds a pod against the three levels of a policy: what is enforced
// refuses it, the others note it for audit and warn.
func (p *podSecurity) evaluate(a *registry.Attributes, levels podsecurity.Policy, labels error, meta *metav1.ObjectMeta, spec *corev1.PodSpec, enforce bool) error {
	if p.exemptClass(spec.RuntimeClassName) {
		annotate(a, podsecurity.ExemptionReasonAnnotationKey, "runtimeClass")
		return nil
	}
	if labels != nil {
		annotate(a, "error", fmt.Sprintf("Failed to parse policy: %v", labels))
	}
	results := map[podsecurity.LevelVersion]policy.AggregateCheckResult{}
	at := func(level podsecurity.LevelVersion) policy.AggregateCheckResult {
		r, ok := results[level]
		if !ok {
			r = policy.AggregateCheckResults(p.evaluator.EvaluatePod(level, meta, spec))
			results[level] = r
		}
		return r
	}
	var refusal error
	if enforce {
		annotate(a, podsecurity.EnforcedPolicyAnnotationKey, levels.Enforce.String())
		if r := at(levels.Enforce); !r.Allowed {
			refusal = forbid(a, "violates PodSecurity %q: %s", levels.Enforce.String(), r.ForbiddenDetail())
		}
	}
	if r := at(levels.Audit); !r.Allowed {
		annotate(a, podsecurity.AuditViolationsAnnotationKey, fmt.Sprintf("would violate PodSecurity %q: %s", levels.Audit.String(), r.ForbiddenDetail()))
	}
	if refusal != nil {
		return refusal
	}
	if r := at(levels.Warn); !r.Allowed {
		a.Warn(fmt.Sprintf("would violate PodSecurity %q: %s", levels.Warn.String(), r.ForbiddenDetail()))
	}
	return nil
}

// runsOther tells whether an update lets a pod run something else.
func runsOther(pod, old *corev1.Pod) bool {
	other := func(a, b corev1.Container) bool { return a.Image == b.Image }
	if !slices.EqualFunc(pod.Spec.Containers, old.Spec.Containers, other) || !slices.EqualFunc(pod.Spec.InitContainers, old.Spec.InitContainers, other) {
		return true
	}
	return slices.ContainsFunc(pod.Spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool {
		return !slices.ContainsFunc(old.Spec.EphemeralContainers, func(o corev1.EphemeralContainer) bool {
			return o.Name == c.Name && o.Image == c.Image
		})
	})
}

// namespace checks the labels, and warns of pods that a stricter level would
// not let in.
func (p *podSecurity) namespace(ctx context.Context, a *registry.Attributes, ns *corev1.Namespace) error {
	levels, errs := podsecurity.PolicyToEvaluate(ns.Labels, p.config.policy)
	old, update := a.Old.(*corev1.Namespace)
	if !update {
		if len(errs) > 0 {
			return apierrors.NewInvalid(a.Kind.GroupKind(), ns.Name, errs)
		}
		p.warnExempt(a, ns, levels)
		return nil
	}
	was, wasErrs := podsecurity.PolicyToEvaluate(old.Labels, p.config.policy)
	switch {
	case len(errs) > 0 && !reflect.DeepEqual(errs, wasErrs):
		return apierrors.NewInvalid(a.Kind.GroupKind(), ns.Name, errs)
	case levels.Enforce == was.Enforce, levels.Enforce.Level == podsecurity.LevelPrivileged,
		levels.Enforce.Version == was.Enforce.Version && podsecurity.CompareLevels(levels.Enforce.Level, was.Enforce.Level) < 1:
		return nil
	case slices.Contains(p.config.Exemptions.Namespaces, ns.Name):
		p.warnExempt(a, ns, levels)
		return nil
	}
	for _, warning := range p.existing(ctx, ns.Name, levels.Enforce) {
		a.Warn(warning)
	}
	return nil
}
