package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
)

// TestShownFlags checks what /flagz shows of the flags of a command line, and of options.
func TestShownFlags(t *testing.T) {
	c := NewKubeAPIServerCommandLine()
	if err := set(c, "etcd-servers=http://a:secret@127.0.0.1:1,http://127.0.0.1:2", "v=3", "allow-metric-labels=a,b=x"); err != nil {
		t.Fatal(err)
	}
	got := c.values()
	for name, want := range map[string]string{
		"etcd-servers": "[http://a:xxxxx@127.0.0.1:1,http://127.0.0.1:2]", "v": "3", "allow-metric-labels": "[a,b=x]",
		"profiling": "true", "api-audiences": "[]", "service-node-port-range": "30000-32767", "cert-dir": "/var/run/kubernetes",
	} {
		if got[name] != want {
			t.Errorf("--%s: got %q, want %q", name, got[name], want)
		}
	}
	if _, ok := got["controllers"]; ok {
		t.Error("kube-apiserver has no flag --controllers")
	}
	if got := withOptions(Options{NoProfiling: true}).values()["profiling"]; got != "false" {
		t.Errorf("--profiling of options: %s", got)
	}
}

// TestPagesOfServer checks /statusz and /flagz of a server, the metrics and the permissions.
func TestPagesOfServer(t *testing.T) {
	s := run(t, Options{Limits: Limits{EventTTL: 7200e9}})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/flagz", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.Token)
	r.Header.Set("Accept", "application/json;g=config.k8s.io;v=v1alpha1;as=Flagz")
	resp, err := raw(t, s).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var page struct{ Flags map[string]string }
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil || page.Flags["event-ttl"] != "2h0m0s" || page.Flags["anonymous-auth"] != "true" {
		t.Errorf("%v, %v", page, err)
	}
	if got := resp.Header.Get("Warning"); got != `299 - "This version of the flagz endpoint is deprecated. Please use a newer version."` {
		t.Errorf("warning %s", got)
	}
	get(t, raw(t, s), s.URL+"/statusz", s.Token)
	const rest = `dry_run="",group="",resource="statusz",scope="",subresource="",verb="GET",version=""}`
	eventually.Succeeds(t, "the requests are counted", func() error {
		_, body := get(t, raw(t, s), s.URL+"/metrics", s.Token)
		for _, want := range []string{
			`apiserver_request_total{code="200",component="apiserver",` + rest + " 1",
			`apiserver_requested_deprecated_apis{group="config.k8s.io",removed_release="",resource="flagz",subresource="",version="v1alpha1"} 1`,
		} {
			if !strings.Contains(body, want) {
				return errors.New("there is no " + want)
			}
		}
		return nil
	})
	if code, _ := get(t, raw(t, s), s.URL+"/statusz", ""); code != http.StatusForbidden {
		t.Errorf("anonymous: %d", code)
	}
}
