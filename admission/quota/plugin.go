package quota

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// New returns the plugin ResourceQuota. It charges writes to the quotas of their namespace, by updating the quotas' status
// in etcd, and rejects writes that exceed a quota. now is the clock; nil means time.Now.
func New(o *admission.Objects, now func() time.Time, ledger *Ledger, x Exclusions, file []byte) (admission.Plugin, error) {
	limited, err := readQuotaConfig(file)
	if err != nil {
		return admission.Plugin{}, err
	}
	r := &resourceQuota{
		quotas:   admission.NewReader[*corev1.ResourceQuota](o, corev1.Resource("resourcequotas")),
		registry: o.Registry(), now: now, ledger: ledger, excluded: x, limited: limited, queue: chargeQueue{busy: map[string]*namespaceQueue{}},
	}
	if r.now == nil {
		r.now = time.Now
	}
	if r.ledger == nil {
		r.ledger = NewLedger()
	}
	return admission.Plugin{
		Handles: []admission.Handles{
			{Verbs: []string{api.VerbCreate}},
			{Verbs: []string{api.VerbUpdate}, Resources: append(
				admission.CoreResources("pods", "pods/resize", "services", "persistentvolumeclaims", claimStatus),
				resourcev1.Resource("resourceclaims"))},
		},
		Validate: r.validate,
	}, nil
}

type resourceQuota struct {
	quotas   *admission.Reader[*corev1.ResourceQuota]
	registry *registry.Registry
	now      func() time.Time
	ledger   *Ledger
	excluded Exclusions
	limited  []limitedResource
	queue    chargeQueue
}

func (r *resourceQuota) validate(ctx context.Context, a *registry.Attributes) error {
	gr := a.GroupResource()
	if a.Namespace == "" || a.Resource.Virtual != nil || !isCharged(a) || Ignored(gr) {
		return nil
	}
	quotas, err := r.quotas.List(ctx, a.Namespace)
	if err != nil {
		return fmt.Errorf("error resolving quota: %w", err)
	}
	limited := limitedFor(r.limited, gr)
	if len(quotas) == 0 && len(limited) == 0 {
		return nil
	}
	charge, err := newCharge(gr, a.Object, a.Old, r.now(), r.excluded)
	if err != nil {
		return admission.Forbidden(a, err)
	}
	charge.unlimited = a.Subresource == "status"
	add, err := r.check(a, charge, quotas, limited)
	if err != nil || len(add) == 0 || a.DryRun {
		return err
	}
	w := &queuedCharge{charge: charge, quotas: add, decided: make(chan struct{})}
	namespace := a.Namespace
	r.queue.charge(a.Namespace, w, func(all []*queuedCharge) { r.chargeQuotas(context.WithoutCancel(ctx), namespace, all) })
	switch {
	case w.err != nil:
		return admission.Forbidden(a, w.err)
	case w.failure != nil:
		return w.failure
	}
	a.OnWriteEnd(func(_ context.Context, written bool) { r.ledger.End(namespace, charge, written) })
	return nil
}

// claimStatus is a subresource whose writes can move a claim into the scope of its new attributes
// class. Such a write reports a fact: it is charged, and no quota rejects it.
const claimStatus = "persistentvolumeclaims/status"

// isCharged reports whether a write can add to the usage of a quota: the creation of an object, and an
// update that can raise its usage or move it into a scope.
func isCharged(a *registry.Attributes) bool {
	switch pod, isPod := a.Object.(*corev1.Pod); {
	case a.Subresource != "":
		return a.Verb == api.VerbUpdate
	case isPod && a.Verb == api.VerbUpdate:
		return isTerminating(pod) != isTerminating(a.Old.(*corev1.Pod))
	}
	return true
}

// check compares a charge with the cached quotas and returns the names of the quotas to which
// it must be added. Most writes that exceed a quota are rejected here, without a write to
// etcd.
func (r *resourceQuota) check(a *registry.Attributes, charge *Charge, quotas []*corev1.ResourceQuota,
	limited []limitedResource) ([]string, error) {
	if len(quotas) > 1 || len(limited) > 0 { // all quotas must be able to count the object, before one limits it
		for _, q := range quotas {
			if _, err := charge.Countable(q); err != nil {
				return nil, admission.Forbidden(a, err)
			}
		}
	}
	var add []string
	if len(limited) > 0 && charge.raises(quotas) {
		if err := checkLimitedResources(charge, quotas, limited); err != nil {
			return nil, admission.Forbidden(a, err)
		}
	}
	for _, q := range quotas {
		more, err := charge.Check(q)
		if err != nil {
			return nil, admission.Forbidden(a, err)
		}
		if len(more) > 0 {
			add = append(add, q.Name)
		}
	}
	return add, nil
}

// errUncharged aborts the update of a quota that no charge changes.
var errUncharged = errors.New("no charge to add")

// chargeTimeout is the maximum duration of charging.
const chargeTimeout = 10 * time.Second

// chargeQuotas adds the charges of several writes to the quotas of a namespace, with one update per
// quota and for as many writes as fit. The registry's compare-and-swap loop calls the update
// function again after a conflict.
func (r *resourceQuota) chargeQuotas(ctx context.Context, namespace string, all []*queuedCharge) {
	ctx, cancel := context.WithTimeout(ctx, chargeTimeout)
	defer cancel()
	defer r.ledger.Hold(namespace)()
	var names []string
	for _, w := range all {
		names = append(names, w.quotas...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		t := r.quotas.Target(namespace, name)
		t.Status = true
		refused := map[*queuedCharge]error{}
		_, err := r.registry.Update(ctx, t, func(_ context.Context, old api.Object) (api.Object, error) {
			clear(refused)
			charged := false
			q := old.(*corev1.ResourceQuota)
			for _, w := range all {
				if w.refused() || !slices.Contains(w.quotas, name) {
					continue
				}
				more, err := w.charge.Check(q)
				if err != nil {
					refused[w] = err
				} else if len(more) > 0 {
					applyUsage(q, more)
					charged = true
				}
			}
			if !charged {
				return nil, errUncharged
			}
			return q, nil
		}, registry.UpdateOptions{WriteOptions: registry.WriteOptions{Manager: "kube-apiserver", SkipAdmission: true}})
		for _, w := range all {
			switch {
			case !slices.Contains(w.quotas, name) || w.refused():
			case refused[w] != nil:
				w.err = refused[w]
			case err != nil && !apierrors.IsNotFound(err) && !errors.Is(err, errUncharged): // a deleted quota limits nothing
				w.failure = err
			}
		}
	}
	for _, w := range all {
		switch {
		case !w.refused():
			r.ledger.Begin(namespace, w.charge)
		case w.failure != nil || len(w.quotas) > 1: // other quotas may have been charged
			r.ledger.recount(namespace)
		}
	}
}

// checkLimitedResources returns an error if the object uses a resource that requires a quota and no
// quota covers it.
func checkLimitedResources(charge *Charge, quotas []*corev1.ResourceQuota, limited []limitedResource) error {
	restricted := map[corev1.ResourceName]bool{}
	scopes := map[corev1.ResourceQuotaScope]bool{}
	for _, q := range quotas {
		names, err := charge.covers(q)
		if err != nil {
			return err
		}
		for _, name := range names {
			restricted[name] = true
		}
		for _, s := range scopesOf(&q.Spec) {
			if in, err := inScope(s, charge.Object, charge.excluded); err == nil && in {
				scopes[s.ScopeName] = true
			}
		}
	}
	var names, uncovered []string
	for _, l := range limited {
		for _, name := range charge.Names() {
			contained := slices.ContainsFunc(l.MatchContains, func(part string) bool { return strings.Contains(string(name), part) })
			if contained && !restricted[name] {
				names = append(names, string(name))
			}
		}
		for _, s := range l.MatchScopes {
			if in, err := inScope(s, charge.Object, charge.excluded); err == nil && in && !scopes[s.ScopeName] {
				uncovered = append(uncovered, fmt.Sprintf("{%s %s %v}", s.ScopeName, s.Operator, s.Values))
			}
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		return fmt.Errorf("insufficient quota to consume: %s", strings.Join(slices.Compact(names), ","))
	}
	if len(uncovered) > 0 {
		return fmt.Errorf("insufficient quota to match these scopes: [%s]", strings.Join(uncovered, " "))
	}
	return nil
}

func limitedFor(all []limitedResource, gr schema.GroupResource) (out []limitedResource) {
	for _, l := range all {
		if l.APIGroup == gr.Group && l.Resource == gr.Resource {
			out = append(out, l)
		}
	}
	return out
}
