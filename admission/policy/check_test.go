package policy

import (
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// TestCheck checks the warnings for expressions with type errors.
func TestCheck(t *testing.T) {
	const rules = `matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: ['*'], resources: [replicasets, deployments, deployments/scale]}]}`
	for _, tt := range []struct {
		name, spec string
		want       []string
	}{
		{"good", anyDeployment + "\nvalidations: [{expression: \"object.spec.replicas > 1 && object.metadata.name != '' && object.spec.template.spec.containers.all(c, c.image != '')\"}]", nil},
		{"field", anyDeployment + "\nvalidations: [{expression: object.spec.replicas > 1}, {expression: object.spce.replicas > 1}]",
			[]string{"spec.validations[1].expression: apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'spce'\n | object.spce.replicas > 1\n | ......^\n"}},
		{"type", anyDeployment + "\nvalidations: [{expression: \"object.spec.replicas > '1'\"}]",
			[]string{"spec.validations[0].expression: apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to '(int, string)'\n | object.spec.replicas > '1'\n | .....................^\n"}},
		{"message", anyDeployment + "\nvalidations: [{expression: 'true', messageExpression: string(object.nosuch)}]",
			[]string{"spec.validations[0].messageExpression: apps/v1, Kind=Deployment: ERROR: <input>:1:14: undefined field 'nosuch'\n | string(object.nosuch)\n | .............^\n"}},
		{"two kinds", rules + "\nvalidations: [{expression: object.spec.strategy.type != ''}]",
			[]string{"spec.validations[0].expression: apps/v1, Kind=ReplicaSet: ERROR: <input>:1:12: undefined field 'strategy'\n | object.spec.strategy.type != ''\n | ...........^\n"}},
		{"by a variable", anyDeployment + "\nvariables: [{name: count, expression: object.spec.replicas}]\nvalidations: [{expression: \"variables.count == 'x'\"}]",
			[]string{"spec.validations[0].expression: apps/v1, Kind=Deployment: ERROR: <input>:1:17: found no matching overload for '_==_' applied to '(int, string)'\n | variables.count == 'x'\n | ................^\n"}},
		{"parameters", anyDeployment + "\nparamKind: {apiVersion: v1, kind: ConfigMap}\nvalidations: [{expression: params.nosuch == 1}]",
			[]string{"spec.validations[0].expression: apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'nosuch'\n | params.nosuch == 1\n | ......^\n"}},
		{"ports that are numbers or names", "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [services]}]}\nvalidations: [{expression: \"object.spec.ports.all(p, p.targetPort == 80 || p.targetPort == 'http')\"}]", nil},
		{"stars", strings.Replace(anyDeployment, "[v1]", "['*']", 1) + "\nvalidations: [{expression: object.nosuch == 1}]", nil},
		{"unknown kind", strings.Replace(anyDeployment, "[apps]", "[example.com]", 1) + "\nvalidations: [{expression: object.nosuch == 1}]", nil},
		{"authorizer", anyDeployment + "\nvalidations: [{expression: \"authorizer.path('/healthz').check('get').allowed()\"}]", nil},
		{"authorizer of the resource", anyDeployment + "\nvalidations: [{expression: \"authorizer.requestResource.check('get').allowed()\"}]",
			[]string{"spec.validations[0].expression: apps/v1, Kind=Deployment: ERROR: <input>:1:11: unexpected failed resolution of 'kubernetes.authorization.Authorizer'\n | authorizer.requestResource.check('get').allowed()\n | ..........^\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, validatingYAML(tt.spec))
			doc, _, _ := strings.Cut(validatingYAML(tt.spec), "\n---\n")
			obj, _, _ := c.decode(t, doc)
			checker := Checker{Catalogue: c.catalogue, Schema: PublishedSchema(c.catalogue)}
			warnings, err := checker.Check(obj.(*admissionv1.ValidatingAdmissionPolicy))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range warnings {
				got = append(got, w.FieldRef+": "+w.Warning)
			}
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tt.want) {
				t.Errorf("\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}
