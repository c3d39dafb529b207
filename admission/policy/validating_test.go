package policy

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	anyDeployment = `matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]}`
	anyPod        = `matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}]}`
)

// validatingYAML returns a policy p with a binding b, whose spec may have further fields.
func validatingYAML(spec string, binding ...string) string {
	return `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  ` + strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ") + `
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: b}
spec:
  policyName: p
  validationActions: [Deny]
  ` + strings.ReplaceAll(strings.Join(binding, "\n"), "\n", "\n  ")
}

func deployment(spec string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: prod}\nspec: " + spec
}

func pod(metadata, spec string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: prod" + metadata + "}\nspec: {containers: [{name: a, image: registry.example/a:1" + spec + "}]}"
}

const replicaLimit = `
---
apiVersion: v1
kind: ConfigMap
metadata: {name: replica-limit, namespace: limits, labels: {tier: low}}
data: {max: "3"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: replica-limit-high, namespace: limits, labels: {tier: high}}
data: {max: "100"}`

// TestValidating compares policies like those in the Kubernetes documentation with kube-apiserver's
// messages.
func TestValidating(t *testing.T) {
	limited := anyDeployment + `
paramKind: {apiVersion: v1, kind: ConfigMap}
validations: [{expression: "object.spec.replicas <= int(params.data.max)", messageExpression: "'object.spec.replicas must be no greater than ' + params.data.max", reason: Forbidden}]`
	const denied = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "
	for _, tt := range []struct {
		name, policies, user, old string
		cases                     [][2]string // an object and the expected result
	}{
		{"replicas", validatingYAML(anyDeployment + "\nvalidations: [{expression: object.spec.replicas <= 5}]"), "", "", [][2]string{
			{deployment("{replicas: 5}"), ""},
			{deployment("{replicas: 6}"), "422 " + denied + "failed expression: object.spec.replicas <= 5"},
			{pod("", ""), ""},
		}},
		{"in some namespaces", validatingYAML(anyDeployment+"\nvalidations: [{expression: 'false', message: elsewhere}]", "matchResources: {namespaceSelector: {matchLabels: {environment: test}}}"), "", "", [][2]string{
			{deployment("{}"), ""},
			{strings.Replace(deployment("{}"), "prod", "test", 1), "422 " + denied + "elsewhere"},
		}},
		{"by a parameter", validatingYAML(limited, "paramRef: {name: replica-limit, namespace: limits, parameterNotFoundAction: Deny}") + replicaLimit, "", "", [][2]string{
			{deployment("{replicas: 3}"), ""},
			{deployment("{replicas: 4}"), "403 " + denied + "object.spec.replicas must be no greater than 3"},
		}},
		{"by all parameters", validatingYAML(limited, "paramRef: {selector: {matchExpressions: [{key: tier, operator: Exists}]}, namespace: limits, parameterNotFoundAction: Deny}") + replicaLimit, "", "", [][2]string{
			{deployment("{replicas: 3}"), ""},
			{deployment("{replicas: 50}"), "403 " + denied + "object.spec.replicas must be no greater than 3"},
		}},
		{"missing parameter denies", validatingYAML(limited, "paramRef: {name: nosuch, namespace: limits, parameterNotFoundAction: Deny}"), "", "", [][2]string{
			{deployment("{replicas: 1}"), "422 " + denied + "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"},
		}},
		{"missing parameter allows", validatingYAML(limited, "paramRef: {name: nosuch, namespace: limits, parameterNotFoundAction: Allow}"), "", "", [][2]string{
			{deployment("{replicas: 1000}"), ""},
		}},
		{"no such kind of parameters", validatingYAML(strings.Replace(limited, "kind: ConfigMap", "kind: NoSuch", 1), "paramRef: {name: nosuch, parameterNotFoundAction: Allow}"), "", "", [][2]string{
			{deployment("{replicas: 1}"), "422 ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find resource referenced by paramKind: '/v1, Kind=NoSuch'"},
		}},
		{"no reference to a parameter", validatingYAML(anyDeployment + "\nparamKind: {apiVersion: v1, kind: ConfigMap}\nvalidations: [{expression: params == null}]"), "", "", [][2]string{
			{deployment("{}"), ""},
		}},
		{"image registries by variables", validatingYAML(anyDeployment + `
variables:
- {name: environment, expression: "'environment' in namespaceObject.metadata.labels ? namespaceObject.metadata.labels['environment'] : 'prod'"}
- {name: exempt, expression: "'exempt' in object.metadata.?labels.orValue({})"}
- {name: containers, expression: "object.spec.template.spec.containers"}
- {name: foreign, expression: "variables.containers.filter(c, !c.image.startsWith(variables.environment + '.registry/')).map(c, c.name)"}
validations: [{expression: "variables.exempt || variables.foreign.size() == 0", messageExpression: "'foreign: ' + variables.foreign.join(', ')"}]`), "", "", [][2]string{
			{deployment("{template: {spec: {containers: [{name: a, image: prod.registry/a}]}}}"), ""},
			{deployment("{template: {spec: {containers: [{name: a, image: prod.registry/a}, {name: b, image: docker.io/b}, {name: c, image: c}]}}}"), "422 " + denied + "foreign: b, c"},
		}},
		{"pods like restricted ones", validatingYAML(anyPod + `
validations:
- {expression: "!has(object.spec.hostNetwork) || !object.spec.hostNetwork", message: no host network}
- {expression: "object.spec.containers.all(c, has(c.securityContext) && has(c.securityContext.runAsNonRoot) && c.securityContext.runAsNonRoot)", message: containers must not run as root}
- {expression: "object.spec.containers.all(c, !c.image.endsWith(':latest'))", message: tags}
- {expression: "object.spec.containers.all(c, has(c.resources) && has(c.resources.limits) && quantity(c.resources.limits.memory).isLessThan(quantity('1Gi')))", message: too much memory, reason: RequestEntityTooLarge}`), "", "", [][2]string{
			{pod("", ", securityContext: {runAsNonRoot: true}, resources: {limits: {memory: 512Mi}}"), ""},
			{pod("", ", securityContext: {runAsNonRoot: true}, resources: {limits: {memory: 2Gi}}"), "413 " + denied + "too much memory"},
			{pod("", ""), "422 " + denied + "containers must not run as root"},
		}},
		{"unchangeable", validatingYAML(anyDeployment + "\nvalidations: [{expression: oldObject == null || object.spec.replicas >= oldObject.spec.replicas, message: only up}]"), "", deployment("{replicas: 3}"), [][2]string{
			{deployment("{replicas: 3}"), ""},
			{deployment("{replicas: 2}"), "422 " + denied + "only up"},
		}},
		{"who breaks the glass", validatingYAML(anyDeployment + `
matchConditions: [{name: not-admins, expression: "!authorizer.requestResource.check('delete').allowed()"}]
validations: [{expression: "authorizer.serviceAccount('a', 'b').group('').resource('breakglass').check('get').allowed()"}, {expression: "'admins' in request.userInfo.?groups.orValue([])", message: admins only}]`), "", "", [][2]string{
			{deployment("{}"), "422 " + denied + "admins only"},
		}},
		{"admins break the glass", validatingYAML(anyDeployment + "\nmatchConditions: [{name: not-admins, expression: \"!authorizer.requestResource.check('delete').allowed()\"}]\nvalidations: [{expression: 'false'}]"), "root/admins", "", [][2]string{
			{deployment("{}"), ""},
		}},
		{"functions of Kubernetes", validatingYAML(anyDeployment + `
validations:
- {expression: "isURL('https://a/b') && url('https://a:80/b').getPort() == '80' && 'a1b2'.findAll('[0-9]') == ['1', '2'] && [1, 2].sum() == 3 && [3, 1].max() == 3 && [1, 2].isSorted()"}
- {expression: "ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.0.0.1') && sets.contains([1, 2], [1]) && isQuantity('1Ki') && semver('1.2.3').major() == 1"}
- {expression: "'%s is %d'.format(['a', 1]) == 'a is 1' && !format.dns1123Label().validate('ok').hasValue() && [1, 2, 2].distinct() == [1, 2] && {'a': 1}.all(k, v, v == 1)"}`), "", "", [][2]string{
			{deployment("{}"), ""},
		}},
		{"objects are maps", validatingYAML(anyDeployment + `
validations:
- {expression: "object == object && object != null && object.metadata != object.spec && object.metadata in [object.metadata]"}
- {expression: "size(object.metadata) >= 2 && object.metadata.exists(k, k == 'name') && 'name' in object.metadata && !('nosuch' in object.metadata)"}
- {expression: "object.metadata['name'] == 'web' && type(object.spec) == map && object.?metadata.?labels.orValue({}) == {}"}
- {expression: "object.spec.template.spec.containers.map(c, c)[0].name == 'a' && object.spec.template.spec.containers[0] == object.spec.template.spec.containers[0]"}
- {expression: "object.spec.template.spec.containers[0].resources.limits.cpu == '500m' && object.spec.template.spec.containers[0].ports[0].containerPort == 80"}
- {expression: "!has(object.metadata.creationTimestamp) && object.spec.strategy.rollingUpdate.maxSurge == '25%'"}`), "", "", [][2]string{
			{deployment("{template: {spec: {containers: [{name: a, image: b, ports: [{containerPort: 80}], resources: {limits: {cpu: 500m}}}]}}}"), ""},
		}},
		{"errors", validatingYAML(anyDeployment + "\nvalidations: [{expression: object.spec.nosuch == 1}]"), "", "", [][2]string{
			{deployment("{}"), "422 " + denied + "expression 'object.spec.nosuch == 1' resulted in error: no such key: nosuch"},
		}},
		{"errors are ignored", validatingYAML(anyDeployment + "\nfailurePolicy: Ignore\nvalidations: [{expression: object.spec.nosuch == 1}, {expression: object.spec.replicas != 7}]"), "", "", [][2]string{
			{deployment("{}"), ""},
			{deployment("{replicas: 7}"), "422 " + denied + "failed expression: object.spec.replicas != 7"},
		}},
		{"one expression is too dear", validatingYAML(anyDeployment + "\nvariables: [{name: many, expression: '[0,1,2,3,4,5,6,7,8,9]'}]\nvalidations: [{expression: '" + expensive(6) + "'}]"), "", "", [][2]string{
			{deployment("{}"), "422 " + denied + "expression '" + expensive(6) + "' resulted in error: operation cancelled: actual cost limit exceeded"},
		}},
		{"all expressions are too dear", validatingYAML(anyDeployment + "\nvariables: [{name: many, expression: '[0,1,2,3,4,5,6,7,8,9]'}]\nvalidations: [" + strings.Repeat("{expression: '"+expensive(5)+"'},", 30) + "]"), "", "", [][2]string{
			{deployment("{}"), "422 " + denied + "validation failed due to running out of cost budget, no further validation rules will be run"},
		}},
		{"message of many lines", validatingYAML(anyDeployment + "\nvalidations: [{expression: 'false', message: plain, messageExpression: \"'a\\\\nb'\"}]"), "", "", [][2]string{
			{deployment("{}"), "422 " + denied + "plain"},
		}},
		{"annotations that fail", validatingYAML(anyDeployment + "\nauditAnnotations: [{key: a, valueExpression: string(object.spec.nosuch)}]"), "", "", [][2]string{
			{deployment("{}"), "422 " + denied + "expression 'string(object.spec.nosuch)' resulted in error: no such key: nosuch"},
		}},
		{"policies themselves", validatingYAML("matchConstraints: {resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']}]}\nvalidations: [{expression: 'false'}]"), "", "", [][2]string{
			{"apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: a}", ""},
			{"apiVersion: authorization.k8s.io/v1\nkind: SubjectAccessReview", ""},
			{"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}", "422 " + denied + "failed expression: false"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, tt.policies)
			for _, is := range tt.cases {
				if got := answer(t, c.validator.validate(t.Context(), c.write(t, tt.user, is[0], tt.old))); got != is[1] {
					t.Errorf("%s\n got %s\nwant %s", is[0], got, is[1])
				}
			}
		})
	}
}

// expensive returns an expression of ten to the depth steps.
func expensive(depth int) string {
	return strings.Repeat("variables.many.all(x, ", depth) + "true" + strings.Repeat(")", depth)
}

// answer returns the status code and the message without the part that all rejections share.
func answer(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	status, ok := err.(*apierrors.StatusError)
	if !ok {
		t.Fatalf("%T: %v", err, err)
	}
	message := status.ErrStatus.Message
	if _, after, ok := strings.Cut(message, " is forbidden: "); ok {
		message = after
	}
	if causes := status.ErrStatus.Details.Causes; status.ErrStatus.Code < 500 && (len(causes) == 0 || causes[0].Message != message) {
		t.Errorf("causes: %v", causes)
	}
	return fmt.Sprint(status.ErrStatus.Code, " ", message)
}

// TestAuditAnnotations checks how audit annotations are combined.
func TestAuditAnnotations(t *testing.T) {
	var ns auditAnnotations
	ns.add("a", "1")
	ns.add("a", "1")
	ns.add("a", "2")
	if got := strings.Join(ns["a"], ", "); got != "1, 2" {
		t.Error(got)
	}
}

// TestNoPolicies checks that a write costs almost nothing without policies.
func TestNoPolicies(t *testing.T) {
	c := newCluster(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}")
	a := c.write(t, "", pod("", ""), "")
	if n := testing.AllocsPerRun(100, func() {
		if c.validator.validate(t.Context(), a) != nil || c.mutator.mutate(t.Context(), a) != nil {
			t.Error("refused")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkValidating measures one matching policy with three expressions on a pod.
func BenchmarkValidating(b *testing.B) {
	c := newCluster(b, validatingYAML(anyPod+`
variables: [{name: containers, expression: "object.spec.containers"}]
validations:
- {expression: "variables.containers.all(c, c.image.startsWith('registry.example/'))"}
- {expression: "!has(object.spec.hostNetwork) || !object.spec.hostNetwork"}
- {expression: "'app' in object.metadata.labels"}`))
	a := c.write(b, "", `{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: prod, labels: {app: web, tier: front}}, spec: {serviceAccountName: a, containers: [
{name: a, image: "registry.example/a:1", ports: [{containerPort: 80}], env: [{name: A, value: b}, {name: C, value: d}], resources: {limits: {cpu: "1", memory: 1Gi}, requests: {cpu: "1", memory: 1Gi}}, readinessProbe: {httpGet: {path: /, port: 80}}, volumeMounts: [{name: v, mountPath: /v}]},
{name: b, image: "registry.example/b:1", securityContext: {runAsNonRoot: true}}], volumes: [{name: v, emptyDir: {}}]}}`, "")
	for b.Loop() {
		if err := c.validator.validate(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
}
