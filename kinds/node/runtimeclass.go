package node

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	nodev1alpha1 "k8s.io/api/node/v1alpha1"
	nodev1beta1 "k8s.io/api/node/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
)

// RuntimeClass describes the kind RuntimeClass, a container runtime that pods can select.
func RuntimeClass() *api.Resource {
	return api.NewResource(api.Kind[*nodev1.RuntimeClass]{
		Names: api.Names{Name: "runtimeclasses", Singular: "runtimeclass", Kind: "RuntimeClass"},
		Versions: api.WithOlderVersions(api.Served(nodev1.SchemeGroupVersion),
			api.SameFields[nodev1.RuntimeClass, nodev1beta1.RuntimeClass](nodev1beta1.SchemeGroupVersion),
			runtimeClassV1alpha1()),
		Storage:                api.Storage{Prefix: "runtimeclasses"},
		AllowCreateOnUpdate:    true,
		RequireResourceVersion: true,
		Checks: api.Checks(
			api.ObjectMeta,
			api.Rules(runtimeClassRules),
			api.Changes(func(at *validation.Path, updated, old *nodev1.RuntimeClass) {
				validation.Immutable(at.Child("handler"), updated.Handler, old.Handler)
			}),
			api.RevalidatedObjectMeta,
			api.Declared,
			api.Warn(runtimeClassWarnings),
		),
		Table: api.Rows(runtimeClassRow),
	})
}

func runtimeClassRow(row *table.Row, c *nodev1.RuntimeClass) {
	row.Name(c.Name)
	row.Text("Handler", "", c.Handler) // kube-apiserver's description is empty
	row.Age(c)
}

// runtimeClassV1alpha1 returns v1alpha1, which has the fields in a spec and another name for
// the handler.
func runtimeClassV1alpha1() api.Version {
	return api.StoredOnly(api.ConvertedVersion(nodev1alpha1.SchemeGroupVersion,
		func(hub *nodev1.RuntimeClass, old *nodev1alpha1.RuntimeClass) {
			api.CopyFields(hub, &old.Spec)
			hub.Handler = old.Spec.RuntimeHandler
		},
		func(old *nodev1alpha1.RuntimeClass, hub *nodev1.RuntimeClass) {
			api.CopyFields(&old.Spec, hub)
			old.Spec.RuntimeHandler = hub.Handler
		}))
}

func runtimeClassRules(at *validation.Path, c *nodev1.RuntimeClass) {
	if handler := at.Child("handler"); validation.Required(handler, c.Handler) {
		for _, fault := range validation.DNSLabel(c.Handler) {
			handler.InvalidOrigin("format=k8s-short-name", c.Handler, fault)
		}
	}
	if c.Overhead != nil {
		pod.LimitRules(at.Child("overhead"), c.Overhead.PodFixed)
	}
	if s := c.Scheduling; s != nil {
		scheduling := at.Child("scheduling")
		validation.LabelRules(scheduling.Child("nodeSelector"), s.NodeSelector)
		pod.TolerationRules(scheduling.Child("tolerations"), s.Tolerations, false)
		uniqueTolerations(scheduling.Child("tolerations"), s.Tolerations)
	}
}

// uniqueTolerations refuses tolerations that are equal in all fields but the seconds.
func uniqueTolerations(at *validation.Path, list []corev1.Toleration) {
	seen := map[corev1.Toleration]bool{}
	for i := range list {
		key := list[i]
		key.TolerationSeconds = nil
		if seen[key] {
			at.Index(i).Duplicate(list[i])
		}
		seen[key] = true
	}
}

func runtimeClassWarnings(obj *nodev1.RuntimeClass) []string {
	s := obj.Scheduling
	if s == nil {
		return nil
	}
	var out []string
	for _, key := range validation.SortedKeys(s.NodeSelector) {
		if instead := validation.NodeLabelDeprecation(key); instead != "" {
			out = append(out, fmt.Sprintf("scheduling.nodeSelector: %s", instead))
		}
	}
	return out
}
