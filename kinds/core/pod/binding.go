package pod

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Binding describes the kind Binding, which assigns a pod to a node. Clients can only create
// it. The server then changes the pod; the binding is not stored.
func Binding() *api.Resource {
	return api.NewResource(api.Kind[*corev1.Binding]{
		Names:    api.Names{Name: "bindings", Singular: "binding", Kind: "Binding", Namespaced: true, Verbs: []string{api.VerbCreate}},
		Versions: api.Served(corev1.SchemeGroupVersion),
		Virtual:  &api.Action{At: "pods/binding"},
	})
}

// podBinding is the subresource of pods to which clients post bindings. now is the clock for
// the time in the pod's condition. Gates decide whether a bound pod keeps its nominated node, and
// whether it gets the labels of the binding, such as those of the node's zone.
func podBinding(now func() time.Time, gates features.Gates) *api.Action {
	return &api.Action{
		Name:              "binding",
		Kind:              Binding(),
		KeepsSystemFields: true, // the uid selects the pod
		Check: api.Checking(func(p *api.ActionRequest, sent *corev1.Binding) error {
			if err := p.CheckName("Binding"); err != nil {
				return err
			}
			if errs := validateBinding(sent); len(errs) > 0 {
				return errs.ToAggregate()
			}
			return nil
		}),
		Change: api.Changing(func(obj *corev1.Pod, requested *corev1.Binding) (*corev1.Pod, error) {
			p, err := bindPod(obj, requested, metav1.NewTime(now()))
			if err != nil {
				return nil, err
			}
			if gates.Enabled(features.ClearingNominatedNodeNameAfterBinding) {
				p.Status.NominatedNodeName = ""
			}
			if gates.Enabled(features.PodTopologyLabelsAdmission) {
				p.Labels = withEntries(p.Labels, requested.Labels)
			}
			return p, nil
		}),
	}
}

// bindPod assigns pod p to the node that b names, unless p is assigned already.
func bindPod(p *corev1.Pod, b *corev1.Binding, at metav1.Time) (*corev1.Pod, error) {
	if err := checkBindable(p); err != nil {
		return nil, apierrors.NewConflict(corev1.Resource("pods/binding"), p.Name, err)
	}
	p.Spec.NodeName = b.Target.Name
	p.Annotations = withEntries(p.Annotations, b.Annotations)
	setPodCondition(p, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at})
	return p, nil
}

// withEntries returns m with the entries of by added, which take precedence.
func withEntries(m, by map[string]string) map[string]string {
	if m == nil && len(by) > 0 {
		m = map[string]string{}
	}
	maps.Copy(m, by)
	return m
}

func checkBindable(p *corev1.Pod) error {
	switch {
	case p.DeletionTimestamp != nil:
		return fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", p.Name)
	case p.Spec.NodeName != "":
		return fmt.Errorf("pod %v is already assigned to node %q", p.Name, p.Spec.NodeName)
	case len(p.Spec.SchedulingGates) > 0:
		return fmt.Errorf("pod %v has non-empty .spec.schedulingGates", p.Name)
	}
	return nil
}

func validateBinding(b *corev1.Binding) field.ErrorList {
	var errs field.ErrorList
	target := field.NewPath("target")
	if b.Target.Kind != "" && b.Target.Kind != "Node" {
		errs = append(errs, field.NotSupported(target.Child("kind"), b.Target.Kind, []string{"Node", "<empty>"}))
	}
	if b.Target.Name == "" {
		errs = append(errs, field.Required(target.Child("name"), ""))
	} else if b.Target.Kind == "" || b.Target.Kind == "Node" {
		for _, fault := range validation.DNSSubdomain(b.Target.Name) {
			errs = append(errs, field.Invalid(target.Child("name"), b.Target.Name, fault))
		}
	}
	return errs
}

// setPodCondition replaces the condition of the same type.
func setPodCondition(p *corev1.Pod, c corev1.PodCondition) {
	for i := range p.Status.Conditions {
		if old := &p.Status.Conditions[i]; old.Type == c.Type {
			if old.Status == c.Status {
				c.LastTransitionTime = old.LastTransitionTime
			}
			*old = c
			return
		}
	}
	p.Status.Conditions = append(p.Status.Conditions, c)
}
