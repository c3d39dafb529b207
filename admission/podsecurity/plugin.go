// Package podsecurity is the admission plugin PodSecurity, which enforces the Pod Security level of a
// namespace.
package podsecurity

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	psa "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
	podkind "github.com/miniapiserver/miniapiserver/kinds/core/pod"
	"github.com/miniapiserver/miniapiserver/registry"
)

// New returns the plugin PodSecurity. It enforces the Pod Security level in the labels of a pod's namespace, or the
// configured default. For workloads it only warns and annotates the audit event. The latest version of
// a level is that of release, the emulated one. reg registers its metrics and may be nil.
func New(o *admission.Objects, file []byte, release kubeversion.Minor, reg prometheus.Registerer) (admission.Plugin, error) {
	config, err := readPodSecurityConfig(file)
	if err != nil {
		return admission.Plugin{}, err
	}
	evaluator, err := newEvaluator(release)
	if err != nil {
		return admission.Plugin{}, err
	}
	m, err := newMetrics(reg)
	if err != nil {
		return admission.Plugin{}, err
	}
	p := &podSecurity{
		config: config, evaluator: evaluator, metrics: m,
		namespaces: admission.NamespacesOf(o), pods: admission.NewReader[*corev1.Pod](o, corev1.Resource("pods")),
	}
	write := []string{api.VerbCreate, api.VerbUpdate}
	workloads := append(admission.CoreResources("replicationcontrollers", "podtemplates"),
		appsv1.Resource("replicasets"), appsv1.Resource("deployments"), appsv1.Resource("statefulsets"), appsv1.Resource("daemonsets"),
		batchv1.Resource("jobs"), batchv1.Resource("cronjobs"))
	return admission.Plugin{
		Handles: []admission.Handles{
			{Verbs: write, Resources: admission.CoreResources("pods", "pods/ephemeralcontainers", "pods/resize", "namespaces")},
			{Verbs: write, Resources: workloads},
		},
		Validate: p.validate,
	}, nil
}

// evaluators has the evaluators by release, which nothing changes, so that all servers of a process share them.
var evaluators sync.Map

func newEvaluator(release kubeversion.Minor) (policy.Evaluator, error) {
	if known, ok := evaluators.Load(release); ok {
		return known.(policy.Evaluator), nil
	}
	latest := psa.MajorMinorVersion(release.Major, release.Minor)
	e, err := policy.NewEvaluator(policy.DefaultChecks(), &latest)
	if err == nil {
		evaluators.Store(release, e)
	}
	return e, err
}

type podSecurity struct {
	config     *podSecurityConfig
	evaluator  policy.Evaluator
	metrics    *metrics
	namespaces *admission.Reader[*corev1.Namespace]
	pods       *admission.Reader[*corev1.Pod]
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
		annotatePodSecurity(a, psa.ExemptionReasonAnnotationKey, "namespace")
	case a.User.Name != "" && slices.Contains(p.config.Exemptions.Usernames, a.User.Name):
		annotatePodSecurity(a, psa.ExemptionReasonAnnotationKey, "user")
	default:
		return false
	}
	p.metrics.exempted(a)
	return true
}

func (p *podSecurity) exemptClass(class *string) bool {
	return class != nil && *class != "" && slices.Contains(p.config.Exemptions.RuntimeClasses, *class)
}

func (p *podSecurity) pod(ctx context.Context, a *registry.Attributes, pod *corev1.Pod) error {
	if p.exempt(a) {
		return nil
	}
	ns, err := p.namespaces.Get(ctx, "", a.Namespace)
	if err != nil {
		p.metrics.failed(a, true)
		annotatePodSecurity(a, "error", fmt.Sprintf("failed to lookup namespace %q: %v", a.Namespace, err))
		return apierrors.NewInternalError(fmt.Errorf("failed to lookup namespace %q", a.Namespace))
	}
	levels, errs := psa.PolicyToEvaluate(ns.Labels, p.config.policy)
	if len(errs) == 0 && levels.FullyPrivileged() {
		p.metrics.evaluated(a, modeEnforce, decisionAllow, levels.Enforce)
		annotatePodSecurity(a, psa.EnforcedPolicyAnnotationKey, levels.Enforce.String())
		return nil
	}
	if !podkind.HasNewImages(pod, a.Old) {
		return nil
	}
	return p.evaluate(a, levels, errs.ToAggregate(), &pod.ObjectMeta, &pod.Spec, true)
}

// workload checks the pod template of a workload.
func (p *podSecurity) workload(ctx context.Context, a *registry.Attributes) error {
	template := podkind.PodTemplateOf(a.Object)
	if template == nil || p.exempt(a) {
		return nil
	}
	ns, err := p.namespaces.Get(ctx, "", a.Namespace)
	if err != nil {
		p.metrics.failed(a, true)
		annotatePodSecurity(a, "error", fmt.Sprintf("failed to lookup namespace %q: %v", a.Namespace, err))
		return nil
	}
	levels, errs := psa.PolicyToEvaluate(ns.Labels, p.config.policy)
	if len(errs) == 0 && levels.Warn.Level == psa.LevelPrivileged && levels.Audit.Level == psa.LevelPrivileged {
		return nil
	}
	return p.evaluate(a, levels, errs.ToAggregate(), &template.ObjectMeta, &template.Spec, false)
}

// evaluate checks a pod against the three levels of a policy. A violation of the enforced level
// rejects it, violations of the others annotate the audit event or warn.
func (p *podSecurity) evaluate(a *registry.Attributes, levels psa.Policy, labels error, meta *metav1.ObjectMeta,
	spec *corev1.PodSpec, enforce bool) error {
	if p.exemptClass(spec.RuntimeClassName) {
		p.metrics.exempted(a)
		annotatePodSecurity(a, psa.ExemptionReasonAnnotationKey, "runtimeClass")
		return nil
	}
	if labels != nil {
		p.metrics.failed(a, false)
		annotatePodSecurity(a, "error", fmt.Sprintf("Failed to parse policy: %v", labels))
	}
	results := map[psa.LevelVersion]policy.AggregateCheckResult{}
	at := func(level psa.LevelVersion) policy.AggregateCheckResult {
		r, ok := results[level]
		if !ok {
			r = policy.AggregateCheckResults(p.evaluator.EvaluatePod(level, meta, spec))
			results[level] = r
		}
		return r
	}
	var refusal error
	if enforce {
		annotatePodSecurity(a, psa.EnforcedPolicyAnnotationKey, levels.Enforce.String())
		decision := decisionAllow
		if r := at(levels.Enforce); !r.Allowed {
			decision = decisionDeny
			refusal = admission.Forbiddenf(a, "violates PodSecurity %q: %s", levels.Enforce.String(), r.ForbiddenDetail())
		}
		p.metrics.evaluated(a, modeEnforce, decision, levels.Enforce)
	}
	if r := at(levels.Audit); !r.Allowed {
		p.metrics.evaluated(a, modeAudit, decisionDeny, levels.Audit)
		annotatePodSecurity(a, psa.AuditViolationsAnnotationKey,
			fmt.Sprintf("would violate PodSecurity %q: %s", levels.Audit.String(), r.ForbiddenDetail()))
	}
	if refusal != nil {
		return refusal
	}
	if r := at(levels.Warn); !r.Allowed {
		p.metrics.evaluated(a, modeWarn, decisionDeny, levels.Warn)
		a.Warn(fmt.Sprintf("would violate PodSecurity %q: %s", levels.Warn.String(), r.ForbiddenDetail()))
	}
	return nil
}

// namespace validates the labels and warns of existing pods that violate a stricter level.
func (p *podSecurity) namespace(ctx context.Context, a *registry.Attributes, ns *corev1.Namespace) error {
	levels, errs := psa.PolicyToEvaluate(ns.Labels, p.config.policy)
	old, update := a.Old.(*corev1.Namespace)
	if !update {
		if len(errs) > 0 {
			return apierrors.NewInvalid(a.Kind.GroupKind(), ns.Name, errs)
		}
		p.warnExempt(a, ns, levels)
		return nil
	}
	oldLevels, oldErrs := psa.PolicyToEvaluate(old.Labels, p.config.policy)
	switch {
	case len(errs) > 0 && !reflect.DeepEqual(errs, oldErrs):
		return apierrors.NewInvalid(a.Kind.GroupKind(), ns.Name, errs)
	case levels.Enforce == oldLevels.Enforce, levels.Enforce.Level == psa.LevelPrivileged,
		levels.Enforce.Version == oldLevels.Enforce.Version && psa.CompareLevels(levels.Enforce.Level, oldLevels.Enforce.Level) < 1:
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
