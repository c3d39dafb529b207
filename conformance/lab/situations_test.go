package lab

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/server"
)

// TestFlowControl checks the refusals of a priority level that has no seat free and no queue.
func TestFlowControl(t *testing.T) {
	w := startLab(t)
	w.load("world.yaml")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { // takes the seat until the test ends
		defer close(ended)
		_, _ = w.send(ctx, call{as: "queued", do: "POST " + configs + dry, body: labelled(`"check":"hold"`, "")})
	}()
	defer func() {
		cancel()
		<-ended
	}()
	var a *answer
	eventually.True(t, "a refusal", func() bool {
		a = w.call(call{as: "queued", do: "GET " + configs + "/one"})
		return a.code == http.StatusTooManyRequests
	})
	req := w.explains(a, because{by: v1alpha1.CauseFlowControl, name: "tiny"})
	for _, s := range req.Status.Steps {
		if s.Name == "priorityandfairness" {
			if s.Facts["priorityLevel"] != "tiny" || s.Facts["flowSchema"] != "tiny" {
				t.Errorf("facts %v", s.Facts)
			}
			return
		}
	}
	t.Errorf("steps %+v", req.Status.Steps)
}

// TestInflight checks the refusals of a server without priority and fairness.
func TestInflight(t *testing.T) {
	w := start(t, server.Options{Lab: server.Lab{Enabled: true}, Limits: server.Limits{NoPriorityAndFairness: true,
		MaxMutatingRequestsInflight: 1, MaxRequestsInflight: 1}})
	w.load("world.yaml", "Namespace", "ValidatingWebhookConfiguration")
	w.do("POST /apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings", `{"metadata":{"name":"queued"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"admin"},"subjects":[{"kind":"User","name":"queued"}]}`)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = w.send(ctx, call{as: "queued", do: "POST " + configs + dry, body: labelled(`"check":"hold"`, "")})
	}()
	defer func() {
		cancel()
		<-ended
	}()
	var a *answer
	eventually.True(t, "a refusal", func() bool {
		a = w.call(call{as: "queued", do: "POST " + configs + dry, body: labelled("", "")})
		return a.code == http.StatusTooManyRequests
	})
	w.explains(a, because{by: v1alpha1.CauseFlowControl})
}

// TestConflict checks that a conflict names the writes that came between the client's read and its write.
func TestConflict(t *testing.T) {
	w := startLab(t)
	w.load("world.yaml")
	read := w.do("GET "+configs+"/one", "").object(t)
	w.do("PATCH "+configs+"/one?fieldManager=first merge", `{"data":{"k":"1"}}`)
	second := w.do("PATCH "+configs+"/one?fieldManager=second merge", `{"data":{"k":"2","new":"x"}}`)
	read.Object["data"] = map[string]any{"k": "mine"}
	body, err := read.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"", dry} {
		a := w.call(call{do: "PUT " + configs + "/one" + query, body: string(body)})
		if a.code != http.StatusConflict {
			t.Fatalf("%d %s", a.code, a.body)
		}
		c := w.explains(a, because{by: v1alpha1.CauseConflict}).Status.Cause
		if len(c.Writes) != 2 {
			t.Fatalf("writes %+v", c.Writes)
		}
		newest := c.Writes[0]
		if newest.Request != second.id || newest.Manager != "second" || newest.User != "system:admin" && newest.User == "" ||
			newest.ResourceVersion != second.object(t).GetResourceVersion() || len(newest.Fields) != 2 || c.Writes[1].Manager != "first" {
			t.Errorf("writes %+v", c.Writes)
		}
		if f := newest.Fields[0]; f.Path != "data.k" || f.Before != `"1"` || f.After != `"2"` {
			t.Errorf("fields %+v", newest.Fields)
		}
	}
	patch := w.call(call{do: "PATCH " + configs + "/one merge", body: fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"data":{"k":"mine"}}`, read.GetResourceVersion())})
	if c := w.explains(patch, because{by: v1alpha1.CauseConflict}).Status.Cause; len(c.Writes) != 2 {
		t.Errorf("writes of a patch %+v", c.Writes)
	}
}

// TestApplyConflict checks that an apply which others conflict with names them, and a forced one what changed owners.
func TestApplyConflict(t *testing.T) {
	w := startLab(t)
	w.load("world.yaml")
	apply := func(manager, query, value string) *answer {
		return w.call(call{do: "PATCH " + configs + "/applied?fieldManager=" + manager + query + " apply",
			body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied"},"data":{"k":"` + value + `"}}`})
	}
	apply("first", "", "1")
	a := apply("second", "", "2")
	c := w.explains(a, because{by: v1alpha1.CauseFieldManagement, fields: []string{".data.k"}}).Status.Cause
	if !strings.Contains(c.Fields[0].Message, `"first"`) {
		t.Errorf("fields %+v", c.Fields)
	}
	forced := w.request(apply("second", "&force=true", "2").id)
	owners := forced.Status.Owners
	if len(owners) != 2 || owners[0].Manager != "first (Apply)" || len(owners[0].Lost) == 0 || owners[1].Manager != "second (Apply)" || len(owners[1].Gained) == 0 {
		t.Errorf("owners %+v", owners)
	}
}

// TestCompacted checks lists and watches of a past that is no more.
func TestCompacted(t *testing.T) {
	w := start(t, server.Options{Lab: server.Lab{Enabled: true, History: time.Second}, Etcd: server.Etcd{CompactionInterval: time.Second}})
	w.do("POST /api/v1/namespaces", `{"metadata":{"name":"a"}}`)
	token := base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":1,"start":"a\u0000"}`))
	for name, do := range map[string]string{
		"continue token": "GET " + configs + "?limit=1&continue=" + token,
		"exact list":     "GET " + configs + "?resourceVersion=1&resourceVersionMatch=Exact",
	} {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			var a *answer
			n := 0
			eventually.True(t, "410", func() bool {
				n++
				w.do("PATCH /api/v1/namespaces/a merge", fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, n))
				a = w.call(call{do: do})
				return a.code == http.StatusGone
			})
			w.explains(a, because{by: v1alpha1.CauseStorage})
		})
	}
	t.Run("watch", func(t *testing.T) {
		w := w.in(t)
		a := w.call(call{do: "GET " + configs + "?watch=1&resourceVersion=1"})
		req := w.request(a.id)
		if int(req.Status.Code) != a.code || !strings.Contains(string(a.body), "too old resource version") {
			t.Fatalf("%+v of %d %s", req.Status, a.code, a.body)
		}
		if a.code == http.StatusOK && !strings.Contains(req.Status.Why, "too old resource version") {
			t.Errorf("why %q", req.Status.Why)
		}
		if c := req.Status.Cause; a.code != http.StatusOK && (c == nil || c.By != v1alpha1.CauseStorage) {
			t.Errorf("cause %+v", c)
		}
	})
}

// TestWebhookAuthorizer checks that the Request of a request that an authorization webhook refused has its reason.
func TestWebhookAuthorizer(t *testing.T) {
	authorizer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review map[string]any
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review["status"] = map[string]any{"allowed": false, "denied": true, "reason": "not on sundays"}
		_ = json.NewEncoder(w).Encode(review)
	}))
	defer authorizer.Close()
	config := filepath.Join(t.TempDir(), "webhook")
	text := `{"apiVersion":"v1","kind":"Config","clusters":[{"name":"w","cluster":{"server":"` + authorizer.URL + `"}}],"users":[{"name":"w"}],"contexts":[{"name":"w","context":{"cluster":"w","user":"w"}}],"current-context":"w"}`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w := start(t, server.Options{Lab: server.Lab{Enabled: true}, Authorization: server.Authorization{Modes: []string{"RBAC", "Webhook"}, WebhookConfigFile: config}})
	a := w.call(call{as: "jane", do: "GET /api/v1/nodes"})
	req := w.explains(a, because{by: v1alpha1.CauseAuthorization})
	if !strings.Contains(req.Status.Message, "not on sundays") {
		t.Errorf("message %q", req.Status.Message)
	}
	for _, s := range req.Status.Steps {
		if s.Name == "authorization" && s.Facts["mode"] == "default" && strings.Contains(s.Facts["reason"], "not on sundays") {
			return
		}
	}
	t.Errorf("steps %+v", req.Status.Steps)
}
