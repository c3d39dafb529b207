package authz

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/miniapiserver/miniapiserver/internal/configmetrics"
	"github.com/miniapiserver/miniapiserver/internal/hooks"
	"github.com/miniapiserver/miniapiserver/internal/seriestest"
	"github.com/miniapiserver/miniapiserver/request"
)

// TestWebhookMetrics checks what the webhooks of a configuration file count, by the result of the
// request, and what their match conditions count.
func TestWebhookMetrics(t *testing.T) {
	asking, ask := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sent authorizationv1.SubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		switch sent.Spec.User {
		case "refused":
			w.WriteHeader(http.StatusForbidden)
			return
		case "leaving":
			asking <- struct{}{}
			<-ask
		}
		sent.Status.Allowed = true
		_ = json.NewEncoder(w).Encode(sent)
	}))
	defer server.Close()
	reg := prometheus.NewPedanticRegistry()
	metrics, err := NewMetrics(reg)
	if err != nil {
		t.Fatal(err)
	}
	b := newBuilder(t, http.NotFoundHandler())
	b.Metrics = metrics
	b.Dial = func(string) (*http.Client, string, error) { return server.Client(), server.URL, nil }
	conditions := "    - expression: request.resourceAttributes.namespace != 'kube-system' || request.extra['a'][0] == 'b'\n"
	open := strings.Replace(hookChoice[:strings.Index(hookChoice, "    - expression")], "Deny", "NoOpinion", 1)
	a, err := b.BuildFile(configFile(t, open+"    - expression: has(request.resourceAttributes)\n"+conditions))
	if err != nil {
		t.Fatal(err)
	}
	decide := func(ctx context.Context, user, path string, want Decision, fails bool) {
		t.Helper()
		info := request.Parse(httptest.NewRequest("GET", path, nil))
		if got, _, err := a.Authorize(ctx, &request.User{Name: user}, &info); got != want || (err != nil) != fails {
			t.Errorf("%s, %s: %v, %v", user, path, got, err)
		}
	}
	ctx := t.Context()
	for range 2 { // the second decision is cached
		decide(ctx, "good", "/api/v1/namespaces/ns/pods", Allow, false)
	}
	decide(ctx, "refused", "/api/v1/namespaces/ns/pods", NoOpinion, true)
	decide(ctx, "good", "/metrics", NoOpinion, false)                           // excluded
	decide(ctx, "good", "/api/v1/namespaces/kube-system/pods", NoOpinion, true) // an error of a condition, which the failure policy does not hide
	leaving, leave := context.WithCancel(ctx)
	go func() { <-asking; leave() }()
	decide(leaving, "leaving", "/api/v1/namespaces/ns/pods", NoOpinion, true)
	close(ask)
	metrics.webhooks.failedOpen("hook", context.DeadlineExceeded)

	const prefix, hook = "apiserver_authorization_", `name="hook"`
	want := map[string]float64{
		prefix + `webhook_evaluations_total{` + hook + `,result="success"}`:             1,
		prefix + `webhook_evaluations_total{` + hook + `,result="error"}`:               1,
		prefix + `webhook_evaluations_total{` + hook + `,result="canceled"}`:            1,
		prefix + `webhook_duration_seconds{` + hook + `,result="success"}`:              1,
		prefix + `webhook_duration_seconds{` + hook + `,result="error"}`:                1,
		prefix + `webhook_duration_seconds{` + hook + `,result="canceled"}`:             1,
		prefix + `webhook_evaluations_fail_open_total{` + hook + `,result="error"}`:     1,
		prefix + `webhook_evaluations_fail_open_total{` + hook + `,result="timeout"}`:   1,
		prefix + `webhook_evaluations_fail_open_total{` + hook + `,result="canceled"}`:  0,
		prefix + `match_condition_exclusions_total{` + hook + `,type="Webhook"}`:        1,
		prefix + `match_condition_evaluation_errors_total{` + hook + `,type="Webhook"}`: 1,
		prefix + `match_condition_evaluation_seconds{` + hook + `,type="Webhook"}`:      6,
	}
	got, err := seriestest.Read(reg)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s: %v, want %v", name, got[name], value)
		}
	}
}

// TestCallResult checks the label of the result of a request to a webhook.
func TestCallResult(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, "success"},
		{context.DeadlineExceeded, "timeout"},
		{os.ErrDeadlineExceeded, "timeout"},
		{&hooks.StatusError{Code: http.StatusGatewayTimeout}, "timeout"},
		{&hooks.StatusError{Code: http.StatusForbidden}, "error"},
	} {
		if got := callResult(tt.err); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.err, got, tt.want)
		}
	}
}

// TestReloadMetrics checks that each change of a configuration file is counted once, and that the
// hash of a faulty one is not shown.
func TestReloadMetrics(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	reloads, err := configmetrics.New(reg, configmetrics.Options{Name: "authorization", ServerID: "me", Stability: "BETA"})
	if err != nil {
		t.Fatal(err)
	}
	f, errInvalid := fileReloads{metrics: reloads}, errors.New("invalid")
	for _, step := range []struct {
		data     string
		err      error
		ok, fail float64
		hash     string
	}{
		{"one", nil, 0, 0, "one"},
		{"one", nil, 0, 0, "one"}, // written again with the same content
		{"two", nil, 1, 0, "two"},
		{"bad", errInvalid, 1, 1, "two"},
		{"bad", errInvalid, 1, 1, "two"},
		{"worse", errInvalid, 1, 2, "two"},
		{"worse", nil, 2, 2, "worse"}, // a file that it names is there now
	} {
		f.parsed([]byte(step.data), step.err)
		got, err := seriestest.Read(reg)
		if err != nil {
			t.Fatal(err)
		}
		const prefix = "apiserver_authorization_config_controller_"
		server := `apiserver_id_hash="` + configmetrics.Hash("me") + `"`
		if ok, fail := got[prefix+"automatic_reloads_total{"+server+`,status="success"}`], got[prefix+"automatic_reloads_total{"+server+`,status="failure"}`]; ok != step.ok || fail != step.fail {
			t.Errorf("%s: %v reloads and %v failures, want %v and %v", step.data, ok, fail, step.ok, step.fail)
		}
		if got[prefix+"last_config_info{"+server+`,hash="`+configmetrics.Hash(step.hash)+`"}`] != 1 {
			t.Errorf("%s: %v", step.data, got)
		}
	}
}
