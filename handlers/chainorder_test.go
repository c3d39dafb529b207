package handlers

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/apf"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/kinds"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// TestChainOrder sends requests that two steps of the chain would answer differently.
// Each fails if the step whose answer is expected is moved behind the other one.
func TestChainOrder(t *testing.T) {
	const (
		path   = "/api/v1/namespaces/ns/configmaps"
		noKind = "/api/v1/watch" // parse refuses it
	)
	for _, c := range []struct {
		name         string
		method, path string
		headers      []string
		change       func(*Config)
		ending       bool
		want         int
	}{
		{"parse before CORS", http.MethodOptions, noKind, []string{"Origin", "https://page.test"}, withOrigin, false, 500},
		{"CORS before authentication", http.MethodOptions, path, []string{"Origin", "https://page.test"}, withOrigin, false, 204},
		{"foreign upgrades before the start", http.MethodGet, path, []string{"Origin", "https://foreign.test", "Upgrade", "websocket", "Connection", "Upgrade"}, starting, false, 403},
		{"the start before authentication", http.MethodGet, path, nil, func(c *Config) { starting(c); unknownUser(c) }, false, 429},
		{"authentication before impersonation", http.MethodGet, path, []string{"Impersonate-User", "a"}, unknownUser, false, 401},
		{"authentication before time", http.MethodGet, path + "?timeout=x", nil, unknownUser, false, 401},
		{"impersonation before time", http.MethodGet, path + "?timeout=x", []string{"Group", "others", "Impersonate-User", "a"}, nil, false, 403},
		{"time before limits", http.MethodGet, path + "?timeout=x", []string{"Group", "testers"}, noRoom, false, 400},
		{"limits before authorization", http.MethodGet, path, []string{"Group", "others"}, noRoom, false, 429},
		{"authorization before the end", http.MethodGet, path + "?watch=1", []string{"Group", "others"}, nil, true, 403},
		{"the end before routes", http.MethodGet, path + "?watch=1", nil, nil, true, 503},
	} {
		h := chainOnly(t, func(config *Config) {
			if c.change != nil {
				c.change(config)
			}
		})
		if c.ending {
			h.BeginShutdown(0)
		}
		if w := through(h, httptest.NewRequest(c.method, c.path, nil), c.headers...); w.Code != c.want {
			t.Errorf("%s: got %d %s, want %d", c.name, w.Code, strings.TrimSpace(w.Body.String()), c.want)
		}
	}
}

// TestChainOfPanic verifies that a panic in a step behind recovery is answered under the
// request's id, and is counted as the 500 that it becomes.
func TestChainOfPanic(t *testing.T) {
	h := chainOnly(t, func(c *Config) { c.Authorizer = panicking{} })
	w := through(h, httptest.NewRequest(http.MethodGet, "/healthz", nil), auditID, "my-id")
	if w.Code != http.StatusInternalServerError || w.Header().Get(auditID) != "my-id" {
		t.Errorf("got %d, id %q", w.Code, w.Header().Get(auditID))
	}
	counted := false
	h.metrics.children.Range(func(kind, _ any) bool {
		counted = counted || kind.(requestLabels).code == http.StatusInternalServerError
		return true
	})
	if !counted {
		t.Error("the panic is not counted as a 500")
	}
}

// chainOnly is a Handler without a store, for requests that get no further than the
// chain.
func chainOnly(t *testing.T, change func(*Config)) *Handler {
	t.Helper()
	catalogue, err := api.New(slices.DeleteFunc(kinds.All(), func(r *api.Resource) bool { return r.Name != "configmaps" })...)
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Catalogue: catalogue, Registry: &registry.Registry{}, Authenticator: somebody{}, Authorizer: everyGroup, Gates: testGates()}
	change(&c)
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.BeginShutdown(0) })
	return h
}

func withOrigin(c *Config) {
	c.AllowedOrigins = []*regexp.Regexp{regexp.MustCompile("page[.]test")}
	unknownUser(c)
}

func starting(c *Config) { c.Starting = true }

func unknownUser(c *Config) { c.Authenticator = nobody{} }

// noRoom leaves no room for a request that reads, unless it is an administrator's.
func noRoom(c *Config) {
	c.MaxRequestsInflight = 1
	c.Inflight = apf.NewInflight(nil)
	c.Inflight.Execute(false)
}

type panicking struct{}

func (panicking) Authorize(context.Context, *request.User, *request.Info) (authz.Decision, string, error) {
	panic("on purpose")
}
