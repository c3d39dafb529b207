package scheduling

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// PriorityClass describes the kind PriorityClass, a name for a pod priority.
func PriorityClass() *api.Resource {
	return api.NewResource(api.Kind[*schedulingv1.PriorityClass]{
		Names: api.Names{Name: "priorityclasses", Singular: "priorityclass", Kind: "PriorityClass", ShortNames: []string{"pc"}},
		Versions: api.WithOlderVersions(api.Served(schedulingv1.SchemeGroupVersion),
			api.SameFields[schedulingv1.PriorityClass, schedulingv1beta1.PriorityClass](schedulingv1beta1.SchemeGroupVersion)),
		Default: defaultPriorityClass,
		Storage: api.Storage{Prefix: "priorityclasses"},
		Checks: api.Checks(
			api.Metadata,
			api.Changes(priorityClassChanges),
			api.OnCreate(api.Rules(priorityClassRules)),
			api.Declared,
		),
		// All fields that count for the generation are immutable.
		Generation: api.NeverChanges[*schedulingv1.PriorityClass],
		Delete:     api.Deletion{Protected: refuseSystemClassDeletion},
		Table:      api.Rows(priorityClassRow),
	})
}

func defaultPriorityClass(obj *schedulingv1.PriorityClass) {
	api.SetDefault(&obj.PreemptionPolicy, corev1.PreemptLowerPriority)
}

func refuseSystemClassDeletion(name string) error {
	for _, c := range SystemPriorityClasses() {
		if c.Name == name {
			return errors.New("this is a system priority class and cannot be deleted")
		}
	}
	return nil
}

// SystemPriorityClasses returns the classes for components of the cluster, which the server
// creates.
func SystemPriorityClasses() []*schedulingv1.PriorityClass {
	class := func(name string, value int32, description string) *schedulingv1.PriorityClass {
		c := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, Description: description}
		defaultPriorityClass(c)
		return c
	}
	return []*schedulingv1.PriorityClass{
		class("system-node-critical", 2*maxUserPriority+1000, "Used for system critical pods that must not be moved from their current node."),
		class("system-cluster-critical", 2*maxUserPriority,
			"Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."),
	}
}

func priorityClassRow(row *table.Row, c *schedulingv1.PriorityClass) {
	row.Name(c.Name)
	row.Number("Value", ".value", int64(c.Value))
	row.Bool("Global-Default", ".globalDefault", c.GlobalDefault)
	row.Age(c)
	row.Text("PreemptionPolicy", ".preemptionPolicy", string(table.ValueOrZero(c.PreemptionPolicy)))
}

const (
	systemPriorityPrefix = "system-"
	maxUserPriority      = 1000000000
)

func priorityClassRules(at *validation.Path, c *schedulingv1.PriorityClass) {
	if strings.HasPrefix(c.Name, systemPriorityPrefix) {
		if fault := systemPriorityFault(c); fault != "" {
			at.Child("metadata").Child("name").Forbidden("priority class names with '" + systemPriorityPrefix +
				"' prefix are reserved for system use only. error: " + fault)
		}
	} else if c.Value > maxUserPriority {
		at.Child("value").Forbidden(fmt.Sprintf("maximum allowed value of a user defined priority is %v", maxUserPriority))
	}
	if c.PreemptionPolicy != nil {
		validation.Enum(at.Child("preemptionPolicy"), *c.PreemptionPolicy, corev1.PreemptLowerPriority, corev1.PreemptNever)
	}
}

// systemPriorityFault returns the difference between a class and the system class of the same
// name.
func systemPriorityFault(c *schedulingv1.PriorityClass) string {
	values := map[string]int32{"system-cluster-critical": 2 * maxUserPriority, "system-node-critical": 2*maxUserPriority + 1000}
	switch value, ok := values[c.Name]; {
	case !ok:
		return c.Name + " is not a known system priority class"
	case c.Value != value:
		return fmt.Sprintf("value of %v PriorityClass must be %v", c.Name, value)
	case c.GlobalDefault:
		return fmt.Sprintf("globalDefault of %v PriorityClass must be %v", c.Name, false)
	}
	return ""
}

func priorityClassChanges(at *validation.Path, obj, old *schedulingv1.PriorityClass) {
	if obj.Value != old.Value {
		at.Child("value").Forbidden("may not be changed in an update.")
	}
	validation.Immutable(at.Child("preemptionPolicy"), obj.PreemptionPolicy, old.PreemptionPolicy)
}
