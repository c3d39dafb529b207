package lab

import (
	"regexp"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/server"
)

// TestLateProfiles checks the profiles whose reads are of the past and whose server sees changes late: that they act, and that calm ends
// them at once.
func TestLateProfiles(t *testing.T) {
	w := start(t, server.Options{Lab: server.Lab{Enabled: true, SecondPort: -1}})
	const maps = "/api/v1/namespaces/default/configmaps"

	made := strings.Fields(w.labOK("chaos", "--profile", "stale-caches", "--agent", "tester/*"))
	w.do("POST "+maps, `{"metadata":{"name":"fresh"}}`)
	if a := w.call(call{server: w.s.SecondURL, do: "GET " + maps + "/fresh?resourceVersion=0"}); a.code != 404 {
		t.Errorf("the second server is not behind: %d", a.code)
	}
	if a := w.call(call{server: w.s.SecondURL, do: "GET " + maps + "/fresh"}); a.code != 200 || a.header.Get("Lab-Fault") != "" {
		t.Errorf("a consistent read of the second server: %d %v", a.code, a.header)
	}
	codes := map[int]int{}
	for range 40 {
		codes[w.call(call{do: "GET " + maps + "/fresh?resourceVersion=0"}).code]++
	}
	if codes[404] == 0 || codes[200] == 0 || len(codes) != 2 {
		t.Errorf("the first server answered %v", codes)
	}
	eventually.True(t, "the second server has caught up", func() bool {
		return w.call(call{server: w.s.SecondURL, do: "GET " + maps + "/fresh?resourceVersion=0"}).code == 200
	})
	calmed := w.labOK("calm")
	for _, name := range made {
		if !regexp.MustCompile(`(?m)^` + name + ` deleted, after [1-9]\d* hits?$`).MatchString(calmed) {
			t.Errorf("%s was not hit:\n%s", name, calmed)
		}
	}

	made = strings.Fields(w.labOK("chaos", "--profile", "busy-cluster", "--agent", "tester/*"))
	if len(made) == 0 {
		t.Fatal("no faults")
	}
	const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
	w.do("POST "+roles, `{"metadata":{"name":"r"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["list"]}]}`)
	w.do("POST "+strings.TrimSuffix(roles, "s")+"bindings", `{"metadata":{"name":"r"},`+
		`"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"r"},`+
		`"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"jane"}]}`)
	if a := w.call(call{as: "jane", do: "GET " + maps}); a.code != 403 {
		t.Errorf("a role takes effect at once: %d", a.code)
	}
	eventually.True(t, "the role", func() bool { return w.call(call{as: "jane", do: "GET " + maps}).code == 200 })
	w.do("DELETE "+roles+"/r", "")
	if a := w.call(call{as: "jane", do: "GET " + maps}); a.code != 200 {
		t.Errorf("the end of a role takes effect at once: %d", a.code)
	}
	w.labOK("calm")
	eventually.True(t, "the end of the role after calm", func() bool { return w.call(call{as: "jane", do: "GET " + maps}).code == 403 })
}
