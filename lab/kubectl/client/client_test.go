package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

func newClient(t *testing.T, serve http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	c, err := New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestListGoesOn checks that a list goes on with the token of an expired one, and that it ends if there is none.
func TestListGoesOn(t *testing.T) {
	for _, next := range []string{"inconsistent", ""} {
		c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch r.URL.Query().Get("continue") {
			case "":
				fmt.Fprint(w, `{"metadata":{"continue":"old"},"items":[1]}`)
			case "old":
				w.WriteHeader(http.StatusGone)
				if err := json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure",
					Code: 410, Reason: metav1.StatusReasonExpired, ListMeta: metav1.ListMeta{Continue: next}}); err != nil {
					t.Error(err)
				}
			case "inconsistent":
				fmt.Fprint(w, `{"metadata":{"resourceVersion":"7"},"items":[2]}`)
			}
		})
		all, version, err := ListOf[int](t.Context(), c, Target{Version: "v1", Resource: "pods"}, ListOptions{})
		if next != "" && (err != nil || version != "7" || fmt.Sprint(all) != "[1 2]") || next == "" && err == nil {
			t.Errorf("%q: %v, %s, %v", next, all, version, err)
		}
	}
}

// TestTarget checks paths.
func TestTarget(t *testing.T) {
	for want, target := range map[string]Target{
		"/api/v1/namespaces/a/pods/p":  {Version: "v1", Resource: "pods", Namespace: "a", Name: "p"},
		"/api/v1/nodes":                {Version: "v1", Resource: "nodes"},
		"/apis/apps/v1/x/a%2F..%3Fb=c": {Group: "apps", Version: "v1", Resource: "x", Name: "a/..?b=c"},
	} {
		if got := target.Path(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestFlags checks the server, the user and the namespace that flags and files choose.
func TestFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	const config = `{"current-context":"a","clusters":[{"name":"c","cluster":{"server":"https://one"}}],"users":[{"name":"u","user":{"token":"t"}}],
"contexts":[{"name":"a","context":{"cluster":"c","user":"u","namespace":"shop"}},{"name":"b","context":{"cluster":"c","user":"u"}}]}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"":                        "https://one shop false ",
		"--context b":             "https://one default false ",
		"-n x":                    "https://one x true ",
		"-s https://two --as joe": "https://two shop false joe",
		"--context none":          `context "none" does not exist`,
	} {
		var flags Flags
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		flags.AddTo(set)
		if err := set.Parse(append([]string{"--kubeconfig", file}, strings.Fields(args)...)); err != nil {
			t.Fatal(err)
		}
		c, err := flags.Client()
		if err != nil {
			if want != "" && !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %s", args, err, want)
			}
			continue
		}
		if got := fmt.Sprintln(c.Host(), c.Namespace, c.NamespaceSet, c.Impersonated); strings.TrimSuffix(got, "\n") != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
	var flags Flags
	flags.AddTo(pflag.NewFlagSet("", pflag.ContinueOnError))
	flags.rules.ExplicitPath = os.DevNull
	if _, err := flags.Client(); err == nil || !strings.Contains(err.Error(), "set KUBECONFIG") {
		t.Errorf("without a file: %v", err)
	}
}
