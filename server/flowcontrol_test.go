package server

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// classOf returns the UIDs of the flow schema and the priority level of a user's requests.
func classOf(t *testing.T, s *Server, token, path string) (schema, level string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := raw(t, s).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.Header.Get("X-Kubernetes-PF-FlowSchema-UID"), resp.Header.Get("X-Kubernetes-PF-PriorityLevel-UID")
}

// TestFlowControl checks that responses name the objects that classified their requests,
// and that changes of these objects take effect without a restart.
func TestFlowControl(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte("alice-token,alice,u1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := run(t, Options{Authentication: Authentication{TokenFile: tokens}})
	c := clientOf(t, s.RESTConfig()).FlowcontrolV1()
	ctx := t.Context()
	uids := func(name, levelName string) (string, string) {
		t.Helper()
		schema, err := c.FlowSchemas().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		level, err := c.PriorityLevelConfigurations().Get(ctx, levelName, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return string(schema.UID), string(level.UID)
	}
	for _, want := range []struct{ token, path, schema, level string }{
		{s.Token, "/api/v1/nodes", "exempt", "exempt"},
		{"alice-token", "/api/v1/nodes", "global-default", "global-default"},
		{"alice-token", "/healthz", "probes", "exempt"},
	} {
		schema, level := uids(want.schema, want.level)
		if gotSchema, gotLevel := classOf(t, s, want.token, want.path); gotSchema != schema || gotLevel != level {
			t.Errorf("%s: %s and %s, want %s", want.path, gotSchema, gotLevel, want.schema)
		}
	}
	created, err := c.FlowSchemas().Create(ctx, &flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: "alice"}, Spec: flowcontrolv1.FlowSchemaSpec{
		PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "system"}, MatchingPrecedence: 50,
		Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
			Subjects:      []flowcontrolv1.Subject{{Kind: "User", User: &flowcontrolv1.UserSubject{Name: "alice"}}},
			ResourceRules: []flowcontrolv1.ResourcePolicyRule{{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"nodes"}, ClusterScope: true}},
		}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "alice is of her own schema", func() bool {
		schema, _ := classOf(t, s, "alice-token", "/api/v1/nodes")
		return schema == string(created.UID)
	})
	if err := c.FlowSchemas().Delete(ctx, "alice", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	before, _ := uids("global-default", "global-default")
	eventually.True(t, "and then of that of all", func() bool {
		schema, _ := classOf(t, s, "alice-token", "/api/v1/nodes")
		return schema == before
	})
}

// TestPlainLimits checks --enable-priority-and-fairness=false, with which the objects still
// exist, for other servers.
func TestPlainLimits(t *testing.T) {
	s := run(t, Options{Limits: Limits{NoPriorityAndFairness: true}})
	if schema, level := classOf(t, s, s.Token, "/api/v1/nodes"); schema+level != "" {
		t.Errorf("classified as %s and %s", schema, level)
	}
	if code, _ := get(t, raw(t, s), s.URL+"/debug/api_priority_and_fairness/dump_queues", s.Token); code != http.StatusNotFound {
		t.Errorf("a dump is answered %d", code)
	}
	schemas, err := clientOf(t, s.RESTConfig()).FlowcontrolV1().FlowSchemas().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(schemas.Items) != 11 {
		t.Errorf("%d flow schemas, %v", len(schemas.Items), err)
	}
}
