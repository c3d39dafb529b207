package conversation

import (
	"encoding/json"
	"testing"
)

func TestAlone(t *testing.T) {
	const bindings, roles = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "/apis/rbac.authorization.k8s.io/v1/clusterroles"
	for _, tt := range []struct {
		method, path, body string
		want               bool
	}{
		{"POST", bindings, `{"subjects":[{"kind":"User","name":"bob"}]}`, true},
		{"PATCH", bindings + "/x", `{"subjects":[{"kind":"ServiceAccount","name":"a"},{"kind":"Group","name":"dev"}]}`, true},
		{"POST", bindings, `{"subjects":[{"kind":"User","name":"u-${id}"},{"kind":"ServiceAccount","name":"default","namespace":"${ns}"}]}`, false},
		{"POST", bindings + "?dryRun=All", `{"subjects":[{"kind":"User","name":"bob"}]}`, false},
		{"POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/${ns}/rolebindings", `{"subjects":[{"kind":"User","name":"bob"}]}`, false},
		{"DELETE", bindings + "/x", ``, false},
		{"PUT", bindings + "/x", `"not JSON"`, false},
		{"POST", roles, `{"metadata":{"labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}}}`, true},
		{"POST", roles, `{"metadata":{"labels":{"aggregate-${id}":"true"}}}`, false},
	} {
		s := Scenario{Steps: []Step{{Method: "GET", Path: "/"}, {Method: tt.method, Path: tt.path, Body: json.RawMessage(tt.body)}}}
		if got := s.runsAlone(); got != tt.want {
			t.Errorf("%s %s %s: %t", tt.method, tt.path, tt.body, got)
		}
	}
	if !(Scenario{Serial: true}).runsAlone() {
		t.Error("a serial scenario is not alone")
	}
}
