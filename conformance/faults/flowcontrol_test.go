package faults

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestFlowControlAgrees starts two servers on one etcd: together they create the flow control
// objects once, report the same status, and both apply changes made through either.
func TestFlowControlAgrees(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1, 0)
	var servers [2]*server.Server
	for i := range servers {
		servers[i], _ = startServer(t, server.Options{Etcd: server.Etcd{Servers: c.network().endpoints()},
			Limits: server.Limits{RequestTimeout: requestTimeout}})
	}
	client, err := kubernetes.NewForConfig(servers[0].RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	schemas := client.FlowcontrolV1().FlowSchemas()
	eventually(t, "every schema leads somewhere, and nobody writes on", func(ctx context.Context) error {
		list, err := schemas.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(list.Items) != 11 {
			return fmt.Errorf("%d schemas", len(list.Items))
		}
		for _, s := range list.Items {
			if s.Generation != 1 || len(s.Status.Conditions) != 1 || s.Status.Conditions[0].Status != flowcontrolv1.ConditionFalse {
				return fmt.Errorf("%s: generation %d, %+v", s.Name, s.Generation, s.Status.Conditions)
			}
		}
		return nil
	})
	before, err := schemas.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made, err := schemas.Create(t.Context(), &flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: "first"}, Spec: flowcontrolv1.FlowSchemaSpec{
		PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "exempt"}, MatchingPrecedence: 2,
		Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
			Subjects:         []flowcontrolv1.Subject{{Kind: "Group", Group: &flowcontrolv1.GroupSubject{Name: "*"}}},
			NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/version"}}},
		}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// The administrator matches the exempt schema first; impersonated users do not.
	for i, s := range servers {
		config := s.RESTConfig()
		config.Impersonate.UserName = "somebody"
		other := &target{}
		other.use(t, config)
		eventually(t, fmt.Sprintf("server %d goes by a new schema", i), func(ctx context.Context) error {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/version", nil)
			if err != nil {
				return err
			}
			resp, err := other.http.Do(r)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if uid := resp.Header.Get("X-Kubernetes-PF-FlowSchema-UID"); uid != string(made.UID) {
				return fmt.Errorf("goes by %q", uid)
			}
			return nil
		})
	}
	after, err := schemas.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	revisions := map[string]string{}
	for _, s := range after.Items {
		revisions[s.Name] = s.ResourceVersion
	}
	for _, s := range before.Items {
		if revisions[s.Name] != s.ResourceVersion {
			t.Errorf("%s was written again", s.Name)
		}
	}
}
