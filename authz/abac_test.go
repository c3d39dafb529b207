package authz

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/request"
)

func writeFile(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestABAC(t *testing.T) {
	const v1 = `{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":`
	policies, err := readABAC(writeFile(t, `# policies of the test
{"user":"old"}
{"user":"oldreader","readonly":true,"resource":"pods"}

`+v1+`{"user":"alice","namespace":"ns","resource":"pods","apiGroup":"*"}}
`+v1+`{"group":"ops","user":"bob","namespace":"*","resource":"*","apiGroup":"apps"}}
`+v1+`{"user":"*","nonResourcePath":"/logs/*","readonly":true}}
`+v1+`{"namespace":"*","resource":"*","apiGroup":"*"}}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		user, groups, method, path string
		want                       Decision
	}{
		{"old", "", "DELETE", "/api/v1/nodes/n", Allow},
		{"old", "", "GET", "/metrics", Allow},
		{"oldreader", "", "GET", "/api/v1/pods", Allow},
		{"oldreader", "", "DELETE", "/api/v1/namespaces/x/pods/p", NoOpinion},
		{"oldreader", "", "GET", "/metrics", NoOpinion},
		{"alice", "", "DELETE", "/api/v1/namespaces/ns/pods/p", Allow},
		{"alice", "", "GET", "/api/v1/namespaces/other/pods/p", NoOpinion},
		{"alice", "", "GET", "/api/v1/namespaces/ns/secrets", NoOpinion},
		{"bob", "ops", "GET", "/apis/apps/v1/deployments", Allow},
		{"bob", "", "GET", "/apis/apps/v1/deployments", NoOpinion},
		{"eve", "ops", "GET", "/apis/apps/v1/deployments", NoOpinion},
		{"bob", "ops", "GET", "/api/v1/pods", NoOpinion},
		{"anybody", request.GroupAuthenticated, "GET", "/logs/x", Allow},
		{"anybody", request.GroupAuthenticated, "POST", "/logs/x", NoOpinion},
		{request.UserAnonymous, request.GroupUnauthenticated, "GET", "/logs/x", NoOpinion},
	} {
		info := request.Parse(httptest.NewRequest(c.method, c.path, nil))
		got, reason, err := policies.Authorize(t.Context(), &request.User{Name: c.user, Groups: strings.Fields(c.groups)}, &info)
		if got != c.want || err != nil || (got == NoOpinion) != (reason == "No policy matched.") {
			t.Errorf("%s (%s) %s %s: got %v, %q, %v", c.user, c.groups, c.method, c.path, got, reason, err)
		}
	}
	for _, bad := range []string{"{", `{"apiVersion":"abac.authorization.kubernetes.io/v2","kind":"Policy"}`, `{"kind":"Policy"}`} {
		if _, err := readABAC(writeFile(t, "\n"+bad), nil); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: got %v", bad, err)
		}
	}
}
