package kinds

import (
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/kinds/apiregistration"
)

func TestAPIServiceRules(t *testing.T) {
	const priorities = `"groupPriorityMinimum":1,"versionPriority":1`
	testRules(t, apiregistration.APIService(time.Now), []ruleTest{
		{"local", "", `{"metadata":{"name":"v1.g.example"},"spec":{"group":"g.example","version":"v1",` + priorities + `}}`, ""},
		{"core", "", `{"metadata":{"name":"v1."},"spec":{"version":"v1",` + priorities + `}}`, ""},
		{"core of another version", "", `{"metadata":{"name":"v2."},"spec":{"version":"v2",` + priorities + `}}`,
			"spec.group: Required value: only v1 may have an empty group and it better be legacy kube"},
		{"priorities", "", `{"metadata":{"name":"v1.g.example"},"spec":{"group":"g.example","version":"v1","groupPriorityMinimum":20001}}`,
			"[spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000, spec.versionPriority: Invalid value: 0: must be positive and less than 1000]"},
		{"local with TLS", "", `{"metadata":{"name":"v1.g.example"},"spec":{"group":"g.example","version":"v1","caBundle":"eHg=","insecureSkipTLSVerify":true,` + priorities + `}}`,
			"[spec.caBundle: Invalid value: \"2 bytes\": local APIServices may not have a caBundle, spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify]"},
		{"a service without names", "", `{"metadata":{"name":"v1.g.example"},"spec":{"group":"g.example","version":"v1","service":{"port":70000},` + priorities + `}}`,
			"[spec.service.namespace: Required value, spec.service.name: Required value, spec.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive]"},
		{"verified or not", "", `{"metadata":{"name":"v1.g.example"},"spec":{"group":"g.example","version":"v1","service":{"namespace":"n","name":"s"},"caBundle":"eHg=","insecureSkipTLSVerify":true,` + priorities + `}}`,
			"spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present"},
	})
	testStatusRules(t, apiregistration.APIService(time.Now), []ruleTest{
		{"status", `{}`, `{"status":{"conditions":[{"type":"Available","status":"Maybe"}]}}`,
			`status.conditions[0].status: Unsupported value: "Maybe": supported values: "True", "False", "Unknown"`},
	})
}
