package pod

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/miniapiserver/miniapiserver/api"
)

// pods implements Actions for one pod and its budgets.
type pods struct {
	pod     *corev1.Pod
	budgets []*policyv1.PodDisruptionBudget
	dryRun  bool
	// between runs once, after the pod was read.
	between func(*pods)
	deleted *metav1.DeleteOptions
	writes  int
}

func (p *pods) DryRun() bool { return p.dryRun }

func (p *pods) Get(_, _, name string) (api.Object, error) {
	if p.pod == nil || name != p.pod.Name {
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
	}
	read := p.pod.DeepCopy()
	if f := p.between; f != nil {
		p.between = nil
		f(p)
	}
	return read, nil
}

func (p *pods) List(string, string) ([]api.Object, error) {
	var out []api.Object
	for _, b := range p.budgets {
		out = append(out, b)
	}
	return out, nil
}

func (p *pods) Update(_, _, _ string, change func(api.Object) (api.Object, error)) (api.Object, error) {
	obj, err := change(p.pod.DeepCopy())
	if err == nil {
		p.pod = obj.(*corev1.Pod)
		p.touch()
	}
	return obj, err
}

func (p *pods) touch() {
	p.writes++
	p.pod.ResourceVersion = fmt.Sprint(100 + p.writes)
}

func (p *pods) UpdateStatus(_, _, name string, change func(api.Object) (api.Object, error)) error {
	for i, b := range p.budgets {
		if b.Name == name {
			obj, err := change(b.DeepCopy())
			if err != nil {
				return err
			}
			p.writes++
			p.budgets[i] = obj.(*policyv1.PodDisruptionBudget)
		}
	}
	return nil
}

func (p *pods) Delete(_, _, _ string, o *metav1.DeleteOptions) error {
	if err := api.CheckDeleteOptions(o); err != nil {
		return err
	}
	if err := api.CheckPreconditions(schema.GroupResource{Resource: "Pod"}, p.pod, o.Preconditions); err != nil {
		return err
	}
	p.deleted = o
	return nil
}

func evictable(phase corev1.PodPhase, ready bool) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u", ResourceVersion: "7", Labels: map[string]string{"a": "x"}}}
	p.Status.Phase = phase
	if ready {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	return p
}

func budgetWith(change func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "b", Generation: 1}}
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "x"}}
	b.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, CurrentHealthy: 2, DesiredHealthy: 1, DisruptionsAllowed: 1, ExpectedPods: 2}
	if change != nil {
		change(b)
	}
	return b
}

func denied(reason, why string) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) {
		b.Status.DisruptionsAllowed = 0
		b.Status.Conditions = []metav1.Condition{{Type: "DisruptionAllowed", Status: metav1.ConditionFalse, Reason: reason, Message: why}}
	}
}

func doEvict(do *pods, o *metav1.DeleteOptions) error {
	e := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p"}, DeleteOptions: o}
	posted := &api.ActionRequest{Name: "p", Sent: e, DryRun: do.dryRun}
	if err := checkEviction(posted, e); err != nil {
		return err
	}
	do.dryRun = posted.DryRun
	return evictPod(context.Background(), do, "p", e, time.Now)
}

// TestEvictionBudget checks which evictions a disruption budget allows, and the errors of the
// others.
func TestEvictionBudget(t *testing.T) {
	const again = "The disruption budget b is still being processed by the server."
	set := func(f func(s *policyv1.PodDisruptionBudgetStatus)) func(*policyv1.PodDisruptionBudget) {
		return func(b *policyv1.PodDisruptionBudget) { f(&b.Status) }
	}
	running, unready := evictable(corev1.PodRunning, true), evictable(corev1.PodRunning, false)
	none := set(func(s *policyv1.PodDisruptionBudgetStatus) { s.DisruptionsAllowed = 0 })
	for name, c := range map[string]struct {
		pod    *corev1.Pod
		budget func(*policyv1.PodDisruptionBudget)
		cause  string              // of the refusal
		retry  int32               // Retry-After in seconds
		reason metav1.StatusReason // TooManyRequests if empty
		spent  bool
	}{
		"allowed":      {pod: running, spent: true},
		"not observed": {pod: running, budget: set(func(s *policyv1.PodDisruptionBudgetStatus) { s.ObservedGeneration = 0 }), cause: again, retry: 10},
		"negative": {pod: running, budget: set(func(s *policyv1.PodDisruptionBudgetStatus) { s.DisruptionsAllowed = -1 }), reason: metav1.StatusReasonForbidden,
			cause: "The disruption budget b does not allow evicting pods currently: pdb disruptions allowed is negative"},
		"too many": {pod: running, budget: set(crowded), reason: metav1.StatusReasonForbidden,
			cause: "The disruption budget b does not allow evicting pods currently: too many pending evictions not confirmed by PDB controller"},
		"too few":          {pod: running, budget: set(func(s *policyv1.PodDisruptionBudgetStatus) { s.DisruptionsAllowed, s.CurrentHealthy = 0, 1 }), cause: "The disruption budget b needs 1 healthy pods and has 1 currently"},
		"none left":        {pod: running, budget: none, cause: "The disruption budget b does not allow evicting pods currently"},
		"sync failed":      {pod: running, budget: denied("SyncFailed", "no scale"), cause: "The disruption budget b does not allow evicting pods currently because it failed sync: no scale"},
		"denied":           {pod: running, budget: denied("Other", "why"), cause: "The disruption budget b does not allow evicting pods currently (Other): why"},
		"denied, no word":  {pod: running, budget: denied("Other", ""), cause: "The disruption budget b does not allow evicting pods currently"},
		"unready, healthy": {pod: unready, budget: none},
		"unready, too few": {pod: unready, budget: set(func(s *policyv1.PodDisruptionBudgetStatus) { s.DisruptionsAllowed, s.CurrentHealthy = 0, 0 }), cause: "The disruption budget b needs 1 healthy pods and has 0 currently"},
		"unready, none desired": {pod: unready, budget: set(func(s *policyv1.PodDisruptionBudgetStatus) { s.DisruptionsAllowed, s.DesiredHealthy = 0, 0 }),
			cause: "The disruption budget b does not allow evicting pods currently"},
		"unready, always": {pod: unready, budget: func(b *policyv1.PodDisruptionBudget) {
			b.Spec.UnhealthyPodEvictionPolicy, b.Status = ptr.To(policyv1.AlwaysAllow), policyv1.PodDisruptionBudgetStatus{}
		}},
		"ready, always": {pod: running, budget: func(b *policyv1.PodDisruptionBudget) {
			b.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.AlwaysAllow)
			b.Status.ObservedGeneration = 0
		}, cause: again, retry: 10},
		"pending":      {pod: evictable(corev1.PodPending, false), budget: none},
		"failed":       {pod: evictable(corev1.PodFailed, false), budget: none},
		"nil selector": {pod: running, budget: func(b *policyv1.PodDisruptionBudget) { none(b); b.Spec.Selector = nil }},
		"all pods":     {pod: running, budget: func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = &metav1.LabelSelector{} }, spent: true},
		"other pods":   {pod: running, budget: func(b *policyv1.PodDisruptionBudget) { none(b); b.Spec.Selector.MatchLabels["a"] = "y" }},
	} {
		for _, dryRun := range []bool{false, true} {
			do := &pods{pod: c.pod.DeepCopy(), dryRun: dryRun, budgets: []*policyv1.PodDisruptionBudget{budgetWith(c.budget)}}
			err := doEvict(do, nil)
			if c.cause == "" {
				if err != nil || do.deleted == nil {
					t.Errorf("%s, dry run %t: %v", name, dryRun, err)
				}
				if _, spent := do.budgets[0].Status.DisruptedPods["p"]; spent != (c.spent && !dryRun) || spent && do.budgets[0].Status.DisruptionsAllowed != 0 {
					t.Errorf("%s, dry run %t: status %+v", name, dryRun, do.budgets[0].Status)
				}
				if dryRun && do.writes > 0 {
					t.Errorf("%s: a dry run wrote", name)
				}
				continue
			}
			status, ok := err.(apierrors.APIStatus)
			if !ok || do.deleted != nil || do.writes > 0 {
				t.Errorf("%s, dry run %t: %v, %d writes", name, dryRun, err, do.writes)
				continue
			}
			got, reason := status.Status(), cmp.Or(c.reason, metav1.StatusReasonTooManyRequests)
			want := []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: c.cause}}
			if got.Reason != reason || !slices.Equal(got.Details.Causes, want) || got.Details.RetryAfterSeconds != c.retry {
				t.Errorf("%s, dry run %t: %+v", name, dryRun, got)
			}
		}
	}
}

func crowded(s *policyv1.PodDisruptionBudgetStatus) {
	s.DisruptedPods = map[string]metav1.Time{}
	for i := range maxDisruptedPods + 1 {
		s.DisruptedPods[fmt.Sprint(i)] = metav1.Time{}
	}
}

// TestEvictionConditions checks that every eviction sets a condition of the pod, and that the
// last allowed one sets a condition of the budget.
func TestEvictionConditions(t *testing.T) {
	at := metav1.NewTime(time.Unix(1700000000, 0))
	obj, err := spendDisruption(budgetWith(func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = 2 }), "p", at)
	if err != nil || len(obj.Status.Conditions) != 0 {
		t.Errorf("one is left: %+v, %v", obj, err)
	}
	obj, err = spendDisruption(obj, "q", at)
	if err != nil {
		t.Fatal(err)
	}
	want := metav1.Condition{Type: "DisruptionAllowed", Status: "False", Reason: "InsufficientPods", ObservedGeneration: 1, LastTransitionTime: at}
	if c := meta.FindStatusCondition(obj.Status.Conditions, "DisruptionAllowed"); c == nil || *c != want {
		t.Errorf("none is left: %+v", c)
	}
	do := &pods{pod: evictable(corev1.PodRunning, true)}
	if err := doEvict(do, nil); err != nil {
		t.Fatal(err)
	}
	c := do.pod.Status.Conditions[1]
	if c.Type != corev1.DisruptionTarget || c.Status != "True" || c.Reason != "EvictionByEvictionAPI" || c.Message != "Eviction API: evicting" {
		t.Errorf("pod has %+v", c)
	}
}

// TestEvictionRaces checks that an eviction starts over if the pod changes, unless the client
// has named a version of the pod.
func TestEvictionRaces(t *testing.T) {
	none := func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = 0 }
	runs := func(p *pods) { p.pod.Status = evictable(corev1.PodRunning, true).Status; p.touch() }
	pinned := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: ptr.To("7")}}
	for name, c := range map[string]struct {
		pod     *corev1.Pod
		between func(*pods)
		options *metav1.DeleteOptions
		refused func(error) bool
	}{
		"pending pod that begins to run":           {evictable(corev1.PodPending, false), runs, nil, apierrors.IsTooManyRequests},
		"pending pod that changes otherwise":       {evictable(corev1.PodPending, false), (*pods).touch, nil, nil},
		"failed pod that changes":                  {evictable(corev1.PodFailed, false), (*pods).touch, nil, nil},
		"unready pod that becomes ready":           {evictable(corev1.PodRunning, false), runs, nil, apierrors.IsTooManyRequests},
		"pinned pod that changes":                  {evictable(corev1.PodPending, false), (*pods).touch, pinned, apierrors.IsConflict},
		"pinned unready pod that becomes ready":    {evictable(corev1.PodRunning, false), runs, pinned, apierrors.IsConflict},
		"pinned pod that stays as it is":           {evictable(corev1.PodPending, false), nil, pinned, nil},
		"pod of another uid":                       {evictable(corev1.PodPending, false), nil, &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("other")}, apierrors.IsConflict},
		"pod of that uid":                          {evictable(corev1.PodPending, false), nil, &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("u")}, nil},
		"options that are not valid":               {evictable(corev1.PodPending, false), nil, &metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletionPropagation("x"))}, apierrors.IsInvalid},
		"dry run of a kind that does not exist":    {evictable(corev1.PodPending, false), nil, &metav1.DeleteOptions{DryRun: []string{"Some"}}, apierrors.IsInvalid},
		"pod that does not exist, invalid options": {nil, nil, &metav1.DeleteOptions{DryRun: []string{"Some"}}, apierrors.IsNotFound},
	} {
		do := &pods{pod: c.pod, between: c.between, budgets: []*policyv1.PodDisruptionBudget{budgetWith(none)}}
		err := doEvict(do, c.options.DeepCopy())
		if c.refused == nil {
			if err != nil || do.deleted == nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !c.refused(err) || do.deleted != nil {
			t.Errorf("%s: %v, deleted %t", name, err, do.deleted != nil)
		}
	}
}

func TestCheckEviction(t *testing.T) {
	for _, c := range []struct {
		name    string
		query   bool
		options *metav1.DeleteOptions
		dryRun  bool
		want    string
	}{
		{"p", false, nil, false, ""},
		{"p", true, nil, true, ""},
		{"p", false, &metav1.DeleteOptions{DryRun: []string{"All"}}, true, ""},
		{"p", true, &metav1.DeleteOptions{DryRun: []string{"All"}}, true, ""},
		{"p", true, &metav1.DeleteOptions{DryRun: []string{"Some"}}, true, "Non-matching dry-run options in request and content: [All] and [Some]"},
		{"", false, nil, false, "name in URL does not match name in Eviction object"},
		{"q", false, nil, false, "name in URL does not match name in Eviction object"},
		{"p", false, &metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: ptr.To(true)}, false,
			`Eviction.policy "p" is invalid: deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: can not be set for pod eviction, try after removing the option`},
	} {
		e := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: c.name}, DeleteOptions: c.options}
		p := &api.ActionRequest{Name: "p", DryRun: c.query, Sent: e}
		if got := message(checkEviction(p, e)); got != c.want || p.DryRun != c.dryRun {
			t.Errorf("%+v: got %q, dry run %t", c, got, p.DryRun)
		}
	}
}
