package core_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const podTemplate = `template:
  metadata: {labels: {a: b}}
  spec: {containers: [{name: c, image: 'i:1'}]}`

func TestPodTemplateRules(t *testing.T) {
	kindtest.New(t, "podtemplates.v1", podTemplate).Create(kindtest.Rules{
		{"containers", "template.spec.restartPolicy: Never", "template.spec.containers: []",
			"template.spec.containers: Required value"},
		{"label", "template.metadata.labels.c: d", `template.metadata.labels.c: "d e"`,
			`template.labels: Invalid value: "d e": a valid label must be an empty string or consist of ` +
				"alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
				"'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"annotation", "template.metadata.annotations: {c: d}", "template.metadata.annotations[/]: d",
			`template.annotations: Invalid value: "/": prefix part must be non-empty; ` +
				`template.annotations: Invalid value: "/": name part must be non-empty; ` +
				`template.annotations: Invalid value: "/": name part must consist of alphanumeric ` +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
	})
}

func TestPodTemplateUpdateRules(t *testing.T) {
	kindtest.New(t, "podtemplates.v1", podTemplate).Update(kindtest.Rules{
		{"image", "template.spec.containers[0].image: j", `template.spec.containers[0].image: ""`,
			"template.spec.containers[0].image: Required value"},
	})
}

func TestPodTemplateCreated(t *testing.T) {
	kindtest.New(t, "podtemplates.v1", podTemplate).Created(kindtest.Cases{
		{"defaults", "",
			"template.spec.restartPolicy: Always; template.spec.dnsPolicy: ClusterFirst; " +
				"template.spec.containers[0].imagePullPolicy: IfNotPresent; metadata.generation: 1"},
	})
}

func TestPodTemplateGenerations(t *testing.T) {
	kindtest.New(t, "podtemplates.v1", podTemplate).Generations(kindtest.Cases{
		{"nothing", "", "1"},
		{"template", "template.spec.hostNetwork: true", "2"},
	})
}

func TestPodTemplateColumns(t *testing.T) {
	kindtest.New(t, "podtemplates.v1", podTemplate).Columns("Name|Containers|Images|Pod Labels", kindtest.Cases{
		{"any", "", "x|c|i:1|a=b"},
	})
}

func TestPodTemplateWarnings(t *testing.T) {
	kindtest.New(t, "podtemplates.v1", podTemplate).Warnings(kindtest.Cases{
		{"variable twice", "template.spec.containers[0].env: [{name: A, value: '1'}, {name: A, value: '2'}]",
			`template.spec.containers[0].env[1]: hides previous definition of "A", which may be dropped ` +
				"when using apply"},
	})
}

// TestPodTemplateUpdateWarnings checks the warnings about the pods.
func TestPodTemplateUpdateWarnings(t *testing.T) {
	kindtest.New(t, "podtemplates.v1", podTemplate).UpdateWarnings(kindtest.Cases{
		{"none", "metadata.labels: {c: d}", ""},
		{"variable twice", "template.spec.containers[0].env: [{name: A, value: '1'}, {name: A, value: '2'}]",
			`template.spec.containers[0].env[1]: hides previous definition of "A", which may be dropped ` +
				"when using apply"},
	})
}

// TestTemplateRules checks the pods of a template.
func TestTemplateRules(t *testing.T) {
	kindtest.New(t, "podtemplates.v1", podTemplate).Create(kindtest.Rules{
		{"image", "template.spec.containers[0].image: j", `template.spec.containers[0].image: ""`,
			"template.spec.containers[0].image: Required value"},
		{"ephemeral containers", "template.spec.containers[1]: {name: d, image: i}",
			"template.spec.ephemeralContainers: [{name: d, image: i}]",
			"template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template"},
		{"seccomp annotation", "template.metadata.annotations: {a: b}",
			"template.metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: other",
			`template.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "other": must ` +
				"be a valid seccomp profile"},
	})
}
