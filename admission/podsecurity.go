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

// newPodSecurity enforces the Pod Security level in the labels of a pod's namespace, or the
// configured default. For workloads it only warns and annotates the audit event.
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
		namespaces: namespacesOf(c.Objects), pods: newReader[*corev1.Pod](c.Objects, corev1.Resource("pods")),
	}
	write := []string{api.VerbCreate, api.VerbUpdate}
	workloads := append(coreResources("replicationcontrollers", "podtemplates"),
		appsv1.Resource("replicasets"), appsv1.Resource("deployments"), appsv1.Resource("statefulsets"), appsv1.Resource("daemonsets"),
		batchv1.Resource("jobs"), batchv1.Resource("cronjobs"))
	return Plugin{
		Handles: []Handles{
			{write, coreResources("pods", "pods/ephemeralcontainers", "pods/resize", "namespaces")},
			{write, workloads},
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
	return p.workload(ctx, a)
}

// annotatePodSecurity adds an annotation of the plugin to the audit event.
func annotatePodSecurity(a *registry.Attributes, key, value string) {
	a.Annotate("pod-security.kubernetes.io/"+key, value)
}

// exempt reports whether the namespace or the user is exempt.
func (p *podSecurity) exempt(a *registry.Attributes) bool {
	switch {
	case a.Namespace != "" && slices.Contains(p.config.Exemptions.Namespaces, a.Namespace):
		annotatePodSecurity(a, podsecurity.ExemptionReasonAnnotationKey, "namespace")
	case a.User.Name != "" && slices.Contains(p.config.Exemptions.Usernames, a.User.Name):
		annotatePodSecurity(a, podsecurity.ExemptionReasonAnnotationKey, "user")
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
		annotatePodSecurity(a, "error", fmt.Sprintf("failed to lookup namespace %q: %v", a.Namespace, err))
		return apierrors.NewInternalError(fmt.Errorf("failed to lookup namespace %q", a.Namespace))
	}
	levels, errs := podsecurity.PolicyToEvaluate(ns.Labels, p.config.policy)
	if len(errs) == 0 && levels.FullyPrivileged() {
		annotatePodSecurity(a, podsecurity.EnforcedPolicyAnnotationKey, levels.Enforce.String())
		return nil
	}
	if old, ok := a.Old.(*corev1.Pod); ok && !changesImages(pod, old) {
		return nil
	}
	return p.evaluate(a, levels, errs.ToAggregate(), &pod.ObjectMeta, &pod.Spec, true)
}

// workload checks the pod template of a workload.
func (p *podSecurity) workload(ctx context.Context, a *registry.Attributes) error {
	template := templateOf(a.Object)
	if template == nil || p.exempt(a) {
		return nil
	}
	ns, err := p.namespaces.get(ctx, "", a.Namespace)
	if err != nil {
		annotatePodSecurity(a, "error", fmt.Sprintf("failed to lookup namespace %q: %v", a.Namespace, err))
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

// evaluate checks a pod against the three levels of a policy. A violation of the enforced level
// rejects it, violations of the others annotate the audit event or warn.
func (p *podSecurity) evaluate(a *registry.Attributes, levels podsecurity.Policy, labels error, meta *metav1.ObjectMeta, spec *corev1.PodSpec, enforce bool) error {
	if p.exemptClass(spec.RuntimeClassName) {
		annotatePodSecurity(a, podsecurity.ExemptionReasonAnnotationKey, "runtimeClass")
		return nil
	}
	if labels != nil {
		annotatePodSecurity(a, "error", fmt.Sprintf("Failed to parse policy: %v", labels))
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
		annotatePodSecurity(a, podsecurity.EnforcedPolicyAnnotationKey, levels.Enforce.String())
		if r := at(levels.Enforce); !r.Allowed {
			refusal = forbiddenf(a, "violates PodSecurity %q: %s", levels.Enforce.String(), r.ForbiddenDetail())
		}
	}
	if r := at(levels.Audit); !r.Allowed {
		annotatePodSecurity(a, podsecurity.AuditViolationsAnnotationKey, fmt.Sprintf("would violate PodSecurity %q: %s", levels.Audit.String(), r.ForbiddenDetail()))
	}
	if refusal != nil {
		return refusal
	}
	if r := at(levels.Warn); !r.Allowed {
		a.Warn(fmt.Sprintf("would violate PodSecurity %q: %s", levels.Warn.String(), r.ForbiddenDetail()))
	}
	return nil
}

// changesImages reports whether an update changes the images of a pod.
func changesImages(pod, old *corev1.Pod) bool {
	sameImage := func(a, b corev1.Container) bool { return a.Image == b.Image }
	if !slices.EqualFunc(pod.Spec.Containers, old.Spec.Containers, sameImage) || !slices.EqualFunc(pod.Spec.InitContainers, old.Spec.InitContainers, sameImage) {
		return true
	}
	return slices.ContainsFunc(pod.Spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool {
		return !slices.ContainsFunc(old.Spec.EphemeralContainers, func(o corev1.EphemeralContainer) bool {
			return o.Name == c.Name && o.Image == c.Image
		})
	})
}

// namespace validates the labels and warns of existing pods that violate a stricter level.
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
	oldLevels, oldErrs := podsecurity.PolicyToEvaluate(old.Labels, p.config.policy)
	switch {
	case len(errs) > 0 && !reflect.DeepEqual(errs, oldErrs):
		return apierrors.NewInvalid(a.Kind.GroupKind(), ns.Name, errs)
	case levels.Enforce == oldLevels.Enforce, levels.Enforce.Level == podsecurity.LevelPrivileged,
		levels.Enforce.Version == oldLevels.Enforce.Version && podsecurity.CompareLevels(levels.Enforce.Level, oldLevels.Enforce.Level) < 1:
		return nil
	case slices.Contains(p.config.Exemptions.Namespaces, ns.Name):
		p.warnExempt(a, ns, levels)
		return nil
	}
	for _, warning := range p.existingViolations(ctx, ns.Name, levels.Enforce) {
		a.Warn(warning)
	}
	return nil
}
