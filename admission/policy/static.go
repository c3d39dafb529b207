package policy

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/admission/manifest"
	"github.com/miniapiserver/miniapiserver/api"
)

// openManifests opens the directory with the policies of type T and bindings of type B that the
// configuration of a plugin names. It returns nil if it names none.
func openManifests[T, B api.Object, P interface{ policyName() string }](c *Config, plugin string, compile func(T) P,
	toBinding func(B) *binding) (*manifest.Source[[]hook[P]], error) {
	dir, err := manifest.Dir(c.Files[plugin], plugin+"Configuration")
	if err != nil {
		return nil, admission.PluginError(plugin, err)
	}
	source, err := manifest.Open(c.Manifests, dir, manifest.Plugin[[]hook[P]]{
		Name: plugin, Noun: "policy", Kinds: []string{plugin, plugin + "Binding"},
		Check: func(obj api.Object, _ string) error { return checkStatic(plugin, obj) },
		Compile: func(objects []api.Object) ([]hook[P], error) {
			var policies []P
			var bindings []*binding
			names := map[string]bool{}
			for _, obj := range objects {
				switch o := obj.(type) {
				case T:
					policies = append(policies, compile(o))
					names[o.GetName()] = true
				case B:
					bindings = append(bindings, toBinding(o))
				}
			}
			for _, b := range bindings {
				if !names[b.policy] {
					return nil, fmt.Errorf("binding %q references policy %q which does not exist in the manifest directory", b.name, b.policy)
				}
			}
			return join(policies, bindings), nil
		},
	})
	if err != nil {
		return nil, admission.PluginError(plugin, err)
	}
	return source, nil
}

// checkStatic refuses a policy with parameters, and a binding to a policy of the API: manifests do
// not depend on objects of the API.
func checkStatic(plugin string, obj api.Object) error {
	switch o := obj.(type) {
	case *admissionv1.ValidatingAdmissionPolicy:
		return checkStaticPolicy(plugin, o.Name, o.Spec.ParamKind)
	case *admissionv1.MutatingAdmissionPolicy:
		return checkStaticPolicy(plugin, o.Name, o.Spec.ParamKind)
	case *admissionv1.ValidatingAdmissionPolicyBinding:
		return checkStaticBinding(o.Name, o.Spec.PolicyName, o.Spec.ParamRef)
	case *admissionv1.MutatingAdmissionPolicyBinding:
		return checkStaticBinding(o.Name, o.Spec.PolicyName, o.Spec.ParamRef)
	}
	return nil
}

func checkStaticPolicy(kind, name string, params *admissionv1.ParamKind) error {
	if params != nil {
		return fmt.Errorf("%s %q: spec.paramKind is not supported for static manifests", kind, name)
	}
	return nil
}

func checkStaticBinding(name, policy string, params *admissionv1.ParamRef) error {
	switch {
	case !strings.HasSuffix(policy, manifest.Suffix):
		return fmt.Errorf("binding %q: spec.policyName %q must end with %q", name, policy, manifest.Suffix)
	case params != nil:
		return fmt.Errorf("binding %q: spec.paramRef is not supported for static manifests", name)
	}
	return nil
}
