package kubectl

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// TestChaos checks the Faults of the profiles, what chaos sends, and what calm deletes. That the server takes them and that each of
// them acts is tested in conformance/lab.
func TestChaos(t *testing.T) {
	f := newFake(t)
	for _, profile := range profiles() {
		got := f.run("chaos", "--profile", profile, "--dry-run", "-o", "yaml", "--seed", "40", "--agent", "op*")
		ofClients := strings.Count(got.stdout, "kind: Fault\n") - strings.Count(got.stdout, " lag: ") // which happens to the server
		if got.code != 0 || !strings.Contains(got.stdout, "kind: FaultList") || strings.Count(got.stdout, "- op*\n") != ofClients {
			t.Errorf("%s: %+v", profile, got)
		}
	}
	if got := f.run("chaos", "--profile", "flaky"); got.code != 1 || !strings.Contains(got.stderr, "the profiles are busy-cluster, flaky-network, ") {
		t.Errorf("%+v", got)
	}
	// Faults of the names exist and are replaced.
	f.written["DELETE "+labPath+"faults/restarting-apiserver-goes-away"] = "{}"
	f.written["DELETE "+labPath+"faults/restarting-apiserver-not-ready"] = "{}"
	f.created[labPath+"faults"] = v1alpha1.Fault{ObjectMeta: metav1.ObjectMeta{Name: "made"}}
	if got := f.run("chaos", "--profile", "restarting-apiserver", "--seed", "40"); got.code != 0 || !strings.HasPrefix(got.stdout, "made\nmade\n") {
		t.Errorf("%+v", got)
	}
	if body := f.bodies["POST "+labPath+"faults"]; !strings.Contains(body, `"seed":41`) || !strings.Contains(body, `"name":"restarting-apiserver-not-ready"`) {
		t.Error(body)
	}
	one := v1alpha1.Fault{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Status: v1alpha1.FaultStatus{Injected: 3}}
	f.answers[labPath+"faults"] = map[string]any{"items": []v1alpha1.Fault{one, {ObjectMeta: metav1.ObjectMeta{Name: "gone"}}}}
	f.answers[labPath+"faults/one"] = one
	f.written["DELETE "+labPath+"faults/one"] = "{}"
	if got := f.run("calm"); got.code != 0 || got.stdout != "one deleted, after 3 hits\n" {
		t.Errorf("%+v", got)
	}
}
